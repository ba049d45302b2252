"""Our expected labels on the codes of other methods: is it the codes that are good, or the encoder?

A label model predicts the labels of a new row, from these follow its expected similarities S̄_x to the
anchors, and from those its code. Two ways of reading a code off S̄_x belong to codes that are given:

* "codes": ridge regression of the codes onto the rows of S. It repeats the rival's codes where S is known;
  for classes it is the expected code ``Σ_c p_c(x) B_c``.
* "energy": the bits that minimize the KSH energy ``Σ_j w_j (d·T_xj − u·B_j)²`` towards the anchors, which are
  our own solvers' bits of a row outside their sample. It lands on whole codes, not between two.

Neither wins everywhere (CIFAR-10 GIST: "energy"; Reuters: "codes", by .1 mAP), so held-out rows choose
between them; features and penalty are chosen as for `EnergyHasher`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinhash.encoders import Encoder, ExpectedLabels
from kinhash.energies import KSH
from kinhash.errors import InvalidInput
from kinhash.plugins import (
    DenseProblem,
    Floats,
    HoldOut,
    LinearReadout,
    Map,
    Minimum,
    PolishReadout,
    Sample,
    Targets,
    Training,
    block_slices,
    draw_sample,
    map_blocks,
    pull_sums,
)
from kinhash.solvers import Solution

from .judge import HELD_ROWS, SEEN_ROWS, MapJudge

__all__ = ["codes_readout", "energy_readout", "fit_expected_map", "require_labels"]

N_ANCHORS = 1000
GROUPS = 1024  # groups whose similarities are held at once
RIDGE = 1e-3  # of the mean diagonal: enough for anchors that are copies of each other


def require_labels(training: Training) -> None:
    """Refuse pairs before any code is learned: there are no labels to expect."""
    if training.supervision.labels is None:
        raise InvalidInput(
            "map='expected' was asked for with pairs or similarities",
            "classes or tags, which a label model can predict",
            "Call fit(X, y), or use map='linear'",
        )


def fit_expected_map(training: Training, codes: Floats) -> tuple[Map, dict[str, Any]]:
    """The map onto codes (n, d) whose signs are the bits of the rows, and what was chosen.

    Memory beyond the codes: that of `ExpectedLabels`, and similarities of 1,024 groups to m ≤ 1,000 anchors.
    """
    from kinhash.plugins import hold_out, tune

    supervision = training.supervision
    sample = draw_sample(supervision, N_ANCHORS, training.rng, row_weights=training.weights)
    means = group_means(training, codes)
    minimum = Minimum(means[sample.groups])
    readouts = {
        "codes": codes_readout(training, sample, means),
        "energy": energy_readout(training, sample, means),
    }
    solutions = {name: Solution(sample, codes.shape[1], minimum, own) for name, own in readouts.items()}
    encoder, split = tune(training, ExpectedLabels()).encoder, hold_out(training)
    name = "codes" if split is None else _best_readout(training, encoder, solutions, split)
    fitted = encoder.fit(training, solutions[name])
    return fitted.map, {**fitted.facts, "readout": name}


def _best_readout(
    training: Training, encoder: Encoder, solutions: dict[str, Solution], split: HoldOut
) -> str:
    """The readout whose bits serve held-out rows best, by a label model that has not seen them."""
    weights = np.ones(len(training.rows)) if training.weights is None else training.weights.copy()
    weights[split.held] = 0.0
    judge, values = MapJudge.of(training, split), {}
    for name, solution in solutions.items():
        found = encoder.fit(replace(training, weights=weights), solution)
        held, seen = split.held[:HELD_ROWS], split.part[:SEEN_ROWS]
        assert found.scores is not None
        learned = found.scores[training.supervision.group_of_row[seen]]
        of_held, of_seen = (found.map.scores(training.rows.read(rows)) for rows in (held, seen))
        values[name] = judge.value(of_held, of_seen, learned)
    return max(values, key=lambda name: values[name])


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
