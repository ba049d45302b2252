"""Rows held out inside a fit: some to fit candidates on, others, which none of them sees, to judge by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._types import Ints
from ..training import Training

__all__ = ["ENOUGH_ROWS", "ValidationSplit", "validation_split"]

ENOUGH_ROWS = 250  # below this nothing is held out: the rows would be too few to judge by
MOST_ROWS = 8000  # candidates are fitted and judged on so many rows


@dataclass(frozen=True)
class ValidationSplit:
    """Row numbers: ``part`` to fit on (in random order), ``held`` to judge by."""

    part: Ints
    held: Ints


def validation_split(training: Training, rng: np.random.Generator) -> ValidationSplit | None:
    """A fifth of at most `MOST_ROWS` known rows is held out; None where there are too few."""
    rows = training.some_known_rows(rng, MOST_ROWS)
    if len(rows) < ENOUGH_ROWS:
        return None
    order = rng.permutation(rows)
    n_held = len(order) // 5
    return ValidationSplit(order[n_held:], order[:n_held])
