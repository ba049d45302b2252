"""Cosines of linear scores: bits that change several times along a direction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._arithmetic import UNIT, AffineError, Arithmetic
from .._forms import Form, check_forms
from .base import Arrays, Map
from .preparation import Preparation

__all__ = ["PeriodicMap"]

FORMS = {"weights": Form("f4", "qd"), "phase": Form("f4", "d")}


@dataclass(frozen=True)
class PeriodicMap(Map):
    """``scores = cos(z W + phase)`` with z the prepared row: W (q, d) float32, phase (d,) float32."""

    preparation: Preparation
    weights: npt.NDArray[np.float32]
    phase: npt.NDArray[np.float32]
    kind: ClassVar[str] = "periodic"

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return self.weights.shape[1]

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns of the raw rows."""
        return self.preparation.n_features

    def evaluate(
        self, block: npt.NDArray[np.float64], by: Arithmetic
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
        z, error = self.preparation.evaluate(block, by)
        scores = by.cos(by.product(z, self.weights) + self.phase)
        # A cosine never moves more than its argument; 8 roundings are more than any library's cosine needs.
        return scores, None if by.exact else self._error(z, error) + 8 * UNIT

    @cached_property
    def _error(self) -> AffineError:
        return AffineError.of(self.weights, self.phase)

    def arrays(self) -> Arrays:
        return {"weights": self.weights, "phase": self.phase, **self.preparation.arrays()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PeriodicMap:
        check_forms(arrays, {**FORMS, **Preparation.forms(arrays)})
        return cls(Preparation.from_arrays(arrays), arrays["weights"], arrays["phase"])
