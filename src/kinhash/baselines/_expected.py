"""Our expected-supervision map on somebody else's codes: is it the codes that are good, or the map?

A label model predicts the labels of a new row, from these follow its expected similarities S̄_x to the
anchors, and from those its code. Two ways of reading a code off S̄_x belong to codes that are given:

* "codes": ridge regression of the codes onto the rows of S. It repeats the rival's codes where S is known;
  for classes it is the expected code ``Σ_c p_c(x) B_c``.
* "energy": the bits that minimise the KSH energy ``Σ_j w_j (d·T_xj − u·B_j)²`` towards the anchors, which are
  our own solvers' bits of a row outside their sample. It lands on whole codes, not between two.

Neither wins everywhere (CIFAR-10 GIST: "energy"; Reuters: "codes", by .1 mAP), so rows split off decide, as
they do in `EnergyHasher` for the features (as they are, or RBF), the label model's penalty and its temper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._blocks import block_slices, map_blocks
from ..training import Training
from ..codes import Codes, pack_bits
from ..energies.ksh import KSH
from ..errors import InvalidInput
from ..solvers.problem import DenseProblem
from ..solvers.readout import LinearReadout, PolishReadout, Readout, pull_sums
from ..solvers.sample import Sample, draw_sample
from ..solvers.targets import Targets
from ..learning.choosing import GAIN, TEMPERS, splits_of, weaker_learners
from ..learning.choosing_features import (
    RBF_GAIN,
    RBF_GAIN_ON_PART,
    TRY_ROWS,
    both_kinds,
    mostly_zero,
    unrounded_value,
)
from ..learning.expected import HeldOut, labelled_part, temper, yardstick_for
from ..encoders.features import FeatureOptions
from ..learning.label_learners import LabelledSet, LogisticLearner
from ..encoders.labelled import ENOUGH_ROWS, label_patterns, labelled_set
from ..learning.spectral_ridge import n_known_rows
from ..encoders.expected import ExpectedMap, LabelSimilarity
from ..encoders.label_models import LabelModel

__all__ = ["codes_readout", "energy_readout", "fit_expected_map", "require_labels"]

Floats = npt.NDArray[np.float64]
N_ANCHORS = 1000
GROUPS = 1024  # groups, or rows, whose similarities are held at once
RIDGE = 1e-3  # of the mean diagonal: enough for anchors that are copies of each other


def require_labels(training: Training) -> None:
    """Refuse pairs before any code is learned: there are no labels to expect."""
    if training.supervision.labels is None:
        raise InvalidInput(
            "map='expected' was asked for with pairs or similarities",
            "classes or tags, which a label model can predict",
            "Call fit(X, y), or use map='linear'",
        )


def fit_expected_map(training: Training, codes: Floats) -> tuple[ExpectedMap, dict[str, Any]]:
    """The map onto codes (n, d) whose signs are the bits of the rows, and what was chosen.

    Memory beyond the codes: the prepared features of at most 100,000 rows (p, or 1,000 RBF centres, times 4
    bytes each), similarities of a few thousand rows to m ≤ 1,000 anchors; 200 MB where features are tried.
    """
    supervision, rng = training.supervision, training.rng
    assert supervision.labels is not None
    sample = draw_sample(supervision, N_ANCHORS, rng, row_weights=training.weights)
    patterns = label_patterns(supervision.labels, sample, supervision.group_of_row)
    means = group_means(training, codes)
    readouts: dict[str, Readout] = {
        "codes": codes_readout(training, sample, means),
        "energy": energy_readout(training, sample, means),
    }
    around = _Around(training, codes, sample, patterns, readouts)
    enough = n_known_rows(training) >= ENOUGH_ROWS
    options = around.choose_features() if enough else FeatureOptions()
    full = labelled_set(training, options, rng)
    chosen = around.settle(full, rng) if enough else _Settled(LogisticLearner(1.0))
    model = temper(chosen.learner.fit(full), chosen.temper)
    expected = LabelSimilarity(model, patterns, full.exclusive)
    facts = {
        "features": options.kind,
        "readout": chosen.readout,
        "temper": chosen.temper,
        "label_penalty": chosen.learner.penalty,
    }
    zero = np.zeros(codes.shape[1])
    return ExpectedMap(full.moments.preparation, expected, readouts[chosen.readout], zero), facts


def group_means(training: Training, codes: Floats) -> Floats:
    """Mean ±1 code (g, d) of the rows of each group, which is their code where all have the same."""
    group = training.supervision.group_of_row
    weights = (group >= 0) * (1.0 if training.weights is None else training.weights)
    place, n_groups = np.maximum(group, 0), training.supervision.n_groups
    counts = np.bincount(place, weights, n_groups)
    sums = [np.bincount(place, np.where(bit > 0, weights, -weights), n_groups) for bit in codes.T]
    found: Floats = np.stack(sums, axis=1) / np.maximum(counts, 1e-300)[:, None]
    return found


def codes_readout(training: Training, sample: Sample, means: Floats) -> LinearReadout:
    """Ridge of the groups' codes onto their similarities to the anchors, with a constant."""
    supervision = training.supervision
    counts = supervision.group_weights(training.weights)

    def one(part: slice) -> tuple[Floats, Floats]:
        S = supervision.similarity(np.arange(part.start, part.stop), sample.groups)
        S = np.column_stack([S, np.ones(len(S))])
        weighted = S.T * counts[part]
        return weighted @ S, weighted @ means[part]

    m = len(sample.groups) + 1
    gram, cross = np.zeros((m, m)), np.zeros((m, means.shape[1]))
    for some_gram, some_cross in map_blocks(one, block_slices(len(means), GROUPS), training.n_jobs):
        gram += some_gram
        cross += some_cross
    gram[np.diag_indices(m)] += RIDGE * np.trace(gram) / m
    weights = np.linalg.solve(gram, cross).astype(np.float64)
    return LinearReadout(weights[:-1], -weights[-1])


