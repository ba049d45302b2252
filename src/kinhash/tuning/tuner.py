"""Choose what an encoder leaves open: the cheapest candidate within one standard error of the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..encoders import Encoder
from ..encoders.base import Candidate, HoldOut
from ..training import Training

__all__ = ["ENOUGH_ROWS", "Choice", "cheapest_good", "hold_out", "tune"]

ENOUGH_ROWS = 250  # fewer than 50 held-out rows cannot tell candidates apart
MOST_ROWS = 5_000  # candidates are compared on at most this many rows


@dataclass(frozen=True)
class Choice:
    """An encoder with nothing left open, and the mean losses of held-out rows if any were compared."""

    encoder: Encoder
    loss: float | None = None
    chance: float | None = None


def tune(training: Training, encoder: Encoder) -> Choice:
    """Settle what ``encoder`` leaves open; the encoder itself if nothing is, or if rows are too few."""
    split = hold_out(training)
    if split is None:
        return Choice(encoder)
    with training.stages("tuning"):
        candidates = list(encoder.candidates(training, split))
    if not candidates:
        return Choice(encoder)
    chosen = cheapest_good(candidates)
    return Choice(chosen.encoder, chosen.mean(chosen.losses), chosen.mean(chosen.chance))


def cheapest_good(candidates: list[Candidate]) -> Candidate:
    """The cheapest candidate whose mean loss is within one standard error of the least; the first of equals.

    The standard error is that of the paired differences over the held-out rows.
    """
    best = min(candidates, key=lambda one: one.mean(one.losses))
    return min((one for one in candidates if not best.is_better(one)), key=lambda one: one.cost)


def hold_out(training: Training) -> HoldOut | None:
    """A fifth of at most `MOST_ROWS` labeled rows; None if there are fewer than `ENOUGH_ROWS`.

    No class loses its last row.
    """
    rows = training.some_known_rows(training.rng, MOST_ROWS)
    if len(rows) < ENOUGH_ROWS:
        return None
    order = training.rng.permutation(rows)
    labels = training.supervision.labels
    spare = np.ones(len(order), bool)
    if labels is not None and labels.classes is not None:
        spare[np.unique(labels.classes[order], return_index=True)[1]] = False
    held = np.flatnonzero(spare)[: len(order) // 5]
    return HoldOut(np.delete(order, held), order[held]) if len(held) else None
