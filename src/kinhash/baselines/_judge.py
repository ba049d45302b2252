"""How good a rival's map is on rows it has not seen: the measure of our own tuner, for any scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Bools
from ..training import Training
from ..tuning.scores import HELD_ROWS, average_precision_by_steps, kin_of_held, overall, unit_bits
from ..tuning.splits import ValidationSplit

__all__ = ["MapJudge"]

Scores = npt.NDArray[Any]


@dataclass(frozen=True)
class MapJudge:
    """Who is kin of the held-out rows: among rows fitted on, and among themselves.

    It asks for the first 1,000 rows held out, and for the first 1,500 fitted on.
    """

    kin_seen: Bools
    kin_held: Bools

    @classmethod
    def of(cls, training: Training, split: ValidationSplit) -> MapJudge:
        """Ask the supervision once, for all candidates."""
        small = ValidationSplit(split.part, split.held[:HELD_ROWS], split.weights)
        return cls(*kin_of_held(training, small)[1:])

    def value(self, held: Scores, seen: Scores, learned: Scores | None) -> float:
        """Mean average precision of the bits of held-out rows, weighed as our tuner does.

        Two fifths against learned codes of the rows fitted on, two fifths against their mapped codes, one
        fifth among the held-out rows; without learned codes, of the other two parts.
        """
        asked, database = unit_bits(held), unit_bits(seen)
        ones, far = np.ones(max(len(asked), len(database))), asked.shape[1]
        mapped = average_precision_by_steps(asked @ database.T, self.kin_seen, ones, False, far)
        unseen = average_precision_by_steps(asked @ asked.T, self.kin_held, ones, True, far)
        if learned is None:
            return float(2 * mapped + unseen) / 3
        by_label = average_precision_by_steps(asked @ unit_bits(learned).T, self.kin_seen, ones, False, far)
        return overall(by_label, mapped, unseen, "fitted")
