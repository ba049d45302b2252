"""Fitting a label model: logistic with a penalty chosen on split-off rows, ridge, or any classifier."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._blocks import block_slices
from ..maps.expected import expected_similarity
from ..maps.label_models import ClassifierLabels, LabelModel, LinearLabels
from ..maps.logistic import GramBasis, LabelledRows, fit_logistic
from ..maps.moments import Standardised
from ..maps.ridge import choose_alpha, ridge_weights

__all__ = [
    "ClassifierLearner",
    "LabelLearner",
    "LabelledSet",
    "LogisticLearner",
    "RidgeLearner",
    "Yardstick",
    "anchor_average_precision",
]

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
WEAKEST = 0.02  # below this the fit is no better and takes much longer
SLACK = 0.004  # average precision given up for a weaker penalty, which mapped databases of tags like better


@dataclass(frozen=True)
class LabelledSet:
    """Rows to fit a label model on: their numbers, prepared features, labels (k, t) CSR, weights, moments.

    The moments' targets are the labels, so a ridge label model needs nothing else.
    """

    rows: npt.NDArray[np.int64]
    features: Floats32
    labels: sp.csr_array
    weights: Floats | None
    moments: Standardised
    exclusive: bool
    n_jobs: int | None = None

    def blocks(self) -> LabelledRows:
        """Blocks of rows for the logistic fit."""
        features = self.features

        def read(part: slice) -> tuple[Floats32, Floats32, Floats32 | None]:
            z = features[part]
            w = None if self.weights is None else self.weights[part].astype(np.float32)
            return z, self.labels[part].toarray().astype(np.float32), w

        return LabelledRows(block_slices(len(features), 4096), read, self.n_jobs)

    @cached_property
    def basis(self) -> GramBasis:
        """Eigenvectors of the Gram matrix: O(q³) once, for however many penalties are tried."""
        return GramBasis.of(self.moments.gram)

    def some(self, rng: np.random.Generator, most: int) -> npt.NDArray[np.int64]:
        """Places of at most so many rows that count, in order."""
        places = np.arange(len(self.rows)) if self.weights is None else np.flatnonzero(self.weights > 0)
        return places if len(places) <= most else np.sort(rng.choice(places, most, replace=False))


@dataclass(frozen=True)
class Yardstick:
    """Held-out rows to choose by: prepared features, kinship (h, m) to anchors, anchors' labels (m, t)."""

    features: Floats32
    kin: npt.NDArray[np.bool_]
    patterns: npt.NDArray[np.uint8]
    weights: Floats
    exclusive: bool

    def measure(self, model: LabelModel) -> float:
        """How well the model's expected similarities rank the anchors, with no code in between."""
        expected = expected_similarity(model.probabilities(self.features), self.patterns, self.exclusive)
        return anchor_average_precision(expected, self.kin, self.weights)


class LabelLearner(ABC):
    """``tuned`` settles what is open on split-off rows; ``fit`` fits all rows."""

    @abstractmethod
    def tuned(self, part: LabelledSet, yardstick: Yardstick) -> tuple[LabelLearner, LabelModel]:
        """A learner with nothing left to choose, and its model of ``part``."""

    @abstractmethod
    def fit(self, full: LabelledSet) -> LabelModel:
        """The model of all rows."""

    @abstractmethod
    def fixed(self) -> LabelLearner:
        """A learner with nothing left to choose, without looking at any row."""


