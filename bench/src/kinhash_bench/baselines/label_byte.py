"""What one would build instead of codes: a label byte for every row, and a product quantizer beside it.

Queries are floats. A classifier says how likely each class is for a query, and rows rank by the probability
of their class. A label byte leaves all rows of a class level; a product quantizer tells them apart by the
distance of their features (Jégou, Douze and Schmid, TPAMI 2011). For classes: tags have no single byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone

from kinhash.plugins import check_integer, make_rng

from ..protocols import FloatRanking
from .quantized import faiss_or_refuse, require_rows, unit_around
from .toplines import default_classifier, required_classes

__all__ = ["LabelByte", "LabelBytePQ"]

Vectors = npt.NDArray[np.float32]
Classes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Rows:
    """What a search needs of rows.

    Of those that ask: ``chances`` (n, classes) and ``vectors`` (n, p). Of those that are found: ``classes``
    (n,), and ``stored`` (n, p), the vectors as the quantizer keeps them.
    """

    classes: Classes
    chances: Vectors | None = None
    vectors: Vectors | None = None
    stored: Vectors | None = None

    def __getitem__(self, rows: Any) -> _Rows:
        parts = (self.classes, self.chances, self.vectors, self.stored)
        return _Rows(*(None if part is None else part[rows] for part in parts))  # type: ignore[arg-type]


class LabelByte(FloatRanking, BaseEstimator):
    """Rows rank by the probability of their class, as a classifier sees the query: one byte per row.

    ``classifier`` is any scikit-learn classifier with ``predict_proba``; None is logistic regression on
    standardized columns. Where the labels of the database may be used, its rows carry their true class, else
    the predicted one. Classes only. Memory: (n, classes) floats.
    """

    def __init__(self, classifier: Any = None) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a copy of the classifier."""
        classes = required_classes(type(self).__name__, y)
        chosen = default_classifier() if self.classifier is None else clone(self.classifier)
        present, self.classes_ = np.unique(classes, return_inverse=True)
        self.classifier_ = chosen.fit(X, self.classes_)
        self.bytes_per_item = 1 if len(present) <= 256 else 2
        return self

    def prepare(self, X: Any) -> _Rows:
        """Probabilities, and the class that is most likely."""
        chances = np.asarray(self.classifier_.predict_proba(X), np.float32)
        return _Rows(chances.argmax(axis=1), chances)

    def prepare_learned(self) -> _Rows:
        """The classes of the training rows."""
        return _Rows(self.classes_)

    def scores(self, queries: Any, database: Any) -> Vectors:
        """Probability of the row's class for the query (q, n)."""
        return np.asarray(queries.chances[:, database.classes])


class LabelBytePQ(FloatRanking, BaseEstimator):
    """A label byte first; among rows of one class, the distance to their product quantizer codes.

    ``n_bytes`` is what a row takes altogether: its class (one byte, two for more than 256 classes), and the
    rest for FAISS's product quantizer, one byte for each part of the features. They are centered and brought
    to unit length, so that distance is cosine, and rotated at random, so that the parts weigh alike. Queries
    stay floats (asymmetric distance). Needs the extra ``faiss``. ``classifier`` and the two databases are
    those of `LabelByte`. Memory: the features once more, as the quantizer keeps them.
    """

    def __init__(self, n_bytes: int = 8, classifier: Any = None, random_state: Any = None) -> None:
        self.n_bytes = n_bytes
        self.classifier = classifier
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier and the quantizer."""
        faiss = faiss_or_refuse()
        self.label_ = LabelByte(self.classifier).fit(X, y)
        label_bytes = self.label_.bytes_per_item
        n_parts = check_integer("n_bytes", self.n_bytes, label_bytes + 1) - label_bytes
        require_rows(X.shape[0])
        rng = make_rng(self.random_state)
        self.mean_ = np.asarray(X.mean(axis=0), np.float64).ravel()
        width = -(-X.shape[1] // n_parts) * n_parts  # a multiple of the parts; the rotation fills it
        self.rotation_ = np.linalg.qr(rng.normal(size=(width, X.shape[1])))[0].T.astype(np.float32)
        self.quantizer_ = faiss.ProductQuantizer(width, n_parts, 8)
        self.quantizer_.cp.seed = int(rng.integers(1 << 30))
        self.quantizer_.cp.min_points_per_centroid = 1
        vectors = self._vectors(X)
        self.quantizer_.train(vectors)
        self.stored_ = self._stored(vectors)
        self.bytes_per_item = self.n_bytes
        return self

    def _vectors(self, X: Any) -> Vectors:
        return np.ascontiguousarray(unit_around(X, self.mean_) @ self.rotation_)

    def _stored(self, vectors: Vectors) -> Vectors:
        codes = self.quantizer_.compute_codes(vectors)
        return np.asarray(self.quantizer_.decode(codes), np.float32)

    def prepare(self, X: Any) -> _Rows:
        """Probabilities and vectors, the most likely class, and the vectors as the quantizer keeps them."""
        label, vectors = self.label_.prepare(X), self._vectors(X)
        return _Rows(label.classes, label.chances, vectors, self._stored(vectors))

    def prepare_learned(self) -> _Rows:
        """The classes and the quantized vectors of the training rows."""
        return _Rows(self.label_.classes_, stored=self.stored_)

    def scores(self, queries: Any, database: Any) -> npt.NDArray[np.float64]:
        """Minus the rank of the row's class, minus the distance as a share of the farthest: (q, n)."""
        chances, stored = queries.chances, database.stored
        ranks = (chances[:, None, :] > chances[:, :, None]).sum(axis=2)
        squares = (stored**2).sum(axis=1) - 2 * (queries.vectors @ stored.T)  # less that of the query
        squares -= squares.min(axis=1, keepdims=True)
        farthest = squares.max(axis=1, keepdims=True)
        return -(ranks[:, database.classes] + squares / (1.001 * np.where(farthest > 0, farthest, 1)))
