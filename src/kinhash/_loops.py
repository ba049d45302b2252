"""The compiled loops of `kinhash._arithmetic`; a file of their own, since Numba takes long to load."""

from __future__ import annotations

import numpy as np

from ._compile import njit

__all__ = ["add_product", "eliminate", "in_doubt", "lengths"]


# Without fastmath LLVM neither reorders nor fuses these: several entries of `out` at once is all it may do.
@njit(cache=True, nogil=True)
def add_product(a, b, out):  # type: ignore[no-untyped-def]
    n, columns = b.shape
    fours = n - n % 4
    for i in range(a.shape[0]):
        for k in range(0, fours, 4):  # four terms to a visit of `out`, one after the other
            w, x, y, z = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            for j in range(columns):
                first = (out[i, j] + w * b[k, j]) + x * b[k + 1, j]
                out[i, j] = (first + y * b[k + 2, j]) + z * b[k + 3, j]
        for k in range(fours, n):
            for j in range(columns):
                out[i, j] += a[i, k] * b[k, j]


@njit(cache=True, nogil=True)
def eliminate(A, x):  # type: ignore[no-untyped-def]
    rows, d = x.shape
    for i in range(rows):
        for k in range(d):
            for l in range(k + 1, d):
                factor = A[i, l, k] / A[i, k, k]
                for j in range(k + 1, d):
                    A[i, l, j] -= factor * A[i, k, j]
                x[i, l] -= factor * x[i, k]
        for k in range(d - 1, -1, -1):
            for j in range(k + 1, d):
                x[i, k] -= A[i, k, j] * x[i, j]
            x[i, k] /= A[i, k, k]


@njit(cache=True, nogil=True, fastmath={"reassoc"})  # only for bounds, which need no digits
def lengths(z):  # type: ignore[no-untyped-def]
    out = np.empty((z.shape[0], 1))
    for i in range(z.shape[0]):
        total = z.dtype.type(0)
        for j in range(z.shape[1]):
            total += z[i, j] * z[i, j]
        out[i, 0] = np.sqrt(total)
    return out


@njit(cache=True, nogil=True)
def in_doubt(scores, bound):  # type: ignore[no-untyped-def]
    out = np.zeros(scores.shape[0], np.bool_)
    for i in range(scores.shape[0]):
        limit, count = bound[i, 0], 0
        for j in range(scores.shape[1]):
            count += not abs(scores[i, j]) > limit
        out[i] = count > 0
    return out
