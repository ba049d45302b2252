"""Cosines of linear scores: bits that change several times along a direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

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

    def scores(self, block: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
        result: npt.NDArray[np.float32] = np.cos(self.preparation(block) @ self.weights + self.phase)
        return result

    def arrays(self) -> Arrays:
        return {"weights": self.weights, "phase": self.phase, **self.preparation.arrays()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PeriodicMap:
        check_forms(arrays, {**FORMS, **Preparation.forms(arrays)})
        return cls(Preparation.from_arrays(arrays), arrays["weights"], arrays["phase"])
