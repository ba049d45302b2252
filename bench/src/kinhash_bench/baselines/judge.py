"""How good a rival's map is on held-out rows: mean average precision of the bits it gives them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.paper.similarity import Training
from kinhash.plugins import Array, Bools, Ints, njit

from .features import HoldOut

__all__ = ["HELD_ROWS", "SEEN_ROWS", "MapJudge"]

SEEN_ROWS = 1500  # of the rows a candidate was fitted on, this many are ranked
HELD_ROWS = 1000  # held-out rows that are the queries

Scores = npt.NDArray[Any]


@dataclass(frozen=True)
class MapJudge:
    """Which rows are relevant to the held-out rows: of the rows fitted on, and of the held-out rows."""

    kin_seen: Bools
    kin_held: Bools

    @classmethod
    def of(cls, training: Training, split: HoldOut) -> MapJudge:
        """Ask the supervision once, for all candidates."""
        supervision = training.supervision
        held = supervision.group_of_row[split.held[:HELD_ROWS]]
        seen = supervision.group_of_row[split.part[:SEEN_ROWS]]
        unique, inverse = np.unique(held, return_inverse=True)

        def kin(groups: Ints) -> Bools:
            return (supervision.similarity(unique, groups) > 0)[inverse]

        among = kin(held)
        np.fill_diagonal(among, False)
        return cls(kin(seen), among)

    def value(self, held: Scores, seen: Scores, learned: Scores | None) -> float:
        """Mean average precision of the bits of held-out rows.

        Two fifths against learned codes of the rows fitted on, two fifths against their mapped codes, one
        fifth among the held-out rows; without learned codes, of the other two parts.
        """
        queries, database = _unit_bits(held), _unit_bits(seen)
        far = queries.shape[1]
        mapped = average_precision_by_steps(queries @ database.T, self.kin_seen, False, far)
        unseen = average_precision_by_steps(queries @ queries.T, self.kin_held, True, far)
        if learned is None:
            return float(2 * mapped + unseen) / 3
        by_label = average_precision_by_steps(queries @ _unit_bits(learned).T, self.kin_seen, False, far)
        return float(2 * by_label + 2 * mapped + unseen) / 5


def _unit_bits(scores: Array) -> Array:
    """Signs of scores (n, d) as rows of length 1: their products fall with the Hamming distance."""
    size = np.float32(1 / np.sqrt(scores.shape[1]))
    return np.where(scores > 0, size, -size)


@njit(cache=True, nogil=True)
def average_precision_by_steps(scores, kin, leave_out_self, farthest):  # type: ignore[no-untyped-def]
    """Mean AP of ranking rows by scores (h, k), ``1 − 2 distance / farthest`` of whole distances.

    Rows at one distance count as ties: a hit in the middle of its step. Queries without kin are left out.
    """
    h, k = scores.shape
    total_ap, asked, half = 0.0, 0, 0.5 * farthest
    # Strangers and kin at each distance: one addition a pair, and no branch.
    rows = np.empty((farthest + 1, 2))
    for i in range(h):
        rows[:] = 0.0
        for j in range(k):
            place = min(max(int((1.0 - scores[i, j]) * half + 0.5), 0), farthest)
            rows[place, int(kin[i, j])] += 1.0
        if leave_out_self:
            place = min(max(int((1.0 - scores[i, i]) * half + 0.5), 0), farthest)
            rows[place, int(kin[i, i])] -= 1.0
        before, found, ap = 0.0, 0.0, 0.0
        for place in range(farthest + 1):
            r = rows[place, 1]
            n = rows[place, 0] + r
            if r > 0:
                ap += r * (found + 0.5 * r + 0.5) / (before + 0.5 * n + 0.5)
            found += r
            before += n
        if found > 0:
            asked += 1
            total_ap += ap / found
    return total_ap / max(asked, 1)
