"""How rows become numbers for the learner: centered and scaled columns, batch by batch, and their looks.

A column that says nothing, or whose spread is smaller than the error of its own numbers, is left out: scaled
to the size of the others it would be noise. More than `WIDE` columns are first combined into fewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import require_memory
from .._internal.numerics import fit_rotation
from .._internal.rows import Rows
from .._internal.types import Floats, Floats32, Ints, Rng

__all__ = ["Columns", "directions_of_itq", "prepare_columns", "unit_rows"]

SAMPLE, SAMPLE_NUMBERS = (
    20_000,
    40_000_000,
)  # rows, and numbers in them, that means and spreads are taken from
START_ROWS, ROUNDS = 6_000, 20  # rows and rounds of ITQ, where the map starts
RESOLUTION = float(
    np.finfo(np.float32).eps
)  # of most embeddings: smaller shares of a row are rounding errors
LEAST_DIGITS = 4.0  # a column's spread in units of the last place of its mean: below it is rounding
LOUDEST = 4.0  # a prepared column's spread beside the usual one's, at most
CANCELED = (
    1e-7  # spreads of combined columns are differences of squares: below this share of the mean, rounding
)
WIDE = 4096  # more columns than this are combined into fewer
COMBINED = 1024  # combinations that they become
RAREST = 1e-3  # share of the usual spread that a sparse column is taken to have at least


@dataclass(frozen=True)
class Columns:
    """How a row is prepared: ``z = ((x − mean) · inverse) @ basis``; ``inverse`` is 0 where a column is left out.

    ``basis`` (p, q) combines many columns into few and is None for all others. ``dead`` counts the columns
    that were left out.
    """

    mean: Floats
    inverse: Floats
    basis: Floats32 | None = None
    dead: int = 0

    @property
    def width(self) -> int:
        """Number of columns that the learner sees."""
        return len(self.mean) if self.basis is None else self.basis.shape[1]

    def __call__(self, rows: Rows, some: Ints | slice) -> Floats32:
        """Prepared rows (k, q)."""
        if self.basis is None:
            return ((rows.plain(some) - self.mean) * self.inverse).astype(np.float32)
        if sp.issparse(rows.X):
            scaled, shift = self._combined
            return np.asarray(rows.X[some].astype(np.float32) @ scaled - shift, np.float32)
        return ((rows.plain(some) - self.mean) * self.inverse).astype(np.float32) @ self.basis

    @cached_property
    def _combined(self) -> tuple[Floats32, Floats]:
        """What sparse rows are multiplied by, and what is taken off then; kept from block to block."""
        assert self.basis is not None
        scaled: Floats32 = self.basis * self.inverse[:, None].astype(np.float32)
        return scaled, (self.mean * self.inverse) @ self.basis

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_combined"}

    def centered(self, z: Floats32) -> Floats32:
        """Prepared rows with columns of their own sizes beside each other, as looks are measured in."""
        return z if self.basis is not None else z * self.sizes

    @property
    def sizes(self) -> Floats32:
        """What a prepared column is multiplied by to have its own size, in units of the largest one.

        0 for columns that are left out.
        """
        if self.basis is not None:
            return np.ones(self.width, np.float32)
        live = self.inverse > 0
        least = self.inverse[live].min(initial=np.inf)
        return np.where(live, least / np.where(live, self.inverse, 1.0), 0.0).astype(np.float32)


def prepare_columns(rows: Rows, rng: Rng, counted: Ints | None = None) -> Columns:
    """Means and spreads of columns, from at most 20,000 rows.

    Columns are brought half way to one size: what varies more says more, as among principal components, but
    no column says more than four times as much as the usual one. Looks are the cosines of rows whose columns have
    their own sizes: standardize columns of different units, or pass ``looks_from``.
    A column is left out if its spread is less than 4 units in the last place of its mean, as of a constant
    that was computed, or less than float32 can tell in a number as long as a row. ``counted`` are the rows
    that may be looked at. Memory: that sample as float64, and four arrays of p × 1,024 float32 if there are more
    than 4,096 columns.
    """
    n, p = rows.shape
    counted = np.arange(n) if counted is None else counted
    if p > WIDE:
        return _combine(rows, counted, rng)
    most = max(256, min(SAMPLE, SAMPLE_NUMBERS // p))
    some = counted if len(counted) <= most else np.sort(rng.choice(counted, most, replace=False))
    block = rows.read(some)
    peak = np.abs(block).max(axis=0, initial=0.0)
    unit = np.where(peak > 0, peak, 1.0)
    block /= unit  # so that squares neither overflow nor vanish
    mean = block.mean(axis=0)
    spread = np.sqrt(((block - mean) ** 2).mean(axis=0))
    kind = rows.X.dtype
    last_place = np.finfo(kind).eps if kind.kind == "f" else np.finfo(np.float64).eps
    with np.errstate(over="ignore"):
        mean, spread = mean * unit, spread * unit
        size = spread.max(initial=0.0) or 1.0
        length = size * np.sqrt(((spread / size) ** 2).sum())
    live = (spread > LEAST_DIGITS * last_place * np.abs(mean)) & (spread > RESOLUTION * length)
    usual = float(np.median(spread[live])) if live.any() else 1.0
    with np.errstate(divide="ignore", over="ignore"):
        voice = np.clip(np.sqrt(np.where(live, spread, usual) / usual), 1 / LOUDEST, LOUDEST)
    inverse = np.where(live, voice / np.where(live, spread, 1.0), 0.0)
    return Columns(mean, np.minimum(inverse, 1e300), None, int((~live).sum()))


def _combine(rows: Rows, counted: Ints, rng: Rng) -> Columns:
    """Orthonormal combinations of many columns that span most of the rows: a step of the power method.

    Sparse columns are brought half way to one size: of tens of thousands, standardized ones that occur once
    would be all there is, and as they come rare ones say too little.

    Halko, Martinsson, Tropp. Finding structure with randomness. SIAM Review 2011.
    """
    p = rows.shape[1]
    most = min(len(counted), SAMPLE if sp.issparse(rows.X) else max(2 * COMBINED, 2 * SAMPLE_NUMBERS // p))
    some = np.sort(rng.choice(counted, most, replace=False))
    q = min(COMBINED, most, max(128, 4_000_000_000 // p // 8))
    require_memory(
        16 * p * q,
        f"Combining {p:,} columns into {q:,}",
        "Reduce the columns first, for example with sklearn.decomposition.TruncatedSVD",
    )
    X: Any = sp.csr_array(rows.X[some], dtype=np.float64) if sp.issparse(rows.X) else rows.read(some)
    mean = np.asarray(X.mean(axis=0)).ravel()
    squares = np.asarray((X.multiply(X) if sp.issparse(X) else X * X).mean(axis=0)).ravel()
    spread = np.sqrt(np.maximum(squares - mean**2, 0.0))
    spread[spread <= CANCELED * np.abs(mean)] = 0.0
    usual = float(np.sqrt((spread**2).mean())) or 1.0
    scale = np.sqrt(np.maximum(spread, RAREST * usual) * usual) if sp.issparse(X) else spread
    inverse = np.where(spread > 0, 1 / np.where(scale > 0, scale, 1.0), 0.0)
    X = X.multiply(inverse).tocsr() if sp.issparse(X) else X * inverse
    X = X.astype(np.float32)
    origin = (mean * inverse).astype(np.float32)

    def forth(V: Floats32) -> Floats32:
        return np.asarray(X @ V - origin @ V)

    def back(F: Floats32) -> Floats32:
        return np.asarray(X.T @ F - origin[:, None] * F.sum(axis=0))

    picked = X[np.sort(rng.choice(most, q, replace=False))]
    start = (picked.toarray() if sp.issparse(picked) else picked) - origin
    dead, basis = int((inverse == 0).sum()), _orthonormal(np.ascontiguousarray(start.T))
    if not basis.shape[1]:  # all rows are the same
        return Columns(mean, inverse, np.zeros((p, 1), np.float32), dead)
    return Columns(mean, inverse, _orthonormal(back(forth(basis))), dead)


def _orthonormal(columns: Floats32) -> Floats32:
    """An orthonormal basis of the span, without directions that float32 cannot tell from nothing."""
    values, vectors = np.linalg.eigh((columns.T @ columns).astype(np.float64))
    keep = values > 1e-6 * max(values[-1], 1e-300)
    return columns @ (vectors[:, keep] / np.sqrt(values[keep])).astype(np.float32)


def unit_rows(block: Floats32) -> Floats32:
    """Rows divided by their lengths; rows of zeros stay zero."""
    peak = np.abs(block).max(axis=1, keepdims=True, initial=0.0)
    scaled = block / np.where(peak > 0, peak, 1.0)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(length > 0, length, 1.0), np.float32)


def directions_of_itq(z: Floats32, sizes: Floats32, n_bits: int, rng: Rng) -> Floats32:
    """Weights (q, d) of prepared rows whose signs are the bits of ITQ, with scores of spread one.

    Beyond the rank of the rows, bits are random mixtures of the others.

    Gong, Lazebnik. Iterative quantization: a procrustean approach to learning binary codes. CVPR 2011.
    """
    unit = unit_rows(z * sizes)
    rank = min(n_bits, *unit.shape)
    values, vectors = np.linalg.eigh((unit.T @ unit).astype(np.float64))
    keep = values[::-1][:rank] > 1e-9 * max(values[-1], 1e-300)
    top = vectors[:, ::-1][:, :rank][:, keep].astype(np.float32)
    if not top.shape[1]:
        return rng.standard_normal((z.shape[1], n_bits)).astype(np.float32)
    along = unit @ top
    weights = top @ fit_rotation(along, min(n_bits, top.shape[1]), rng, ROUNDS).astype(np.float32)
    if weights.shape[1] < n_bits:
        more = rng.standard_normal((weights.shape[1], n_bits - weights.shape[1])).astype(np.float32)
        weights = np.hstack([weights, weights @ more])
    weights = weights * sizes[:, None]
    spread = (z @ weights).std(axis=0)
    return np.asarray(weights / np.where(spread > 0, spread, 1.0), np.float32)
