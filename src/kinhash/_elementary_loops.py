"""The compiled loops of `kinhash._elementary`; a file of their own, since Numba takes long to load.

Without fastmath LLVM neither reorders nor fuses operations: several entries at once is all it may do.
"""

from __future__ import annotations

import numpy as np

from ._compile import njit

__all__ = ["exponentials", "exponentials_less_one", "hyperbolic_tangents", "logarithms"]

# ln 2 in two parts; the leading one ends in zeros, so that whole multiples of it are exact.
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
PER_LN2 = 1 / 0.6931471805599453
ROOT_HALF = float(np.sqrt(0.5))
MANTISSA, EXPONENT = (1 << 52) - 1, 1023
# Taylor coefficients, highest power first.
EXPONENTIAL = (1 / 6227020800, 1 / 479001600, 1 / 39916800, 1 / 3628800, 1 / 362880, 1 / 40320, 1 / 5040)
EXPONENTIAL += (1 / 720, 1 / 120, 1 / 24, 1 / 6, 1 / 2)  # type: ignore[assignment]
ODD = tuple(1 / n for n in range(25, 1, -2))


@njit(cache=True, nogil=True)
def exponentials(x, out):  # type: ignore[no-untyped-def]
    """eˣ of x (n,)."""
    for i in range(x.size):
        n, grown = _grown(x[i])
        out[i] = _scaled(1.0 + grown, n)


@njit(cache=True, nogil=True)
def exponentials_less_one(x, out):  # type: ignore[no-untyped-def]
    """eˣ − 1 of x (n,)."""
    for i in range(x.size):
        out[i] = _less_one(x[i])


@njit(cache=True, nogil=True)
def hyperbolic_tangents(x, out):  # type: ignore[no-untyped-def]
    """tanh x of x (n,), by ``expm1(−2|x|)``."""
    for i in range(x.size):
        fallen = _less_one(-2 * abs(x[i]))
        out[i] = np.copysign(-fallen / (2 + fallen), x[i])


@njit(cache=True, nogil=True)
def logarithms(x, out):  # type: ignore[no-untyped-def]
    """Logarithms of normal positive numbers x (n,): ``log(2ⁿ m) = n ln 2 + 2 artanh((m − 1) / (m + 1))``."""
    for i in range(x.size):
        bits = np.float64(x[i]).view(np.int64)
        n = (bits >> 52) - (EXPONENT - 1)
        m = np.int64((bits & MANTISSA) | ((EXPONENT - 1) << 52)).view(np.float64)
        if m < ROOT_HALF:
            m, n = 2 * m, n - 1
        s = (m - 1) / (m + 1)
        square = s * s
        tail = ODD[0]
        for coefficient in ODD[1:]:
            tail = tail * square + coefficient
        tail = 2 * s * (square * tail)
        out[i] = n * LN2_HIGH + (2 * s + (tail + n * LN2_LOW))


@njit(cache=True, nogil=True)
def _less_one(x):  # type: ignore[no-untyped-def]
    n, grown = _grown(x)
    far = _scaled(1.0 + grown, n) - 1.0
    return grown if n == 0 else far


@njit(cache=True, nogil=True)
def _grown(x):  # type: ignore[no-untyped-def]
    """n and ``eʳ − 1`` with ``x = n ln 2 + r`` and |r| ≤ ln 2 / 2."""
    x = np.float64(x)
    if x < -800.0:  # 0 is reached before
        x = -800.0
    if x > 709.0:  # nothing overflows
        x = 709.0
    n = np.rint(x * PER_LN2)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    value = EXPONENTIAL[0]
    for coefficient in EXPONENTIAL[1:]:
        value = value * r + coefficient
    return n, r + r * r * value


@njit(cache=True, nogil=True)
def _scaled(x, n):  # type: ignore[no-untyped-def]
    """``2ⁿ x`` of x near 1, rounded once: numbers too small to be normal are reached in two steps."""
    first = max(n, -1000.0)
    one = np.int64((np.int64(first) + EXPONENT) << 52).view(np.float64)
    two = np.int64((np.int64(n - first) + EXPONENT) << 52).view(np.float64)
    return x * one * two
