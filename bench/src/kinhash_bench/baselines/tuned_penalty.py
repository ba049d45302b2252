"""A rival's ridge map, tuned as ours is: features and penalty chosen on the rows our tuner would hold out."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinhash.encoders import Plain
from kinhash.plugins import (
    FeatureMap,
    Floats,
    Floats32,
    LabeledSet,
    LinearMap,
    Training,
    first_preparation,
    hold_out,
    labeled_set,
    prepared_like,
    standardized_moments,
    worth_trying,
)

from .judge import HELD_ROWS, SEEN_ROWS, MapJudge

__all__ = ["fit_tuned_map"]

PENALTIES = (1e4, 1e3, 100.0, 10.0, 1.0, 0.1, 0.01)  # absolute, as ours are
UNTUNED = 10.0  # of plain columns, where there are too few rows to hold any out


def fit_tuned_map(training: Training, targets: Floats) -> tuple[LinearMap, dict[str, Any]]:
    """Ridge onto targets (n, d) that belong to rows; and the features and the penalty that were chosen."""
    features, penalty, value = _choose(training, targets)
    guess = first_preparation(training.rows, features, training.rng)
    moments = standardized_moments(training, features, guess, lambda part: targets[part])
    found = LinearMap.fit(moments, penalty, np.zeros(targets.shape[1]))
    facts = {"features": features.name, "penalty": penalty}
    return found, facts if value is None else {**facts, "held_out_score": value}


def _choose(training: Training, targets: Floats) -> tuple[FeatureMap, float, float | None]:
    split = hold_out(training) if training.supervision.labels is not None else None
    if split is None:
        return Plain(), UNTUNED, None
    judge, best = MapJudge.of(training, split), (Plain(), UNTUNED, -1.0)
    seen = split.part[:SEEN_ROWS]
    for features in worth_trying(training.rows):
        rows = labeled_set(training, features, training.rng, split.part)
        held = prepared_like(training, rows, split.held[:HELD_ROWS])
        for penalty, weights in _ridge_path(rows, targets[split.part]):
            asked, database = (z @ weights[:-1] + weights[-1] for z in (held, rows.features[:SEEN_ROWS]))
            value = judge.value(asked, database, targets[seen])
            if value > best[2]:
                best = (features, penalty, value)
    return best


def _ridge_path(rows: LabeledSet, targets: Floats) -> list[tuple[float, Floats32]]:
    """Weights (q + 1, d), intercepts last, for every penalty: one eigendecomposition for all."""
    w = np.ones(len(targets)) if rows.weights is None else rows.weights
    mean = w @ targets / w.sum()
    cross = rows.features.T.astype(np.float64) @ (w[:, None] * (targets - mean))
    sizes, axes = np.linalg.eigh(rows.gram)
    turned = axes.T @ cross
    return [
        (
            penalty,
            np.concatenate([axes @ (turned / (np.maximum(sizes, 0) + penalty)[:, None]), mean[None]]).astype(
                np.float32
            ),
        )
        for penalty in PENALTIES
    ]
