"""Linear map: ridge regression from prepared features to the targets of the bits.

On RBF features (`Preparation.rbf`) the same class is the RBF map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._forms import Form, check_forms
from .._types import Array, Floats32
from ..models import Arrays, Builder, Map
from .least_squares import ridge_weights
from .moments import Standardised
from .preparation import Preparation

__all__ = ["LinearMap"]

FORMS = {"weights": Form("f4", "qd"), "intercept": Form("f4", "d")}


@dataclass(frozen=True)
class LinearMap(Map):
    """``scores = z W + intercept`` with z the prepared row: W (q, d) float32, intercept (d,) float32."""

    preparation: Preparation
    weights: Floats32
    intercept: Floats32
    kind: ClassVar[str] = "linear"

    @classmethod
    def fit(cls, moments: Standardised, alpha: float, threshold: npt.NDArray[np.float64]) -> LinearMap:
        """Ridge onto the targets of these moments; a bit is 1 where a target exceeds ``threshold`` (d,).

        Columns are centred, so the prediction is centred too and the intercept is what the mean
        target exceeds the threshold by: zero when bits were rounded at their mean.
        """
        weights = ridge_weights(moments, alpha)
        intercept = moments.target_mean - threshold
        return cls(moments.preparation, weights.astype(np.float32), intercept.astype(np.float32))

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return self.weights.shape[1]

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Columns of the raw rows."""
        return self.preparation.n_features

    def scores(self, block: npt.NDArray[Any]) -> npt.NDArray[Any]:
        scores: npt.NDArray[Any] = self.preparation(block) @ self.weights + self.intercept
        return scores

    def steps(self, builder: Builder) -> tuple[int, Array]:
        return self.preparation.product(builder, self.weights, self.intercept)

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> LinearMap:
        check_forms(arrays, {**FORMS, **Preparation.forms(arrays)})
        return cls(Preparation.from_arrays(arrays), arrays["weights"], arrays["intercept"])
