"""Rows kept in a few bytes, searched by float queries: what the quantizers share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from kinhash.errors import InvalidInput, MissingExtra
from kinhash.plugins import Floats, Floats32, check_integer

from ..protocols import FloatRanking

__all__ = [
    "CENTROIDS",
    "Kept",
    "Quantized",
    "faiss_or_refuse",
    "principal_axes",
    "require_rows",
    "unit_around",
]

CENTROIDS = 256  # of a part of the features: one byte


@dataclass(frozen=True, eq=False)
class Kept:
    """Rows as queries, ``vectors`` (n, m), and as the quantizer keeps them, ``stored`` (n, m)."""

    vectors: Floats32
    stored: Floats32

    def __getitem__(self, rows: Any) -> Kept:
        return Kept(self.vectors[rows], self.stored[rows])


class Quantized(FloatRanking, BaseEstimator):
    """Rows rank by the squared distance of a float query to what ``n_bytes`` keep of them.

    Rows are centered and brought to unit length first, so that distance is cosine. Subclasses learn a map of
    such rows in `_learn`, apply it in `_vectors`, and say in `_stored` what is left of a row after rounding.
    Nothing is kept of labels, so there is no learned database. Memory: the mapped rows twice, as float32.
    """

    def __init__(self, n_bytes: int = 8, random_state: Any = None) -> None:
        self.n_bytes = n_bytes
        self.random_state = random_state

    @abstractmethod
    def _learn(self, rows: Floats32, y: Any) -> None:
        """Learn the map and the quantizer from unit rows."""

    @abstractmethod
    def _vectors(self, rows: Floats32) -> Floats32:
        """Mapped unit rows."""

    @abstractmethod
    def _stored(self, vectors: Floats32) -> Floats32:
        """Mapped rows as the quantizer gives them back."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows X; y is read by those that say so."""
        self.bytes_per_item = check_integer("n_bytes", self.n_bytes, 1)
        self.mean_ = np.asarray(X.mean(axis=0), np.float64).ravel()
        self._learn(unit_around(X, self.mean_), y)
        return self

    def prepare(self, X: Any) -> Kept:
        """Mapped rows, and what is kept of them."""
        vectors = self._vectors(unit_around(X, self.mean_))
        return Kept(vectors, self._stored(vectors))

    def scores(self, queries: Any, database: Any) -> npt.NDArray[Any]:
        """Minus the squared distance, less the query's own square: (q, n)."""
        stored = database.stored
        return np.asarray(2 * (queries.vectors @ stored.T) - (stored**2).sum(axis=1))


def unit_around(X: Any, mean: Floats) -> Floats32:
    """Rows less the mean, at length one; a row that is the mean stays 0."""
    dense = np.asarray(X.toarray() if sp.issparse(X) else X, np.float64) - mean
    norms = np.linalg.norm(dense, axis=1, keepdims=True)
    return (dense / np.where(norms > 0, norms, 1)).astype(np.float32)


def principal_axes(rows: Floats32, most: int) -> tuple[Floats, Floats]:
    """Mean (p,) of the rows, and their top principal axes (p, r), r ≤ most; largest entries are positive."""
    mean = rows.mean(axis=0, dtype=np.float64)
    centered = rows - mean
    axes = np.linalg.eigh(centered.T @ centered)[1][:, ::-1][:, :most]
    peaks = axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])]
    return mean, axes * np.where(peaks < 0, -1.0, 1.0)


def require_rows(n_rows: int) -> None:
    """Refuse fewer rows than a byte has values."""
    if n_rows < CENTROIDS:
        raise InvalidInput(
            f"A product quantizer was given {n_rows} rows",
            f"{CENTROIDS} or more, one for every value of a byte",
            "Pass more rows, or use PCAInt8 or LabelByte",
        )


def faiss_or_refuse() -> Any:
    """The library, or an error that names the extra."""
    try:
        import faiss
    except ImportError:
        raise MissingExtra.of("faiss", "faiss", "kinhash-bench") from None
    return faiss