def energy_readout(training: Training, sample: Sample, means: Floats) -> PolishReadout:
    """Coordinate descent on a row's bits towards the anchors' codes, targets less their grand mean."""
    similarity = training.supervision.similarity(sample.groups, sample.groups)
    weights, codes = sample.weights / sample.weights.sum(), means[sample.groups]
    law, targets = KSH(), Targets.of("mean", similarity, weights)
    matrix, constant = pull_sums(law, targets, codes, weights).folded()
    common = DenseProblem(law, similarity, weights, codes.shape[1]).shared(codes)
    assert common is not None
    return PolishReadout(matrix, constant, (codes * weights[:, None]).T @ codes, common[1])


@dataclass(frozen=True)
class _Settled:
    """What was chosen on held-out rows, and their mAP against the rival's codes plus against mapped ones."""

    learner: LogisticLearner
    temper: float = 1.0
    readout: str = "codes"
    value: float = 0.0


@dataclass(frozen=True)
class _Around:
    """What the choices have in common, which are those of `kinhash.learning.choosing`."""

    training: Training
    codes: Floats
    sample: Sample
    patterns: npt.NDArray[np.uint8]
    readouts: dict[str, Readout]

    def choose_features(self) -> FeatureOptions:
        """As they are, or compared with RBF centres, if that pays on some of the rows."""
        plain = FeatureOptions()
        if mostly_zero(self.training):
            return plain
        on_part = n_known_rows(self.training) > TRY_ROWS
        tried = [
            (self._unrounded(full, split) if on_part else self.settle(full, split).value, options)
            for options, full, split in both_kinds(self.training, plain, self.training.rng)
        ]
        gain = tried[1][0] - tried[0][0]
        return tried[gain > (RBF_GAIN_ON_PART if on_part else RBF_GAIN)][1]

    def _unrounded(self, full: LabelledSet, rng: np.random.Generator) -> float:
        relaxed, learner = self.readouts["codes"].scores, LogisticLearner()
        return unrounded_value(self.training, self.sample, self.patterns, relaxed, full, learner, rng)

    def settle(self, full: LabelledSet, rng: np.random.Generator) -> _Settled:
        """The label model's penalty first, then the readout, then how sure the label model may be."""
        splits = splits_of(full, rng)
        parts = [labelled_part(full, rows) for rows in splits]
        yardstick = yardstick_for(self.training, self.sample, self.patterns, full.exclusive, splits[0])
        learner, model = LogisticLearner().tuned(parts[0], yardstick)
        assert isinstance(learner, LogisticLearner)
        models = [model, *(learner.fit(part) for part in parts[1:])]
        best = self._best(learner, models, splits, full.exclusive)
        for weaker in weaker_learners(learner, full):
            found = self._best(weaker, [weaker.fit(part) for part in parts], splits, full.exclusive)
            best = found if found.value > best.value + GAIN else best
        return best

    def _best(
        self, learner: LogisticLearner, models: list[LabelModel], splits: list[HeldOut], exclusive: bool
    ) -> _Settled:
        def mean_value(kind: str, factor: float) -> float:
            tried = zip(models, splits, strict=True)
            return float(
                np.mean([self._value(kind, temper(model, factor), rows, exclusive) for model, rows in tried])
            )

        tried = [_Settled(learner, 1.0, kind, mean_value(kind, 1.0)) for kind in self.readouts]
        best = max(tried, key=lambda settled: settled.value)
        for factor in TEMPERS:
            value = mean_value(best.readout, factor)
            if value > best.value + GAIN:
                best = replace(best, temper=factor, value=value)
        return best

    def _value(self, kind: str, model: LabelModel, rows: HeldOut, exclusive: bool) -> float:
        from ..metrics import mean_average_precision

        expected, readout = LabelSimilarity(model, self.patterns, exclusive), self.readouts[kind]
        shown = rows.part[:10_000]
        labels = self.training.supervision.labels
        assert labels is not None

        def scores(features: npt.NDArray[np.float32]) -> Floats:
            parts = block_slices(len(features), GROUPS)  # similarities to all anchors at once are large
            return np.concatenate([readout.scores(expected.similarity(features[part])) for part in parts])

        asked = _packed(scores(rows.held_features))
        mapped = scores(rows.part_features[: len(shown)])
        found = [
            mean_average_precision(asked, _packed(database), labels[rows.held], labels[shown])
            for database in (self.codes[shown], mapped)
        ]
        return float(np.nan_to_num(found).sum())


def _packed(scores: Floats) -> Codes:
    return Codes(pack_bits(scores > 0), scores.shape[1])
