"""Codes of the rows that pairs, clicks or triplets name, from their own features and their partners.

One step of mean field from the map. With scores ``z`` of the map, of mean size 1, and links ``s_ij``,

    scores_i = z_i + weight · Σ_j s_ij tanh(z_j).

The weight is chosen on held-out examples between rows that other examples name too. Weight 0 keeps the code
of the map. Another weight must be better by two standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from .._internal.types import Bytes, Floats, Floats32, Ints
from ..codes import pack_bits
from ..supervision import Examples, agreement_of
from .found import found_themselves

__all__ = ["PartnerScores", "PartnerWeight", "best_weight", "judged", "split_among_named"]

WEIGHTS = (0.25, 0.5, 1.0, 2.0)  # with more, chance partners of rows with few decide
HELD_OUT = 0.2  # share of the examples that weights are compared on
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


def split_among_named(
    examples: Sequence[Examples], n_rows: int, rng: np.random.Generator
) -> tuple[list[Examples], list[Examples]] | None:
    """Examples to learn from, and held-out ones whose rows those name too; None where they are too few."""
    drawn = [rng.random(len(one.ends)) < HELD_OUT for one in examples]
    named = np.zeros(n_rows, bool)
    for one, out in zip(examples, drawn, strict=True):
        named[one.ends[~out]] = True
    held = [out & named[one.ends].all(axis=1) for one, out in zip(examples, drawn, strict=True)]
    learn = [one.subset(~out) for one, out in zip(examples, held, strict=True)]
    judged_by = [
        one.subset(rng.permutation(np.flatnonzero(out))) for one, out in zip(examples, held, strict=True)
    ]
    enough = [one.is_enough() for one in learn] + [one.is_enough(to_score=True) for one in judged_by]
    return (learn, judged_by) if all(enough) else None


def judged(held: Sequence[Examples], codes: Callable[[Ints], Bytes], seed: int) -> tuple[float, Floats]:
    """Mean score of held-out examples of all kinds by their weights, and pseudo-values less that mean.

    A pseudo-value is what an example would add to the score if it were a mean over examples: its influence
    times their number.
    """
    found = [one.score(agreement_of(codes), np.random.default_rng(seed)) for one in held]
    weights = np.array([one.weight for one in held]) / sum(one.weight for one in held)
    influences = np.concatenate([w * each.influences for w, each in zip(weights, found, strict=True)])
    score = float(weights @ [each.score for each in found])
    return score, influences * len(influences)


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
