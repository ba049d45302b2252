"""Linear map: ridge regression from prepared features to the targets of the bits.

On RBF features (`Preparation.rbf`) the same class is the RBF map.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._arithmetic import AffineError, Arithmetic
from .._forms import Form, check_forms
from .base import Arrays, Map
from .least_squares import ridge_weights
from .moments import Standardised
from .preparation import Preparation

__all__ = ["LinearMap"]

FORMS = {"weights": Form("f4", "qd"), "intercept": Form("f4", "d")}


@dataclass(frozen=True)
class LinearMap(Map):
    """``scores = z W + intercept`` with z the prepared row: W (q, d) float32, intercept (d,) float32."""

    preparation: Preparation
    weights: npt.NDArray[np.float32]
    intercept: npt.NDArray[np.float32]
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

    @property
    def widest(self) -> int:
        return len(self.weights)

    @property
    def takes_float32(self) -> bool:
        return self.preparation.rbf is None

    def evaluate(
        self, block: npt.NDArray[np.float64], by: Arithmetic
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
        z, error = self.preparation.evaluate(block, by)
        scores = by.product(z, self.weights)
        scores += self.intercept
        return scores, None if by.exact else self._error(z, error)

    @cached_property
    def _error(self) -> AffineError:
        return AffineError.of(self.weights, self.intercept)

    def arrays(self) -> Arrays:
        return {"weights": self.weights, "intercept": self.intercept, **self.preparation.arrays()}

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> LinearMap:
        check_forms(arrays, {**FORMS, **Preparation.forms(arrays)})
        return cls(Preparation.from_arrays(arrays), arrays["weights"], arrays["intercept"])
