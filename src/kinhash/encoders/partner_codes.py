"""Codes of the rows that pairs, clicks or triplets name, from their own features and their partners.

One step of mean field from the map. With scores ``z`` of the map, of mean size 1, and links ``s_ij``,

    scores_i = z_i + weight · Σ_j s_ij tanh(z_j).

The weight is chosen on held-out examples between rows that other examples name too. Weight 0 keeps the code
of the map. Another weight must be better by two standard errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from .._internal.types import Floats32
from ..codes import pack_bits
from ..supervision import Examples
from .found import found_themselves
from .held_out_examples import judged

__all__ = ["PartnerScores", "PartnerWeight", "best_weight"]

WEIGHTS = (0.25, 0.5, 1.0, 2.0)  # with more, chance partners of rows with few decide
ERRORS = 2.0  # standard errors by which codes must be better: the best of several looks too good


class PartnerWeight(NamedTuple):
    """How much partners count, and the score of held-out examples with that weight and without."""

    weight: float = 0.0
    score: float | None = None
    without: float | None = None

    def facts(self) -> dict[str, object]:
        """For the report."""
        if not self.weight or self.score is None:
            return {"partners": self.weight}
        return {"partners": self.weight, "partners_score": self.score, "score_without": self.without}


@dataclass(frozen=True)
class PartnerScores:
    """Scores (m, d) of named rows by the map, scaled to mean size 1, and the sums over their partners."""

    own: Floats32
    partners: Floats32

    @classmethod
    def of(cls, scores: Floats32, examples: Sequence[Examples]) -> Self:
        """Scale the scores of the map and sum over partners. Memory: twice the scores, and the links."""
        z = scores / (float(np.abs(scores).mean()) or 1.0)
        total = sp.csr_array((len(z), len(z)), dtype=np.float32)
        for one in examples:
            left, right, strength = one.links()
            part = sp.coo_array((strength.astype(np.float32) * one.weight, (left, right)), shape=total.shape)
            total = total + part.tocsr()
        return cls(z, (total + total.T).tocsr() @ np.tanh(z))

    def at(self, weight: float) -> Floats32:
        return np.asarray(self.own + np.float32(weight) * self.partners, np.float32)


def best_weight(
    scores: Floats32, learn: Sequence[Examples], held: Sequence[Examples], seed: int
) -> PartnerWeight:
    """The weight whose codes order the held-out examples best, by more than two standard errors, or 0.

    A weight is refused if the share of rows that find themselves first falls by more than the order gains.
    """
    own = pack_bits(scores > 0)
    without, base = judged(held, own.__getitem__, seed)
    best, known = PartnerWeight(0.0, without, without), PartnerScores.of(scores, learn)
    moved = np.flatnonzero(known.partners.any(axis=1))
    at_first = found_themselves(moved, own, own, seed)
    for weight in WEIGHTS:
        codes = pack_bits(known.at(weight) > 0)
        score, influences = judged(held, codes.__getitem__, seed)
        error = float(np.sqrt(((influences - base) ** 2).sum())) / len(base)
        lost = at_first - found_themselves(moved, own, codes, seed)
        if score > max(best.score or 0.0, without + ERRORS * error) and score - without >= lost:
            best = PartnerWeight(weight, score, without)
    return best
