"""Reduce many columns to fewer during a fit, and fold the reduction into the final map.

Encoders form matrices of columns × columns, which tens of thousands of columns (words, bags of features) do
not allow. So a fit on more than `WIDE` columns works on `MOST` combinations of them at most: the range of
the centered rows, found from some of them by a step of the power method. Combinations are orthonormal,
and keep their sizes, so that a penalty means the same for them as for the columns.

What is learned is linear in the combinations, hence in the columns: `Map.widened` gives the same map for raw
rows. So model files and their arithmetic know nothing of this.

scikit-learn's ``randomized_range_finder`` takes a whole matrix: sparse rows would have to be centered first,
which makes them dense, and its products do not go by fixed blocks over threads.

Halko, Martinsson, Tropp. Finding structure with randomness. SIAM Review 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices, map_blocks, require_memory
from .._internal.rows import Rows
from .._internal.types import Array, Floats, Floats32, Ints
from ..supervision import Training
from .feature_transform import Preparation, column_statistics

__all__ = ["WIDE", "NarrowRows", "narrowed"]

WIDE = 4096  # more columns than this are narrowed; it costs .01 to .02 mAP (Bibtex with pairs of words)
MOST, FEWEST = 2048, 128  # combinations
WORK = 25_000_000_000  # columns × combinations², which says how long narrowing takes
MOST_ROWS = 20_000  # rows sampled to find the range of X,
MOST_NUMBERS = 100_000_000  # and of dense ones of no more numbers than this
RAREST = 1e-3  # share of the usual deviation that sparse columns are taken to have at least
STRIPE = 4096  # columns, or sparse rows, that a thread takes at once


class NarrowRows(Rows):
    """Rows as ``((x − mean) / scale) basis``, computed when they are read; ``basis`` is (p, q)."""

    kept_sizes = True

    def __init__(self, wide: Rows, mean: Floats, scale: Floats, basis: Floats32) -> None:
        self.wide, self.mean, self.scale, self.basis = wide, mean, scale, basis
        self.X = wide.X
        self.shape = (len(wide), basis.shape[1])
        self._scaled = (basis / scale[:, None]).astype(np.float32) if sp.issparse(wide.X) else basis
        self._origin = (mean / scale) @ basis

    def read(self, rows: slice | Array) -> Floats:
        block = self.wide.X[rows]
        if sp.issparse(block):
            return np.asarray(block.astype(np.float32) @ self._scaled, np.float64) - self._origin
        return np.asarray(self.preparation(_floats(block)) @ self.basis, np.float64)

    def plain(self, rows: slice | Array) -> Array:
        return self.read(rows)

    @property
    def preparation(self) -> Preparation:
        """How raw rows are prepared before they are combined."""
        return Preparation(self.mean, self.scale)

    def folded(self, weights: Floats32, intercept: Floats32, inner: Preparation) -> tuple[Floats32, Floats32]:
        """Weights (p, k) and intercept for raw columns, from those for narrow rows prepared by ``inner``."""
        require_memory(
            12 * len(self.basis) * weights.shape[1],
            f"A map of {len(self.basis):,} columns to {weights.shape[1]:,} scores",
            "Reduce the columns first, for example with sklearn.decomposition.TruncatedSVD",
        )
        own = weights / inner.scale[:, None]
        constant = intercept - inner.mean @ own
        return self.basis @ own.astype(np.float32), constant.astype(np.float32)

    def mostly_zero(self) -> bool:
        """True: like words and tags, combinations of many columns are used as they are, without centers."""
        return True

    def block_rows(self) -> int:
        return 1024 if sp.issparse(self.X) else self.wide.block_rows()


def narrowed(training: Training) -> Training:
    """The same training on fewer columns, if there are more than `WIDE`.

    Memory: four arrays of p × q float32 (q = 2,048 for up to 6,000 columns, 700 for 50,000, 128 for
    1,500,000 and more), and of dense
    rows a copy of at most 100 million numbers.
    """
    rows = training.rows
    p = rows.shape[1]
    sparse = sp.issparse(rows.X)
    most = MOST_ROWS if sparse else min(MOST_ROWS, max(MOST, MOST_NUMBERS // p))
    some = training.some_known_rows(training.rng, most)
    q = min(int(np.clip(np.sqrt(WORK / p), FEWEST, MOST)), len(some))
    require_memory(
        16 * p * q + (0 if sparse else 8 * len(some) * p),
        f"Narrowing {p:,} columns to {q:,}",
        "Reduce the columns first, for example with sklearn.decomposition.TruncatedSVD",
    )
    with training.stages("narrowing"):
        centered = _Sparse(rows, some) if sparse else _Dense(rows, some)
        n_jobs = training.n_jobs
        basis = _orthonormal(
            centered.columns(np.sort(training.rng.choice(len(some), q, replace=False))), n_jobs
        )
        basis = _orthonormal(centered.back(centered.forth(basis, n_jobs), n_jobs), n_jobs)
        narrow = NarrowRows(rows, centered.mean, centered.scale, basis)
    return replace(training, rows=narrow)


@dataclass(frozen=True)
class _Dense:
    """Centered and standardized rows Z in memory."""

    mean: Floats
    scale: Floats
    Z: Floats32

    def __init__(self, rows: Rows, some: Ints) -> None:
        guess = rows.read(some[np.unique(np.linspace(0, len(some) - 1, 1024).astype(np.int64))])
        mean, scale = column_statistics(guess)
        first, Z = Preparation(mean, scale), np.empty((len(some), rows.shape[1]), np.float32)
        for part in block_slices(len(some), rows.block_rows()):
            Z[part] = first(_floats(rows.X[some[part]]))
        shift = Z.mean(axis=0, dtype=np.float64)
        spread = np.sqrt(np.maximum(np.einsum("ij,ij->j", Z, Z, dtype=np.float64) / len(Z) - shift**2, 0.0))
        ratio = np.where(spread > 1e-5, spread, 1.0)
        Z -= shift.astype(np.float32)
        Z *= np.where(spread > 1e-5, 1 / ratio, 0.0).astype(np.float32)
        object.__setattr__(self, "mean", mean + scale * shift)
        object.__setattr__(self, "scale", scale * ratio)
        object.__setattr__(self, "Z", Z)

    def columns(self, rows: Ints) -> Floats32:
        """Those rows of Z as columns (p, q)."""
        return np.ascontiguousarray(self.Z[rows].T)

    def back(self, values: Floats32, n_jobs: int | None) -> Floats32:
        """``Zᵀ values`` (p, q)."""
        return _stacked(lambda part: self.Z[:, part].T @ values, self.Z.shape[1], n_jobs)

    def forth(self, values: Floats32, n_jobs: int | None) -> Floats32:
        """``Z values`` (n, q)."""
        return _stacked(lambda part: self.Z[part] @ values, len(self.Z), n_jobs)


@dataclass(frozen=True)
class _Sparse:
    """Centered rows Z, never formed.

    Columns are brought half way to one size: of tens of thousands, standardized ones that occur once would
    be all there is (TF-IDF, 50,000 columns: mAP .43, half way .90), and as they come rare ones say too
    little.
    """

    mean: Floats
    scale: Floats
    X: sp.csr_array
    across: sp.csr_array
    origin: Floats32

    def __init__(self, rows: Rows, some: Ints) -> None:
        X = sp.csr_array(rows.X[some], dtype=np.float32)
        mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / len(some)
        squares = np.bincount(X.indices, X.data.astype(np.float64) ** 2, X.shape[1]) / len(some)
        variance = np.maximum(squares - mean**2, 0.0)
        usual = np.sqrt(max(float(variance.mean()), 1e-300))
        own = np.maximum(np.sqrt(variance), RAREST * usual)
        scale = np.sqrt(own * usual)
        X.data /= scale.astype(np.float32)[X.indices]
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "across", sp.csr_array(X.T))
        object.__setattr__(self, "origin", (mean / scale).astype(np.float32))

    def back(self, values: Floats32, n_jobs: int | None) -> Floats32:
        """``Zᵀ values`` (p, q)."""
        sums = values.sum(axis=0, dtype=np.float64).astype(np.float32)

        def one(part: slice) -> Floats32:
            return self.across[part] @ values - self.origin[part, None] * sums

        return _stacked(one, self.across.shape[0], n_jobs)

    def columns(self, rows: Ints) -> Floats32:
        """Those rows of Z as columns (p, q)."""
        return self.X[rows].toarray().T - self.origin[:, None]

    def forth(self, values: Floats32, n_jobs: int | None) -> Floats32:
        """``Z values`` (n, q)."""
        middle = self.origin @ values
        return _stacked(lambda part: self.X[part] @ values - middle, self.X.shape[0], n_jobs)


def _floats(block: Array) -> Array:
    """Dense rows in a dtype that can be prepared."""
    dtype = block.dtype if block.dtype in (np.float32, np.float64) else np.float64
    return np.ascontiguousarray(block, dtype)


def _stacked(one: Callable[[slice], Array], n: int, n_jobs: int | None) -> Floats32:
    """The parts of a product, by several threads."""
    found = list(map_blocks(one, block_slices(n, STRIPE), n_jobs))
    return np.concatenate(found).astype(np.float32, copy=False)


def _orthonormal(columns: Floats32, n_jobs: int | None) -> Floats32:
    """An orthonormal basis of the columns' span, by the eigenvectors of their Gram matrix.

    Products are in float32; directions that it cannot tell from nothing are left out.
    """

    def own(part: slice) -> Floats32:
        return columns[part].T @ columns[part]

    gram = np.zeros((columns.shape[1],) * 2)
    for part in map_blocks(own, block_slices(len(columns), STRIPE), n_jobs):
        gram += part
    values, vectors = np.linalg.eigh(gram)
    keep = values > 1e-6 * max(values[-1], 1e-300)
    turn = (vectors[:, keep] / np.sqrt(values[keep])).astype(np.float32)
    return _stacked(lambda part: columns[part] @ turn, len(columns), n_jobs)
