"""The rivals of `learner_figures`: ITQ, OPQ, a label byte with a product quantizer, cosine of the floats.

A model answers ``ask(X)`` (queries), ``kept(X)`` (database rows by their features), ``learned(X, y)`` (rows
that were fitted, with their labels; −1: none) and ``distances(queries, rows)``, whole numbers (q, n).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .learner_scores import Array, levels, unit

__all__ = ["RIVALS", "Bits"]

PENALTIES = (1.0, 10.0, 100.0)  # C of the classifier
WEIGHTS = (0.05, 0.1, 0.2, 0.5, 1.0, 3.0)  # of the probability of the row's label beside the cosine


class Bits:
    """Codes of equal bits: two functions that return bits (n, d) as bool, and perhaps floats of queries."""

    def __init__(
        self,
        encode: Callable[[Array], Array],
        learned: Callable[[Array, Array], Array] | None = None,
        floats: Callable[[Array], Array] | None = None,
    ) -> None:
        self.encode, self.fitted, self.floats = encode, learned, floats

    def ask(self, X: Array) -> Array:
        return np.where(self.encode(X), np.float32(1), np.float32(-1))

    kept = ask

    def learned(self, X: Array, y: Array) -> Array:
        if self.fitted is None:
            return self.kept(X)
        return np.where(self.fitted(X, y), np.float32(1), np.float32(-1))

    def mixed(self, learned: Array, mapped: Array, swapped: Array) -> Array:
        """Learned rows with mapped ones in place of some."""
        return np.where(swapped[:, None], mapped, learned)

    def distances(self, queries: Array, rows: Array) -> Array:
        return ((queries.shape[1] - queries @ rows.T) / 2 + 0.5).astype(np.int32)

    def floats_apart(self, X: Array, rows: Array) -> Array:
        """Distances of float queries."""
        assert self.floats is not None
        return levels(np.asarray(self.floats(X), np.float32) @ rows.T)


class Floats:
    """Rows as floats, perhaps as a quantizer keeps them; the score of a row is an inner product."""

    def __init__(
        self,
        mean: Array,
        vectors: Callable[[Array], Array],
        stored: Callable[[Array], Array],
        inner: bool = False,
    ) -> None:
        self.mean, self.vectors, self.stored, self.inner = mean, vectors, stored, inner

    def ask(self, X: Array) -> Array:
        return self.vectors(unit(X - self.mean))

    def kept(self, X: Array) -> Array:
        return self.stored(self.ask(X))

    def learned(self, X: Array, y: Array) -> Array:
        return self.kept(X)

    def mixed(self, learned: Array, mapped: Array, swapped: Array) -> Array:
        return learned

    def scores(self, queries: Array, rows: Array) -> Array:
        """Minus the squared distance, halved, without the query's own square; or inner products."""
        return queries @ rows.T - (0 if self.inner else (rows**2).sum(axis=1) / 2)

    def distances(self, queries: Array, rows: Array) -> Array:
        return levels(self.scores(queries, rows))


class LabelByte:
    """Cosine to what a product quantizer keeps, and the probability of the row's label, if it has one."""

    def __init__(self, pq: Floats, classifier: Any, weight: float) -> None:
        self.pq, self.classifier, self.weight = pq, classifier, weight
        self.none = len(classifier.classes_)

    def _chances(self, X: Array) -> Array:
        chances = self.classifier.predict_proba(unit(X - self.pq.mean))
        return np.hstack([chances, np.zeros((len(X), 1))]).astype(np.float32)

    def ask(self, X: Array) -> tuple[Array, Array]:
        return self.pq.ask(X), self._chances(X)

    def kept(self, X: Array) -> tuple[Array, Array]:
        """Rows that come later carry the most likely label."""
        return self.pq.kept(X), self._chances(X).argmax(axis=1)

    def learned(self, X: Array, y: Array) -> tuple[Array, Array]:
        classes = self.classifier.classes_
        place = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        return self.pq.kept(X), np.where(classes[place] == y, place, self.none)

    def mixed(self, learned: Any, mapped: Any, swapped: Array) -> tuple[Array, Array]:
        return learned[0], np.where(swapped, mapped[1], learned[1])

    def distances(self, queries: tuple[Array, Array], rows: tuple[Array, Array]) -> Array:
        scores = self.pq.scores(queries[0], rows[0])
        return levels(scores + np.float32(self.weight) * queries[1][:, rows[1]])


