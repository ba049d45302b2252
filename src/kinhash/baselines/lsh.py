"""LSH: signs of random projections, the line every learned code must beat."""

from __future__ import annotations

import numpy as np

from ..encoders import LinearMap
from ..metrics import random_directions
from ..supervision import Training
from .base import Solved, Unsupervised
from .card import FEATURES, Card
from .centered import center_columns

__all__ = ["LSH"]


class LSH(Unsupervised):
    """Random hyperplanes: bit k of x is 1 where ``(x − mean)·w_k > 0``, with w_k normal.

    Objective: none. Two rows differ in a bit with the probability angle/π, so Hamming distances estimate
    angles, and long codes approach cosine search.

    Steps: center the columns (their scales stay), draw ``W ~ N(0, 1)`` of shape (p, d).
    Differs from the ITQ release's LSH in the bit of a score that is exactly 0, which here is 0.
    Database codes: mapped. Labels are not read.

    Parameters as in `Unsupervised`. Memory beyond X: p·n_bits and a few blocks of rows.

    Reference: Charikar. Similarity estimation techniques from rounding algorithms. STOC 2002.
    """

    card = Card(
        "Charikar, STOC 2002",
        FEATURES,
        "random hyperplanes",
        "nothing",
    )

    def _solve(self, training: Training) -> Solved:
        preparation, shares = center_columns(training)
        directions = random_directions(len(shares), self.n_bits, training.rng)
        weights = (shares[:, None] * directions).astype(np.float32)
        return Solved(None, LinearMap(preparation, weights, np.zeros(self.n_bits, np.float32)))
