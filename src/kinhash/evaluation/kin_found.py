"""mAP@K as the programs of HashNet and of many deep methods count it: divided by the kin that were found.

Ours divides the precisions at the kin among the first K places by ``min(kin, K)``, the most that can stand
there. Theirs divides by the kin that do stand there, so a list with one kin in front and none behind it
scores 1, and finding another one far down the list makes the score fall. Both are called mAP@K in print.

Ties: the group that place K cuts has ``n`` rows, ``r`` of them kin, and ``m`` of its rows are seen. How many
of these are kin is hypergeometric, and given that number the seen places are in random order, so the
expectation is a sum over it. The best and the worst order are found over the same sum: with this divisor the
best order of a cut group may well be the one that hides its kin.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from .._types import Floats
from .tie_groups import harmonic_step, precision_terms

__all__ = ["DIVISORS", "precision_of_found", "precisions_of_found"]

DIVISORS = ("kin", "found")

Counts = npt.NDArray[np.int64]


def precisions_of_found(n: Counts, r: Counts, top: int | None, ties: str) -> Floats:
    """Scores (q,) of groups (q, g) of ``n`` rows with ``r`` kin, nearest first; NaN without kin."""
    N, R = np.cumsum(n, axis=-1) - n, np.cumsum(r, axis=-1) - r
    return np.array([precision_of_found(*row, top, ties) for row in zip(N, n, R, r, strict=True)])


def precision_of_found(N: Counts, n: Counts, R: Counts, r: Counts, top: int | None, ties: str) -> float:
    """Score of one query: groups of ``n`` rows, ``r`` of them kin, after ``N`` rows with ``R`` kin.

    A query that has kin, but none among the first ``top`` rows, scores 0.
    """
    if not r.any():
        return float("nan")
    whole = np.ones(len(n), bool) if top is None else N + n <= top
    total = float(_whole_terms(N[whole], n[whole], R[whole], r[whole], ties).sum())
    found = int(r[whole].sum())
    cut = np.flatnonzero(~whole & ((top or 0) > N) & (r > 0))
    if not len(cut) or top is None:
        return total / found if found else 0.0
    at = cut[0]
    seen, strangers = top - N[at], n[at] - r[at]
    least, most = max(0, seen - strangers), min(r[at], seen)
    if ties == "expected":
        least, most = _likely(n[at], r[at], seen, least, most)
    kin = np.arange(least, most + 1)
    terms = _cut_terms(N[at], seen, R[at], kin, ties)
    scores = np.where(found + kin > 0, (total + terms) / np.maximum(found + kin, 1), 0.0)
    if ties == "expected":
        return float(scores @ _chances(n[at], r[at], seen, kin))
    return float(scores.max() if ties == "optimistic" else scores.min())


def _whole_terms(N: Counts, n: Counts, R: Counts, r: Counts, ties: str) -> Floats:
    if ties == "expected":
        return precision_terms(N, n, R, r)
    return _in_a_row(N if ties == "optimistic" else N + n - r, R, r)


def _cut_terms(N: int, seen: int, R: int, kin: Counts, ties: str) -> Floats:
    """Sums of precisions when ``kin`` of the ``seen`` places hold kin, for each such number."""
    if ties == "expected":
        same = np.ones_like(kin)
        return precision_terms(N * same, seen * same, R * same, kin)
    return _in_a_row(N if ties == "optimistic" else N + seen - kin, R, kin)


def _in_a_row(before: Any, R: Any, kin: Counts) -> Floats:
    """``(R+1)/(before+1) + ... + (R+kin)/(before+kin)``: precisions at kin that stand one after another."""
    before = np.broadcast_to(before, kin.shape)
    return np.asarray(kin + (R - before) * harmonic_step(before, kin))


def _likely(n: int, r: int, seen: int, least: int, most: int) -> tuple[int, int]:
    """The numbers of kin that matter: twelve deviations around the mean; beyond, chances are below 10⁻²⁰."""
    mean = seen * r / n
    reach = 12 * np.sqrt(mean * (1 - r / n) * (n - seen) / max(n - 1, 1)) + 12
    return max(least, int(mean - reach)), min(most, int(np.ceil(mean + reach)))


def _chances(n: int, r: int, seen: int, kin: Counts) -> Floats:
    """Hypergeometric: ``kin`` of the ``r`` kin among ``seen`` rows drawn from ``n``."""

    def choose(a: Any, b: Any) -> Floats:
        return np.asarray(gammaln(a + 1.0) - gammaln(b + 1.0) - gammaln(a - b + 1.0))

    chances = np.exp(choose(r, kin) + choose(n - r, seen - kin) - choose(n, seen))
    return np.asarray(chances / chances.sum())
