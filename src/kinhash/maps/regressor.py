"""Any scikit-learn regressor as a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._arithmetic import Arithmetic
from ._base import Map
from .preparation import Preparation

__all__ = ["RegressorMap"]


@dataclass(frozen=True)
class RegressorMap(Map):
    """``scores = regressor.predict(z)``; regressors with one output are fitted once per bit.

    Lives in memory only: an arbitrary object cannot be stored in a model file safely. Its arithmetic is its
    own, too: a row gets the same bits in any batch and on any machine where the regressor predicts every row
    by itself in one order (trees, neighbours in a tree), and up to scores within rounding error of zero
    elsewhere.
    """

    preparation: Preparation
    regressor: Any
    n_bits: int
    kind: ClassVar[str] = "regressor"

    @classmethod
    def fit(
        cls,
        regressor: Any,
        preparation: Preparation,
        features: npt.NDArray[np.float32],
        targets: npt.NDArray[np.float64],
        weights: npt.NDArray[np.float64] | None = None,
    ) -> RegressorMap:
        """Fit a clone of ``regressor`` on prepared features (n, q) and targets (n, d)."""
        from sklearn.base import clone
        from sklearn.multioutput import MultiOutputRegressor
        from sklearn.utils import get_tags

        fitted = clone(regressor)
        if targets.shape[1] > 1 and not get_tags(fitted).target_tags.multi_output:
            fitted = MultiOutputRegressor(fitted)
        values = targets if targets.shape[1] > 1 else targets[:, 0]
        if weights is None:
            fitted.fit(features, values)
        else:
            fitted.fit(features, values, sample_weight=weights)
        return cls(preparation, fitted, targets.shape[1])

    def evaluate(self, block: npt.NDArray[np.float64], by: Arithmetic) -> tuple[npt.NDArray[Any], None]:
        predicted = np.asarray(self.regressor.predict(self.preparation(block, by)))
        return predicted.reshape(len(block), self.n_bits), None
