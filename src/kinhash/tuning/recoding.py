"""Whether learned codes of tag sets should be fitted to the map's bits: tried with rounded codes."""

from __future__ import annotations

import numpy as np

from .._types import Bools
from ..codes import Codes, pack_bits
from ..encoders.expected import expected_similarity
from ..encoders.recoding import RECODE_ROWS, Recoding
from ..solvers import Solution
from ..training import Training
from .candidates import Candidate
from .scores import Judge

__all__ = ["recoding_gain"]

ROUNDS = 15  # of the rotation: enough to compare two ways of coding


def recoding_gain(
    training: Training, solution: Solution, judge: Judge, best: Candidate, curvature: float
) -> float:
    """Held-out mAP against learned codes: recoded ones less those of the solver."""
    from ..evaluation import mean_average_precision

    supervision, shown = training.supervision, judge.split.part[:RECODE_ROWS]
    model, labelled = best.softened, best.trial.labelled
    patterns, exclusive = judge.patterns, judge.exclusive
    seen = expected_similarity(model.probabilities(labelled.features[: len(shown)]), patterns, exclusive)
    held = expected_similarity(model.probabilities(best.trial.held), patterns, exclusive)
    if solution.embedding is not None:
        solution = solution.rotated(solution.embedding.of(seen), np.random.default_rng(0), ROUNDS)
    assert solution.readout is not None
    groups, inverse = np.unique(supervision.group_of_row[shown], return_inverse=True)
    scores = solution.readout.scores(supervision.similarity(groups, solution.sample.groups))
    bits = solution.readout.scores(seen) > 0
    _, recoded = Recoding.fit(training, groups, scores, shown, bits, solution.sample, curvature)
    asked = _codes(solution.readout.scores(held) > 0)
    labels = supervision.labels
    assert labels is not None

    def score(learned: Bools) -> float:
        database = _codes(learned[inverse])
        return float(mean_average_precision(asked, database, labels[judge.split.held], labels[shown]))

    return score(recoded) - score(scores > 0)


def _codes(bits: Bools) -> Codes:
    return Codes(pack_bits(bits), bits.shape[1])
