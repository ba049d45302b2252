"""Rows with labels, ready for a label model; the label patterns of the anchors; which learner to use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._hasher import Training
from ..inference.sample import Sample
from ..labels import Labels
from ..maps.moments import moments_of_rows
from ..maps.prepared import prepare_rows
from ..maps.rows import Rows
from .features import FeatureOptions, first_preparation
from .label_learners import ClassifierLearner, LabelLearner, LabelledSet, LogisticLearner, RidgeLearner
from .settings import Settings
from .spectral_ridge import some_known_rows

__all__ = ["ENOUGH_ROWS", "LABEL_ROWS", "label_patterns", "labelled_set", "learner_for"]

LABEL_ROWS = 100_000  # more rows make the label model slower, and no better (.001 mAP on COCO-117k)
ENOUGH_ROWS = 250  # below this nothing is split off: held-out rows would be too few to judge by


def labelled_set(
    training: Training,
    features: FeatureOptions,
    rng: np.random.Generator,
    *,
    most: int | None = None,
    dense: bool = False,
) -> LabelledSet:
    """Rows for the label model, with their moments: all that are known, or ``most`` of them (`LABEL_ROWS`).

    ``dense`` adds the moments with the labels, which a ridge label model needs.
    Memory: their prepared features, at most ``most`` · p · 4 bytes (RBF: 4,000 bytes a row).
    """
    labels = training.supervision.labels
    assert labels is not None
    rows = some_known_rows(training, rng, LABEL_ROWS if most is None else most)
    part = Training(
        Rows(training.rows.X[rows]) if len(rows) < len(training.rows) else training.rows,
        training.supervision,
        None if training.weights is None else training.weights[rows],
        rng,
        training.stages,
        training.n_jobs,
    )
    indicator = labels.indicator()[rows]
    preparation = first_preparation(training.rows, features, rng)

    def targets(block: slice) -> npt.NDArray[Any]:
        return indicator[block].toarray().astype(np.float32)[:, : None if dense else 0]

    moments = moments_of_rows(part.rows, preparation, targets, part.weights, training.n_jobs)
    centred = moments.standardised(features.standardize)
    if not dense:
        ones = np.ones(len(rows)) if part.weights is None else part.weights
        centred = replace(centred, target_mean=(indicator.T @ ones) / ones.sum())
    prepared = prepare_rows(part.rows, centred.preparation, None, training.n_jobs)
    return LabelledSet(rows, prepared, indicator, part.weights, centred, not labels.is_tags, training.n_jobs)


def learner_for(settings: Settings) -> LabelLearner:
    """The label model that was asked for, unfitted."""
    if settings.label_model == "logistic":
        return LogisticLearner(settings.label_penalty)
    if settings.label_model == "ridge":
        return RidgeLearner("gcv" if settings.label_penalty is None else settings.label_penalty)
    return ClassifierLearner(settings.label_model)


def label_patterns(labels: Labels, sample: Sample, group_of_row: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Label patterns (m, t) of the sample's entries."""
    rows = sample.one_row_each(group_of_row)
    return labels.indicator()[rows].toarray().astype(np.uint8)
