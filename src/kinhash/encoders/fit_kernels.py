"""Compiled kernels of a fit, each in one pass over memory: standardizing, similarities, sigmoids, softmax.

``eˣ = 2ⁿ eʳ`` with r within ±½ ln 2, for loops that the compiler turns into vector instructions. The bit
pattern of 2ⁿ is built in an int32 array that is viewed as float32: Numba cannot reinterpret a single number.
The twins of kernels that others call are in `numpy_reference`.
"""

from __future__ import annotations

import numpy as np

from .._internal.compile import njit
from . import numpy_reference
from .numpy_reference import (
    BIAS,
    FAR,
    FIFTH,
    FOURTH,
    HALF,
    LANES,
    LN2_HIGH,
    LN2_LOW,
    LOWEST,
    ONE,
    PER_LN2,
    SEVENTH,
    SHIFT,
    SIXTH,
    SMALLEST,
    THIRD,
    TOGETHER,
    TWO,
    ZERO,
)

__all__ = [
    "EXACT_ORDER",
    "LOWEST",
    "ONE",
    "ZERO",
    "column_sums",
    "differences_of_shares",
    "exponential_parts",
    "prepare_similarities",
    "shift_and_scale",
    "sigmoids_and_losses",
    "standardize",
]

# Neither "reassoc" nor "contract": sums in one order and no fused products, so the digits are the same on
# every processor, and the same whether a kernel was just compiled or came from the cache.
EXACT_ORDER = {"nnan", "nsz"}


@njit(cache=True, nogil=True, fastmath=EXACT_ORDER)
def exponential_parts(x):  # type: ignore[no-untyped-def]
    """eʳ, and the bits of 2ⁿ, whose product is eˣ for x from `LOWEST` to 0: off by 4 roundings at most."""
    n = np.rint(x * PER_LN2)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    series = ((((SEVENTH * r + SIXTH) * r + FIFTH) * r + FOURTH) * r + THIRD) * r + HALF
    return (series * r) * r + r + ONE, (np.int32(n) + BIAS) << SHIFT


@njit(cache=True, nogil=True, twin=numpy_reference.standardize)
def standardize(block, mean, scale, far, out):  # type: ignore[no-untyped-def]
    """``out = clip((block − mean) / scale, ±far)``, rows (k, p) of any float dtype to float32.

    Larger values would overflow float32 to infinity, and infinities cancel to NaN in a product.
    """
    rows, columns = block.shape
    factor = np.minimum(1 / scale, 1e300)  # one division a column; a scale too small to invert stays finite
    for i in range(rows):
        for j in range(columns):
            z = (block[i, j] - mean[j]) * factor[j]
            out[i, j] = min(max(z, -far), far)


@njit(cache=True, nogil=True, twin=numpy_reference.column_sums)
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


@njit(cache=True, nogil=True, twin=numpy_reference.shift_and_scale)
def shift_and_scale(z, offset, factor):  # type: ignore[no-untyped-def]
    """``z = (z − offset) · factor`` column by column, in place."""
    rows, columns = z.shape
    for i in range(rows):
        for j in range(columns):
            z[i, j] = (z[i, j] - offset[j]) * factor[j]


@njit(cache=True, nogil=True, fastmath=EXACT_ORDER, twin=numpy_reference.prepare_similarities)
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


@njit(
    cache=True,
    nogil=True,
    fastmath=EXACT_ORDER - {"nnan"},
    error_model="numpy",
    twin=numpy_reference.sigmoids_and_losses,
)
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


@njit(cache=True, nogil=True, fastmath=EXACT_ORDER, twin=numpy_reference.differences_of_shares)
def differences_of_shares(seen, sharpness, wanted, width):  # type: ignore[no-untyped-def]
    """``seen`` (k, k) becomes ``softmax(sharpness · seen) − softmax(wanted / (width · deviation))``.

    Every row is a softmax over the others; the diagonal becomes 0. ``deviation`` is that of all of
    ``wanted`` but its diagonal.
    """
    k = len(seen)
    totals, squares = np.zeros(k), np.zeros(k)  # one sum per column, so the order of addition is fixed
    near = wanted[0, k - 1]  # subtracted first: nearly equal cosines would cancel in the variance
    for i in range(k):
        for j in range(k):
            away = np.float64(wanted[i, j] - near) if i != j else 0.0
            totals[j] += away
            squares[j] += away * away
    pairs = max(k * (k - 1), 1)
    deviation = np.sqrt(max(squares.sum() / pairs - (totals.sum() / pairs) ** 2, 0.0))
    slope = np.float32(1 / (width * max(deviation, SMALLEST)))
    bits, other = np.empty(k, np.int32), np.empty(k, np.float32)
    powers = bits.view(np.float32)
    for i in range(k):
        _shares(wanted[i], slope, i, other, bits, powers)
        _shares(seen[i], sharpness, i, seen[i], bits, powers)
        for j in range(k):
            seen[i, j] -= other[j]


@njit(cache=True, nogil=True, fastmath=EXACT_ORDER)
def _shares(row, slope, own, out, bits, powers):  # type: ignore[no-untyped-def]
    """Softmax of ``slope · row`` over all entries but ``own``, written to ``out``.

    Overwrites ``row[own]``. ``bits`` and its float view ``powers`` are scratch buffers.
    """
    top = row[own] = -FAR
    for j in range(len(row)):
        top = max(top, row[j])
    for j in range(len(row)):
        out[j], bits[j] = exponential_parts(min(max((row[j] - top) * slope, LOWEST), ZERO))
    parts = np.zeros(LANES, np.float32)
    for j in range(len(row)):
        out[j] *= powers[j]
    whole = len(row) // LANES * LANES
    for first in range(0, whole, LANES):
        for lane in range(LANES):
            parts[lane] += out[first + lane]
    for j in range(whole, len(row)):
        parts[j - whole] += out[j]
    total = parts.sum()
    out[own] = ZERO
    for j in range(len(row)):
        out[j] /= total
