"""The kernels of `kernels` again in plain NumPy, bit for bit: they answer until the kernels are compiled.

Same names and arguments. What is added up are whole numbers within their exact range, so the order is free.
"""

from __future__ import annotations

import numpy as np

from .._internal.types import Array

__all__ = [
    "lengthened",
    "relative_rows",
    "row_squares",
    "shares",
    "similarities",
    "tag_similarities",
    "unit_rows",
    "whole_columns",
]


def _wide(values: Array) -> Array:
    return values.astype(np.float64, copy=False)


def whole_columns(x: Array, mean: Array, factor: Array, limit: float, out: Array) -> None:
    """``out = clip(rint((x − mean) · factor), ±limit)``, in float64 whatever comes in."""
    out[:] = np.clip(np.rint((_wide(x) - mean) * factor), -limit, limit)


def relative_rows(x: Array, parts: float, out: Array) -> None:
    """``out = rint(x / max|x| · parts)`` row by row."""
    x = _wide(x)
    top = np.abs(x).max(axis=1, keepdims=True, initial=0.0)
    out[:] = np.rint(x / np.where(top > 0, top, 1.0) * parts)


def unit_rows(v: Array, length: float, u: Array, n: Array) -> None:
    """Rows v (k, p) brought to one length, and their lengths n (k, 1)."""
    v = _wide(v)
    n[:] = np.sqrt((v * v).sum(axis=1, keepdims=True))
    u[:] = np.rint(v * np.where(n > 0, length / np.where(n > 0, n, 1.0), 0.0))


def lengthened(products: Array, n: Array, scale: Array, constant: Array, out: Array) -> None:
    """``out = rint(products · n · scale) + constant`` with a length n (k, 1) for each row."""
    out[:] = np.rint(_wide(products) * n * scale) + constant


def row_squares(u: Array) -> Array:
    """Sums of squares (k,) of rows whose sums are below 2³¹."""
    return (_wide(u) ** 2).sum(axis=1).astype(np.int32)


def similarities(
    products: Array, row_squares: Array, center_squares: Array, shift: int, table: Array, out: Array
) -> None:
    """``table[min((d² + half) >> shift, last)]`` with ``d²`` from exact products (k, c) in float32."""
    half = (1 << int(shift)) >> 1
    away = row_squares[:, None] + half + center_squares - 2 * products.astype(np.int32)
    out[:] = table[np.minimum(away >> shift, len(table) - 1)]


def _places(away: Array, scale: float, table: Array) -> Array:
    half = 0.5 if scale < 1 else 0.0
    return np.minimum(np.floor(_wide(away) * scale + half), len(table) - 1.0).astype(np.int64)


def shares(v: Array, scale: float, table: Array, whole: float, out: Array) -> None:
    """Softmax of the rows of v (k, q) by a table, in parts of ``whole``."""
    odds = table[_places(v.max(axis=1, keepdims=True) - v, scale, table)]
    out[:] = np.rint(odds / odds.sum(axis=1, keepdims=True) * whole)


def tag_similarities(
    common: Array, logs: Array, total: Array, sizes: Array, scale: float, table: Array, out: Array
) -> None:
    """``rint(common / (total − common + sizes) · 2¹⁵) − table[(logs + half) >> shift]``."""
    common = _wide(common)
    union = total[:, None] - common + sizes
    out[:] = np.rint(common / union * 32768.0) - table[_places(logs, scale, table)]
