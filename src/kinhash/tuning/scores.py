"""How good a candidate is, before its codes are rounded to bits.

Held-out rows rank three databases by the cosine of relaxed codes: the sample with its true codes (what a *learned*
database is), rows the candidate was fitted on (a *mapped* database of training rows), and the other held-out rows
(a database *nobody has seen*). How well one random rotation rounds says nothing about a candidate, and would drown
what does: between draws of 4,000 rows rounded scores scatter by .04, these by half of that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from .._types import Bools, Floats, Floats32
from ..encoders.expected import expected_similarity
from ..solvers import Solution
from ..training import Training
from .splits import Split

__all__ = ["Judge", "binned_average_precision"]

SEEN_ROWS = 2000  # of the rows a candidate was fitted on, so many are ranked
HELD_ROWS = 1000
BINS = 2048


@dataclass(frozen=True)
class Judge:
    """Held-out rows, and who is kin to them among the sample, the rows fitted on, and themselves."""

    split: Split
    patterns: Floats32
    weights: Floats
    exclusive: bool
    kin_sample: Bools
    kin_seen: Bools
    kin_held: Bools

    @classmethod
    def of(cls, training: Training, solution: Solution, patterns: Floats32, split: Split) -> Judge:
        """Ask the supervision once, for all candidates."""
        supervision = training.supervision
        small = Split(split.part, split.held[:HELD_ROWS])
        held, seen = (supervision.group_of_row[rows] for rows in (small.held, small.part[:SEEN_ROWS]))
        unique, inverse = np.unique(held, return_inverse=True)

        def kin(others: object) -> Bools:
            return (supervision.similarity(unique, others) > 0)[inverse]  # type: ignore[arg-type]

        labels = supervision.labels
        assert labels is not None
        among = kin(held)
        np.fill_diagonal(among, False)
        return cls(
            small,
            patterns,
            solution.sample.weights,
            not labels.is_tags,
            kin(solution.sample.groups),
            kin(seen),
            among,
        )

    def value(self, solution: Solution, held: Floats32, seen: Floats32) -> float:
        """Mean average precision over the three databases, from label probabilities (k, t) of rows."""
        relaxed = _relaxed(solution)
        asked = self._directions(relaxed, held)
        sample = _unit(_entries(solution, relaxed, self.patterns, self.exclusive))
        database = self._directions(relaxed, seen)
        ones = np.ones(len(database))
        learned = binned_average_precision(asked @ sample.T, self.kin_sample, self.weights, False)
        mapped = binned_average_precision(asked @ database.T, self.kin_seen, ones, False)
        unseen = binned_average_precision(asked @ asked.T, self.kin_held, np.ones(len(asked)), True)
        return float(learned + 0.5 * (mapped + unseen)) / 2

    def _directions(self, relaxed: Callable[[Floats], Floats], chances: Floats32) -> Floats32:
        return _unit(relaxed(expected_similarity(chances, self.patterns.astype(np.uint8), self.exclusive)))


def _relaxed(solution: Solution) -> Callable[[Floats], Floats]:
    if solution.embedding is not None:
        return solution.embedding.of
    assert solution.readout is not None
    return solution.readout.scores


def _entries(
    solution: Solution, relaxed: Callable[[Floats], Floats], patterns: Floats32, exclusive: bool
) -> Floats:
    if solution.embedding is not None:
        return solution.embedding.entries
    return np.where(solution.minimum.means > 0, 1.0, -1.0)


def _unit(codes: Floats) -> Floats32:
    length = np.linalg.norm(codes, axis=1, keepdims=True)
    return (codes / np.maximum(length, 1e-12)).astype(np.float32)


@njit(cache=True, nogil=True)
def binned_average_precision(scores, kin, weights, leave_out_self):  # type: ignore[no-untyped-def]
    """Mean AP of ranking weighted rows by scores (h, k) in [−1, 1]; rows without kin are left out.

    Scores fall into `BINS` bins, and rows of one bin count as ties: a hit in the middle of its bin.
    """
    h, k = scores.shape
    total_ap, asked = 0.0, 0
    for i in range(h):
        hits, rows = np.zeros(2048), np.zeros(2048)
        found = 0.0
        for j in range(k):
            if leave_out_self and i == j:
                continue
            place = int((1.0 - scores[i, j]) * 1023.5)
            place = min(max(place, 0), 2047)
            rows[place] += weights[j]
            if kin[i, j]:
                hits[place] += weights[j]
                found += weights[j]
        if found == 0:
            continue
        asked += 1
        before, hits_before, ap = 0.0, 0.0, 0.0
        for place in range(2048):
            r, n = hits[place], rows[place]
            if r > 0:
                ap += r * (hits_before + 0.5 * r + 0.5) / (before + 0.5 * n + 0.5)
            hits_before += r
            before += n
        total_ap += ap / found
    return total_ap / max(asked, 1)
