"""Codes of groups, rounded, and a ridge map (or any regressor) from features onto them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._hasher import Training
from ..inference.learn import Inferred, soft_targets
from ..maps import Map
from ..maps.linear import LinearMap
from ..maps.preparation import Preparation
from ..maps.prepared import prepare_rows
from ..maps.regressor import RegressorMap
from ..maps.ridge import choose_alpha
from ..rounding import round_marginals
from .features import FeatureOptions, known_weights, standardised_moments

__all__ = ["GroupCodes", "fit_regressor_map", "fit_ridge_map", "group_codes", "targets_by_row"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class GroupCodes:
    """Codes of every group: what a map should predict (g, d), where its bits turn (d,), bits and φ."""

    targets: Floats
    threshold: Floats
    bits: npt.NDArray[np.bool_]
    marginals: Floats


def group_codes(inferred: Inferred, scores: Floats, counts: Floats, rounding: str) -> GroupCodes:
    """Round the groups' scores (g, d): at zero, or the marginals at their mean, median or one half."""
    phi = inferred.marginals(scores)
    if rounding == "zero":
        return GroupCodes(soft_targets(inferred, scores), np.zeros(scores.shape[1]), scores > 0, phi)
    rounded = round_marginals(phi, counts, rounding)
    return GroupCodes(phi, rounded.threshold, rounded.bits, phi)


def targets_by_row(training: Training, targets: Floats) -> Any:
    """Targets (g, d) of groups as a function of a slice of rows; unknown rows read any group, at weight 0."""
    table = targets.astype(np.float32)
    group = training.supervision.group_of_row
    return lambda part: table[group[part]]


def fit_ridge_map(
    training: Training,
    options: FeatureOptions,
    preparation: Preparation,
    codes: GroupCodes,
    alpha: float | str,
) -> LinearMap:
    """Ridge from prepared rows to the targets of their groups: one pass over the rows."""
    moments = standardised_moments(training, options, preparation, targets_by_row(training, codes.targets))
    return LinearMap.fit(moments, choose_alpha(alpha, moments), codes.threshold)


def fit_regressor_map(
    training: Training, options: FeatureOptions, preparation: Preparation, codes: GroupCodes, regressor: Any
) -> Map:
    """Any scikit-learn regressor on prepared rows, which are held in memory with their targets."""
    nothing = np.zeros((codes.targets.shape[0], 0))
    moments = standardised_moments(training, options, preparation, targets_by_row(training, nothing))
    weights = known_weights(training)
    rows = np.arange(len(training.rows)) if weights is None else np.flatnonzero(weights > 0)
    features = prepare_rows(training.rows, moments.preparation, rows, training.n_jobs)
    targets = codes.targets[training.supervision.group_of_row[rows]] - codes.threshold
    kept = None if training.weights is None else training.weights[rows]
    return RegressorMap.fit(regressor, moments.preparation, features, targets, kept)
