"""Scores of similar pairs against those of others: the counts behind the ROC AUC."""

from __future__ import annotations

import numpy as np

from .._internal.types import Array, Ints

__all__ = ["strangers_below"]


def strangers_below(kin: Array, strangers: Array) -> tuple[Ints, Ints]:
    """For the score of every similar pair: how many dissimilar pairs score less, and how many the same."""
    ordered = np.sort(strangers)
    below = np.searchsorted(ordered, kin, "left")
    return below, np.searchsorted(ordered, kin, "right") - below
