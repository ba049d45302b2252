"""Toplines: rankings by float scores that codes are measured against. They are not hashers.

What is searched here is a predicted class or the scores of a classifier; `Cosine` searches the features
themselves. No code on the same features is expected to beat all of them. Each is a `FloatRanking` of
`kinhash_bench.protocols`, so ``evaluate(ClassScores(), data, "paper")`` puts it into the same table,
and its ``scores`` go into `kinhash.metrics.evaluate`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from kinhash.errors import InvalidInput
from kinhash.labels import read_labels

from ..protocols import FloatRanking, LabelScores

__all__ = ["ClassScores", "PredictedClass", "default_classifier", "required_classes"]


def default_classifier() -> Any:
    """Logistic regression on standardized columns, unfitted."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=200))


class ClassScores(LabelScores):
    """Rows rank by the probability that they are kin of the query, as a classifier sees it.

    ``classifier`` is any scikit-learn classifier with ``predict_proba``; None is logistic regression on
    standardized columns. See `LabelScores` for the two databases.
    """

    def __init__(self, classifier: Any = None) -> None:
        super().__init__(classifier)

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a copy of the classifier."""
        if self.classifier is not None:
            return super().fit(X, y)
        fitted = LabelScores(default_classifier()).fit(X, y)
        self.__dict__.update({name: value for name, value in vars(fitted).items() if name != "classifier"})
        return self


def required_classes(method: str, y: Any) -> npt.NDArray[np.int64]:
    """Classes (n,) of all rows; tags and unknown rows are refused."""
    labels = read_labels(y)
    if labels.classes is None or not labels.known.all():
        raise InvalidInput(
            f"{method} was given tags or rows of unknown class",
            "one class for every training row: a row with several tags has no single byte",
            "Use ClassScores for tags, and drop rows without a class",
        )
    return labels.classes


class PredictedClass(FloatRanking, BaseEstimator):
    """Rows of the class that is predicted for the query come first, all others after: the shortest code.

    ``classifier`` is any scikit-learn classifier; None is logistic regression on standardized columns.
    Classes only. Where the labels of the database may be used, its rows carry their true class, else the
    predicted one. Memory: one number per row.
    """

    def __init__(self, classifier: Any = None) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a copy of the classifier."""
        self.classes_ = required_classes(type(self).__name__, y)
        chosen = default_classifier() if self.classifier is None else clone(self.classifier)
        self.classifier_ = chosen.fit(X, self.classes_)
        self.bytes_per_item = 8
        return self

    def prepare(self, X: Any) -> npt.NDArray[np.int64]:
        """Predicted classes (n,)."""
        dense = X if not sp.issparse(X) else sp.csr_array(X)
        return np.asarray(self.classifier_.predict(dense), np.int64)

    def prepare_learned(self) -> npt.NDArray[np.int64]:
        """The classes of the training rows."""
        return self.classes_

    def scores(self, queries: Any, database: Any) -> npt.NDArray[np.float32]:
        """1 where the classes agree, else 0: (q, n)."""
        return (np.asarray(queries)[:, None] == np.asarray(database)).astype(np.float32)
