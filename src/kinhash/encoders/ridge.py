"""Spectral codes for a ridge map: the rotation is fitted on what the map will predict.

The relaxed solution is free up to a rotation. Fitted on leave-one-out predictions
``(ŷ − h y)/(1 − h)`` of the embedding instead of the embedding itself, codes and predictions round well
together; since ridge is linear in its targets, the map is rotated afterwards for free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._hasher import Training
from ..inference.readout import LinearReadout
from ..inference.spectral import fit_rotation
from ..maps.linear import LinearMap
from ..maps.moments import Standardised
from ..maps.preparation import Preparation
from ..maps.prepared import prepare_rows
from ..maps.ridge import choose_alpha, leverage_factor, ridge_weights
from .expected import SpectralCoder
from .features import FeatureOptions, known_weights, standardised_moments
from .ridge_map import targets_by_row

__all__ = [
    "ROTATION_ROWS",
    "RidgeCodes",
    "leave_one_out",
    "n_known_rows",
    "some_known_rows",
    "spectral_ridge",
]

Floats = npt.NDArray[np.float64]
ROTATION_ROWS = 10_000


@dataclass(frozen=True)
class RidgeCodes:
    """A linear map and the learned scores (g, d) of every group, which round at zero."""

    map: LinearMap
    scores: Floats


def spectral_ridge(
    training: Training,
    options: FeatureOptions,
    coder: SpectralCoder,
    alpha: float | str,
    rng: np.random.Generator,
    *,
    preparation: Preparation,
    n_rounds: int = 50,
) -> RidgeCodes:
    """Embed the groups, regress the embedding, rotate both. Memory: groups × rank beside the moments."""
    found = coder.embedding(0.0)
    everyone = LinearReadout(found.matrix, found.constant)
    embedding = everyone.of_groups(training.supervision, coder.sample.groups, training.n_jobs)
    moments = standardised_moments(training, options, preparation, targets_by_row(training, embedding))
    strength = choose_alpha(alpha, moments)
    weights = ridge_weights(moments, strength)
    rows = some_known_rows(training, rng, ROTATION_ROWS)
    predicted = leave_one_out(training, moments, strength, weights, embedding, rows)
    rotation = fit_rotation(predicted, coder.n_bits, rng, n_rounds)
    scores = embedding @ rotation
    size = float(np.sqrt((scores**2).mean())) or 1.0
    fitted = LinearMap(
        moments.preparation,
        (weights @ rotation / size).astype(np.float32),
        (moments.target_mean @ rotation / size).astype(np.float32),
    )
    return RidgeCodes(fitted, scores / size)


def n_known_rows(training: Training) -> int:
    """Rows with supervision."""
    row_weights = known_weights(training)
    return len(training.rows) if row_weights is None else int((row_weights > 0).sum())


def some_known_rows(training: Training, rng: np.random.Generator, most: int) -> npt.NDArray[np.int64]:
    """At most so many rows with supervision, in order."""
    row_weights = known_weights(training)
    rows = np.arange(len(training.rows)) if row_weights is None else np.flatnonzero(row_weights > 0)
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def leave_one_out(
    training: Training,
    moments: Standardised,
    alpha: float,
    weights: Floats,
    targets: Floats,
    rows: npt.NDArray[np.int64],
) -> Floats:
    """Predictions (k, r) of ``rows`` as if each had been left out of the fit; ``targets`` (g, r) by group."""
    z = prepare_rows(training.rows, moments.preparation, rows, training.n_jobs)
    leverage = ((z @ leverage_factor(moments, alpha).astype(np.float32)) ** 2).sum(axis=1, dtype=np.float64)
    leverage = leverage + 1 / moments.weight
    if training.weights is not None:
        leverage = leverage * training.weights[rows]
    leverage = np.minimum(leverage, 0.99)[:, None]
    own = targets[training.supervision.group_of_row[rows]]
    predicted = z @ weights.astype(np.float32) + moments.target_mean
    return (predicted - leverage * own) / (1 - leverage)
