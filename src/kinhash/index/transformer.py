"""Hamming neighbors for scikit-learn: a drop-in for ``KNeighborsTransformer`` on codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..codes import pack_bits
from ..errors import InvalidInput
from .hamming_index import HammingIndex


class HammingNeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The graph of nearest codes, as the ``metric="precomputed"`` estimators of scikit-learn take it.

    Rows of ``X`` are bits, one column per bit: 0/1, booleans or signs; a value above 0 is a one. So it stands
    after a hasher in a pipeline, and before ``KNeighborsClassifier(metric="precomputed")``, ``DBSCAN``, ...

    ``mode="distance"`` gives differing bits, with one neighbor more than asked for, as scikit-learn does,
    because a training row is its own nearest; ``mode="connectivity"`` gives ones.
    """

    def __init__(self, n_neighbors: int = 5, *, mode: str = "distance") -> None:
        self.n_neighbors = n_neighbors
        self.mode = mode

    def fit(self, X: Any, y: Any = None) -> HammingNeighborsTransformer:
        """Index the codes of the training rows."""
        if self.mode not in ("distance", "connectivity"):
            raise InvalidInput(f"mode is {self.mode!r}", "'distance' or 'connectivity'", "Choose one of them")
        bits = validate_data(self, X) > 0
        self.index_ = HammingIndex.from_codes(pack_bits(bits), n_bits=bits.shape[1])
        self._n_features_out = self.n_samples_fit_ = len(bits)
        return self

    def transform(self, X: Any) -> sp.csr_matrix:
        """Neighbors of each row among the training rows (n, n_fit), nearest first in every row."""
        check_is_fitted(self)
        bits = validate_data(self, X, reset=False) > 0
        k = self.n_neighbors + (self.mode == "distance")
        if not 1 <= k <= len(self.index_):
            raise InvalidInput(
                f"n_neighbors is {self.n_neighbors} and {len(self.index_)} rows were fitted",
                "1 or more, and (in distance mode) fewer than the rows",
                "Lower n_neighbors",
            )
        found = self.index_.search(pack_bits(bits), k)
        values = found.distances if self.mode == "distance" else np.ones_like(found.distances)
        splits = np.arange(0, found.ids.size + 1, k)
        graph = (values.ravel().astype(np.float64), found.ids.ravel(), splits)
        return sp.csr_matrix(graph, shape=(len(bits), len(self.index_)))
