"""From products with unit centres to prepared similarities, in one pass over memory and in float32.

For fits alone: the digits follow the processor.
"""

from __future__ import annotations

import numpy as np

from .._compile import njit
from .fast_exponential import ANY_ORDER, LOWEST, ZERO, exponential_parts

__all__ = ["prepare_similarities"]

TWO = np.float32(2)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def prepare_similarities(products, row_squares, center_squares, slope, factor, origin, far):  # type: ignore[no-untyped-def]
    """Turn products (k, q) into ``clip(s · factor − origin, ±far)`` with ``s = exp(slope · ‖u − z‖²)``.

    All of it is float32, in place.
    """
    rows, columns = products.shape
    bits = np.empty(columns, np.int32)
    powers = bits.view(np.float32)
    for i in range(rows):
        square, row = row_squares[i], products[i]
        for j in range(columns):
            x = max(max(square + center_squares[j] - TWO * row[j], ZERO) * slope, LOWEST)
            row[j], bits[j] = exponential_parts(x)
        for j in range(columns):
            row[j] = min(max(row[j] * powers[j] * factor[j] - origin[j], -far), far)
