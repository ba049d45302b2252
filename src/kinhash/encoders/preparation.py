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

from .._arithmetic import FAST, FIXED, UNIT, Arithmetic, product_error
from .._forms import NUMBER, POSITIVE, Form, Forms
from .._types import Floats, Floats32
from ..errors import InvalidInput
from .gaussian import Gaussian

__all__ = ["ColumnsAndRBF", "Preparation", "UnitRBF"]

FAR = 1e15  # prepared values are cut here; their products still fit into float32
WIDTH = NUMBER._replace(low=POSITIVE)


@dataclass(frozen=True)
class Preparation:
    """``(f(x) − mean) / scale`` per column, with f the row itself, its similarities to centres, or both."""

    mean: Floats
    scale: Floats
    rbf: UnitRBF | Gaussian | None = None

    def __call__(self, block: Floats, by: Arithmetic = FAST) -> Floats32:
        """Prepared rows (k, q) float32 of raw rows (k, p), float64 or float32."""
        if by is FAST and isinstance(self.rbf, ColumnsAndRBF) and isinstance(block, np.ndarray):
            return self._fast_similarities(block, self.rbf)[0]
        return self._standardised(block if self.rbf is None else self.rbf.evaluate(block, by)[0])

    def into(self, out: Floats32, block: Floats) -> None:
        """The same, written to ``out`` (k, q)."""
        if self.rbf is not None:
            out[:] = self(block)
            return
        from .standardise import standardise

        standardise(block, self.mean, self.scale, FAR, out)

    def evaluate(self, block: Floats, by: Arithmetic) -> tuple[Floats32, Floats | float]:
        """The same, and what errors of a row do at most to its product with a vector of length 1: (k, 1).

        Plain columns have no errors: a subtraction, a product and a rounding, the same everywhere. A relative
        error of the similarities s moves ``z = (s − mean) / scale`` by that share of ``z + mean / scale``;
        errors of different columns are taken as independent.
        """
        if self.rbf is None:
            return self._standardised(block), 0.0
        if by is FAST and isinstance(self.rbf, UnitRBF) and self.rbf.power == 2:
            return self._fast_similarities(block, self.rbf)
        similarity, error = self.rbf.evaluate(block, by)
        z = self._standardised(similarity)
        if by.exact:
            return z, 0.0
        largest = np.abs(z[:, self._n_columns :]).max(axis=1, keepdims=True)
        return z, (error + 8 * UNIT) * (largest + self._largest_origin).astype(np.float64)

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

    def _fast_similarities(self, block: Floats, rbf: UnitRBF) -> tuple[Floats32, Floats]:
        """The same for `UnitRBF`, in one pass over the products."""
        from .similarities import prepare_similarities

        unit = _unit(block, FAST)
        z, largest = FAST.product(unit, rbf.centers.T), np.empty(len(block), np.float32)
        slope, far = np.float32(1 / np.float32(-2 * rbf.width * rbf.width)), np.float32(FAR)
        squares = _squares(unit, FAST), rbf._center_squares
        prepare_similarities(z, *squares, slope, *self._factor_and_origin, far, largest)
        reach = largest[:, None].astype(np.float64)
        if isinstance(rbf, ColumnsAndRBF):
            own = Preparation(self.mean[: self._n_columns], self.scale[: self._n_columns])
            z = np.concatenate([own(block), z], axis=1)
        return z, rbf.error * reach + 8 * UNIT * (reach + self._largest_origin)

    @cached_property
    def _factor_and_origin(self) -> tuple[Floats32, Floats32]:
        most, similarities = np.finfo(np.float32).max, slice(self._n_columns, None)
        factor = np.minimum(1 / self.scale[similarities], most)
        origin = np.clip(self.mean[similarities] * factor, -most, most)
        return factor.astype(np.float32), origin.astype(np.float32)

    @cached_property
    def _largest_origin(self) -> float:
        similarities = slice(self._n_columns, None)
        return float(np.abs(self.mean[similarities] / self.scale[similarities]).max())

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

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What a model file stores."""
        found: dict[str, npt.NDArray[Any]] = {"mean": self.mean, "scale": self.scale}
        if isinstance(self.rbf, Gaussian):
            found |= {"gaussian_centers": self.rbf.centers, "gaussian_width": np.array([self.rbf.width])}
        elif isinstance(self.rbf, ColumnsAndRBF):
            found |= {"added_centers": self.rbf.centers, "added_width": np.array([self.rbf.width])}
        elif self.rbf is not None:
            found |= {"rbf_centers": self.rbf.centers, "rbf_width": np.array([self.rbf.width])}
            if self.rbf.power != 2:
                found["rbf_power"] = np.array([self.rbf.power])
        return found

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
        """Undo `arrays`, which were checked against `forms`."""
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
        return cls(_unit(centers, FAST), float(width), power)

    def __call__(self, block: Floats) -> Floats:
        """Similarities (k, centres) of raw rows (k, p)."""
        return self.evaluate(block, FAST)[0]

    def evaluate(self, block: Floats, by: Arithmetic) -> tuple[Floats, Floats | float]:
        """The same, and a bound of their relative errors, one number or (k, 1).

        ‖u − z‖² = ‖u‖² + ‖z‖² − 2 u·z for unit vectors has the error of twice a sum of products, and of some
        roundings of numbers up to 4; a root divides it by the distance. The exponential turns the error of
        its argument into a relative one.
        """
        u = _unit(block, by)
        columns = self.centers.T if by is FAST else self._columns
        # A zero row stays zero and is at distance 1.
        away = _squares(u, by)[:, None] + self._center_squares - 2 * by.product(u, columns)
        away = np.maximum(away, 0)
        error: Any = 0.0 if by.exact else self._distance_error
        if self.power == 1:
            away = np.sqrt(away)
        if self.power == 1 and not by.exact:
            nearest = np.maximum(away.min(axis=1, keepdims=True), np.sqrt(error))
            error = error / nearest.astype(np.float64) + 4 * UNIT
        similarity: Floats = by.exp(away / np.float32(-2 * self.width * self.width)).astype(np.float64)
        return similarity, self._relative(error)

    @property
    def error(self) -> float:
        """The bound of relative errors with squared distances, one for all rows."""
        return float(self._relative(self._distance_error))

    def _relative(self, error: Any) -> Any:
        return np.expm1(error / (2 * self.width**2)) + 8 * UNIT

    @cached_property
    def _distance_error(self) -> float:
        return 2 * product_error(self.centers.T) + 24 * UNIT

    @cached_property
    def _center_squares(self) -> Floats32:
        return _squares(self.centers, FIXED)

    @cached_property
    def _columns(self) -> Floats:
        return np.ascontiguousarray(self.centers.T, np.float64)


@dataclass(frozen=True)
class ColumnsAndRBF(UnitRBF):
    """The columns of a row (k, p), and after them its similarities to the centres."""

    def evaluate(self, block: Floats, by: Arithmetic) -> tuple[Floats, Floats | float]:
        similarity, error = super().evaluate(block, by)
        return np.concatenate([block, similarity], axis=1), error


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


def _squares(rows: Floats32, by: Arithmetic) -> Floats32:
    """Squared lengths, summed in float64: an error here would be common to all columns."""
    wide = rows.astype(np.float64)
    return by.sums(wide * wide).astype(np.float32)


def _unit(rows: Floats, by: Arithmetic) -> Floats32:
    peak = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1e-300)
    scaled = rows / peak
    length = np.sqrt(by.sums(scaled * scaled))[:, None]
    unit: Floats32 = (scaled / np.where(length > 0, length, 1.0)).astype(np.float32)
    return unit
