"""Compiled kernels of the steps: the same numbers as `Step.run`, in one pass over memory.

Sums here are of whole numbers within their exact range, so adding them in any order ("reassoc") is exact.
"""

from __future__ import annotations

import numpy as np

from .._internal.compile import njit
from . import numpy_reference

__all__ = [
    "lengthened",
    "relative_rows",
    "row_squares",
    "settle_rows",
    "shares",
    "similarities",
    "tag_similarities",
    "unit_rows",
    "walk",
    "whole_columns",
]

ANY_ORDER = {"reassoc"}


@njit(cache=True, nogil=True, twin=numpy_reference.whole_columns)
def whole_columns(x, mean, factor, limit, out):  # type: ignore[no-untyped-def]
    """``out = clip(rint((x − mean) · factor), ±limit)``, in float64 whatever comes in."""
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns):
            whole = np.rint((np.float64(x[i, j]) - mean[j]) * factor[j])
            out[i, j] = min(max(whole, -limit), limit)


@njit(cache=True, nogil=True, twin=numpy_reference.relative_rows)
def relative_rows(x, parts, out):  # type: ignore[no-untyped-def]
    """``out = rint(x / max|x| · parts)`` row by row."""
    rows, columns = x.shape
    for i in range(rows):
        top = 0.0
        for j in range(columns):
            top = max(top, abs(np.float64(x[i, j])))
        if top == 0.0:
            top = 1.0
        for j in range(columns):
            out[i, j] = np.rint(np.float64(x[i, j]) / top * parts)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _sum_of_squares(row):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(len(row)):
        value = np.float64(row[j])
        total += value * value
    return total


@njit(cache=True, nogil=True, twin=numpy_reference.unit_rows)
def unit_rows(v, length, u, n):  # type: ignore[no-untyped-def]
    """Rows v (k, p) brought to one length, and their lengths n (k, 1)."""
    rows, columns = v.shape
    for i in range(rows):
        own = np.sqrt(_sum_of_squares(v[i]))
        n[i, 0] = own
        factor = length / own if own > 0 else 0.0
        for j in range(columns):
            u[i, j] = np.rint(np.float64(v[i, j]) * factor)


@njit(cache=True, nogil=True, twin=numpy_reference.lengthened)
def lengthened(products, n, scale, constant, out):  # type: ignore[no-untyped-def]
    """``out = rint(products · n · scale) + constant`` with a length n (k, 1) for each row."""
    rows, columns = products.shape
    for i in range(rows):
        own = n[i, 0]
        for j in range(columns):
            out[i, j] = np.rint(np.float64(products[i, j]) * own * scale[j]) + constant[j]


@njit(cache=True, nogil=True, twin=numpy_reference.row_squares)
def row_squares(u):  # type: ignore[no-untyped-def]
    """Sums of squares (k,) of rows whose sums are below 2³¹."""
    out = np.empty(len(u), np.int32)
    for i in range(len(u)):
        out[i] = np.int32(_sum_of_squares(u[i]))
    return out


@njit(cache=True, nogil=True, twin=numpy_reference.similarities)
def similarities(products, row_squares, center_squares, shift, table, out):  # type: ignore[no-untyped-def]
    """``table[min((d² + half) >> shift, last)]`` with ``d²`` from exact products (k, c) in float32."""
    rows, columns = products.shape
    last, half = np.int32(len(table) - 1), np.int32((1 << shift) >> 1)
    bits = np.int32(shift)
    places = np.empty(columns, np.int32)
    for i in range(rows):
        square = np.int32(row_squares[i] + half)
        for j in range(columns):
            away = np.int32(square + center_squares[j] - np.int32(2) * np.int32(products[i, j]))
            places[j] = min(np.int32(away >> bits), last)
        for j in range(columns):
            out[i, j] = table[places[j]]


@njit(cache=True, nogil=True, twin=numpy_reference.shares)
def shares(v, scale, table, whole, out):  # type: ignore[no-untyped-def]
    """Softmax of the rows of v (k, q) by a table, in parts of ``whole``."""
    rows, columns = v.shape
    last, half = len(table) - 1.0, 0.5 if scale < 1 else 0.0
    for i in range(rows):
        top = v[i, 0]
        for j in range(1, columns):
            top = max(top, v[i, j])
        total = 0.0
        for j in range(columns):
            place = min(np.floor((top - v[i, j]) * scale + half), last)
            out[i, j] = table[np.int64(place)]
            total += out[i, j]
        for j in range(columns):
            out[i, j] = np.rint(out[i, j] / total * whole)


@njit(cache=True, nogil=True, twin=numpy_reference.tag_similarities)
def tag_similarities(common, logs, total, sizes, scale, table, out):  # type: ignore[no-untyped-def]
    """``rint(common / (total − common + sizes) · 2¹⁵) − table[(logs + half) >> shift]``."""
    rows, columns = common.shape
    last, half = len(table) - 1.0, 0.5 if scale < 1 else 0.0
    for i in range(rows):
        for j in range(columns):
            shared = np.float64(common[i, j])
            place = min(np.floor(np.float64(logs[i, j]) * scale + half), last)
            union = total[i] - shared + sizes[j]
            out[i, j] = np.rint(shared / union * 32768.0) - table[np.int64(place)]


@njit(cache=True, nogil=True)
def settle_rows(bits, pulls, coupling, bend, sweeps):  # type: ignore[no-untyped-def]
    """Coordinate descent on each row of bits ±1 (k, d), in place: a bit takes the sign of its field.

    The field is ``pulls − bend · coupling @ bits``, the bit itself left out; one of zero changes nothing.
    """
    rows, d = bits.shape
    for i in range(rows):
        for _ in range(sweeps):
            changed = 0
            for k in range(d):
                bent = 0.0
                for l in range(d):
                    if l != k:
                        bent += coupling[k, l] * bits[i, l]
                field = pulls[i, k] - bend * bent
                new = 1.0 if field > 0 else (-1.0 if field < 0 else bits[i, k])
                if new != bits[i, k]:
                    bits[i, k] = new
                    changed += 1
            if changed == 0:
                break


@njit(cache=True, nogil=True)
def walk(places, feature, threshold, right, value, starts, out):  # type: ignore[no-untyped-def]
    """Add to ``out`` (k,) the leaf of every tree that a row ends in."""
    for t in range(len(starts) - 1):
        root = starts[t]
        for i in range(len(places)):
            node = root
            while right[node] > 0:
                node = node + 1 if places[i, feature[node]] <= threshold[node] else root + right[node]
            out[i] += value[node]
