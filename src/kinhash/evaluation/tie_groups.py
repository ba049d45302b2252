"""Closed forms over groups of equal distance.

A query sees its database as a sequence of groups; the order inside a group is nobody's choice.
Group by group, ``n`` rows of which ``r`` are kin, after ``N`` rows of which ``R`` are kin.

Every formula here is the exact expectation over all orders inside the groups. The best and the
worst order need no formula of their own: `arranged` cuts each group into a part that is all kin
and a part that is none, inside which the order no longer matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Floats

__all__ = [
    "arranged",
    "average_precisions",
    "discounted_gains",
    "harmonic_step",
    "kin_among_first",
    "per_kin",
    "precision_terms",
]

Counts = npt.NDArray[np.int64]

_SMALL = 64
_H = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, _SMALL + 1))])


def harmonic_step(N: Any, n: Any) -> Floats:
    """``1/(N+1) + ... + 1/(N+n)``, to machine precision relative to itself for any size.

    Up to 64 it is a table, beyond that ``log1p`` and the series of the harmonic numbers. A
    difference of two harmonic numbers would lose the digits a far group needs.
    """
    N, end = np.asarray(N, np.int64), np.asarray(N, np.int64) + np.asarray(n, np.int64)
    near = _H[np.minimum(end, _SMALL)] - _H[np.minimum(N, _SMALL)]
    a, b = np.maximum(N, _SMALL).astype(float), np.maximum(end, _SMALL).astype(float)
    return np.asarray(near + np.log1p((b - a) / a) + (_tail(b) - _tail(a)))


def _tail(x: Floats) -> Floats:
    y = 1 / (x * x)
    return 1 / (2 * x) - y * (1 / 12 - y * (1 / 120 - y / 252))


def arranged(n: Counts, r: Counts, ties: str) -> tuple[Counts, Counts]:
    """Groups ``(..., g)`` as they are, or cut in two with the kin first or last: ``(..., 2 g)``."""
    if ties == "expected":
        return n, r
    parts = [(r, r), (n - r, np.zeros_like(r))]
    if ties == "pessimistic":
        parts.reverse()
    shape = (*n.shape[:-1], 2 * n.shape[-1])
    sizes = np.stack([size for size, _ in parts], axis=-1).reshape(shape)
    kin = np.stack([kin for _, kin in parts], axis=-1).reshape(shape)
    return sizes, kin


def precision_terms(N: Counts, n: Counts, R: Counts, r: Counts, top: int | None = None) -> Floats:
    """Expected sum, over the kin of each group, of the precision at their places.

    A row at place ``N + t`` is kin with probability ``r / n``, and then ``R + 1`` kin and an
    expected ``(t - 1)(r - 1) / (n - 1)`` more of its own group stand there or in front. Summed over t,

        ``r/n [ (R + 1) dH + (r - 1)/(n - 1) (n' - (N + 1) dH) ]``

    with ``n' = min(n, top - N)`` and ``dH = 1/(N+1) + ... + 1/(N+n')``.
    """
    seen = n if top is None else np.clip(top - N, 0, n)
    dH = harmonic_step(N, seen)
    mates = np.where(n > 1, (r - 1) / np.maximum(n - 1, 1), 0.0)
    return np.asarray(r / np.maximum(n, 1) * ((R + 1) * dH + mates * (seen - (N + 1) * dH)))


def per_kin(sums: Floats, kin: Counts, top: int | None = None) -> Floats:
    """Divide by the number of kin that can stand among the first ``top``; NaN without kin."""
    most = kin if top is None else np.minimum(kin, top)
    return np.where(kin > 0, sums / np.maximum(most, 1), np.nan)


def average_precisions(n: Counts, r: Counts, top: int | None = None) -> Floats:
    """Expected average precision of rows of groups ``(..., g)``; NaN where there is no kin."""
    N, R = np.cumsum(n, axis=-1) - n, np.cumsum(r, axis=-1) - r
    return per_kin(precision_terms(N, n, R, r, top).sum(axis=-1), r.sum(axis=-1), top)


def kin_among_first(n: Counts, r: Counts, k: int) -> Floats:
    """Expected number of kin among the first ``k`` places: of a group cut by ``k``, its share."""
    N = np.cumsum(n, axis=-1) - n
    return np.asarray((r * (np.clip(k - N, 0, n) / np.maximum(n, 1))).sum(axis=-1))


def discounted_gains(n: Counts, gains: Floats, top: int | None = None) -> Floats:
    """Expected ``sum of gain / log2(1 + place)`` over the first ``top`` places.

    Every row of a group is as likely at each of its places, so the group's gains are shared out
    evenly: ``sum_g gains_g / n_g * (D(N + n') - D(N))`` with ``D(k) = sum_{i<=k} 1 / log2(1 + i)``.
    """
    N = np.cumsum(n, axis=-1) - n
    seen = n if top is None else np.clip(top - N, 0, n)
    discounts = discount_sums(N + seen) - discount_sums(N)
    return np.asarray((gains / np.maximum(n, 1) * discounts).sum(axis=-1))


def discount_sums(places: Counts, chunk: int = 1 << 18) -> Floats:
    """``D(k) = sum_{i<=k} 1 / log2(1 + i)`` for each ``k``, summed in chunks: memory stays bounded."""
    wanted, back = np.unique(places, return_inverse=True)
    out, before = np.zeros(len(wanted)), 0.0
    for first in range(0, int(wanted.max(initial=0)), chunk):
        here = (wanted > first) & (wanted <= first + chunk)
        last = min(first + chunk, int(wanted[-1]))
        sums = before + np.cumsum(1 / np.log2(np.arange(first + 2, last + 2)))
        out[here] = sums[wanted[here] - first - 1]
        before = sums[-1]
    return out[back].reshape(places.shape)
