"""From raw rows to the numbers a map multiplies: standardised columns, similarities to centres, or both.

Arithmetic is in float64 until the values have a sane size, then float32: huge and tiny columns survive,
and products run at float32 speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._forms import NUMBER, POSITIVE, Form, Forms
from .._types import Array, Floats, Floats32
from ..errors import InvalidInput
from ..models import Builder
from ..models.step import SIMILARITY_BITS
from .gaussian import Gaussian

__all__ = ["ColumnsAndRBF", "Preparation", "UnitRBF"]

FAR = 1e15  # prepared values are cut here; their products still fit into float32
LARGEST, SUM_BITS = 128.0, 45  # a column ends at this many spreads; a sum with similarities has these bits
WIDTH = NUMBER._replace(low=POSITIVE)


@dataclass(frozen=True)
class Preparation:
    """``(f(x) − mean) / scale`` per column, with f the row itself, its similarities to centres, or both."""

    mean: Floats
    scale: Floats
    rbf: UnitRBF | Gaussian | None = None
    spread: Floats | None = None  # of columns that keep their sizes

    def __call__(self, block: Floats) -> Floats32:
        """Prepared rows (k, q) float32 of raw rows (k, p), float64 or float32."""
        if isinstance(self.rbf, UnitRBF) and self.rbf.power == 2 and isinstance(block, np.ndarray):
            return self._fast_similarities(block, self.rbf)
        return self._standardised(block if self.rbf is None else self.rbf(block))

    def product(
        self, builder: Builder, weights: Floats32, constant: Floats32, units: Any = None
    ) -> tuple[int, Array]:
        """``z @ weights + constant`` of prepared rows z as steps of whole numbers, and its units."""
        if self.rbf is None:
            return builder.affine(self.mean, self.scale, weights, constant, units, self.spread)
        n, own = self._n_columns, np.asarray(weights, np.float64)
        folded = own[n:] / self.scale[n:, None]
        rest = constant - self.mean[n:] @ folded
        plus = None
        if n:
            columns = self.mean[:n], self.scale[:n]
            if units is None:  # one for both parts
                largest = LARGEST * np.abs(own[:n]).sum(axis=0) + np.abs(folded).sum(axis=0) + np.abs(rest)
                units = SUM_BITS - np.ceil(np.log2(np.where(largest > 0, largest, 1.0))).astype(np.int64)
            plus, units = builder.affine(*columns, own[:n], np.zeros(own.shape[1]), units)
        if isinstance(self.rbf, Gaussian):
            near = builder.raw_similarities(self.rbf.centers, self.rbf.width)
        else:
            near = builder.unit_similarities(self.rbf.centers, self.rbf.width, self.rbf.power)
        return builder.linear(near, SIMILARITY_BITS, folded, rest, units, plus)

    def into(self, out: Floats32, block: Floats) -> None:
        """The same, written to ``out`` (k, q)."""
        if self.rbf is not None:
            out[:] = self(block)
            return
        from .standardise import standardise

        standardise(block, self.mean, self.scale, FAR, out)

    @property
    def _n_columns(self) -> int:
        """How many columns of the row itself come before the similarities."""
        return len(self.mean) - (0 if self.rbf is None else len(self.rbf.centers))

    def _standardised(self, block: Floats) -> Floats32:
        if not isinstance(block, np.ndarray):  # on a card; see `standardise`
            far_cut = np.clip((block - self.mean) * np.minimum(1 / self.scale, 1e300), -FAR, FAR)
            on_card: Floats32 = far_cut.astype(np.float32)
            return on_card
        from .standardise import standardise

        out = np.empty(block.shape, np.float32)
        standardise(block, self.mean, self.scale, FAR, out)
        return out

    def _fast_similarities(self, block: Floats, rbf: UnitRBF) -> Floats32:
        """The same for `UnitRBF`, in one pass over the products."""
        from .similarities import prepare_similarities

        unit = _unit(block)
        z = unit @ rbf.centers.T
        slope, far = np.float32(1 / np.float32(-2 * rbf.width * rbf.width)), np.float32(FAR)
        squares = _squares(unit), _squares(rbf.centers)
        prepare_similarities(z, *squares, slope, *self._factor_and_origin, far)
        if not isinstance(rbf, ColumnsAndRBF):
            return z
        own = Preparation(self.mean[: self._n_columns], self.scale[: self._n_columns])
        return np.concatenate([own(block), z], axis=1)

    @cached_property
    def _factor_and_origin(self) -> tuple[Floats32, Floats32]:
        most, similarities = np.finfo(np.float32).max, slice(self._n_columns, None)
        factor = np.minimum(1 / self.scale[similarities], most)
        origin = np.clip(self.mean[similarities] * factor, -most, most)
        return factor.astype(np.float32), origin.astype(np.float32)

    @classmethod
    def first_guess(cls, block: Floats, rbf: UnitRBF | Gaussian | None, standardize: bool) -> Preparation:
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

    @staticmethod
    def forms(arrays: dict[str, npt.NDArray[Any]]) -> Forms:
        """What `from_arrays` takes, of the kind that is there; ``q`` are the prepared columns."""
        found = {"mean": Form("f8", "q"), "scale": Form("f8", "q", low=POSITIVE)}
        if "gaussian_centers" in arrays:
            found |= {"gaussian_centers": Form("f8", "qp"), "gaussian_width": WIDTH}
        elif "added_centers" in arrays:  # q = k + p, which `from_arrays` checks
            found |= {"added_centers": Form("f4", "kp", -1.001, 1.001), "added_width": WIDTH}
        elif "rbf_centers" in arrays:
            found |= {"rbf_centers": Form("f4", "qp", -1.001, 1.001), "rbf_width": WIDTH}
            if "rbf_power" in arrays:
                found["rbf_power"] = Form("i8", "1", 1, 1)  # 2 is not written
        return found

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> Preparation:
        """From the arrays of an older file, which were checked against `forms`."""
        rbf: UnitRBF | Gaussian | None = None
        if "gaussian_centers" in arrays:
            rbf = Gaussian(arrays["gaussian_centers"], float(arrays["gaussian_width"][0]))
        elif "added_centers" in arrays:
            rbf = ColumnsAndRBF(arrays["added_centers"], float(arrays["added_width"][0]))
            if len(arrays["mean"]) != sum(rbf.centers.shape):
                raise ValueError(f"{len(arrays['mean'])} means and not {sum(rbf.centers.shape)}")
        elif "rbf_centers" in arrays:
            power = int(arrays["rbf_power"][0]) if "rbf_power" in arrays else 2
            rbf = UnitRBF(arrays["rbf_centers"], float(arrays["rbf_width"][0]), power)
        return cls(arrays["mean"], arrays["scale"], rbf)


@dataclass(frozen=True)
class UnitRBF:
    """Similarities ``exp(−‖u − z‖² / (2 width²))`` of unit-length rows u to unit-length centres z (k, p).

    Rows are brought to unit length first (SDH's convention), so one width suits all data. The centres
    are training rows: a stored model contains them. With ``power=1`` the distance is not squared (SCDH).
    """

    centers: Floats32
    width: float
    power: int = 2

    @classmethod
    def of(cls, centers: Floats, width: float, power: int = 2) -> UnitRBF:
        """Centres from raw rows."""
        return cls(_unit(centers), float(width), power)

    def __call__(self, block: Floats) -> Floats:
        """Similarities (k, centres) of raw rows (k, p)."""
        u = _unit(block)
        # A zero row stays zero and is at distance 1.
        away = _squares(u)[:, None] + _squares(self.centers) - 2 * (u @ self.centers.T)
        away = np.maximum(away, 0)
        if self.power == 1:
            away = np.sqrt(away)
        similarity: Floats = np.exp(away / np.float32(-2 * self.width * self.width)).astype(np.float64)
        return similarity


@dataclass(frozen=True)
class ColumnsAndRBF(UnitRBF):
    """The columns of a row (k, p), and after them its similarities to the centres."""

    def __call__(self, block: Floats) -> Floats:
        return np.concatenate([block, super().__call__(block)], axis=1)


def column_statistics(block: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each column; a constant column has the deviation 1."""
    peak = np.maximum(np.abs(block).max(axis=0, initial=0.0), 1e-300)
    with np.errstate(over="ignore"):
        unit = block / peak  # squares of 1e30 would still fit, squares of 1e200 would not
    mean, spread = unit.mean(axis=0), unit.std(axis=0)
    scale = np.where(spread > 1e-12, spread, 1.0) * np.where(spread > 1e-12, peak, 1.0)
    if not np.isfinite(scale).all():
        raise InvalidInput(
            "The values of X are too large to standardise",
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
    unit: Floats32 = (scaled / np.where(length > 0, length, 1.0)).astype(np.float32)
    return unit
