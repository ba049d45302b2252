"""Choose what was left open: features, penalty, temperature, weights of the anchors, recoding.

All on the same held-out rows: for each kind of features a path of penalties with warm starts, each with
several temperatures; then, for tags, the anchors' rarity, and whether learned codes are fitted to the map's
bits. A choice that costs more at encoding, or departs from the plain method, must gain a little to be taken.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._types import Floats32
from ..encoders import Encoder, Fitted
from ..encoders.expected_labels import ExpectedLabels, Start, fit_label_model, label_patterns, softened
from ..encoders.features import RBF, FeatureMap, Plain, feature_map
from ..encoders.label_models import LabelModel, LinearLabels
from ..encoders.labelled import LabelledSet, labelled_set, prepared_like
from ..energies import Energy
from ..solvers import Solution, Solver
from ..solvers.spectral import Spectral
from ..training import Training
from .recoding import recoding_gain
from .scores import SEEN_ROWS, Judge
from .splits import validation_split

__all__ = ["Chosen", "choose", "tune"]

RBF_GAIN = 0.004  # what RBF features must gain: they cost more to encode with
GAIN = 0.001  # what any other departure from the plain method must gain
PENALTIES = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01)
FIRST = 10.0  # where the path of penalties begins
TEMPERATURES = (1.0, 1.5, 2.5, 4.5, 8.0)
RARITY = 0.5
RECODE = 1.5


@dataclass(frozen=True)
class Chosen:
    """A solution, an encoder with nothing left to choose, and where its label model may start."""

    solution: Solution
    encoder: Encoder
    start: Start | None = None
    value: float | None = None

    def fit(self, training: Training) -> Fitted:
        """Learn the map on all rows."""
        if isinstance(self.encoder, ExpectedLabels):
            found = self.encoder.fit(training, self.solution, self.start)
        else:
            found = self.encoder.fit(training, self.solution)
        energies, divergences = self.solution.minimum.energies, self.solution.minimum.divergences
        facts: dict[str, Any] = {"energy": energies, **found.facts}
        if divergences:
            facts["divergence"] = divergences
        if self.value is not None:
            facts["held_out_score"] = self.value
        return replace(found, facts=facts)


@dataclass(frozen=True)
class Trial:
    """Rows prepared one way: those to fit on, and the held-out ones."""

    features: FeatureMap
    labelled: LabelledSet
    held: Floats32

    def value(self, judge: Judge, solution: Solution, model: LabelModel) -> float:
        """Score of a label model, before rounding."""
        seen = self.labelled.features[:SEEN_ROWS]
        return judge.value(solution, model.probabilities(self.held), model.probabilities(seen))


@dataclass(frozen=True)
class Candidate:
    """One label model with its temperature, and its score."""

    trial: Trial
    model: LabelModel
    penalty: float | None
    temperature: float
    value: float

    @property
    def start(self) -> Start | None:
        """Where another fit may begin."""
        return Start(self.trial.labelled, self.model) if isinstance(self.model, LinearLabels) else None

    @property
    def softened(self) -> LabelModel:
        """The model at its temperature."""
        return softened(self.model, self.temperature)


def tune(training: Training, energy: Energy, n_bits: int, solver: Solver, encoder: Encoder) -> Chosen:
    """Solve, and settle what is "auto" on held-out rows; what is not, stays."""

    def solve(solver: Solver, rng: np.random.Generator) -> Solution:
        return solver.solve(training.supervision, energy, n_bits, rng, training.weights)

    labels = training.supervision.labels
    with training.stages("solver"):
        same = copy.deepcopy(training.rng)  # draws the same anchors again
        solutions = [solve(solver, training.rng)]
        if isinstance(solver, Spectral) and solver.rarity == "auto" and labels is not None and labels.is_tags:
            solutions.append(solve(clone(solver).set_params(rarity=RARITY), same))
    return choose(training, solutions, encoder)


def choose(training: Training, solutions: Sequence[Solution], encoder: Encoder) -> Chosen:
    """The best of several solutions (the first is the plain one) and of what an encoder leaves open."""
    solution, labels = solutions[0], training.supervision.labels
    if not isinstance(encoder, ExpectedLabels) or labels is None or solution.readout is None:
        return Chosen(solution, encoder)
    split = validation_split(training, training.rng)
    if split is None or not (_leaves_open(encoder) or len(solutions) > 1):
        return Chosen(solution, encoder)
    with training.stages("tuning"):
        patterns = label_patterns(labels, solution.sample, training.supervision.group_of_row)
        judge = Judge.of(training, solution, patterns, split)
        best = _best_candidate(training, judge, solution, encoder)
        for other in solutions[1:]:
            value = best.trial.value(judge, other, best.softened)
            if value > best.value + GAIN:
                solution, best = other, replace(best, value=value)
        recode = encoder.recode
        if recode == "auto":
            gain = recoding_gain(training, solution, judge, best, RECODE) if labels.is_tags else 0.0
            recode = RECODE if gain > GAIN else 0.0
    settled = clone(encoder).set_params(
        features=best.trial.features,
        penalty="auto" if best.penalty is None else best.penalty,
        temperature=best.temperature,
        recode=recode,
    )
    return Chosen(solution, settled, best.start, best.value)


def _leaves_open(encoder: ExpectedLabels) -> bool:
    return any(isinstance(value, str) and value == "auto" for value in vars(encoder).values())


def _best_candidate(
    training: Training, judge: Judge, solution: Solution, encoder: ExpectedLabels
) -> Candidate:
    best: Candidate | None = None
    for features in _kinds(encoder.features, training):
        found = _best_on_path(training, judge, solution, encoder, features)
        margin = RBF_GAIN if isinstance(features, RBF) else 0.0
        if best is None or found.value > best.value + margin:
            best = found
    assert best is not None
    return best


def _kinds(features: Any, training: Training) -> list[FeatureMap]:
    """What to try. Centres are kept dense, which sparse rows of many columns could not afford."""
    if isinstance(features, str) and features == "auto":
        return [Plain()] if training.rows.mostly_zero() else [Plain(), RBF()]
    return [feature_map(features)]


def _best_on_path(
    training: Training, judge: Judge, solution: Solution, encoder: ExpectedLabels, features: FeatureMap
) -> Candidate:
    """The best penalty and temperature for one kind of features."""
    labelled = labelled_set(training, features, training.rng, judge.split.part)
    trial = Trial(features, labelled, prepared_like(training, labelled, judge.split.held))

    def attempt(penalty: float | None, near: Candidate | None) -> Candidate:
        warm = None if near is None else near.start
        model = fit_label_model(encoder.label_model, labelled, penalty, warm, max_steps=15, tolerance=1e-2)
        return max(_temperatures(judge, solution, encoder, trial, model, penalty), key=lambda one: one.value)

    if encoder.penalty != "auto":
        return attempt(float(encoder.penalty), None)
    if not isinstance(encoder.label_model, str) or encoder.label_model != "logistic":
        return attempt(None, None)
    best = attempt(FIRST, None)
    middle = PENALTIES.index(FIRST)
    for way in (PENALTIES[middle + 1 :], PENALTIES[middle - 1 :: -1]):
        last = best  # weaker penalties as long as they gain, and stronger ones likewise
        for penalty in way:
            last = attempt(penalty, last)
            if last.value <= best.value:
                break
            best = last
    return best


def _temperatures(
    judge: Judge,
    solution: Solution,
    encoder: ExpectedLabels,
    trial: Trial,
    model: LabelModel,
    penalty: float | None,
) -> Iterator[Candidate]:
    fixed = encoder.temperature != "auto" or not isinstance(model, LinearLabels) or model.link == "cut"
    given = 1.0 if encoder.temperature == "auto" else float(encoder.temperature)
    for temperature in (given,) if fixed else TEMPERATURES:
        value = trial.value(judge, solution, softened(model, temperature))
        yield Candidate(trial, model, penalty, temperature, value)
