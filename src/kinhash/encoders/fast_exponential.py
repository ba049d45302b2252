"""eˣ in float32 for loops that the compiler turns into vector instructions.

``eˣ = 2ⁿ eʳ`` with r within ±½ ln 2. The bits of 2ⁿ are made as an integer, to be kept in a row of integers
that is seen as float32: numba cannot do that for a single number.
"""

from __future__ import annotations

import numpy as np

from .._compile import njit

__all__ = ["ANY_ORDER", "LOWEST", "ONE", "ZERO", "exponential_parts"]

ANY_ORDER = {"nnan", "nsz", "contract", "reassoc"}  # digits follow the processor
ZERO, ONE, HALF = np.float32(0), np.float32(1), np.float32(0.5)
PER_LN2 = np.float32(1.4426950408889634)
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
LOWEST = np.float32(-87.0)  # beyond, eˣ is too small for float32
BIAS, SHIFT = np.int32(127), np.int32(23)
# Taylor coefficients
THIRD, FOURTH, FIFTH = np.float32(1 / 6), np.float32(1 / 24), np.float32(1 / 120)
SIXTH, SEVENTH = np.float32(1 / 720), np.float32(1 / 5040)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def exponential_parts(x):  # type: ignore[no-untyped-def]
    """eʳ, and the bits of 2ⁿ, whose product is eˣ for x from `LOWEST` to 0: off by 4 roundings at most."""
    n = np.rint(x * PER_LN2)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    series = ((((SEVENTH * r + SIXTH) * r + FIFTH) * r + FOURTH) * r + THIRD) * r + HALF
    return (series * r) * r + r + ONE, (np.int32(n) + BIAS) << SHIFT
