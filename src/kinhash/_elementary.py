"""exp, log, tanh and cos whose digits are the same on every machine.

NumPy and the C library choose an implementation by processor, and implementations differ in the last digit.
Here every function is a fixed sequence of float64 operations that IEEE 754 rounds correctly (+, −, ×, ÷,
scaling by powers of two), on whole arrays, so nothing is fused or reordered. Errors are below 2 units in
the last place for exp and log, 4 for expm1 and tanh; cos is off by less than 1e-15 for arguments up to 1e5,
and is some number of [−1, 1] far beyond.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._types import Floats

__all__ = ["cos", "exp", "expm1", "log", "tanh"]


# Constants in two or three parts; the leading ones end in zeros, so that whole multiples of them are exact.
LN2 = (float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33"))
HALF_PI = (
    float.fromhex("0x1.921fb54400000p+0"),
    float.fromhex("0x1.0b4611a600000p-34"),
    float.fromhex("0x1.3198a2e037073p-69"),
)
# Taylor coefficients, highest power first.
EXPONENTIAL = [1 / 6227020800, 1 / 479001600, 1 / 39916800, 1 / 3628800, 1 / 362880, 1 / 40320, 1 / 5040]
EXPONENTIAL += [1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2]
ODD = [1 / n for n in range(25, 1, -2)]
SINE = [1 / 355687428096000, -1 / 1307674368000, 1 / 6227020800, -1 / 39916800, 1 / 362880, -1 / 5040]
SINE += [1 / 120, -1 / 6]
COSINE = [-1 / 6402373705728000, 1 / 20922789888000, -1 / 87178291200, 1 / 479001600, -1 / 3628800]
COSINE += [1 / 40320, -1 / 720, 1 / 24, -1 / 2]


def exp(x: npt.NDArray[Any]) -> Floats:
    """eˣ = 2ⁿ eʳ with |r| ≤ ln 2 / 2."""
    n, grown = _grown(x)
    return np.ldexp(1.0 + grown, n)


def expm1(x: npt.NDArray[Any]) -> Floats:
    """eˣ − 1, precise near 0."""
    n, grown = _grown(x)
    return np.where(n == 0, grown, np.ldexp(1.0 + grown, n) - 1.0)


def log(x: npt.NDArray[Any]) -> Floats:
    """Natural logarithm of positive numbers: ``log(2ⁿ m) = n ln 2 + 2 artanh((m − 1) / (m + 1))``."""
    m, n = np.frexp(np.asarray(x, np.float64))
    low = m < np.sqrt(0.5)
    m, n = np.where(low, 2 * m, m), n - low
    s = (m - 1) / (m + 1)
    square = s * s
    tail = 2 * s * (square * _polynomial(ODD, square))
    return n * LN2[0] + (2 * s + (tail + n * LN2[1]))


def tanh(x: npt.NDArray[Any]) -> Floats:
    """Hyperbolic tangent, by ``expm1(−2|x|)``."""
    x = np.asarray(x, np.float64)
    fallen = expm1(-2 * np.abs(x))
    return np.copysign(-fallen / (2 + fallen), x)


def cos(x: npt.NDArray[Any]) -> Floats:
    """Cosine: whole quarters of a turn are taken off, and what is left is within ±π/4."""
    x = np.asarray(x, np.float64)
    quarters = np.rint(x * (2 / np.pi))
    r = ((x - quarters * HALF_PI[0]) - quarters * HALF_PI[1]) - quarters * HALF_PI[2]
    r = np.clip(r, -1.0, 1.0)  # arguments so large that nothing is left of them
    square = r * r
    sine = r + r * (square * _polynomial(SINE, square))
    cosine = 1.0 + square * _polynomial(COSINE, square)
    turn = np.mod(quarters, 4.0)
    return np.select([turn == 0, turn == 1, turn == 2], [cosine, -sine, -cosine], sine)


def _grown(x: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], Floats]:
    """n and ``eʳ − 1`` with ``x = n ln 2 + r``."""
    x = np.clip(np.asarray(x, np.float64), -800.0, 709.0)  # 0 is reached before; nothing overflows
    n = np.rint(x * (1 / 0.6931471805599453))
    r = (x - n * LN2[0]) - n * LN2[1]
    return n.astype(np.int32), r + r * r * _polynomial(EXPONENTIAL, r)


def _polynomial(coefficients: list[float], x: Floats) -> Floats:
    value = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value *= x
        value += coefficient
    return value
