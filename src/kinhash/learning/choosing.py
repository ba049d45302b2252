"""Settings chosen inside ``fit`` on rows split off from the training rows.

The measure is always the same: held-out mAP against learned database codes plus against mapped ones (see
docs/research.md for what each choice is worth):

* *penalty* of the label model: along a path first, by how well expected similarities rank the anchors; on
  few rows weaker ones are tried too, because a map that remembers its rows serves mapped databases;
* *temper*: label scores are multiplied by it before the sigmoid; below 1 it softens a label model that
  is too sure of itself, so that the runners-up shape the code too;
* *rarity*: anchors weigh ``kin share^−rarity``, so that common tags do not take all the bits;
* *recode*: learned codes of tag sets are fitted to the bits the map really produces, with this curvature;
* *start*: which of several random rotations rounds best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._hasher import Training
from ..codes import Codes, pack_bits
from ..inference.spectral import fit_rotation
from ..labels import Labels
from ..maps.expected import expected_similarity
from ..maps.label_models import LabelModel, LinearLabels
from .expected import (
    Embedding,
    HeldOut,
    SpectralCoder,
    labelled_part,
    recoded_groups,
    split_often,
    temper,
    true_embedding,
    yardstick_for,
)
from .label_learners import LabelLearner, LabelledSet, LogisticLearner
from .labelled import learner_for
from .settings import Settings

__all__ = [
    "GAIN",
    "TEMPERS",
    "Choice",
    "CodedAnchors",
    "Settled",
    "settle",
    "splits_of",
    "weaker_learners",
]

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
FEW_ROWS = 2500  # up to here RBF centres reach so many rows that a map which remembers them is worth a try,
N_SPLITS = 3  # and so few are split off that one split says little
TEMPERS = (0.7, 0.5, 0.3, 0.15)
GAIN = 0.002  # a choice must earn this much held-out mAP (learned + mapped) to replace the simpler one


@dataclass(frozen=True)
class Choice:
    """What was chosen; the defaults are the plain method."""

    temper: float = 1.0
    rarity: float = 0.0
    recode: float = 0.0
    start: int = 0


@dataclass(frozen=True)
class CodedAnchors:
    """What the choices have in common: the anchors' codes, and their label patterns (m, t)."""

    training: Training
    coder: SpectralCoder
    patterns: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Settled:
    """The labelled rows, and everything that was chosen for them. ``value`` is the held-out score."""

    full: LabelledSet
    learner: LabelLearner
    choice: Choice
    value: float | None
    rotation: Floats | None

    @classmethod
    def as_given(cls, full: LabelledSet, settings: Settings) -> Settled:
        """Nothing is chosen: the plain method, with the usual penalty where none was given."""
        return cls(full, learner_for(settings).fixed(), Choice(), None, None)


def settle(around: CodedAnchors, full: LabelledSet, settings: Settings, rng: np.random.Generator) -> Settled:
    """Choose label model and recipe for these rows, on some of them that are split off."""
    training = around.training
    n_starts = 6 if settings.n_bits <= 16 else 3
    with training.stages("choosing the label model"):
        splits = splits_of(full, rng)
        parts = [labelled_part(full, rows) for rows in splits]
        sample = around.coder.sample
        yardstick = yardstick_for(training, sample, around.patterns, full.exclusive, splits[0])
        learner, model = learner_for(settings).tuned(parts[0], yardstick)
    with training.stages("choosing the recipe"):
        seeds = rng.integers(2**62, size=n_starts)

        def trials_of(models: list[LabelModel]) -> list[Trial]:
            for_map = settings.rotation == "map"
            return [
                Trial(around, full.exclusive, rows, model, seeds, for_map)
                for rows, model in zip(splits, models, strict=True)
            ]

        trials = trials_of([model, *(learner.fit(part) for part in parts[1:])])
        choice, value = choose(trials)
        for weaker in weaker_learners(learner, full) if settings.label_penalty is None else ():
            others = trials_of([weaker.fit(part) for part in parts])
            other, found = choose(others)
            if found > value + GAIN:
                learner, trials, choice, value = weaker, others, other, found
        choice, value = choose_start(trials, choice, value)
    return Settled(full, learner, choice, value, trials[0].rotation(choice))


def splits_of(full: LabelledSet, rng: np.random.Generator) -> list[HeldOut]:
    """One split of the rows, or several where they are few."""
    return split_often(full, rng, N_SPLITS if len(full.rows) <= FEW_ROWS else 1)


def weaker_learners(learner: LabelLearner, full: LabelledSet) -> Iterator[LogisticLearner]:
    """Weaker penalties that are worth a try: none but on few rows with RBF features."""
    remembers = full.moments.preparation.rbf is not None and len(full.rows) <= FEW_ROWS
    if isinstance(learner, LogisticLearner) and remembers:
        assert learner.penalty is not None
        yield from (replace(learner, penalty=learner.penalty * factor) for factor in (0.1, 0.003))


