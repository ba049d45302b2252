"""Sigmoids of many scores and their logistic losses, in one pass over memory and in float32."""

from __future__ import annotations

import numpy as np

from .._compile import njit
from .fast_exponential import ANY_ORDER, LOWEST, ONE, ZERO, exponential_parts

__all__ = ["sigmoids_and_losses"]

TOGETHER = 64  # rows whose factors 1 + e^−|z|, at most 2 each, are multiplied before one logarithm


@njit(cache=True, nogil=True, fastmath=ANY_ORDER - {"nnan"}, error_model="numpy")
def sigmoids_and_losses(scores):  # type: ignore[no-untyped-def]
    """Turn scores z (k, t) into σ(z), in their place; returns the sums (t,) of log(1 + e^z) over the rows."""
    rows, columns = scores.shape
    bits, lead = np.empty(columns, np.int32), np.empty(columns, np.float32)
    powers, losses = bits.view(np.float32), np.zeros(columns)
    for first in range(0, rows, TOGETHER):
        product, above = np.ones(columns, np.float32), np.zeros(columns, np.float32)
        for i in range(first, min(first + TOGETHER, rows)):
            row = scores[i]
            for j in range(columns):
                lead[j], bits[j] = exponential_parts(max(-abs(row[j]), LOWEST))
            for j in range(columns):
                decay = lead[j] * powers[j]
                product[j] *= ONE + decay
                above[j] += max(row[j], ZERO)
                row[j] = (ONE if row[j] > ZERO else decay) / (ONE + decay)
        for j in range(columns):
            losses[j] += np.log(np.float64(product[j])) + above[j]
    return losses
