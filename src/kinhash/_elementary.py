"""exp, log, tanh and cos whose digits are the same on every machine.

NumPy and the C library choose an implementation by processor, and implementations differ in the last digit.
Here every function is a fixed sequence of float64 operations that IEEE 754 rounds correctly (+, −, ×, ÷,
scaling by powers of two); nothing is fused or reordered. Errors are below 2 units in the last place for exp
and log, 4 for tanh and expm1; cos is off by less than 1e-15 for arguments up to 1e5, and is some number of
[−1, 1] far beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._types import Floats

__all__ = ["cos", "exp", "expm1", "log", "tanh"]


# A constant in three parts; the leading ones end in zeros, so that whole multiples of them are exact.
HALF_PI = (
    float.fromhex("0x1.921fb54400000p+0"),
    float.fromhex("0x1.0b4611a600000p-34"),
    float.fromhex("0x1.3198a2e037073p-69"),
)
# Taylor coefficients, highest power first.
SINE = [1 / 355687428096000, -1 / 1307674368000, 1 / 6227020800, -1 / 39916800, 1 / 362880, -1 / 5040]
SINE += [1 / 120, -1 / 6]
COSINE = [-1 / 6402373705728000, 1 / 20922789888000, -1 / 87178291200, 1 / 479001600, -1 / 3628800]
COSINE += [1 / 40320, -1 / 720, 1 / 24, -1 / 2]


def exp(x: npt.NDArray[Any]) -> Floats:
    """eˣ."""
    from ._elementary_loops import exponentials

    return _of_each(exponentials, x)


def expm1(x: npt.NDArray[Any]) -> Floats:
    """eˣ − 1, precise near 0."""
    from ._elementary_loops import exponentials_less_one

    return _of_each(exponentials_less_one, x)


def log(x: npt.NDArray[Any]) -> Floats:
    """Natural logarithm of positive numbers."""
    from ._elementary_loops import logarithms

    return _of_each(logarithms, x)


def tanh(x: npt.NDArray[Any]) -> Floats:
    """Hyperbolic tangent."""
    from ._elementary_loops import hyperbolic_tangents

    return _of_each(hyperbolic_tangents, x)


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


def _of_each(loop: Callable[[Floats, Floats], None], x: npt.NDArray[Any]) -> Floats:
    x = np.asarray(x, np.float64, order="C")
    out = np.empty(x.shape)
    loop(x.ravel(), out.ravel())
    return out


def _polynomial(coefficients: list[float], x: Floats) -> Floats:
    value = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value *= x
        value += coefficient
    return value