@dataclass
class Trial:
    """Everything needed to try choices on held-out rows; rotations are remembered."""

    around: CodedAnchors
    exclusive: bool
    rows: HeldOut
    model: LabelModel
    seeds: Ints
    rotate_for_map: bool = True
    done: dict[tuple[float, float, int], Any] = field(default_factory=dict)

    def rotation(self, choice: Choice) -> Floats:
        """The rotation this choice leads to."""
        return self._mapped(choice)[0]

    def value(self, choice: Choice) -> float:
        """Held-out mAP against learned codes plus against mapped codes."""
        from ..metrics import mean_average_precision

        rotation, part_bits, held_bits, mapped = self._mapped(choice)
        supervision = self.around.training.supervision
        part_groups = supervision.group_of_row[self._shown]
        unique, inverse = np.unique(part_groups, return_inverse=True)
        readout = self.around.coder.readout(choice.rarity, rotation)
        scores = readout.scores(supervision.similarity(unique, self.around.coder.sample.groups))
        learned = scores > 0
        if choice.recode:
            few = min(4000, len(part_bits))
            learned = recoded_groups(
                self.around.training,
                unique,
                scores,
                part_groups[:few],
                part_bits[:few],
                self.around.coder,
                choice.recode,
            )
        labels = _labels(self.around.training)
        found = mean_average_precision(
            _codes(held_bits), _codes(learned[inverse]), labels[self.rows.held], labels[self._shown]
        )
        return float(np.nan_to_num(found)) + mapped

    @property
    def _shown(self) -> Ints:
        return self.rows.part[:10_000]

    def _mapped(self, choice: Choice) -> tuple[Floats, Any, Any, float]:
        from ..metrics import mean_average_precision

        key = (choice.rarity, choice.temper, choice.start)
        if key not in self.done:
            model = temper(self.model, choice.temper)
            embedding = self.around.coder.embedding(choice.rarity)
            part = embedding.of(self._expected(model, self.rows.part_features[: len(self._shown)]))
            held = embedding.of(self._expected(model, self.rows.held_features))
            rng = np.random.default_rng(self.seeds[choice.start])
            rotation = fit_rotation(self._rotated_on(embedding, part), self.around.coder.n_bits, rng)
            part_bits, held_bits = part @ rotation > 0, held @ rotation > 0
            labels = _labels(self.around.training)
            mapped = mean_average_precision(
                _codes(held_bits), _codes(part_bits), labels[self.rows.held], labels[self._shown]
            )
            self.done[key] = (rotation, part_bits, held_bits, float(np.nan_to_num(mapped)))
        return self.done[key]

    def _rotated_on(self, embedding: Embedding, predicted: Floats) -> Floats:
        if self.rotate_for_map:
            return predicted
        return true_embedding(self.around.training, self.around.coder, embedding, self._shown)

    def _expected(self, model: LabelModel, features: Floats32) -> Floats:
        return expected_similarity(model.probabilities(features), self.around.patterns, self.exclusive)


def choose(trials: Sequence[Trial]) -> tuple[Choice, float]:
    """Greedy: one setting after the other, each kept only if it clearly pays on held-out rows."""
    best = Choice()
    value = _mean_value(trials, best)
    for name, values in _candidates(trials[0]):
        for setting in values:
            candidate: dict[str, Any] = {name: setting}
            changed = replace(best, **candidate)
            found = _mean_value(trials, changed)
            if found > value + GAIN:
                best, value = changed, found
    return best, value


def choose_start(trials: Sequence[Trial], choice: Choice, value: float) -> tuple[Choice, float]:
    """The random rotation that rounds best: one costs as much as another, so any gain counts."""
    starts = [replace(choice, start=start) for start in range(len(trials[0].seeds))]
    values = [value, *(_mean_value(trials, other) for other in starts[1:])]
    best = int(np.argmax(values))
    return starts[best], values[best]


def _mean_value(trials: Sequence[Trial], choice: Choice) -> float:
    return float(np.mean([trial.value(choice) for trial in trials]))


def _candidates(trial: Trial) -> Iterator[tuple[str, tuple[float, ...]]]:
    if isinstance(trial.model, LinearLabels) and trial.model.link != "cut":
        yield "temper", TEMPERS
    if not trial.exclusive:  # classes are all alike, and their codes are free already
        yield "rarity", (0.5,)
        yield "recode", (1.5,)


def _codes(bits: npt.NDArray[np.bool_]) -> Codes:
    return Codes(pack_bits(bits), bits.shape[1])


def _labels(training: Training) -> Labels:
    assert training.supervision.labels is not None
    return training.supervision.labels
