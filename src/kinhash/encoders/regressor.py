"""Any scikit-learn regressor as an encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._internal.types import Array, Floats, Floats32
from ..errors import InvalidInput
from ..solvers import Solution
from ..supervision import Training
from .base import Encoder, Fitted
from .feature_transform import Preparation, prepare_rows
from .features import FeatureMap, feature_map, first_preparation, standardized_moments
from .maps import PreparedMap

__all__ = ["Regressor", "RegressorMap"]


@dataclass(repr=False, kw_only=True)
class Regressor(Encoder):
    """Fit a scikit-learn regressor onto the codes; the model then cannot be written to a model file.

    ``estimator`` is the regressor; ``features`` are "plain", "rbf", "both", or a `Plain`, `RBF` or `Both`
    object. Holds the prepared rows in memory with their targets.
    """

    estimator: Any = None
    features: str | FeatureMap = "plain"

    def check(self) -> None:
        feature_map(self.features).check()
        if not hasattr(self.estimator, "predict"):
            raise InvalidInput(
                f"estimator is {self.estimator!r}",
                "a scikit-learn regressor",
                "Pass Regressor(estimator=...)",
            )

    def fit(self, training: Training, solution: Solution) -> Fitted:
        self.check()
        supervision, features = training.supervision, feature_map(self.features)
        solution = solution.rotated_for_itself(training.rng)
        scores = solution.group_scores(supervision, training.n_jobs)
        codes = solution.group_codes(scores, supervision.group_weights(training.weights))
        nothing = np.zeros((len(training.rows), 0), np.float32)
        with training.stages("encoder"):
            preparation = first_preparation(training.rows, features, training.rng)
            moments = standardized_moments(training, features, preparation, lambda part: nothing[part])
            rows = training.known_rows
            z = prepare_rows(training.rows, moments.preparation, rows, training.n_jobs)
            targets = codes.targets[supervision.group_of_row[rows]] - codes.threshold
            kept = None if training.weights is None else training.weights[rows]
            found = RegressorMap.fit(self.estimator, moments.preparation, z, targets, kept)
        scores = codes.targets - codes.threshold
        return Fitted.of_groups(found, codes.bits, codes.marginals, supervision.group_of_row, scores)


@dataclass(frozen=True)
class RegressorMap(PreparedMap):
    """``scores = regressor.predict(z)``; regressors with one output are fitted once per bit.

    Lives in memory only: an arbitrary object cannot be stored in a model file safely. Its arithmetic is its
    own, too: a row gets the same bits in any batch and on any machine where the regressor predicts every row
    by itself in one order (trees, neighbors in a tree), and up to scores within rounding error of zero
    elsewhere.
    """

    regressor: Any
    n_bits: int
    kind: ClassVar[str] = "regressor"

    @classmethod
    def fit(
        cls,
        regressor: Any,
        preparation: Preparation,
        features: Floats32,
        targets: Floats,
        weights: Floats | None = None,
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

    def scores(self, block: Array) -> Array:
        predicted = np.asarray(self.regressor.predict(self.preparation(block)))
        return predicted.reshape(len(block), self.n_bits)
