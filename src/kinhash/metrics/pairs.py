"""Pairs of rows, and the ROC AUC: how often is a similar pair nearer than a dissimilar pair?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._internal.types import Array, Floats, Ints

__all__ = ["Pairs", "auc_shares", "strangers_below"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of row numbers with a verdict: 1 for similar, −1 for dissimilar."""

    left: Ints
    right: Ints
    verdict: Ints

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, rows: Any) -> Pairs:
        return Pairs(self.left[rows], self.right[rows], self.verdict[rows])


def strangers_below(kin: Array, strangers: Array) -> tuple[Ints, Ints]:
    """For the score of every similar pair: how many dissimilar pairs score less, and how many the same."""
    ordered = np.sort(strangers)
    below = np.searchsorted(ordered, kin, "left")
    return below, np.searchsorted(ordered, kin, "right") - below


def auc_shares(kin: Array, strangers: Array) -> Floats:
    """For every similar pair, the share of dissimilar pairs that score less; ties count one half.

    Their mean is the ROC AUC. Scores are higher for nearer pairs.
    """
    below, level = strangers_below(kin, strangers)
    return (below + level / 2) / len(strangers)
