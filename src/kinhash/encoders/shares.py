"""Softmax over the others of a block of rows, in one pass over memory and in float32."""

from __future__ import annotations

import numpy as np

from .._compile import njit
from .fast_exponential import ANY_ORDER, LOWEST, ZERO, exponential_parts

__all__ = ["differences_of_shares"]

SMALLEST = 1e-5  # deviations below are rounding errors
FAR = np.float32(1e30)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def differences_of_shares(seen, sharpness, wanted, width):  # type: ignore[no-untyped-def]
    """``seen`` (k, k) becomes ``softmax(sharpness · seen) − softmax(wanted / (width · deviation))``.

    Every row is a softmax over the others; the diagonal becomes 0. ``deviation`` is that of all of
    ``wanted`` but its diagonal.
    """
    k = len(seen)
    total, squares = 0.0, 0.0
    near = wanted[0, k - 1]  # cosines of rows that are all about the same differ in their last digits
    for i in range(k):
        for j in range(k):
            away = np.float64(wanted[i, j] - near)
            total += away
            squares += away * away
        away = np.float64(wanted[i, i] - near)
        total -= away
        squares -= away * away
    pairs = max(k * (k - 1), 1)
    deviation = np.sqrt(max(squares / pairs - (total / pairs) ** 2, 0.0))
    slope = np.float32(1 / (width * max(deviation, SMALLEST)))
    bits, other = np.empty(k, np.int32), np.empty(k, np.float32)
    powers = bits.view(np.float32)
    for i in range(k):
        _shares(wanted[i], slope, i, other, bits, powers)
        _shares(seen[i], sharpness, i, seen[i], bits, powers)
        for j in range(k):
            seen[i, j] -= other[j]


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _shares(row, slope, own, out, bits, powers):  # type: ignore[no-untyped-def]
    """Softmax of ``slope · row`` over all but ``own``, which is lost, into ``out``; ``bits``, seen as
    ``powers``, is room to work in."""
    top = row[own] = -FAR
    for j in range(len(row)):
        top = max(top, row[j])
    for j in range(len(row)):
        out[j], bits[j] = exponential_parts(min(max((row[j] - top) * slope, LOWEST), ZERO))
    total = ZERO
    for j in range(len(row)):
        out[j] *= powers[j]
        total += out[j]
    out[own] = ZERO
    for j in range(len(row)):
        out[j] /= total
