"""Scores of similar pairs against those of others: the counts behind the ROC AUC."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.types import Ints

__all__ = ["strangers_below"]


def strangers_below(kin: npt.NDArray[Any], strangers: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """For the score of every pair of kin: how many pairs of strangers score less, and how many the same."""
    ordered = np.sort(strangers)
    below = np.searchsorted(ordered, kin, "left")
    return below, np.searchsorted(ordered, kin, "right") - below
