"""Standardising in one pass over memory; the arithmetic is float64 whatever comes in and goes out."""

from __future__ import annotations

import numpy as np

from .._compile import njit

__all__ = ["column_sums", "shift_and_scale", "standardise"]


@njit(cache=True, nogil=True)
def standardise(block, mean, scale, far, out):  # type: ignore[no-untyped-def]
    """``out = clip((block − mean) / scale, ±far)``, rows (k, p) of any float dtype to float32.

    A row farther out would be an infinite float32, and infinities cancel to NaN in a product.
    """
    rows, columns = block.shape
    factor = np.minimum(1 / scale, 1e300)  # one division a column; a scale too small to invert stays finite
    for i in range(rows):
        for j in range(columns):
            z = (block[i, j] - mean[j]) * factor[j]
            out[i, j] = min(max(z, -far), far)


@njit(cache=True, nogil=True)
def column_sums(z, weights):  # type: ignore[no-untyped-def]
    """Weighted sums (2, q) of the columns of z (k, q) and of their squares, in float64."""
    rows, columns = z.shape
    out = np.zeros((2, columns))
    for i in range(rows):
        weight = weights[i]
        for j in range(columns):
            value = np.float64(z[i, j])
            out[0, j] += weight * value
            out[1, j] += weight * value * value
    return out


@njit(cache=True, nogil=True)
def shift_and_scale(z, offset, factor):  # type: ignore[no-untyped-def]
    """``z = (z − offset) · factor`` column by column, in place."""
    rows, columns = z.shape
    for i in range(rows):
        for j in range(columns):
            z[i, j] = (z[i, j] - offset[j]) * factor[j]
