"""Closed forms over groups of equal distance.

A query sees its database as a sequence of groups; the order inside a group is nobody's choice.
Group by group, ``n`` rows of which ``r`` are kin, after ``N`` rows of which ``R`` are kin.

Every metric here is an exact expectation over all orders inside the groups. The best and the
worst order need no formula of their own: `kin_first` and `kin_last` cut each group into a part
that is all kin and a part that is none, inside which order no longer matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["arranged", "average_precisions", "harmonic_step"]

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

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


def average_precisions(n: Counts, r: Counts, top: int | None = None) -> Floats:
    """Expected average precision of rows of groups ``(..., g)``; NaN where there is no kin.

    A row at place ``N + t`` is kin with probability ``r / n``, and then ``R + 1`` kin plus an
    expected ``(t - 1)(r - 1) / (n - 1)`` of its own group are in front or at its place. Summed over t,

        ``AP = sum_g r/n [ (R + 1) dH + (r - 1)/(n - 1) (n' - (N + 1) dH) ] / min(r_total, top)``

    with ``n' = min(n, top - N)`` and ``dH = 1/(N+1) + ... + 1/(N+n')``.
    """
    N, R = np.cumsum(n, axis=-1) - n, np.cumsum(r, axis=-1) - r
    seen = n if top is None else np.clip(top - N, 0, n)
    dH = harmonic_step(N, seen)
    mates = np.where(n > 1, (r - 1) / np.maximum(n - 1, 1), 0.0)
    terms = r / np.maximum(n, 1) * ((R + 1) * dH + mates * (seen - (N + 1) * dH))
    total = r.sum(axis=-1)
    most = total if top is None else np.minimum(total, top)
    return np.where(total > 0, terms.sum(axis=-1) / np.maximum(most, 1), np.nan)
