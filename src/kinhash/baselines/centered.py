"""Columns of the training rows, centered; what ITQ, LSH and sign bits start from.

Blocks are fixed by the width of X, spread over threads and summed in their order, so the numbers do not
depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._internal.blocks import block_slices, map_blocks
from .._internal.types import Array, Bools, Floats
from ..encoders import Plain, Preparation, Standardized, first_preparation, standardized_moments
from ..supervision import Training

__all__ = ["center_columns", "centered_moments"]


def center_columns(training: Training) -> tuple[Preparation, Floats]:
    """Standardizing preparation, and each column's deviation as a share of the largest (p,).

    Multiplying standardized columns by these shares gives the centered columns up to one common factor, which
    no sign depends on; so neither huge nor tiny features overflow. Constant columns have the share 0.
    """
    guess = first_preparation(training.rows, Plain(), training.rng)
    weights, p = training.known_weights, len(guess.mean)

    def one(part: slice) -> Floats:
        z = guess(training.rows.read(part)).astype(np.float64)
        w = np.ones(len(z)) if weights is None else weights[part]
        return np.stack([w @ z, w @ (z * z), np.full(p, w.sum())])

    total = np.zeros((3, p))
    for sums in map_blocks(
        one, block_slices(len(training.rows), training.rows.block_rows()), training.n_jobs
    ):
        total += sums
    mean = total[0] / total[2]
    variance = np.maximum(total[1] / total[2] - mean**2, 0)
    spread = np.where(variance > 1e-10, np.sqrt(variance), 0.0)
    scale = guess.scale * np.where(spread > 0, spread, 1.0)
    return Preparation(guess.mean + guess.scale * mean, scale, None), _shares(scale, spread > 0)


def centered_moments(
    training: Training, targets: Callable[[slice], Array] | None = None
) -> tuple[Standardized, Floats]:
    """Moments of standardized columns with ``targets(slice)``, and the shares of `center_columns`."""
    options = Plain()
    guess = first_preparation(training.rows, options, training.rng)
    nothing = np.zeros((len(training.rows), 0), np.float32)
    moments = standardized_moments(training, options, guess, targets or (lambda part: nothing[part]))
    return moments, _shares(moments.preparation.scale, np.diag(moments.gram) > 0)


def _shares(scale: Floats, varies: Bools) -> Floats:
    if not varies.any():
        return np.zeros(len(scale))
    return np.where(varies, scale / scale[varies].max(), 0.0)
