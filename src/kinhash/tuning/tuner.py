"""Choose what an encoder leaves open: the cheapest candidate within one standard error of the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..encoders import Candidate, Encoder
from ..supervision import Training

__all__ = ["Choice", "cheapest_good", "tune"]


@dataclass(frozen=True)
class Choice:
    """An encoder with nothing left open, and the candidates and mean losses of held-out rows, if any."""

    encoder: Encoder
    loss: float | None = None
    chance: float | None = None
    tried: tuple[Candidate, ...] = ()


def tune(training: Training, encoder: Encoder, solution: Any = None) -> Choice:
    """Settle what ``encoder`` leaves open; the encoder itself if nothing is, or if rows are too few."""
    with training.stages("tuning"):
        candidates = list(encoder.candidates(training, solution))
    if not candidates:
        return Choice(encoder)
    chosen = cheapest_good(candidates)
    return Choice(chosen.encoder, chosen.mean(chosen.losses), chosen.mean(chosen.chance), tuple(candidates))


def cheapest_good(candidates: list[Candidate]) -> Candidate:
    """The cheapest candidate whose mean loss is within one standard error of the least; the first of equals.

    The standard error is that of the paired differences over the held-out rows.
    """
    best = min(candidates, key=lambda one: one.mean(one.losses))
    return min((one for one in candidates if not best.is_better(one)), key=lambda one: one.cost)
