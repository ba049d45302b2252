"""What people would build instead of learned codes: float cosine, sign bits, ITQ, OPQ, a classifier's byte.

All but the classifier read no labels. They are fitted on at most 10,000 rows. The classifier is logistic
regression: a query is classified, and rows rank by how well their labels fit, by the probability that they
share a label with the query, or by the Jaccard similarity to expect.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, softmax

from .._internal.blocks import block_slices, single_blas_thread
from .._internal.numerics import fit_rotation
from .._internal.types import Array, Bytes, Floats, Floats32, Ints, Matrix, Rng
from ..codes import n_bytes, pack_bits
from ..labels import Labels
from .answers import cosine_scores, unit_rows
from .rankings import ScoreRows, hamming_scores

MOST_FIT = 10_000  # rows of a fit
MOST_COLUMNS, COLUMNS = 512, 256  # columns beyond the first are brought to the last
STRENGTHS = (0.03, 0.3, 3.0)  # values of C that are tried, as in scikit-learn
STEPS = 40  # of L-BFGS
N_FOLDS = 5  # classifiers, each of which judges the rows that it did not see
TRIED_ROWS = 10_000  # rows of one block of probabilities
CHOOSING_ROWS, FEWEST_ROWS = 1_500, 1_000  # rows on which C is chosen; rows that are always fitted on
MOST_WORK = 100_000_000  # rows times columns times labels of one fit: seconds
MOST_CHANCES = 20_000_000  # probabilities of one block of rows
FLOOR = 1e-6  # of a probability, so that its logarithm is finite
WEIGHTS = (0.1, 0.3, 1.0)  # of the probability of a row's label beside half a squared distance

COSINE, SIGN_BITS, ITQ_CODES, OPQ_CODES = "float cosine", "sign bits", "ITQ", "OPQ"
LABEL_BYTE, CLASSIFIER, RANDOM = "label byte + PQ", "classifier alone", "random order"
UNSUPERVISED = (COSINE, OPQ_CODES, ITQ_CODES, SIGN_BITS)


Chances = Floats32


class Search(NamedTuple):
    """A way to search: scores of database rows for queries (row numbers), given the database's labels."""

    name: str
    bytes_per_item: int
    scores: Callable[[Ints, Ints, Labels | None], ScoreRows]


