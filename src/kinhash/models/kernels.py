"""Compiled kernels: formulas of `steps` in one pass over memory, with the same bits.

Sums here are of whole numbers within their exact range, so adding them in any order ("reassoc") is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .._internal.compile import njit
from . import steps

__all__ = ["lengthened", "similarities", "unit_rows", "whole_columns"]

ANY_ORDER = {"reassoc"}


def plain(formula: Callable[..., Any]) -> Callable[..., None]:
    """The formula by NumPy, written to the last arguments: it answers until the kernel is compiled."""

    @wraps(formula)
    def twin(*arguments: Any) -> None:
        n = formula.__code__.co_argcount - 1
        found = formula(np, *arguments[:n])
        for out, one in zip(arguments[n:], found if isinstance(found, tuple) else (found,), strict=True):
            out[...] = one

    return twin


@njit(cache=True, nogil=True, twin=plain(steps.whole_columns))
def whole_columns(x, mean, factor, limit, out):  # type: ignore[no-untyped-def]
    """``out = clip(rint((x − mean) · factor), ±limit)``, in float64 whatever comes in."""
    rows, columns = x.shape
    for i in range(rows):
        for j in range(columns):
            whole = np.rint((np.float64(x[i, j]) - mean[j]) * factor[j])
            out[i, j] = min(max(whole, -limit), limit)


@njit(cache=True, nogil=True, fastmath=ANY_ORDER)
def _sum_of_squares(row):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(len(row)):
        value = np.float64(row[j])
        total += value * value
    return total


@njit(cache=True, nogil=True, twin=plain(steps.unit_rows))
def unit_rows(v, length, u, n):  # type: ignore[no-untyped-def]
    """Rows v (k, p) brought to one length, and their lengths n (k, 1)."""
    rows, columns = v.shape
    for i in range(rows):
        own = np.sqrt(_sum_of_squares(v[i]))
        n[i, 0] = own
        factor = length / own if own > 0 else 0.0
        for j in range(columns):
            u[i, j] = np.rint(np.float64(v[i, j]) * factor)


@njit(cache=True, nogil=True, twin=plain(steps.lengthened))
def lengthened(products, n, scale, constant, out):  # type: ignore[no-untyped-def]
    """``out = rint(products · n · scale) + constant`` with a length n (k, 1) for each row."""
    rows, columns = products.shape
    for i in range(rows):
        own = n[i, 0]
        for j in range(columns):
            out[i, j] = np.rint(np.float64(products[i, j]) * own * scale[j]) + constant[j]


@njit(cache=True, nogil=True, twin=plain(steps.similarities))
def similarities(products, u, squares, shift, root, table, out):  # type: ignore[no-untyped-def]
    """``table[min((d² + half) >> shift, last)]`` with ``d² = Σu² + squares − 2 products`` below 2³⁰."""
    rows, columns = products.shape
    last, half, bits = np.int32(len(table) - 1), np.int32((1 << shift) >> 1), np.int32(shift)
    places = np.empty(columns, np.int32)
    for i in range(rows):
        square = np.int32(np.int32(_sum_of_squares(u[i])) + half)
        for j in range(columns):
            away = np.int32(square + np.int32(squares[j]) - np.int32(2) * np.int32(products[i, j]))
            places[j] = min(np.int32(away >> bits), last)
        for j in range(columns):
            out[i, j] = table[places[j]]