def itq(X: Array, y: Array | None, n_bits: int, seed: int, rounds: int = 50) -> Bits:
    """Iterative quantization of centered unit rows; directions beyond the columns are random."""
    rng, mean = np.random.default_rng(seed), X.mean(axis=0)
    rows = unit(X - mean)
    center = rows.mean(axis=0)
    rows -= center
    axes = np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :n_bits]
    projected = rows @ axes
    R = np.linalg.qr(rng.standard_normal((axes.shape[1], axes.shape[1])))[0].astype(np.float32)
    for _ in range(rounds):
        u, _, v = np.linalg.svd(np.sign(projected @ R).T @ projected)
        R = (u @ v).T
    directions = axes @ R
    if directions.shape[1] < n_bits:
        more = rng.standard_normal((directions.shape[1], n_bits - directions.shape[1]))
        directions = np.hstack([directions, directions @ more.astype(np.float32)])
    return Bits(lambda X: (unit(X - mean) - center) @ directions > 0)


def cosine(X: Array, y: Array | None, n_bits: int, seed: int) -> Floats:
    """Float vectors around the mean."""
    return Floats(X.mean(axis=0), lambda rows: rows, lambda rows: rows)


def opq(X: Array, y: Array | None, n_bits: int, seed: int) -> Floats:
    """Optimized product quantization (FAISS) of centered unit rows, float queries."""
    import faiss

    mean, n_bytes = X.mean(axis=0), n_bits // 8
    rows = unit(X - mean)
    width = -(-rows.shape[1] // n_bytes) * n_bytes
    rotation, quantizer = faiss.OPQMatrix(width, n_bytes), faiss.ProductQuantizer(width, n_bytes, 8)
    inner = faiss.ProductQuantizer(width, n_bytes, 8)
    for one in (quantizer, inner):
        one.cp.seed, one.cp.min_points_per_centroid = seed + 1, 1
    rotation.pq = inner
    padded = np.ascontiguousarray(np.pad(rows, ((0, 0), (0, width - rows.shape[1]))))
    rotation.train(padded)
    rotation.pq = None
    quantizer.train(rotation.apply(padded))

    def vectors(rows: Array) -> Array:
        return rotation.apply(np.ascontiguousarray(np.pad(rows, ((0, 0), (0, width - rows.shape[1])))))

    def stored(vectors: Array) -> Array:
        return np.asarray(quantizer.decode(quantizer.compute_codes(vectors)))  # type: ignore[func-returns-value, call-arg]

    return Floats(mean, vectors, stored)


def rabitq(X: Array, y: Array | None, n_bits: int, seed: int) -> Floats:
    """RaBitQ of principal components at unit length: signs, and one byte for their inner product."""
    rng, mean = np.random.default_rng(seed), X.mean(axis=0)
    rows = unit(X - mean)
    axes = np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, : n_bits - 8]
    axes = axes @ np.linalg.qr(rng.standard_normal((axes.shape[1], axes.shape[1])))[0].astype(np.float32)
    agree = np.abs(unit(rows @ axes)).sum(axis=1)
    low, step = agree.min(), max((agree.max() - agree.min()) / 255, 1e-9)

    def stored(vectors: Array) -> Array:
        kept = low + step * np.clip(np.round((np.abs(vectors).sum(axis=1) - low) / step), 0, 255)
        return (np.where(vectors > 0, 1, -1) / kept[:, None]).astype(np.float32)

    return Floats(mean, lambda rows: unit(rows @ axes), stored, inner=True)


def label_byte(X: Array, y: Array, n_bits: int, seed: int) -> list[tuple[str, LabelByte]]:
    """Logistic regression, a byte for the label (255: none) and OPQ in the other bytes."""
    from sklearn.linear_model import LogisticRegression

    pq, known = opq(X, None, n_bits - 8, seed), y != -1
    rows = unit(X[known] - pq.mean)
    found = []
    for penalty in PENALTIES:
        classifier = LogisticRegression(C=penalty, max_iter=300).fit(rows, y[known])
        found += [(f" C={penalty:g} w={w:g}", LabelByte(pq, classifier, w)) for w in WEIGHTS]
    return found


RIVALS: dict[str, Callable[..., Any]] = {
    "itq": itq,
    "opq": opq,
    "rabitq": rabitq,
    "labelbyte": label_byte,
    "cosine": cosine,
}
