"""Label models: from prepared features to probabilities of tags or classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .._forms import Form
from .._types import Floats, Floats32
from ..models import Arrays

__all__ = ["LABEL_FORMS", "ClassifierLabels", "LabelModel", "LinearLabels", "log_losses"]

LINKS = ("cut", "sigmoid", "softmax")  # their places are what model files store
LABEL_FORMS = {
    "label_weights": Form("f4", "qt"),
    "label_intercept": Form("f4", "t"),
    "label_logistic": Form("u1", "1", 0, len(LINKS) - 1),
}


LEAST_CHANCE = 1e-6  # keeps the log loss of a sure and wrong model finite


class LabelModel(ABC):
    """P(label | row) for every label, tags taken as independent given the row."""

    @abstractmethod
    def probabilities(self, z: Floats32) -> npt.NDArray[Any]:
        """Probabilities (k, t) of prepared rows (k, q)."""


@dataclass(frozen=True)
class LinearLabels(LabelModel):
    """Scores ``z W + c`` of all labels through a link: tags by σ, classes by softmax, ridge cut to [0, 1]."""

    weights: Floats32
    intercept: Floats32
    link: str = "sigmoid"

    def probabilities(self, z: Floats32) -> npt.NDArray[Any]:
        raw = z @ self.weights
        raw += self.intercept
        if self.link == "cut":
            return np.clip(raw, 0.0, 1.0)
        if self.link == "sigmoid":
            return 0.5 * (1 + np.tanh(0.5 * raw))
        odds = np.exp(raw - raw.max(axis=1, keepdims=True))
        shares: npt.NDArray[Any] = odds / odds.sum(axis=1, keepdims=True)
        return shares

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> LinearLabels:
        """From the arrays of an older file, which were checked against `LABEL_FORMS`."""
        link = LINKS[int(arrays["label_logistic"][0])]
        return cls(arrays["label_weights"], arrays["label_intercept"], link)


@dataclass(frozen=True)
class ClassifierLabels(LabelModel):
    """Any fitted scikit-learn classifier with ``predict_proba``; kept in memory only.

    Its arithmetic is its own: what `RegressorMap` says of regressors holds for it too.

    ``columns`` says where each class of the classifier stands among our labels; ``always`` are tags that
    every row carried.
    """

    classifier: Any
    columns: npt.NDArray[np.int64]
    n_labels: int
    always: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def fit(
        cls, classifier: Any, z: Floats32, labels: npt.NDArray[Any], n_labels: int, weights: Any = None
    ) -> ClassifierLabels:
        """Fit a clone on prepared rows; ``labels`` is (n,) class numbers or an (n, t) 0/1 matrix."""
        from sklearn.base import clone
        from sklearn.multioutput import MultiOutputClassifier
        from sklearn.utils import get_tags

        fitted = clone(classifier)
        extra = {} if weights is None else {"sample_weight": weights}
        if labels.ndim == 1:
            fitted.fit(z, labels, **extra)
            return cls(fitted, np.asarray(fitted.classes_, np.int64), n_labels)
        # A tag that never varies needs no model, and most classifiers refuse to fit one.
        varies = np.flatnonzero((labels.min(axis=0) == 0) & (labels.max(axis=0) == 1))
        tags = get_tags(fitted)
        if not (tags.target_tags.multi_output or getattr(tags.classifier_tags, "multi_label", False)):
            fitted = MultiOutputClassifier(fitted)
        fitted.fit(z, labels[:, varies], **extra)
        always = np.flatnonzero(labels.min(axis=0) == 1)
        return cls(fitted, varies, n_labels, always)

    def probabilities(self, z: Floats32) -> npt.NDArray[Any]:
        found = self.classifier.predict_proba(z)
        if isinstance(found, list):  # one (k, 2) array per tag
            found = np.column_stack([tag[:, 1] for tag in found])
        out = np.zeros((len(z), self.n_labels), np.float32)
        out[:, self.columns] = found
        out[:, self.always] = 1.0
        return out


def log_losses(chances: Any, labels: Any, exclusive: bool) -> Floats:
    """Negative log-likelihood (n,) of labels, an indicator (n, t) in CSR, given probabilities (n, t)."""
    chances = np.clip(chances, LEAST_CHANCE, 1 - LEAST_CHANCE).astype(np.float64)
    row = np.repeat(np.arange(len(chances)), np.diff(labels.indptr))
    own = chances[row, labels.indices]
    weights = np.log(own) if exclusive else np.log(own) - np.log1p(-own)
    found: Floats = np.bincount(row, weights, len(chances)).astype(np.float64)
    return -found if exclusive else -(found + np.log1p(-chances).sum(axis=1))
