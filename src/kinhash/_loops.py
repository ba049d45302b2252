"""The compiled loops of `kinhash._arithmetic`; a file of their own, since Numba takes long to load."""

from __future__ import annotations

import numpy as np

from ._compile import njit

__all__ = ["add_product", "eliminate", "in_doubt", "lengths", "slope_errors"]


# Without fastmath LLVM neither reorders nor fuses these: several entries of `out` at once is all it may do.
@njit(cache=True, nogil=True)
def add_product(a, b, out):  # type: ignore[no-untyped-def]
    fours = a.shape[0] - a.shape[0] % 4
    for i in range(0, fours, 4):
        _add_to_four_rows(a[i : i + 4], b, out[i : i + 4])
    for i in range(fours, a.shape[0]):
        _add_to_a_row(a[i], b, out[i])


@njit(cache=True, nogil=True)
def _add_to_four_rows(a, b, out):  # type: ignore[no-untyped-def]
    n, columns = b.shape
    pairs = n - n % 2
    for k in range(0, pairs, 2):  # two terms of four rows to a visit of `b`, one after the other
        p, q, r, s = a[0, k], a[1, k], a[2, k], a[3, k]
        w, x, y, z = a[0, k + 1], a[1, k + 1], a[2, k + 1], a[3, k + 1]
        for j in range(columns):
            first, second = b[k, j], b[k + 1, j]
            out[0, j] = (out[0, j] + p * first) + w * second
            out[1, j] = (out[1, j] + q * first) + x * second
            out[2, j] = (out[2, j] + r * first) + y * second
            out[3, j] = (out[3, j] + s * first) + z * second
    for k in range(pairs, n):
        for i in range(4):
            for j in range(columns):
                out[i, j] += a[i, k] * b[k, j]


@njit(cache=True, nogil=True)
def _add_to_a_row(a, b, out):  # type: ignore[no-untyped-def]
    n, columns = b.shape
    fours = n - n % 4
    for k in range(0, fours, 4):  # four terms to a visit of `out`
        w, x, y, z = a[k], a[k + 1], a[k + 2], a[k + 3]
        for j in range(columns):
            first = (out[j] + w * b[k, j]) + x * b[k + 1, j]
            out[j] = (first + y * b[k + 2, j]) + z * b[k + 3, j]
    for k in range(fours, n):
        for j in range(columns):
            out[j] += a[k] * b[k, j]


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
    wide = bound.shape[1] > 1
    for i in range(scores.shape[0]):
        limit, near = bound[i, 0], False
        if wide:
            for j in range(scores.shape[1]):
                near |= not abs(scores[i, j]) > bound[i, j]
        else:
            for j in range(scores.shape[1]):
                near |= not abs(scores[i, j]) > limit
        out[i] = near
    return out


@njit(cache=True, nogil=True)
def slope_errors(p, moved, share, always):  # type: ignore[no-untyped-def]
    """``p (1 − p) moved + share p + always`` of probabilities p (k, t), with moved (k, 1)."""
    out = np.empty(p.shape)
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            out[i, j] = max(p[i, j] * (1.0 - p[i, j]), 0.0) * moved[i, 0] + share * p[i, j] + always
    return out
