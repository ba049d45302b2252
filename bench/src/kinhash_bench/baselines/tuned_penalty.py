"""A rival's ridge map, tuned as ours is: features and penalty chosen on the rows our tuner would hold out."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinhash.paper.maps import LinearMap, standardized_moments
from kinhash.paper.similarity import Training
from kinhash.plugins import Floats, Floats32

from .features import PLAIN, Features, LabeledSet, hold_out, labeled_set, prepared_like, worth_trying
from .judge import HELD_ROWS, SEEN_ROWS, MapJudge
from .similar_rows import guess_of_rows

__all__ = ["fit_tuned_map"]

PENALTIES = (1e4, 1e3, 100.0, 10.0, 1.0, 0.1, 0.01)  # absolute, as ours are
UNTUNED = 10.0  # of plain columns, where there are too few rows to hold any out


def fit_tuned_map(training: Training, targets: Floats) -> tuple[LinearMap, dict[str, Any]]:
    """Ridge onto targets (n, d) that belong to rows; and the features and the penalty that were chosen."""
    features, penalty, value = _choose(training, targets)
    everyone = np.arange(len(training.rows))
    similarities = features.similarities(training.rows, everyone, training.rng)
    guess = guess_of_rows(training.rows, similarities)
    moments = standardized_moments(training, guess, lambda part: targets[part])
    found = LinearMap.fit(moments, penalty, np.zeros(targets.shape[1]))
    facts = {"features": features.name, "penalty": penalty}
    return found, facts if value is None else {**facts, "held_out_score": value}


def _choose(training: Training, targets: Floats) -> tuple[Features, float, float | None]:
    split = hold_out(training) if training.supervision.labels is not None else None
    if split is None:
        return PLAIN, UNTUNED, None
    judge, best = MapJudge.of(training, split), (PLAIN, UNTUNED, -1.0)
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
