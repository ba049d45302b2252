"""The rivals of `learner_figures`: bits, quantizers, other programs, a label byte, cosine of the floats.

Every function names its source. All keep the same number of bits for a row; what a program keeps beside its
codes (ids, factors) is said, and not counted. A model answers ``ask(X)`` (queries), ``kept(X)`` (database rows
by their features), ``learned(X, y)`` (rows that were fitted, with their labels; −1: none) and
``distances(queries, rows)``, whole numbers (q, n).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from .learner_scores import Array, levels, unit

__all__ = ["BLIND", "RIVALS", "UNKNOWN", "Bits", "as_labels"]

UNKNOWN = -1  # the class of a row without a label
PENALTIES = (1.0, 10.0, 100.0)  # C of the classifier
WEIGHTS = (
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    3.0,
    1e4,
)  # of the chance of the row's label beside the cosine; 1e4: it alone


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


class Program:
    """Principal components of unit rows, kept and searched by another program.

    ``build(vectors)`` returns a search: float queries (q, m) → scores (q, n), the highest first.
    """

    def __init__(self, mean: Array, axes: Array, build: Callable[[Array], Callable[[Array], Array]]) -> None:
        self.mean, self.axes, self.build = mean, axes, build

    def ask(self, X: Array) -> Array:
        return unit(unit(X - self.mean) @ self.axes)

    def kept(self, X: Array) -> Callable[[Array], Array]:
        return self.build(self.ask(X))

    def learned(self, X: Array, y: Array) -> Callable[[Array], Array]:
        return self.kept(X)

    def mixed(self, learned: Any, mapped: Any, swapped: Array) -> Any:
        return learned

    def distances(self, queries: Array, rows: Callable[[Array], Array]) -> Array:
        return levels(rows(queries))


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


# ---- without labels, since 2024 ----------------------------------------------------------------


def median_bits(X: Array, y: Array | None, n_bits: int, seed: int) -> Bits:
    """The columns that vary most, each cut at its median: what people do to embeddings in a hurry.

    With fewer columns than bits, bits are left over.
    """
    chosen = np.argsort(-X.var(axis=0), kind="stable")[:n_bits]
    cuts = np.median(X[:, chosen], axis=0)
    return Bits(lambda X: X[:, chosen] > cuts)


def sign_bits(X: Array, y: Array | None, n_bits: int, seed: int) -> Bits:
    """Signs of the first columns as they come: what embedders trained for bits (wordllama) ask for."""
    return Bits(lambda X: X[:, :n_bits] > 0)


def ike(X: Array, y: Array | None, n_bits: int, seed: int) -> list[tuple[str, Floats]]:
    """Isolation kernel embedding (arXiv 2601.09159): which of ψ drawn rows is nearest, many times over.

    A cell takes log2 ψ bits; the score of two rows is the number of cells that they share. Nothing is
    learned. ψ is not fixed by what could be read: 2 (a bit) and 16.
    """
    mean, found = X.mean(axis=0), []
    rows = unit(X - mean)
    for n_cells in (2, 16):
        rng, n_draws = np.random.default_rng(seed), n_bits // int(np.log2(n_cells))
        drawn = np.stack([rng.choice(len(rows), n_cells, replace=False) for _ in range(n_draws)])
        centers = rows[drawn.ravel()]

        def cells(rows: Array, centers: Array = centers, n_cells: int = n_cells) -> Array:
            near = (rows @ centers.T).reshape(len(rows), -1, n_cells)
            return (near == near.max(axis=2, keepdims=True)).reshape(len(rows), -1).astype(np.float32)

        found.append((f" psi={n_cells}", Floats(mean, cells, lambda cells: cells, inner=True)))
    return found


def ash(X: Array, y: Array | None, n_bits: int, seed: int, rounds: int = 20) -> list[tuple[str, Floats]]:
    """Asymmetric scalar hashing (arXiv 2606.07870; Elasticsearch), one or two bits a direction.

    Principal directions and a rotation that takes turns with the quantizer (orthogonal Procrustes). A row is
    kept as the code at length one; queries are floats. Elasticsearch stores a scale and an offset for each
    row. Around the one mean and at unit length the scale follows from the code and the offset is the same
    for all rows, so neither takes bytes here.
    """
    mean, found = X.mean(axis=0), []
    rows = unit(X - mean)
    for n_levels, code in ((1, np.sign), (2, _two_bits)):
        rng, axes = np.random.default_rng(seed), _axes(rows, n_bits // n_levels)
        projected, size = rows @ axes, axes.shape[1]
        R = np.linalg.qr(rng.standard_normal((size, size)))[0].astype(np.float32)
        for _ in range(rounds):
            u, _, v = np.linalg.svd(projected.T @ unit(code(projected @ R)))
            R = u @ v
        directions = axes @ R

        def vectors(rows: Array, directions: Array = directions) -> Array:
            return np.asarray(rows @ directions, np.float32)

        def stored(vectors: Array, code: Callable[[Array], Array] = code) -> Array:
            return unit(code(vectors))

        found.append((f" bits={n_levels}", Floats(mean, vectors, stored, inner=True)))
    return found


def _two_bits(vectors: Array) -> Array:
    """±1/2 and ±3/2 (n, m), the direction that is nearest to each row: its largest entries are ±3/2."""
    sizes = -np.sort(-np.abs(vectors), axis=1)
    count = np.arange(sizes.shape[1] + 1)
    more = np.pad(np.cumsum(sizes, axis=1), ((0, 0), (1, 0)))
    cosine = (sizes.sum(axis=1, keepdims=True) / 2 + more) / np.sqrt(sizes.shape[1] / 4 + 2 * count)
    best = cosine.argmax(axis=1)
    least = np.take_along_axis(np.pad(sizes, ((0, 0), (1, 0)), constant_values=np.inf), best[:, None], axis=1)
    return np.asarray(np.where(vectors < 0, -1, 1) * np.where(np.abs(vectors) >= least, 1.5, 0.5), np.float32)


def additive(kind: str) -> Callable[..., Floats]:
    """Additive quantizers by FAISS: a sum of codewords, one byte each, float queries.

    "rq": residual (RQ8x8 at 8 bytes); "lsq": local search (LSQ8x8, Martinez et al., ECCV 2018); "prq":
    residual in two halves of the columns (PRQ2x4x8).
    """

    def learn(X: Array, y: Array | None, n_bits: int, seed: int) -> Floats:
        from .baselines.quantized import faiss_or_refuse

        faiss = faiss_or_refuse()
        mean, n_bytes = X.mean(axis=0), n_bits // 8
        rows = unit(X - mean)
        width = rows.shape[1] + (rows.shape[1] % 2 if kind == "prq" else 0)

        def padded(rows: Array) -> Array:
            return np.ascontiguousarray(np.pad(rows, ((0, 0), (0, width - rows.shape[1]))))

        if kind == "lsq":
            quantizer = faiss.LocalSearchQuantizer(width, n_bytes, 8)
            quantizer.random_seed, parts = seed + 1, []
        elif kind == "rq":
            quantizer = faiss.ResidualQuantizer(width, n_bytes, 8)
            parts = [quantizer]
        else:
            quantizer = faiss.ProductResidualQuantizer(width, 2, n_bytes // 2, 8)
            parts = [faiss.downcast_AdditiveQuantizer(quantizer.subquantizer(i)) for i in range(2)]
        for part in parts:
            part.cp.seed, part.cp.min_points_per_centroid = seed + 1, 1
        quantizer.train(padded(rows))

        def stored(vectors: Array) -> Array:
            return np.asarray(quantizer.decode(quantizer.compute_codes(vectors)))

        return Floats(mean, padded, stored)

    return learn


def rabitqlib(X: Array, y: Array | None, n_bits: int, seed: int) -> Program:
    """RaBitQ by its authors' library, one sign a component; the library takes multiples of 64.

    Its factors and id, 16 bytes a row, are not counted. It draws its rotation from no seed.
    """
    import rabitqlib

    def padded(vectors: Array) -> Array:
        return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, n_bits - vectors.shape[1]))))

    def build(vectors: Array) -> Callable[[Array], Array]:
        n = len(vectors)
        index = rabitqlib.IvfIndex(n_bits, n, 1, 1, metric="ip")
        index.build(padded(vectors), np.zeros((1, n_bits), np.float32), np.zeros(n, np.uint32))

        def scores(queries: Array) -> Array:
            ids, distances = index.search(padded(queries), n, 1, high_accuracy=True)
            return _by_row(ids, -distances)

        return scores

    return _program(X, n_bits, build)


def turbovec(X: Array, y: Array | None, n_bits: int, seed: int) -> Program:
    """TurboQuant by turbovec, calibrated, two bits a component. Its norm of each row is not counted."""
    from turbovec import TurboQuantIndex

    def build(vectors: Array) -> Callable[[Array], Array]:
        index = TurboQuantIndex(dim=vectors.shape[1], bit_width=2)
        index.calibrate(vectors[:1_024])
        index.add(vectors)

        def scores(queries: Array) -> Array:
            found, ids = index.search(np.ascontiguousarray(queries), len(vectors))
            return _by_row(ids, found)

        return scores

    return _program(X, n_bits // 2, build)


def qdrant(X: Array, y: Array | None, n_bits: int, seed: int) -> Program:
    """TurboQuant by Qdrant Edge, two bits a component, no second look at the floats."""
    import qdrant_edge as q

    def build(vectors: Array) -> Callable[[Array], Array]:
        folder = tempfile.TemporaryDirectory()
        kept = q.TurboQuantQuantizationConfig(bits=q.TurboQuantBitSize.Bits2)
        columns = q.EdgeVectorParams(vectors.shape[1], q.Distance.Dot, quantization_config=kept)
        shard = q.EdgeShard.create(folder.name, q.EdgeConfig(vectors=columns, wal_enabled=False))
        points = [q.Point(i, row.tolist(), {}) for i, row in enumerate(vectors)]
        shard.update(q.UpdateOperation.upsert_points(points))
        only = q.QuantizationSearchParams(ignore=False, rescore=False)

        def scores(queries: Array, folder: Any = folder) -> Array:
            found = np.empty((len(queries), len(vectors)), np.float32)
            for i, row in enumerate(queries):
                how = q.SearchParams(exact=False, quantization=only)
                request = q.SearchRequest(q.Query.Nearest(row.tolist()), len(vectors), params=how)
                for hit in shard.search(request):
                    found[i, hit.id] = hit.score
            return found

        return scores

    return _program(X, n_bits // 2, build)


def _axes(rows: Array, most: int) -> Array:
    """Principal directions (p, m ≤ most) of rows, the largest entry of each positive."""
    axes = np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :most]
    peaks = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    return np.asarray(axes * np.sign(peaks), np.float32)


def _program(X: Array, n_columns: int, build: Callable[[Array], Callable[[Array], Array]]) -> Program:
    mean = X.mean(axis=0)
    return Program(mean, _axes(unit(X - mean), n_columns), build)


def _by_row(ids: Array, scores: Array) -> Array:
    """Scores (q, n) in the order of rows, of results (q, n) in the order of scores."""
    found = np.empty_like(scores)
    np.put_along_axis(found, ids.astype(np.int64), scores, axis=1)
    return found


# ---- with labels -------------------------------------------------------------------------------


def hasher(name: str) -> Callable[..., Bits]:
    """A method of `BASELINES`, with its own constants.

    Fitted rows, which protocols put first, keep their learned codes where the method has such codes.
    """

    def learn(X: Array, y: Array | None, n_bits: int, seed: int) -> Bits:
        from .baselines import BASELINES

        fitted = BASELINES[name](n_bits, random_state=seed).fit(X, as_labels(y))
        own = np.unpackbits(np.asarray(fitted.codes_), axis=1)[:, :n_bits].astype(bool)

        def encode(X: Array) -> Array:
            return np.unpackbits(np.asarray(fitted.encode(X)), axis=1)[:, :n_bits].astype(bool)

        def learned(X: Array, y: Array) -> Array:
            return np.vstack([own, encode(X[len(own) :])]) if len(X) >= len(own) else encode(X)

        return Bits(encode, learned, lambda X: np.tanh(fitted.decision_function(X)))

    return learn


def as_labels(y: Array | None) -> Any:
    """Labels as people pass them: None for a row without one."""
    if y is None or y.ndim == 2 or (y != UNKNOWN).all():
        return y
    return np.array([None if label == UNKNOWN else int(label) for label in y], object)


HASHERS = ("SDH", "COSDISH", "SCDH", "FSSH", "CSQ", "OrthoHash", "HashNet", "CRH", "CroVCA")
RIVALS: dict[str, Callable[..., Any]] = {
    "itq": itq,
    "opq": opq,
    "rabitq": rabitq,
    "labelbyte": label_byte,
    "cosine": cosine,
    "median": median_bits,
    "signs": sign_bits,
    "ike": ike,
    "ash": ash,
    "rq": additive("rq"),
    "lsq": additive("lsq"),
    "prq": additive("prq"),
    "rabitqlib": rabitqlib,
    "turbovec": turbovec,
    "qdrant": qdrant,
    **{name: hasher(name) for name in HASHERS},
}
BLIND = tuple(name for name in RIVALS if name not in ("labelbyte", *HASHERS))  # read no labels
