"""Sign bits: is each feature above its mean? The cheapest code there is."""

from __future__ import annotations

import numpy as np

from ..encoders import LinearMap
from ..supervision import Training
from .base import Solved, Unsupervised
from .card import FEATURES, Card
from .centered import center_columns

__all__ = ["SignBits"]


class SignBits(Unsupervised):
    """Bit k is 1 where a column is above its training mean; the columns that vary most come first.

    With ``n_bits`` equal to the number of columns every column has its bit, which is what people do to
    embeddings when they are in a hurry. With more bits the columns are gone through again.

    Objective: none. Nothing is random, and labels are not read. Database codes: mapped.

    Parameters as in `Unsupervised`. Memory beyond X: p·n_bits and a few blocks of rows.
    """

    card = Card(
        "signs of centered columns",
        FEATURES,
        "one column per bit",
        "all of it",
    )

    def _solve(self, training: Training) -> Solved:
        preparation, shares = center_columns(training)
        chosen = np.resize(np.argsort(-shares, kind="stable"), self.n_bits)
        weights = np.zeros((len(shares), self.n_bits), np.float32)
        weights[chosen, np.arange(self.n_bits)] = 1.0
        facts = {"columns": chosen}
        return Solved(None, LinearMap(preparation, weights, np.zeros(self.n_bits, np.float32)), facts)
