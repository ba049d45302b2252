"""Solving ``(λI − 2c₁A) v = b``, and turning v into marginals.

``λ = max_k (Σ_l |A_kl| + |b_k|) / c`` keeps the sigmoid's argument within [−c, c], so the matrix is
positive definite for every A while c stays below its limit, and |v| ≤ c holds for the solution. A
may be singular: it is never inverted. (This v is the paper's v′ = v + b/λ, eq. 8.)
"""

from __future__ import annotations

import numpy as np

from .._internal.types import Floats
from ..errors import UnknownName

__all__ = [
    "RENORMALIZE",
    "renormalize",
    "row_scale",
    "solve_each",
    "solve_near",
    "solve_shared",
]


SETTLED = 1e-8  # relative size of a residual that is zero for our purposes
SMALLEST = 1e-290  # numbers below lose digits
RENORMALIZE = ("row", "symmetric", "none")


def row_scale(A: Floats, b: Floats, clip: float) -> Floats:
    """λ (k,) of rows with pulls b (k, d): one A (d, d) for all, or one each (k, d, d)."""
    return (np.abs(A).sum(axis=-1) + np.abs(b)).max(axis=1) / clip


def solve_each(A: Floats, b: Floats, clip: float, slope: float) -> Floats:
    """One system per row: A (k, d, d), b (k, d). Rows whose system is zero stay zero.

    If λ is NaN, or too small for float64, v is b: such a matrix may be singular.
    """
    lam = row_scale(A, b, clip)
    sound = (lam > SMALLEST) & (lam < np.inf)
    matrices, lam = -2 * slope * A, np.where(sound, lam, 1.0)
    matrices[~sound] = 0.0
    matrices[:, np.arange(b.shape[1]), np.arange(b.shape[1])] += lam[:, None]
    return np.asarray(np.linalg.solve(matrices, b[:, :, None])[:, :, 0], np.float64)


def solve_shared(
    A: Floats, b: Floats, clip: float, slope: float, eigen: tuple[Floats, Floats] | None = None
) -> Floats:
    """Many rows, one A (d, d): a single eigendecomposition, ours or given, serves all. O(d³ + k d²)."""
    values, vectors = np.linalg.eigh(A) if eigen is None else eigen
    lam = _positive(row_scale(A, b, clip))
    return _through(values, vectors, lam, b, slope)


def solve_near(A: Floats, own: Floats, factor: Floats, b: Floats, clip: float, slope: float) -> Floats:
    """Rows with ``A_i = A + factor_i offdiag(own_i own_iᵀ)``: conjugate gradients on all rows together.

    The matrices are well conditioned (at c = 2 by less than 12), so some twenty products with A settle
    every row; that is far cheaper than a factorization per row, or one eigendecomposition per block.
    Rows that have not settled after sixty (c near its limit) are solved singly.
    """
    from .row_bounds import row_bounds  # compiled code waits until it is needed

    lam = _positive(row_bounds(A, own, factor, np.abs(b)) / clip)[:, None]
    twice, factor = 2 * slope, factor[:, None]

    def apply(v: Floats) -> Floats:
        inner = (own * v).sum(axis=1, keepdims=True)
        return lam * v - twice * (v @ A + factor * (own * inner - own**2 * v))

    v = b / lam
    residual = b - apply(v)
    direction = residual.copy()
    size = (residual**2).sum(axis=1, keepdims=True)
    goal = SETTLED**2 * (b**2).sum(axis=1, keepdims=True)
    for _ in range(60):
        if (size <= goal).all():
            return v
        product = apply(direction)
        curve = (direction * product).sum(axis=1, keepdims=True)
        step = size / np.where(curve > 0, curve, 1.0)
        v = v + step * direction
        residual = residual - step * product
        new = (residual**2).sum(axis=1, keepdims=True)
        direction = residual + new / np.where(size > 0, size, 1.0) * direction
        size = new
    for i in np.flatnonzero((size > goal)[:, 0]):
        outer = factor[i] * np.outer(own[i], own[i])
        np.fill_diagonal(outer, 0.0)
        v[i] = solve_each((A + outer)[None], b[i : i + 1], clip, slope)[0]
    return v


def renormalize(v: Floats, clip: float, how: str) -> Floats:
    """Stretch each row of v to [−c, c] before the sigmoid.

    ``row``: min–max (the paper); a constant row, or a single bit, has no range to stretch and
    becomes ``sign(v)·c``. ``symmetric``: ``c·v / max|v|``, which respects flips of a bit. ``none``: as is.
    Rows of zeros stay zero, so their marginals are ½.
    """
    if how == "none":
        return v
    if how == "symmetric":
        return clip * v / _positive(np.abs(v).max(axis=1, keepdims=True))
    if how != "row":
        raise UnknownName.among("renormalization", how, RENORMALIZE)
    low, high = v.min(axis=1, keepdims=True), v.max(axis=1, keepdims=True)
    span = high - low
    flat = span <= 1e-12 * np.maximum(np.abs(low), np.abs(high))
    stretched = clip * (2 * (v - low) / np.where(flat, 1.0, span) - 1)
    return np.where(flat, clip * np.sign(v), stretched)


def _through(values: Floats, vectors: Floats, lam: Floats, b: Floats, slope: float) -> Floats:
    return ((b @ vectors) / (lam[:, None] - 2 * slope * values)) @ vectors.T


def _positive(x: Floats) -> Floats:
    return np.where(x > 0, x, 1.0)
