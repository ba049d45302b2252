"""Standardising in one pass over memory; the arithmetic is float64 whatever comes in and goes out."""

from __future__ import annotations

import numpy as np

from .._compile import njit

__all__ = ["standardise"]


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
