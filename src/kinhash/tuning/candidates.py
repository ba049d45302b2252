"""A way to encode that is tried on held-out rows: prepared rows, a label model, a temperature, its score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._types import Floats32
from ..encoders.expected_labels import Start, softened
from ..encoders.features import FeatureMap
from ..encoders.label_models import LabelModel
from ..encoders.labelled import LabelledSet
from ..solvers import Solution
from .scores import SEEN_ROWS, Judge, Score

__all__ = ["Candidate", "Trial"]


@dataclass(frozen=True)
class Trial:
    """Rows prepared one way: those to fit on, and the held-out ones."""

    features: FeatureMap
    labelled: LabelledSet
    held: Floats32

    def score(self, judge: Judge, solution: Solution, model: LabelModel) -> Score:
        """Score of a label model."""
        return judge.score(solution, *self.chances(model))

    def chances(self, model: LabelModel) -> tuple[Floats32, Floats32]:
        """Label probabilities of the held-out rows, and of some of those fitted on."""
        return model.probabilities(self.held), model.probabilities(self.labelled.features[:SEEN_ROWS])


@dataclass(frozen=True)
class Candidate:
    """One label model with its temperature, and its score."""

    trial: Trial
    kind: Any
    model: LabelModel
    penalty: float | None
    temperature: float
    score: Score

    @property
    def value(self) -> float:
        """What it is chosen by."""
        return self.score.value

    @property
    def start(self) -> Start:
        """Where another fit may begin."""
        return Start(self.trial.labelled, self.model)

    @property
    def softened(self) -> LabelModel:
        """The model at its temperature."""
        return softened(self.model, self.temperature)
