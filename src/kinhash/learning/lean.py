"""The lean to the features: codes that features can say are worth more than codes they cannot.

After a first fit, each group is pulled by a field proportional to what a ridge map predicts for it, leaving
each row out of its own prediction; codes and map are fitted in turn. Only for coordinate descent,
whose field it joins.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._blocks import block_slices, map_blocks
from .._hasher import Training
from ..errors import InvalidInput
from ..inference.learn import Inferred, Recipe, infer_sample, soft_targets
from ..inference.readout import GROUPS, PolishReadout
from ..maps.preparation import Preparation
from ..maps.ridge import choose_alpha, ridge_weights
from .features import standardised_moments
from .ridge_map import targets_by_row
from .settings import Settings
from .spectral_ridge import leave_one_out, some_known_rows

__all__ = ["lean_scores"]

Floats = npt.NDArray[np.float64]
LEAN_ROWS = 20_000
ROUNDS = 2


def lean_scores(
    training: Training,
    settings: Settings,
    recipe: Recipe,
    inferred: Inferred,
    preparation: Preparation,
    rng: np.random.Generator,
) -> tuple[Inferred, Floats]:
    """Codes and map in turn, twice; returns the last inference and the groups' scores under its field."""
    if not isinstance(inferred.readout, PolishReadout):
        raise InvalidInput(
            f"lean={settings.lean} was asked for with solver={settings.solver!r}",
            "solver='coordinate' on ksh or bre with classes, tags or a full similarity matrix",
            "Set lean=0, or choose that solver",
        )
    supervision, sample = training.supervision, inferred.sample
    similarity = supervision.similarity(sample.groups, sample.groups)
    scores = inferred.group_scores(supervision, training.n_jobs)
    for _ in range(ROUNDS):
        field = _field(training, settings, soft_targets(inferred, scores), preparation, sample.weights, rng)
        inferred = infer_sample(
            sample, similarity, recipe, rng, start=inferred.solution.means, lean=field[sample.groups]
        )
        scores = _leaning_scores(training, inferred, field)
    return inferred, scores


def _field(
    training: Training,
    settings: Settings,
    targets: Floats,
    preparation: Preparation,
    weights: Floats,
    rng: np.random.Generator,
) -> Floats:
    """Mean leave-one-out prediction of each group, sized ``lean · d · Σw``."""
    moments = standardised_moments(
        training, settings.features, preparation, targets_by_row(training, targets)
    )
    alpha = choose_alpha(settings.alpha, moments)
    rows = some_known_rows(training, rng, LEAN_ROWS)
    predicted = leave_one_out(training, moments, alpha, ridge_weights(moments, alpha), targets, rows)
    predicted = predicted - moments.target_mean
    group = training.supervision.group_of_row[rows]
    w = np.ones(len(rows)) if training.weights is None else training.weights[rows]
    total = np.bincount(group, w, training.supervision.n_groups)
    mean = np.zeros((training.supervision.n_groups, targets.shape[1]))
    np.add.at(mean, group, predicted * w[:, None])
    mean /= np.maximum(total, 1e-12)[:, None]
    size = float(np.sqrt((predicted**2).mean())) or 1.0
    return settings.lean * settings.n_bits * weights.sum() * mean / size


def _leaning_scores(training: Training, inferred: Inferred, field: Floats) -> Floats:
    readout, supervision = inferred.readout, training.supervision
    assert isinstance(readout, PolishReadout)

    def one(part: slice) -> Floats:
        groups = np.arange(part.start, part.stop)
        similarity = supervision.similarity(groups, inferred.sample.groups)
        return readout.settle(similarity @ readout.matrix - readout.constant + field[part])[0]

    return np.concatenate(list(map_blocks(one, block_slices(supervision.n_groups, GROUPS), training.n_jobs)))
