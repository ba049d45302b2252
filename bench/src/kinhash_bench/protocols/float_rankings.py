"""Reference rankings by float scores: cosine of the features, and the label scores of a classifier."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from kinhash.errors import InvalidInput
from kinhash.labels import read_labels
from kinhash.metrics import ScoreRows, cosine_scores, unit_rows

__all__ = ["Cosine", "FloatRanking", "LabelScores", "score_rows"]

Scores = npt.NDArray[Any]


class FloatRanking(ABC):
    """A search without codes: the higher the score of two rows, the nearer they are.

    ``bytes_per_item`` (after fit) is what the database keeps for one row.
    """

    bytes_per_item: int

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Learn from training rows and their labels, or only look at the columns."""

    @abstractmethod
    def prepare(self, X: Any) -> Any:
        """What is kept of each row for searching, one row per row of X."""

    @abstractmethod
    def scores(self, queries: Any, database: Any) -> Scores:
        """Scores (q, n) between two lists of prepared rows."""

    def prepare_learned(self) -> Any:
        """What is kept of the training rows when their labels may be used; None if labels play no part."""
        return None


def score_rows(ranking: FloatRanking, queries: Any, database: Any) -> ScoreRows:
    """Scores of prepared rows as `kinhash.metrics.evaluate` takes them, a few queries at a time."""
    return lambda wanted: ranking.scores(queries[wanted], database)


class Cosine(FloatRanking, BaseEstimator):
    """Cosine of the features themselves, columns as they are or standardized by the training rows."""

    def __init__(self, standardize: bool = False) -> None:
        self.standardize = standardize

    def fit(self, X: Any, y: Any = None) -> Self:
        """Note mean and deviation of the columns."""
        self.bytes_per_item = 4 * X.shape[1]
        if self.standardize:
            dense = np.asarray(X.toarray() if sp.issparse(X) else X, np.float32)
            self.mean_, spread = dense.mean(axis=0, dtype=np.float64), dense.std(axis=0, dtype=np.float64)
            self.scale_ = np.where(spread > 0, spread, 1.0)
        return self

    def prepare(self, X: Any) -> npt.NDArray[np.float32]:
        """Rows of length one as dense float32; a row of zeros stays zero."""
        dense = X.toarray() if sp.issparse(X) else X
        if self.standardize:
            dense = np.array(dense, np.float32)
            dense -= self.mean_.astype(np.float32)
            dense /= self.scale_.astype(np.float32)
        return np.asarray(unit_rows(dense), np.float32)

    def scores(self, queries: Any, database: Any) -> Scores:
        """Inner products of rows of length one, dense or sparse."""
        return cosine_scores(queries, database)(np.arange(queries.shape[0]))


class LabelScores(FloatRanking, BaseEstimator):
    """Topline: a classifier says how likely each label is, and rows rank by how likely they are kin.

    ``classifier`` is any scikit-learn classifier with ``predict_proba`` (for tags one that gives a matrix
    (n, tags), such as `OneVsRestClassifier`). Where the labels of the database may be used, a row with the
    labels T scores ``1 - prod over T of (1 - p(x))``: for classes, the probability of its class.
    Otherwise two rows score ``sum over labels of p(x) p(z)``, the expected number of shared labels.
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a copy of the classifier."""
        labels = read_labels(y)
        if not labels.known.all():
            raise InvalidInput(
                f"{int((~labels.known).sum())} training rows have unknown labels",
                "a label for every training row",
                "Set untagged='drop' in the protocol",
            )
        target = labels.classes if labels.classes is not None else labels.indicator().toarray()
        self.classifier_ = clone(self.classifier).fit(X, target)
        self.indicator_, self.is_tags_ = labels.indicator().astype(np.float32), labels.is_tags
        self.bytes_per_item = 4 * self.indicator_.shape[1]
        return self

    def prepare(self, X: Any) -> npt.NDArray[np.float32]:
        """Probabilities (n, labels)."""
        p = np.asarray(self.classifier_.predict_proba(X), np.float32)
        if p.shape != (X.shape[0], self.indicator_.shape[1]):
            raise InvalidInput(
                f"The classifier gives probabilities of shape {p.shape}",
                f"one column for each of the {self.indicator_.shape[1]} labels",
                "Wrap it in sklearn.multiclass.OneVsRestClassifier",
            )
        return p

    def prepare_learned(self) -> Any:
        """The labels of the training rows."""
        return self.indicator_

    def scores(self, queries: Any, database: Any) -> Scores:
        """Likelihood of being kin, or the expected number of shared labels, see above."""
        if self.is_tags_ and sp.issparse(database):  # the same order as 1 - prod(1 - p), and a product
            queries = -np.log1p(-np.minimum(queries, np.float32(1 - 1e-6)))
        return np.asarray(database @ queries.T).T
