"""Steps that all our own methods are composed of: codes of groups, then a ridge map onto them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._hasher import Training
from .inference.learn import Inferred, soft_targets
from .maps.linear import LinearMap
from .maps.moments import Moments, moments_of_rows
from .maps.preparation import RBF, Preparation
from .maps.ridge import choose_alpha
from .rounding import round_marginals

__all__ = ["GroupCodes", "first_preparation", "fit_ridge_map", "group_codes", "known_weights"]

Floats = npt.NDArray[np.float64]
GUESS_ROWS = 1024


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


def known_weights(training: Training) -> Floats | None:
    """Row weights with zero for rows nothing is known about; None where every row counts once."""
    known = training.supervision.group_of_row >= 0
    if known.all():
        return training.weights
    return known.astype(np.float64) if training.weights is None else training.weights * known


def first_preparation(training: Training, standardize: bool, rbf: RBF | None = None) -> Preparation:
    """Statistics of some rows spread over the matrix, to keep sums accurate."""
    n = len(training.rows)
    some = np.unique(np.linspace(0, n - 1, min(n, GUESS_ROWS)).astype(np.int64))
    return Preparation.first_guess(training.rows.read(some), rbf, standardize)


def ridge_moments(
    training: Training, preparation: Preparation, targets: Floats, weights: Floats | None
) -> Moments:
    """Moments of all rows with the targets (g, d) of their groups."""
    table = targets.astype(np.float32)
    group = training.supervision.group_of_row

    def of(part: slice) -> npt.NDArray[Any]:
        return table[group[part]]  # −1 reads the last group; its weight is zero

    return moments_of_rows(training.rows, preparation, of, weights, training.n_jobs)


def fit_ridge_map(
    training: Training,
    preparation: Preparation,
    codes: GroupCodes,
    alpha: float | str,
    standardize: bool,
) -> LinearMap:
    """Ridge from prepared rows to the targets of their groups: one pass over the rows."""
    moments = ridge_moments(training, preparation, codes.targets, known_weights(training))
    centred = moments.standardised(standardize)
    return LinearMap.fit(centred, choose_alpha(alpha, centred), codes.threshold)
