"""What a method learns from, checked at the door: rows, who is kin, weights, randomness, a clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._stages import Stages
from ._types import Floats, Ints
from .rows import Rows
from .supervision import Supervision

__all__ = ["Training"]


@dataclass(frozen=True)
class Training:
    """The input of one fit. ``weights`` (n,) is None where every row counts once.

    ``looks`` (n, any width) says who looks alike, where that is not by the features.
    """

    rows: Rows
    supervision: Supervision
    weights: Floats | None
    rng: np.random.Generator
    stages: Stages
    n_jobs: int | None = None
    looks: Rows | None = None

    @property
    def known_weights(self) -> Floats | None:
        """Row weights with zero for rows nothing is known about; None where every row counts once."""
        known = self.supervision.group_of_row >= 0
        if known.all():
            return self.weights
        return known.astype(np.float64) if self.weights is None else self.weights * known

    @property
    def known_rows(self) -> Ints:
        """Numbers of the rows with supervision and weight, in order."""
        weights = self.known_weights
        return np.arange(len(self.rows)) if weights is None else np.flatnonzero(weights > 0)

    def some_known_rows(self, rng: np.random.Generator, most: int) -> Ints:
        """At most ``most`` of them, drawn at random, in order."""
        rows = self.known_rows
        return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