class Rivals:
    """Searches of rows of X fitted on ``rows``, as large as codes of ``n_bits`` where they can be."""

    def __init__(self, X: Matrix, rows: Ints, n_bits: int, rng: Rng) -> None:
        self.X, self.size, self.rng = X, n_bytes(n_bits), rng
        some = rng.permutation(rows)[:MOST_FIT]
        with single_blas_thread():
            self.space = Space(X, some, rng)
            self.rows = self.space(some)
            self.itq, self.opq = ITQ(self.rows, n_bits, rng), OPQ(self.rows, self.size, rng)
        self.smaller: OPQ | None = None
        self.C: float | None = None

    def unsupervised(self) -> list[Search]:
        """The searches that read no labels."""
        width, space = int(self.X.shape[1]), self.space

        def cosine(queries: Ints, database: Ints, _: Any) -> ScoreRows:
            return cosine_scores(unit_rows(self.X, queries), unit_rows(self.X, database))

        def signs(queries: Ints, database: Ints, _: Any) -> ScoreRows:
            return hamming_scores(self._signs(queries), self._signs(database))

        def itq(queries: Ints, database: Ints, _: Any) -> ScoreRows:
            return hamming_scores(self.itq(space(queries)), self.itq(space(database)))

        def opq(queries: Ints, database: Ints, _: Any) -> ScoreRows:
            return self.opq.nearness(space(queries), self.opq.stored(space(database)))

        return [
            Search(COSINE, 4 * width, cosine),
            Search(SIGN_BITS, n_bytes(width), signs),
            Search(ITQ_CODES, self.size, itq),
            Search(OPQ_CODES, self.size, opq),
        ]

    def _signs(self, rows: Ints) -> Bytes:
        out = np.empty((len(rows), n_bytes(int(self.X.shape[1]))), np.uint8)
        for part in block_slices(len(rows), 2048):
            out[part] = pack_bits(_dense(self.X[rows[part]]) > self.space.mean)
        return out

    def _columns(self, rows: Ints) -> Matrix:
        """What the classifier reads: the rows as they are, or their principal columns where there are many."""
        return self.X[rows] if self.space.axes is None else self.space(rows)

    def informed(self, labels: Labels, rows: Ints) -> tuple[list[list[Search]], Callable[[Ints], Labels]]:
        """What a classifier makes possible, and the labels that it gives rows which have none.

        *Classifier alone*: rows rank by the probability of their label. *Label byte + PQ*, for classes: a
        byte holds the label (255 for none), OPQ the remaining ones. Scores add up, with each of `WEIGHTS`.
        """
        with single_blas_thread():
            seed = int(self.rng.spawn(1)[0].integers(2**31))
            classifier = Classifier.fit(self._columns(rows), labels[rows], self.C, seed)
            self.C = classifier.C
        rank, byte, space = (
            expected_jaccard if labels.is_tags else shared_label,
            label_bytes(labels),
            self.space,
        )
        kept: dict[bytes, Chances] = {}

        def chances(queries: Ints) -> Chances:
            key = queries.tobytes()
            if key not in kept:
                kept[key] = classifier(self._columns(queries))
            return kept[key]

        def predicted(queries: Ints) -> Labels:
            p, known = chances(queries), np.ones(len(queries), bool)
            if not labels.is_tags:
                return Labels(labels.names, known, classes=p.argmax(axis=1))
            return Labels(labels.names, known, tags=sp.csr_array(p > 0.5, dtype=np.int8))

        def alone(queries: Ints, database: Ints, known: Labels | None) -> ScoreRows:
            assert known is not None
            return rank(chances(queries), known)

        searches = [[Search(CLASSIFIER, byte, alone)]]
        if labels.is_tags or self.size <= byte:
            return searches, predicted
        if self.smaller is None:
            with single_blas_thread():
                self.smaller = OPQ(self.rows, self.size - byte, self.rng)
        opq = self.smaller

        def weighted(weight: float) -> Search:
            def scores(queries: Ints, database: Ints, known: Labels | None) -> ScoreRows:
                assert known is not None
                near = opq.nearness(space(queries), opq.stored(space(database)))
                p, unknown = chances(queries), ~known.known
                label = shared_label(p, known)

                def both(wanted: Ints) -> Array:
                    fit = label(wanted)  # of a row without a label: that of a label drawn as the query's is
                    fit[:, unknown] = (p[wanted] ** 2).sum(axis=1, keepdims=True)
                    return near(wanted) + np.float32(weight) * fit

                return both

            return Search(LABEL_BYTE, self.size, scores)

        return [*searches, [weighted(weight) for weight in WEIGHTS]], predicted


class Space:
    """Rows around their mean at unit length, dense; more than 512 columns become 256 principal ones."""

    def __init__(self, X: Matrix, rows: Ints, rng: Rng) -> None:
        self.X, self.axes = X, None
        self.mean = np.asarray(X[rows].mean(axis=0), np.float64).ravel()
        if X.shape[1] > MOST_COLUMNS:
            from sklearn.utils.extmath import randomized_svd

            some, seed = rows[:4000], int(rng.integers(2**31))
            axes = randomized_svd(unit_rows(X, some, self.mean), COLUMNS, n_iter=2, random_state=seed)[2]
            self.axes = axes.T.astype(np.float32)

    def __call__(self, rows: Ints) -> Floats32:
        width = len(self.mean) if self.axes is None else self.axes.shape[1]
        out = np.empty((len(rows), width), np.float32)
        for part in block_slices(len(rows), 2048):
            unit = unit_rows(self.X, rows[part], self.mean)
            out[part] = _dense(unit if self.axes is None else unit @ self.axes)
        return out


