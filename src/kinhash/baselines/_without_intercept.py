"""The ridge map of the LFH and COSDISH line: standardised columns, no intercept."""

from __future__ import annotations

import numpy as np

from ..encoders.features import Plain, first_preparation, standardised_moments
from ..encoders.least_squares import choose_alpha
from ..encoders.linear import LinearMap
from ..training import Training
from ._base import RowCodes

__all__ = ["centred_ridge"]


def centred_ridge(training: Training, targets: RowCodes, alpha: float | str) -> LinearMap:
    """``scores = z (ZᵀZ + αI)⁻¹ ZᵀB``. Columns of Z are centred, so a bit's mean has no say in it."""
    options = Plain()
    preparation = first_preparation(training.rows, options, training.rng)
    moments = standardised_moments(training, options, preparation, lambda part: targets[part])
    return LinearMap.fit(moments, choose_alpha(alpha, moments), np.asarray(moments.target_mean))
