"""How good a rival's map is on rows it has not seen: the measure of our own tuner, for any scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Bools, Floats, Ints
from ..training import Training
from ..tuning.scores import HELD_ROWS, SEEN_ROWS, binned_average_precision, overall
from ..tuning.splits import ValidationSplit

__all__ = ["Judge"]

Scores = npt.NDArray[Any]


@dataclass(frozen=True)
class Judge:
    """Who is kin of the held-out rows: among rows fitted on, and among themselves.

    It asks for the first 1,000 rows held out, and for the first 1,500 fitted on.
    """

    kin_seen: Bools
    kin_held: Bools

    @classmethod
    def of(cls, training: Training, split: ValidationSplit) -> Judge:
        """Ask the supervision once, for all candidates."""
        supervision, held = training.supervision, split.held[:HELD_ROWS]
        unique, inverse = np.unique(supervision.group_of_row[held], return_inverse=True)

        def kin(others: Ints) -> Bools:
            return (supervision.similarity(unique, supervision.group_of_row[others]) > 0)[inverse]

        among = kin(held)
        np.fill_diagonal(among, False)
        return cls(kin(split.part[:SEEN_ROWS]), among)

    def value(self, held: Scores, seen: Scores, learned: Scores | None) -> float:
        """Mean average precision of the bits of held-out rows, weighed as our tuner does.

        Two fifths against learned codes of the rows fitted on, two fifths against their mapped codes, one
        fifth among the held-out rows; without learned codes, of the other two parts.
        """
        asked, database = _signs(held), _signs(seen)
        ones = np.ones(max(len(asked), len(database)))
        mapped = binned_average_precision(asked @ database.T, self.kin_seen, ones, False)
        unseen = binned_average_precision(asked @ asked.T, self.kin_held, ones, True)
        if learned is None:
            return float(2 * mapped + unseen) / 3
        by_label = binned_average_precision(asked @ _signs(learned).T, self.kin_seen, ones, False)
        return overall(by_label, mapped, unseen, "fitted")


def _signs(scores: Scores) -> Floats:
    size = np.float32(1 / np.sqrt(scores.shape[1]))
    return np.where(scores > 0, size, -size)