def _dense(block: Matrix) -> Array:
    return block.toarray() if sp.issparse(block) else np.asarray(block)


def _axes(Z: Floats32) -> tuple[Floats, Floats]:
    """Principal directions (columns), those of the largest variance first, and their variances."""
    values, vectors = np.linalg.eigh((Z.T @ Z).astype(np.float64) / max(1, len(Z)))
    return vectors[:, ::-1], np.maximum(values[::-1], 1e-12)


class ITQ:
    """Iterative quantization (Gong and Lazebnik, CVPR 2011): principal directions, rotated towards signs."""

    def __init__(self, Z: Floats32, n_bits: int, rng: Rng, rounds: int = 30) -> None:
        axes = _axes(Z)[0][:, :n_bits].astype(np.float32)
        if axes.shape[1] < n_bits:  # more bits than columns: random directions beside them
            more = rng.standard_normal((axes.shape[1], n_bits - axes.shape[1])).astype(np.float32)
            axes = np.hstack([axes, axes @ more / np.float32(np.sqrt(axes.shape[1]))])
        self.directions = axes @ fit_rotation(Z[:5000] @ axes, n_bits, rng, rounds)

    def __call__(self, Z: Floats32) -> Bytes:
        """Packed codes of rows."""
        return pack_bits(Z @ self.directions > 0)


