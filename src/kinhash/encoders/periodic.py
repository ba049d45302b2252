"""Cosines of linear scores: bits that change several times along a direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._forms import Form, check_forms
from .._types import Array
from ..models import Arrays, Builder, Map
from ..models.steps import Lookup
from .preparation import Preparation

__all__ = ["PeriodicMap"]

ANGLE_BITS, TURN_BITS, SCORE_BITS = 20, 14, 20  # parts of a turn, of them in the table, and of a score
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

    def scores(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        scores: npt.NDArray[Any] = np.cos(self.preparation(block) @ self.weights + self.phase)
        return scores

    def steps(self, builder: Builder) -> tuple[int, Array]:
        # Angles count in parts of a turn, so that a table of one turn wraps around.
        turn = 1 / (2 * np.pi)
        angles, _ = self.preparation.product(builder, self.weights * turn, self.phase * turn, ANGLE_BITS)
        table = np.rint(np.cos(np.arange(2**TURN_BITS) * (2 * np.pi / 2**TURN_BITS)) * 2.0**SCORE_BITS)
        step = Lookup((angles,), table.astype(np.int32), 0, ANGLE_BITS - TURN_BITS, 1)
        return builder.add(step), np.full(self.n_bits, SCORE_BITS, np.int16)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> PeriodicMap:
        check_forms(arrays, {**FORMS, **Preparation.forms(arrays)})
        return cls(Preparation.from_arrays(arrays), arrays["weights"], arrays["phase"])
