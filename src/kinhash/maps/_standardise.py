"""Standardising in one pass over memory; the arithmetic is float64 whatever comes in and goes out."""

from __future__ import annotations

from numba import njit

__all__ = ["standardise"]


@njit(cache=True, nogil=True)
def standardise(block, mean, scale, far, out):  # type: ignore[no-untyped-def]
    """``out = clip((block − mean) / scale, ±far)``, rows (k, p) of any float dtype to float32.

    A row farther out would be an infinite float32, and infinities cancel to NaN in a product.
    """
    rows, columns = block.shape
    for i in range(rows):
        for j in range(columns):
            z = (block[i, j] - mean[j]) / scale[j]
            out[i, j] = min(max(z, -far), far)
