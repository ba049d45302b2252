"""From products with unit centres to prepared similarities, in one pass over memory and in float32.

Digits here follow the processor: `Preparation.evaluate` says how far they may be off.
"""

from __future__ import annotations

import numpy as np

from .._compile import njit

__all__ = ["prepare_similarities"]

ZERO, ONE, TWO, HALF = np.float32(0), np.float32(1), np.float32(2), np.float32(0.5)
PER_LN2 = np.float32(1.4426950408889634)
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
LOWEST = np.float32(-87.0)  # beyond, eˣ is too small for float32
BIAS, SHIFT = np.int32(127), np.int32(23)
# Taylor coefficients
THIRD, FOURTH, FIFTH = np.float32(1 / 6), np.float32(1 / 24), np.float32(1 / 120)
SIXTH, SEVENTH = np.float32(1 / 720), np.float32(1 / 5040)


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "contract", "reassoc"})
def prepare_similarities(products, row_squares, center_squares, slope, factor, origin, far, largest):  # type: ignore[no-untyped-def]
    """Turn products (k, q) into ``clip(s · factor − origin, ±far)`` with ``s = exp(slope · ‖u − z‖²)``.

    All of it is float32, in place; ``largest`` (k,) becomes the largest ``s · factor`` of each row. The
    exponential is off by 4 roundings at most: ``eˣ = 2ⁿ eʳ``, the bits of 2ⁿ made in a row of integers.
    """
    rows, columns = products.shape
    bits = np.empty(columns, np.int32)
    powers = bits.view(np.float32)
    for i in range(rows):
        square, top, row = row_squares[i], ZERO, products[i]
        for j in range(columns):
            x = max(max(square + center_squares[j] - TWO * row[j], ZERO) * slope, LOWEST)
            n = np.rint(x * PER_LN2)
            r = (x - n * LN2_HIGH) - n * LN2_LOW
            series = ((((SEVENTH * r + SIXTH) * r + FIFTH) * r + FOURTH) * r + THIRD) * r + HALF
            row[j] = (series * r) * r + r + ONE
            bits[j] = (np.int32(n) + BIAS) << SHIFT
        for j in range(columns):
            scaled = row[j] * powers[j] * factor[j]
            top = max(top, scaled)
            row[j] = min(max(scaled - origin[j], -far), far)
        largest[i] = top
