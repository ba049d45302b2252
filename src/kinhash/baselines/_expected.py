"""Our expected-supervision map on somebody else's codes: is it the codes that are good, or the map?

A label model predicts the labels of a new row, from these follow its expected similarities S̄_x to the
anchors, and from those its code. Two ways of reading a code off S̄_x belong to codes that are given:

* "codes": ridge regression of the codes onto the rows of S. It repeats the rival's codes where S is known;
  for classes it is the expected code ``Σ_c p_c(x) B_c``.
* "energy": the bits that minimise the KSH energy ``Σ_j w_j (d·T_xj − u·B_j)²`` towards the anchors, which are
  our own solvers' bits of a row outside their sample. It lands on whole codes, not between two.

Neither wins everywhere (CIFAR-10 GIST: "energy"; Reuters: "codes", by .1 mAP), so rows split off decide, as
they do for the label model's penalty and its temper in `EnergyHasher`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._blocks import block_slices, map_blocks
from .._hasher import Training
from ..codes import Codes, pack_bits
from ..energies.ksh import KSH
from ..errors import InvalidInput
from ..inference.problem import DenseProblem
from ..inference.readout import LinearReadout, PolishReadout, Readout, pull_sums
from ..inference.sample import Sample, draw_sample
from ..inference.targets import Targets
from ..learning.expected import HeldOut, labelled_part, split_rows, temper, yardstick_for
from ..learning.features import FeatureOptions
from ..learning.label_learners import LogisticLearner
from ..learning.labelled import ENOUGH_ROWS, label_patterns, labelled_set
from ..maps.expected import ExpectedMap, LabelSimilarity

__all__ = ["codes_readout", "energy_readout", "fit_expected_map", "require_labels"]

Floats = npt.NDArray[np.float64]
N_ANCHORS = 1000
GROUPS = 1024  # groups whose similarities are held at once
RIDGE = 1e-3  # of the mean diagonal: enough for anchors that are copies of each other
TEMPERS = (1.0, 0.7, 0.5)
GAIN = 0.002  # held-out mAP (learned + mapped) that a softer label model must earn


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

    Memory beyond the codes: the prepared features of at most 100,000 rows, and (m, m) for m ≤ 1,000 anchors.
    """
    supervision, rng = training.supervision, training.rng
    assert supervision.labels is not None
    sample = draw_sample(supervision, N_ANCHORS, rng, row_weights=training.weights)
    patterns = label_patterns(supervision.labels, sample, supervision.group_of_row)
    full = labelled_set(training, FeatureOptions(), rng)
    means = group_means(training, codes)
    readouts = {
        "codes": codes_readout(training, sample, means),
        "energy": energy_readout(training, sample, means),
    }
    factor, kind, learner = 1.0, "codes", LogisticLearner()
    if len(full.rows) >= ENOUGH_ROWS:
        rows = split_rows(full, rng)
        yardstick = yardstick_for(training, sample, patterns, full.exclusive, rows)
        learner, tried = learner.tuned(labelled_part(full, rows), yardstick)  # type: ignore[assignment]
        trial = _Trial(training, codes, rows, LabelSimilarity(tried, patterns, full.exclusive))
        factor, kind = trial.choose(readouts)
        model = learner.fit(full)
    else:
        learner = LogisticLearner(1.0)
        model = learner.fit(full)
    expected = LabelSimilarity(temper(model, factor), patterns, full.exclusive)
    facts = {"readout": kind, "temper": factor, "label_penalty": learner.penalty}
    zero = np.zeros(codes.shape[1])
    return ExpectedMap(full.moments.preparation, expected, readouts[kind], zero), facts


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
class _Trial:
    """Readouts and tempers judged on held-out rows, against the rival's codes and against mapped ones."""

    training: Training
    codes: Floats
    rows: HeldOut
    expected: LabelSimilarity

    def choose(self, readouts: dict[str, Readout]) -> tuple[float, str]:
        """The readout first, then how sure the label model may be."""
        tried = {kind: self._value(readout, 1.0) for kind, readout in readouts.items()}
        kind = max(tried, key=tried.__getitem__)
        best, value = TEMPERS[0], tried[kind]
        for factor in TEMPERS[1:]:
            found = self._value(readouts[kind], factor)
            if found > value + GAIN:
                best, value = factor, found
        return best, kind

    def _value(self, readout: Readout, factor: float) -> float:
        from ..metrics import mean_average_precision

        softened = LabelSimilarity(
            temper(self.expected.model, factor), self.expected.patterns, self.expected.exclusive
        )
        shown = self.rows.part[:10_000]
        labels = self.training.supervision.labels
        assert labels is not None
        asked = readout.scores(softened.similarity(self.rows.held_features))
        mapped = readout.scores(softened.similarity(self.rows.part_features[: len(shown)]))
        found = [
            mean_average_precision(_packed(asked), _packed(database), labels[self.rows.held], labels[shown])
            for database in (self.codes[shown], mapped)
        ]
        return float(np.nan_to_num(found).sum())


def _packed(scores: Floats) -> Codes:
    return Codes(pack_bits(scores > 0), scores.shape[1])
