"""Ridge regression from features to the codes: encodes fastest, and learns from blocks of rows too.

Where the solver leaves the rotation of its codes free (spectral), it is fitted halfway between the codes and
their leave-one-out predictions ``(ŷ − h y)/(1 − h)``: both then round well, and since ridge is linear in its
targets, the map is rotated afterwards for free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.numerics import fit_rotation, sigmoid
from .._internal.types import Floats, Ints
from .._internal.validation import check_choice, check_number
from ..solvers import GroupCodes, LinearReadout, Solution
from ..supervision import Training
from .base import Encoder, Fitted
from .feature_transform import Preparation, prepare_rows
from .features import FeatureMap, feature_map, first_preparation, standardized_moments, targets_by_row
from .least_squares import Standardized, choose_alpha, leverage_factor, ridge_weights
from .maps import LinearMap

__all__ = ["ROTATION_ROWS", "Ridge", "leave_one_out"]

ROTATION_ROWS = 10_000


@dataclass(repr=False, kw_only=True)
class Ridge(Encoder):
    """Ridge from features onto the codes.

    Parameters
    ----------
    alpha : penalty: a number, "gcv" (generalized cross-validation), or "auto": n/p, and "gcv" with
        similarities and where only pairs are known, since few rows need more shrinking.
    features : "plain", "rbf", "both", or a `Plain`, `RBF` or `Both` object.
    """

    alpha: float | str = "auto"
    features: str | FeatureMap = "plain"

    def check(self) -> None:
        feature_map(self.features).check()
        if isinstance(self.alpha, str):
            check_choice("alpha", self.alpha, ("auto", "gcv"))
        else:
            check_number("alpha", self.alpha, 0.0)

    def linear_in_columns(self) -> bool:
        return not feature_map(self.features).has_centers

    def penalty(self, features: FeatureMap, complete: bool = True) -> float | str:
        """What "auto" stands for."""
        automatic = isinstance(self.alpha, str) and self.alpha == "auto"
        return "gcv" if automatic and (features.has_centers or not complete) else self.alpha

    def fit(self, training: Training, solution: Solution) -> Fitted:
        supervision, features = training.supervision, feature_map(self.features)
        if solution.embedding is not None:
            alpha = self.penalty(features, supervision.complete)
            with training.stages("encoder"):
                preparation = first_preparation(training.rows, features, training.rng)
                return self._fit_rotated(training, solution, features, preparation, alpha)
        scores = solution.group_scores(supervision, training.n_jobs)
        codes = solution.group_codes(scores, supervision.group_weights(training.weights))
        return self.fit_codes(training, codes, supervision.group_of_row)

    def fit_codes(self, training: Training, codes: GroupCodes, group_of_row: Ints) -> Fitted:
        """Learn the map onto the codes of groups, which need not be those of the supervision."""
        features = feature_map(self.features)
        alpha = self.penalty(features, training.supervision.complete)
        with training.stages("encoder"):
            preparation = first_preparation(training.rows, features, training.rng)
            targets = targets_by_row(training, codes.targets, group_of_row)
            moments = standardized_moments(training, features, preparation, targets)
            found = LinearMap.fit(moments, choose_alpha(alpha, moments), codes.threshold)
        scores = codes.targets - codes.threshold
        return Fitted.of_groups(
            found, codes.bits, codes.marginals, group_of_row, scores, features=features.name
        )

    def _fit_rotated(
        self,
        training: Training,
        solution: Solution,
        features: FeatureMap,
        preparation: Preparation,
        alpha: float | str,
    ) -> Fitted:
        """Embed the groups, regress the embedding, rotate both. Memory: groups × rank beside the moments."""
        assert solution.embedding is not None
        supervision, rng = training.supervision, training.rng
        unrotated = LinearReadout(solution.embedding.matrix, solution.embedding.constant)
        embedding = unrotated.of_groups(supervision, solution.sample.groups, training.n_jobs)
        moments = standardized_moments(training, features, preparation, targets_by_row(training, embedding))
        strength = choose_alpha(alpha, moments)
        weights = ridge_weights(moments, strength)
        rows = training.some_known_rows(rng, ROTATION_ROWS)
        predicted = leave_one_out(training, moments, strength, weights, embedding, rows)
        known = embedding[supervision.group_of_row[rows]]
        halfway = (known + predicted) / 2  # so that codes from labels and codes from features round well
        rotation = fit_rotation(halfway, solution.n_bits, rng, solution.embedding.n_rounds)
        scores = embedding @ rotation
        size = float(np.sqrt((scores**2).mean())) or 1.0
        found = LinearMap(
            moments.preparation,
            (weights @ rotation / size).astype(np.float32),
            (moments.target_mean @ rotation / size).astype(np.float32),
        )
        return Fitted.of_groups(
            found,
            scores > 0,
            sigmoid(2 * scores / size),
            supervision.group_of_row,
            scores / size,
            features=features.name,
        )


def leave_one_out(
    training: Training,
    moments: Standardized,
    alpha: float,
    weights: Floats,
    targets: Floats,
    rows: Ints,
) -> Floats:
    """Predictions (k, r) of ``rows`` as if each had been left out of the fit; ``targets`` (g, r) by group."""
    z = prepare_rows(training.rows, moments.preparation, rows, training.n_jobs)
    leverage = ((z @ leverage_factor(moments, alpha).astype(np.float32)) ** 2).sum(axis=1, dtype=np.float64)
    leverage = leverage + 1 / moments.weight
    if training.weights is not None:
        leverage = leverage * training.weights[rows]
    leverage = np.minimum(leverage, 0.99)[:, None]
    own = targets[training.supervision.group_of_row[rows]]
    predicted = z @ weights.astype(np.float32) + moments.target_mean
    return (predicted - leverage * own) / (1 - leverage)
