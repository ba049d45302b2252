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

from .._compile import njit
from .._types import Floats
from .tie_groups import harmonic_step, precision_terms

__all__ = ["DIVISORS", "precisions_of_found", "precisions_of_groups"]

DIVISORS = ("kin", "found")
NEGLIGIBLE = 1e-20  # a number of kin less likely than this, beside the likeliest, is left out

Counts = npt.NDArray[np.int64]


def precisions_of_found(n: Counts, r: Counts, top: int | None, ties: str) -> Floats:
    """Scores (q,) of groups (q, g) of ``n`` rows with ``r`` kin, nearest first; NaN without kin."""
    return precisions_of_groups(np.cumsum(n, axis=-1) - n, n, np.cumsum(r, axis=-1) - r, r, top, ties)


def precisions_of_groups(N: Counts, n: Counts, R: Counts, r: Counts, top: int | None, ties: str) -> Floats:
    """Scores (q,) of groups (q, g) of ``n`` rows, ``r`` of them kin, after ``N`` rows with ``R`` kin.

    A query that has kin, but none among the first ``top`` rows, scores 0; one without kin NaN.
    """
    whole = np.ones(n.shape, bool) if top is None else N + n <= top
    total = np.where(whole, _whole_terms(N, n, R, r, ties), 0.0).sum(axis=-1)
    found = np.where(whole, r, 0).sum(axis=-1)
    scores = total / np.maximum(found, 1)
    if top is not None:
        cut = ~whole & (top > N) & (r > 0)  # at most one group of a query
        query, group = np.nonzero(cut)
        before, size, kin_before, kin = (counts[query, group] for counts in (N, n, R, r))
        sums, so_far = total[query], found[query]
        if ties == "expected":
            steps = harmonic_step(before, top - before)
            scores[query] = _expected_when_cut(sums, so_far, before, size, kin_before, kin, steps, top)
        else:
            best = ties == "optimistic"
            scores[query] = _extreme_when_cut(sums, so_far, before, size, kin_before, kin, top, best)
    return np.where(r.any(axis=-1), scores, np.nan)


def _whole_terms(N: Counts, n: Counts, R: Counts, r: Counts, ties: str) -> Floats:
    if ties == "expected":
        return precision_terms(N, n, R, r)
    before = N if ties == "optimistic" else N + n - r
    return np.asarray(r + (R - before) * harmonic_step(before, r))  # precisions at kin one after another


@njit(cache=True, nogil=True)
def _expected_when_cut(total: Any, found: Any, N: Any, n: Any, R: Any, r: Any, steps: Any, top: int) -> Any:
    """Mean score over how many of the ``r`` kin stand in the ``top - N`` places that are seen.

    From the likeliest number up and down: neighbouring chances of the hypergeometric distribution have a
    simple ratio, which is 0 at either end. ``steps`` is ``1/(N+1) + ... + 1/top``.
    """
    scores = np.empty(len(total))
    for q in range(len(total)):
        seen = top - N[q]
        spare = n[q] - r[q] - seen  # strangers beyond the places seen; below 0, some kin must be seen
        likeliest = max((seen + 1) * (r[q] + 1) // (n[q] + 2), 0, -spare)
        first = (R[q] + 1) * steps[q]
        mates = (seen - (N[q] + 1) * steps[q]) / max(seen - 1, 1)
        mean = chances = 0.0
        for up in (True, False):
            kin, chance = likeliest, 1.0
            while chance > NEGLIGIBLE:
                if up or kin < likeliest:
                    terms = kin / seen * (first + (kin - 1) * mates)
                    mean += chance * (total[q] + terms) / max(found[q] + kin, 1)
                    chances += chance
                if up:
                    chance *= (r[q] - kin) / (kin + 1) * (seen - kin) / (spare + kin + 1)
                    kin += 1
                else:
                    chance *= kin / (r[q] - kin + 1) * (spare + kin) / (seen - kin + 1)
                    kin -= 1
        scores[q] = mean / chances
    return scores


@njit(cache=True, nogil=True)
def _extreme_when_cut(total: Any, found: Any, N: Any, n: Any, R: Any, r: Any, top: int, best: bool) -> Any:
    """The highest score over the numbers of kin that may be seen, kin in front; or the lowest, kin behind."""
    scores = np.empty(len(total))
    for q in range(len(total)):
        seen = top - N[q]
        least, most = max(0, seen - (n[q] - r[q])), min(r[q], seen)
        steps = 0.0
        scores[q] = -1.0 if best else 2.0
        for kin in range(most + 1):
            before = N[q] if best else top - kin
            if kin:
                steps += 1.0 / (before + kin if best else before + 1)
            if kin < least:
                continue
            terms = kin + (R[q] - before) * steps
            score = (total[q] + terms) / max(found[q] + kin, 1)
            scores[q] = max(scores[q], score) if best else min(scores[q], score)
    return scores
