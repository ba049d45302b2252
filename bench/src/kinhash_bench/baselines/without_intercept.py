"""The ridge map of the LFH and COSDISH line: standardized columns, no intercept."""

from __future__ import annotations

import numpy as np

from kinhash.paper.maps import LinearMap, choose_alpha, first_preparation, standardized_moments
from kinhash.paper.similarity import Training

from .two_step import RowCodes

__all__ = ["centered_ridge"]


def centered_ridge(training: Training, targets: RowCodes, alpha: float | str) -> LinearMap:
    """``scores = z (ZᵀZ + αI)⁻¹ ZᵀB``. Columns of Z are centered, so a bit's mean has no influence."""
    guess = first_preparation(training.rows)
    moments = standardized_moments(training, guess, lambda part: targets[part])
    return LinearMap.fit(moments, choose_alpha(alpha, moments), np.asarray(moments.target_mean))
