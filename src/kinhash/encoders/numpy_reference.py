"""The kernels of `fit_kernels` again in plain NumPy, bit for bit: they answer until those are compiled.

Same names and arguments, and the constants of both. NumPy adds up in an order of its own, so sums whose
digits depend on the order are written as loops. Logarithms are those of the C library, as in the kernels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._internal.types import Array

__all__ = [
    "column_sums",
    "differences_of_shares",
    "prepare_similarities",
    "shift_and_scale",
    "sigmoids_and_losses",
    "standardize",
]

ZERO, ONE, HALF = np.float32(0), np.float32(1), np.float32(0.5)
PER_LN2 = np.float32(1.4426950408889634)
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
LOWEST = np.float32(-87.0)  # beyond, eˣ is too small for float32
BIAS, SHIFT = np.int32(127), np.int32(23)
# Taylor coefficients
THIRD, FOURTH, FIFTH = np.float32(1 / 6), np.float32(1 / 24), np.float32(1 / 120)
SIXTH, SEVENTH = np.float32(1 / 720), np.float32(1 / 5040)
TWO = np.float32(2)
TOGETHER = 64  # rows whose factors 1 + e^−|z|, at most 2 each, are multiplied before one logarithm
SMALLEST = 1e-5  # deviations below are rounding errors
FAR = np.float32(1e30)
LANES = 16  # sums side by side, so that a row is summed by vector instructions in one order


def _exponential_parts(x: Array) -> tuple[Array, Array]:
    """eʳ and 2ⁿ, whose product is eˣ for x from `LOWEST` to 0."""
    n = np.rint(x * PER_LN2)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    series = ((((SEVENTH * r + SIXTH) * r + FIFTH) * r + FOURTH) * r + THIRD) * r + HALF
    with np.errstate(invalid="ignore"):  # of scores that are no numbers
        bits = (n.astype(np.int32) + BIAS) << SHIFT
    return (series * r) * r + r + ONE, bits.view(np.float32)


def standardize(block: Array, mean: Array, scale: Array, far: float, out: Array) -> None:
    """``out = clip((block − mean) / scale, ±far)``, rows (k, p) of any float dtype to float32."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        factor = np.minimum(1 / scale, 1e300)
        out[:] = np.clip((block - mean) * factor, -far, far)


def column_sums(z: Array, weights: Array) -> Array:
    """Weighted sums (2, q) of the columns of z (k, q) and of their squares, in float64."""
    wide = z.astype(np.float64)
    weighted = weights[:, None] * wide
    out = np.zeros((2, z.shape[1]))
    for row, squares in zip(weighted, weighted * wide, strict=True):
        out[0] += row
        out[1] += squares
    return out


def shift_and_scale(z: Array, offset: Array, factor: Array) -> None:
    """``z = (z − offset) · factor`` column by column, in place."""
    z[:] = (z - offset) * factor


def prepare_similarities(
    products: Array, row_squares: Array, center_squares: Array, slope: Any, factor: Array, origin: Array,
    far: Any,
) -> None:  # fmt: skip
    """Turn products (k, q) into ``clip(s · factor − origin, ±far)`` with ``s = exp(slope · ‖u − z‖²)``."""
    squared = np.maximum(row_squares[:, None] + center_squares - TWO * products, ZERO)
    lead, powers = _exponential_parts(np.maximum(squared * slope, LOWEST))
    products[:] = np.clip(lead * powers * factor - origin, -far, far)


def sigmoids_and_losses(scores: Array) -> Array:
    """Turn scores z (k, t) into σ(z), in their place; returns the sums (t,) of log(1 + e^z) over the rows."""
    rows, columns = scores.shape
    lead, powers = _exponential_parts(np.maximum(-np.abs(scores), LOWEST))
    decay, positive = lead * powers, np.maximum(scores, ZERO)
    products = np.ones((-(-rows // TOGETHER), columns), np.float32)
    above = np.zeros_like(products)
    for first in range(min(TOGETHER, rows)):  # of every group of rows its first one, its second one …
        own = slice(first, None, TOGETHER)
        count = len(decay[own])
        products[:count] *= ONE + decay[own]
        above[:count] += positive[own]
    scores[:] = np.where(scores > ZERO, ONE, decay) / (ONE + decay)
    losses = np.zeros(columns)
    for product, sums in zip(products.astype(np.float64), above, strict=True):
        losses += np.array([math.log(each) for each in product.tolist()]) + sums
    return losses


def differences_of_shares(seen: Array, sharpness: Any, wanted: Array, width: Any) -> None:
    """``seen`` (k, k) becomes ``softmax(sharpness · seen) − softmax(wanted / (width · deviation))``."""
    k = len(seen)
    away = (wanted - wanted[0, k - 1]).astype(np.float64)
    np.fill_diagonal(away, 0.0)
    totals, squares = np.zeros(k), np.zeros(k)
    for row in away:
        totals += row
        squares += row * row
    pairs = max(k * (k - 1), 1)
    mean = _in_order(totals) / pairs
    deviation = np.sqrt(np.maximum(_in_order(squares) / pairs - mean * mean, 0.0))
    slope = np.float32(1 / (np.float64(width) * np.maximum(deviation, SMALLEST)))
    other = _shares(wanted, slope)
    seen[:] = _shares(seen, sharpness) - other


def _in_order(values: Array) -> Any:
    """The sum from the first to the last, as a loop has it."""
    return np.add.accumulate(values)[-1]


def _shares(scores: Array, slope: Any) -> Array:
    """Softmax of ``slope · scores`` by rows, without the diagonal, which is lost."""
    k = len(scores)
    np.fill_diagonal(scores, -FAR)
    with np.errstate(over="ignore"):
        away = (scores - scores.max(axis=1, keepdims=True)) * slope
    lead, powers = _exponential_parts(np.clip(away, LOWEST, ZERO))
    out: Array = lead * powers
    parts, whole = np.zeros((k, LANES), np.float32), k // LANES * LANES
    for first in range(0, whole, LANES):
        parts += out[:, first : first + LANES]
    parts[:, : k - whole] += out[:, whole:]
    np.fill_diagonal(out, ZERO)
    out /= np.add.accumulate(parts, axis=1)[:, -1:]
    return out
