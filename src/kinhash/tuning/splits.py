"""Rows held out inside a fit: some to fit candidates on, others, which none of them sees, to judge by.

Of classes with few rows each, a row held out is missed: what is left of its class is rarer than before, and
candidates that go by how common a class is would look worse than they are. So no class loses its last row,
and the others count for those that are held out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Floats, Ints
from ..training import Training

__all__ = ["ENOUGH_ROWS", "ValidationSplit", "validation_split"]

ENOUGH_ROWS = 250  # below this nothing is held out: the rows would be too few to judge by
MOST_ROWS = 8000  # candidates are fitted and judged on so many rows
FEW_EACH = 25  # rows per class, below which every row held out is missed


@dataclass(frozen=True)
class ValidationSplit:
    """Row numbers: ``part`` to fit on (in random order), ``held`` to judge by.

    ``weights`` say how much the rows of ``part`` count; None: as much as they do in the whole fit.
    """

    part: Ints
    held: Ints
    weights: Floats | None = None


def validation_split(training: Training, rng: np.random.Generator) -> ValidationSplit | None:
    """A fifth of at most `MOST_ROWS` known rows is held out; None where there are too few."""
    rows = training.some_known_rows(rng, MOST_ROWS)
    if len(rows) < ENOUGH_ROWS:
        return None
    order = rng.permutation(rows)
    n_held = len(order) // 5
    labels = training.supervision.labels
    if labels is not None and labels.classes is not None and len(order) < FEW_EACH * len(labels.names):
        return _fair_split(order, n_held, labels.classes, training.weights)
    return ValidationSplit(order[n_held:], order[:n_held])


def _fair_split(order: Ints, n_held: int, classes: Ints, weights: Floats | None) -> ValidationSplit:
    """Every class keeps its first row, and its weight."""
    first = np.zeros(len(order), bool)
    first[np.unique(classes[order], return_index=True)[1]] = True
    held = np.flatnonzero(~first)[:n_held]
    if not len(held):  # one row each
        return ValidationSplit(order[n_held:], order[:n_held])
    part = np.delete(order, held)
    own = np.ones(len(classes)) if weights is None else weights
    whole, left = (np.bincount(classes[rows], own[rows], classes.max() + 1) for rows in (order, part))
    return ValidationSplit(part, order[held], own[part] * (whole / np.maximum(left, 1e-300))[classes[part]])
