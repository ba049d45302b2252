"""From raw rows to the numbers a map multiplies: standardized columns, similarities to centers, or both.

Arithmetic is in float64 until the values have a sane size, then float32: huge and tiny columns survive,
and products run at float32 speed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._internal.blocks import block_slices, map_blocks
from .._internal.rows import Rows
from .._internal.types import Array, Floats, Floats32, Ints
from ..errors import InvalidInput
from ..models import SIMILARITY_BITS, Builder

__all__ = [
    "ColumnsAndRBF",
    "Preparation",
    "Similarities",
    "UnitRBF",
    "prepare_rows",
]


FAR = 1e15  # prepared values are cut here; their products still fit into float32
LARGEST, SUM_BITS = 128.0, 45  # a column ends at this many spreads; a sum with similarities has these bits


@dataclass(frozen=True)
class Preparation:
    """``(f(x) − mean) / scale`` per column, with f the row itself, its similarities to centers, or both."""

    mean: Floats
    scale: Floats
    rbf: Similarities | None = None
    spread: Floats | None = None  # of columns that keep their sizes

    def __call__(self, block: Floats) -> Floats32:
        """Prepared rows (k, q) float32 of raw rows (k, p), float64 or float32."""
        if not isinstance(block, np.ndarray):  # on a card; see `standardize`
            values = block if self.rbf is None else self.rbf(block)
            far_cut = np.clip((values - self.mean) * np.minimum(1 / self.scale, 1e300), -FAR, FAR)
            return far_cut.astype(np.float32)
        return self.standardized(block) if self.rbf is None else self.rbf.prepared(block, self)

    def standardized(self, values: Floats) -> Floats32:
        """``(values − mean) / scale``, values being rows, similarities, or both."""
        from .fit_kernels import standardize

        out = np.empty(values.shape, np.float32)
        standardize(values, self.mean, self.scale, FAR, out)
        return out

    def product(
        self, builder: Builder, weights: Floats32, constant: Floats32, units: int | Array | None = None
    ) -> tuple[int, Array]:
        """``z @ weights + constant`` of prepared rows z as steps of whole numbers, and its units."""
        if self.rbf is None:
            return builder.affine(self.mean, self.scale, weights, constant, units, self.spread)
        n, own = self.n_columns, np.asarray(weights, np.float64)
        folded = own[n:] / self.scale[n:, None]
        rest = constant - self.mean[n:] @ folded
        plus = None
        if n:
            columns = self.mean[:n], self.scale[:n]
            if units is None:  # one for both parts
                largest = LARGEST * np.abs(own[:n]).sum(axis=0) + np.abs(folded).sum(axis=0) + np.abs(rest)
                units = SUM_BITS - np.ceil(np.log2(np.where(largest > 0, largest, 1.0))).astype(np.int64)
            plus, units = builder.affine(*columns, own[:n], np.zeros(own.shape[1]), units)
        near = self.rbf.steps(builder)
        return builder.linear(near, SIMILARITY_BITS, folded, rest, units, plus)

    def into(self, out: Floats32, block: Floats) -> None:
        """The same, written to ``out`` (k, q)."""
        if self.rbf is not None:
            out[:] = self(block)
            return
        from .fit_kernels import standardize

        standardize(block, self.mean, self.scale, FAR, out)

    @property
    def n_columns(self) -> int:
        """How many columns of the row itself come before the similarities."""
        return len(self.mean) - (0 if self.rbf is None else len(self.rbf.centers))

    @cached_property
    def factor_and_origin(self) -> tuple[Floats32, Floats32]:
        """1 / scale and mean / scale of the similarities."""
        most, similarities = np.finfo(np.float32).max, slice(self.n_columns, None)
        factor = np.minimum(1 / self.scale[similarities], most)
        origin = np.clip(self.mean[similarities] * factor, -most, most)
        return factor.astype(np.float32), origin.astype(np.float32)

    @classmethod
    def first_guess(cls, block: Floats, rbf: Similarities | None, standardize: bool) -> Preparation:
        """Column means and spreads of some rows: near enough to keep float32 sums accurate."""
        if rbf is not None:
            block = rbf(block)
        mean, scale = column_statistics(block)
        if not standardize and float(np.abs(block).max(initial=0.0)) > FAR:
            raise InvalidInput(
                "X holds values too large to be used as they are",
                f"numbers below {FAR:.0e} in size with standardize=False",
                "Set standardize=True, or rescale the columns of X",
            )
        return cls(mean, scale if standardize else np.ones_like(scale), rbf)

    def least_variance(self, squares: Floats, standardize: bool) -> Floats | float:
        """Variance of prepared columns with these mean squares below which there is only rounding error.

        Divided by a guess of their deviation, columns have a variance near 1. As they come they may be of any
        size, and what their values and the sums of their squares lose to rounding decides.
        """
        if standardize:
            return 1e-10
        return np.maximum(1e-10 * squares, (1e-13 * self.mean / self.scale) ** 2)

    @property
    def n_features(self) -> int:
        """Columns of the raw rows."""
        return len(self.mean) if self.rbf is None else int(self.rbf.centers.shape[1])


@dataclass(frozen=True)
class Similarities(ABC):
    """Similarities of rows to ``centers`` (k, p), which are training rows: a stored model contains them."""

    centers: Array
    width: float

    @abstractmethod
    def __call__(self, block: Floats) -> Floats:
        """Similarities of raw rows (b, p), with their columns before them where these are kept."""

    @abstractmethod
    def steps(self, builder: Builder) -> int:
        """The place of the similarities among the steps of whole numbers."""

    def prepared(self, block: Floats, preparation: Preparation) -> Floats32:
        """The same, standardized."""
        return preparation.standardized(self(block))


@dataclass(frozen=True)
class UnitRBF(Similarities):
    """Similarities ``exp(−‖u − z‖² / (2 width²))`` of unit-length rows u to unit-length centers z (k, p).

    Rows are brought to unit length first (SDH's convention), so one width suits all data. With ``power=1``
    the distance is not squared (SCDH).
    """

    power: int = 2

    @classmethod
    def of(cls, centers: Floats, width: float, power: int = 2) -> UnitRBF:
        """Centers from raw rows."""
        return cls(_unit(centers), float(width), power)

    def __call__(self, block: Floats) -> Floats:
        """Similarities (k, centers) of raw rows (k, p)."""
        u = _unit(block)
        # A zero row stays zero and is at distance 1.
        away = _squares(u)[:, None] + _squares(self.centers) - 2 * (u @ self.centers.T)
        away = np.maximum(away, 0)
        if self.power == 1:
            away = np.sqrt(away)
        return np.exp(away / np.float32(-2 * self.width * self.width)).astype(np.float64)

    def steps(self, builder: Builder) -> int:
        return builder.unit_similarities(self.centers, self.width, self.power)

    def prepared(self, block: Floats, preparation: Preparation) -> Floats32:
        """The same, standardized: squared distances in one pass over the products."""
        if self.power != 2:
            return preparation.standardized(self(block))
        from .fit_kernels import prepare_similarities

        unit = _unit(block)
        z: Floats32 = unit @ self.centers.T
        slope, far = np.float32(1 / np.float32(-2 * self.width * self.width)), np.float32(FAR)
        squares = _squares(unit), _squares(self.centers)
        prepare_similarities(z, *squares, slope, *preparation.factor_and_origin, far)
        return z


@dataclass(frozen=True)
class ColumnsAndRBF(UnitRBF):
    """The columns of a row (k, p), and after them its similarities to the centers."""

    def __call__(self, block: Floats) -> Floats:
        return np.concatenate([block, super().__call__(block)], axis=1)

    def prepared(self, block: Floats, preparation: Preparation) -> Floats32:
        if self.power != 2:
            return preparation.standardized(self(block))
        columns = slice(preparation.n_columns)
        own = Preparation(preparation.mean[columns], preparation.scale[columns])
        return np.concatenate([own(block), super().prepared(block, preparation)], axis=1)


def column_statistics(block: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column; a constant column has the deviation 1."""
    peak = np.maximum(np.abs(block).max(axis=0, initial=0.0), 1e-300)
    with np.errstate(over="ignore"):
        unit = block / peak  # squares of 1e30 would still fit, squares of 1e200 would not
    mean, spread = unit.mean(axis=0), unit.std(axis=0)
    scale = np.where(spread > 1e-12, spread, 1.0) * np.where(spread > 1e-12, peak, 1.0)
    if not np.isfinite(scale).all():
        raise InvalidInput(
            "The values of X are too large to standardize",
            "numbers below about 1e150 in size",
            "Rescale the columns of X",
        )
    return mean * peak, scale


def _squares(rows: Floats32) -> Floats32:
    """Squared lengths, summed in float64: an error here would be common to all columns."""
    wide = rows.astype(np.float64)
    return (wide * wide).sum(axis=1).astype(np.float32)


def _unit(rows: Floats) -> Floats32:
    peak = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
    scaled = rows / peak
    length = np.sqrt((scaled * scaled).sum(axis=1, keepdims=True))
    return (scaled / np.where(length > 0, length, 1.0)).astype(np.float32)


def prepare_rows(
    rows: Rows,
    preparation: Preparation,
    chosen: Ints | None = None,
    n_jobs: int | None = None,
) -> Floats32:
    """Prepared rows (k, q) float32: all of them, or the chosen ones in their order."""
    n = len(rows) if chosen is None else len(chosen)
    out = np.empty((n, len(preparation.mean)), np.float32)
    parts = block_slices(n, rows.block_rows())

    read = rows.plain if preparation.rbf is None else rows.read

    def one(part: slice) -> None:
        preparation.into(out[part], read(part if chosen is None else chosen[part]))

    for _ in map_blocks(one, parts, n_jobs):
        pass
    return out
