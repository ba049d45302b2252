"""Pairs of rows, and the ROC AUC: how often is a pair of kin nearer than a pair of strangers?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._internal.types import Array, Floats, Ints

__all__ = ["Pairs", "auc_shares", "strangers_below"]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of row numbers with a verdict: 1 for kin, −1 for strangers."""

    left: Ints
    right: Ints
    verdict: Ints

    def __len__(self) -> int:
        return len(self.left)

    def __getitem__(self, rows: Any) -> Pairs:
        return Pairs(self.left[rows], self.right[rows], self.verdict[rows])


def strangers_below(kin: Array, strangers: Array) -> tuple[Ints, Ints]:
    """For the score of every pair of kin: how many pairs of strangers score less, and how many the same."""
    ordered = np.sort(strangers)
    below = np.searchsorted(ordered, kin, "left")
    return below, np.searchsorted(ordered, kin, "right") - below


def auc_shares(kin: Array, strangers: Array) -> Floats:
    """For every pair of kin, the share of pairs of strangers that score less; ties count one half.

    Their mean is the ROC AUC. Scores are higher for nearer pairs.
    """
    below, level = strangers_below(kin, strangers)
    return (below + level / 2) / len(strangers)