@dataclass(frozen=True)
class LogisticLearner(LabelLearner):
    """All labels at once; ``penalty`` None is chosen along a path with warm starts."""

    penalty: float | None = None
    start: tuple[Floats32, Floats32] | None = None

    def tuned(self, part: LabelledSet, yardstick: Yardstick) -> tuple[LabelLearner, LabelModel]:
        if self.penalty is not None:
            return self, self.fit(part)
        tried: dict[float, tuple[float, LinearLabels]] = {}

        def attempt(penalty: float, start: LinearLabels | None) -> LinearLabels:
            model = _logistic(part, penalty, start, max_steps=20, tolerance=1e-2)
            tried[penalty] = (yardstick.measure(model), model)
            return model

        model = None
        for penalty in (1000.0, 100.0, 10.0, 1.0, 0.1):
            model = attempt(penalty, model)
            if tried[penalty][0] < max(score for score, _ in tried.values()) - 0.003:
                break  # past the best: weaker penalties only cost time
        best = _weakest_good(tried, 0.0)
        for penalty in (best * 10**0.5, best / 10**0.5, best / 10):
            if penalty not in tried and penalty > WEAKEST:
                attempt(penalty, tried[best][1])
        best = _weakest_good(tried, 0.0 if part.exclusive else SLACK)
        model = _logistic(part, best, tried[best][1], max_steps=15, tolerance=3e-3)
        return LogisticLearner(best, (model.weights, model.intercept)), model

    def fit(self, full: LabelledSet) -> LabelModel:
        assert self.penalty is not None
        start = None if self.start is None else LinearLabels(*self.start)
        return _logistic(full, self.penalty, start, max_steps=25, tolerance=3e-3)

    def fixed(self) -> LabelLearner:
        return self if self.penalty is not None else replace(self, penalty=1.0)


@dataclass(frozen=True)
class RidgeLearner(LabelLearner):
    """Ridge regression onto the 0/1 labels, from moments alone."""

    alpha: float | str = "gcv"

    def tuned(self, part: LabelledSet, yardstick: Yardstick) -> tuple[LabelLearner, LabelModel]:
        return self, self.fit(part)

    def fit(self, full: LabelledSet) -> LabelModel:
        weights = ridge_weights(full.moments, choose_alpha(self.alpha, full.moments))
        intercept = full.moments.target_mean.astype(np.float32)
        return LinearLabels(weights.astype(np.float32), intercept, link="cut")

    def fixed(self) -> LabelLearner:
        return self


@dataclass(frozen=True)
class ClassifierLearner(LabelLearner):
    """Any scikit-learn classifier with ``predict_proba``; needs the prepared rows in memory."""

    classifier: Any

    def tuned(self, part: LabelledSet, yardstick: Yardstick) -> tuple[LabelLearner, LabelModel]:
        return self, self.fit(part)

    def fit(self, full: LabelledSet) -> LabelModel:
        features = full.features
        rows = np.arange(len(features)) if full.weights is None else np.flatnonzero(full.weights > 0)
        weights = None if full.weights is None or (full.weights[rows] == 1).all() else full.weights[rows]
        labels = full.labels[rows]
        target = labels.toarray()
        if full.exclusive:
            target = target.argmax(axis=1)
        return ClassifierLabels.fit(self.classifier, features[rows], target, labels.shape[1], weights)

    def fixed(self) -> LabelLearner:
        return self


def _logistic(rows: LabelledSet, penalty: float, start: LinearLabels | None, **limits: Any) -> LinearLabels:
    begin = None if start is None else (start.weights, start.intercept)
    means, total = rows.moments.target_mean, rows.moments.weight
    found = fit_logistic(
        rows.blocks(), rows.basis, means, total, penalty, exclusive=rows.exclusive, start=begin, **limits
    )
    return LinearLabels(*found, link="softmax" if rows.exclusive else "sigmoid")


def _weakest_good(tried: dict[float, tuple[float, LinearLabels]], slack: float) -> float:
    """The smallest penalty that comes within ``slack`` of the best one."""
    best = max(score for score, _ in tried.values())
    return min(penalty for penalty, (score, _) in tried.items() if score >= best - slack)


def anchor_average_precision(scores: Floats, kin: npt.NDArray[np.bool_], weights: Floats) -> float:
    """Mean AP of ranking weighted anchors by score (h, m); rows without kin are left out."""
    order = np.argsort(-scores, axis=1, kind="stable")
    share = weights[order]
    hits = np.take_along_axis(kin, order, axis=1) * share
    found = np.cumsum(hits, axis=1)
    some = found[:, -1] > 0
    if not some.any():
        return 0.0
    precision = hits * found / np.cumsum(share, axis=1)
    return float((precision.sum(axis=1)[some] / found[some, -1]).mean())