class OPQ:
    """Optimized product quantization (Ge, He, Ke and Sun, CVPR 2013): a byte for each part of rotated rows.

    The rotation starts with principal directions dealt to parts of equal product of variances, and takes
    turns with k-means of 256 centers in every part. Queries stay floats (asymmetric distance).
    """

    def __init__(self, Z: Floats32, n_parts: int, rng: Rng, rounds: int = 4, last: int = 4) -> None:
        width = -(-Z.shape[1] // n_parts) * n_parts
        self.n_parts, self.padding = n_parts, width - Z.shape[1]
        Z = self._padded(Z)
        axes, variances = _axes(Z)
        weights, dealt = np.zeros(n_parts), [list[int]() for _ in range(n_parts)]
        for axis, weight in enumerate(np.log(variances / variances[-1]) + 1e-9):
            full = np.array([len(one) * n_parts >= width for one in dealt])
            part = int(np.where(full, np.inf, weights).argmin())
            dealt[part].append(axis)
            weights[part] += weight
        self.rotation = axes[:, np.concatenate(dealt).astype(np.int64)].astype(np.float32)
        first = Z[rng.permutation(len(Z))[:256]] @ self.rotation
        self.centers = np.stack(np.split(first, n_parts, axis=1))  # (parts, 256, width / parts)
        for step in range(rounds + last):
            codes = self._improve(Z @ self.rotation)
            if step < rounds:
                left, _, right = np.linalg.svd(Z.T @ self._decoded(codes))
                self.rotation = (left @ right).astype(np.float32)

    def _padded(self, Z: Floats32) -> Floats32:
        return np.pad(Z, ((0, 0), (0, self.padding)))

    def _codes(self, Y: Floats32) -> Ints:
        parts = zip(np.split(Y, self.n_parts, axis=1), self.centers, strict=True)
        return np.stack([((c**2).sum(axis=1) / 2 - y @ c.T).argmin(axis=1) for y, c in parts], axis=1)

    def _improve(self, Y: Floats32) -> Ints:
        """One step of k-means in every part, and the codes it moved the centers by."""
        codes, n_centers = self._codes(Y), self.centers.shape[1]
        for part, y in enumerate(np.split(Y, self.n_parts, axis=1)):
            own = codes[:, part]
            members = sp.csr_array(
                (np.ones(len(Y), np.float32), own, np.arange(len(Y) + 1)), (len(Y), n_centers)
            )
            sizes = np.bincount(own, minlength=n_centers)[:, None]
            self.centers[part] = np.where(
                sizes > 0, (members.T @ y) / np.maximum(sizes, 1), self.centers[part]
            )
        return codes

    def _decoded(self, codes: Ints) -> Floats32:
        return np.hstack([centers[codes[:, part]] for part, centers in enumerate(self.centers)])

    def stored(self, Z: Floats32) -> Floats32:
        """Rows as the database keeps them, decoded: a byte for each part."""
        return self._decoded(self._codes(self._padded(Z) @ self.rotation))

    def nearness(self, queries: Floats32, stored: Floats32) -> Callable[[Ints], Floats32]:
        """Minus half the squared distance of float queries to stored rows, less what a query adds to all."""
        asked, half = self._padded(queries) @ self.rotation, (stored**2).sum(axis=1) / 2
        return lambda wanted: asked[wanted] @ stored.T - half


# -- the classifier --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Classifier:
    """Logistic regression on standardized columns: softmax for classes, one model for each tag."""

    mean: Floats
    scale: Floats
    weights: Floats32  # (columns + 1, labels), the intercepts last
    is_tags: bool
    C: float

    @classmethod
    def fit(cls, X: Matrix, labels: Labels, C: float | None = None, seed: int = 0) -> Classifier:
        """Fit on rows of known label, a random part of them where columns times labels make it long.

        Parameters
        ----------
        X : matrix of shape (n, p)
        labels : Labels
        C : float, default=None
            Inverse strength of the penalty, as in scikit-learn; None takes the one with the smallest log loss
            on a tenth that is held out.
        seed : int, default=0
        """
        known = np.random.default_rng(seed).permutation(np.flatnonzero(labels.known))
        if C is None:
            C = _best_strength(X, labels, known[:CHOOSING_ROWS], seed)
        rows = np.sort(known[: max(FEWEST_ROWS, MOST_WORK // max(1, X.shape[1] * len(labels.names)))])
        Z, Y = X[rows], labels.indicator()[rows].toarray().astype(np.float32)
        if sp.issparse(Z):  # it would not stay sparse
            mean, spread = np.zeros(Z.shape[1]), np.asarray(np.sqrt(Z.power(2).mean(axis=0))).ravel()
        else:
            mean, spread = (np.asarray(of(Z, axis=0, dtype=np.float64)) for of in (np.mean, np.std))
        constant = spread <= 1e-6 * (np.abs(mean) + spread.max(initial=0))
        scale = np.where(constant, np.inf, spread)
        Z, n, shape = _standardized(Z, mean, scale), max(1, len(rows)), (len(mean) + 1, Y.shape[1])

        def loss(flat: Floats) -> tuple[float, Floats]:
            W = flat.reshape(shape).astype(np.float32)
            A = np.asarray(Z @ W[:-1]) + W[-1]
            if labels.is_tags:
                P, value = expit(A), (np.logaddexp(0, A) - A * Y).sum(dtype=np.float64)
            else:
                P = softmax(A, axis=1)
                value = -np.log(np.maximum((P * Y).sum(axis=1), FLOOR)).sum(dtype=np.float64)
            grad = np.vstack([np.asarray(Z.T @ (P - Y)), (P - Y).sum(axis=0)]).astype(np.float64) / n
            grad[:-1] += flat.reshape(shape)[:-1] / (C * n)
            return float(value / n + (flat.reshape(shape)[:-1] ** 2).sum() / (2 * C * n)), grad.ravel()

        found = minimize(
            loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
        )
        return cls(mean, scale, found.x.reshape(shape).astype(np.float32), labels.is_tags, C)

    def __call__(self, X: Matrix) -> Chances:
        """Probabilities (n, t) of all labels, in the order of their names."""
        A = np.asarray(_standardized(X, self.mean, self.scale) @ self.weights[:-1]) + self.weights[-1]
        return np.asarray(expit(A) if self.is_tags else softmax(A, axis=1), np.float32)


def _standardized(X: Matrix, mean: Floats, scale: Floats) -> Matrix:
    if sp.issparse(X):
        return sp.csr_array(X @ sp.diags_array(1 / scale), dtype=np.float32)
    return ((np.asarray(X, np.float64) - mean) / scale).astype(np.float32)


def _best_strength(X: Matrix, labels: Labels, rows: Ints, seed: int) -> float:
    """The C with the smallest log loss on the last tenth of these rows."""
    n_fit = len(rows) - max(1, len(rows) // 10)
    if n_fit < 2:
        return STRENGTHS[0]
    fit, held = np.sort(rows[:n_fit]), rows[n_fit:]
    losses = [
        log_losses(Classifier.fit(X[fit], labels[fit], C, seed)(X[held]), labels[held]).mean()
        for C in STRENGTHS
    ]
    return STRENGTHS[int(np.argmin(losses))]


def log_losses(chances: Array, labels: Labels) -> Floats:
    """Log loss of every row (n,): of its class, or summed over all tags."""
    p, Y = np.asarray(chances, np.float64), labels.indicator().toarray() > 0
    if not labels.is_tags:
        return -np.log(np.maximum((p * Y).sum(axis=1), FLOOR))
    return -np.log(np.maximum(np.where(Y, p, 1 - p), FLOOR)).sum(axis=1)


def out_of_fold(X: Matrix, labels: Labels, seed: int) -> Iterator[tuple[Ints, Chances]]:
    """Blocks of rows of known label, and their probabilities (k, t) by a classifier of the other folds."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(labels.known))
    at_once = max(1, min(TRIED_ROWS, MOST_CHANCES // max(1, len(labels.names))))
    C = _best_strength(X, labels, order[:CHOOSING_ROWS], seed)
    n_folds = min(N_FOLDS, len(order))
    fold = np.arange(len(order)) % max(1, n_folds)
    for k in range(n_folds):
        fit, judged = np.sort(order[fold != k]), order[fold == k]
        classifier = Classifier.fit(X[fit], labels[fit], C, seed)
        for part in block_slices(len(judged), at_once):
            yield judged[part], classifier(X[judged[part]])


def unseen_chances(X: Matrix, labels: Labels, rows: Ints, seed: int) -> Chances:
    """Probabilities (k, t) of these rows of known label, by classifiers that did not see them."""
    out = np.zeros((len(rows), len(labels.names)), np.float32)
    place = np.full(len(labels), -1)
    place[rows] = np.arange(len(rows))
    for judged, chances in out_of_fold(X, labels, seed):
        asked = place[judged] >= 0
        out[place[judged[asked]]] = chances[asked]
    return out


def shared_label(chances: Chances, database: Labels) -> ScoreRows:
    """Scores that rank rows by the probability of a shared label, tags taken as independent.

    A row with the tags T has ``1 - prod over T of (1 - p)``; minus the sum of the logs is in the same order.
    Rows without a label have 0.
    """
    indicator = sp.csr_array(database.indicator(), dtype=np.float32)
    evidence = chances if not database.is_tags else -np.log1p(-np.minimum(chances, np.float32(1 - FLOOR)))
    return lambda wanted: np.asarray(indicator @ evidence[wanted].T).T


def expected_jaccard(chances: Chances, database: Labels) -> ScoreRows:
    """Scores that rank rows with tags T by ``E|A ∩ T| / E|A ∪ T|``; the query's tags A are independent."""
    indicator = sp.csr_array(database.indicator(), dtype=np.float32)
    sizes = np.diff(indicator.indptr).astype(np.float32)

    def scores(wanted: Ints) -> Array:
        shared = np.asarray(indicator @ chances[wanted].T).T
        union = sizes + chances[wanted].sum(axis=1, keepdims=True) - shared
        return shared / np.maximum(union, FLOOR)

    return scores


def label_bytes(labels: Labels) -> int:
    """Bytes per item that hold its true labels: one per label of a row, two where there are more than 255."""
    each = 1 if len(labels.names) < 256 else 2
    carried = np.diff(labels.indicator()[np.flatnonzero(labels.known)].indptr)
    return each * max(1, math.ceil(carried.mean())) if len(carried) else each
