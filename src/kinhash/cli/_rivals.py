"""What the same rows give without learning: cosine of the features, their signs, random projections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._blocks import block_slices, map_blocks
from ..codes import pack_bits

__all__ = ["Rivals"]

BLOCK_ROWS = 2048

Floats = npt.NDArray[np.float64]
Packed = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]


class Rivals:
    """Ways to search rows of X that know no labels; the mean and the projections are fixed once.

    *Float cosine* takes the columns as they are. *Sign bits* are the signs of the centred columns, one
    bit each. *LSH* takes the signs of ``n_bits`` random (normal) projections of the centred columns.
    """

    def __init__(self, X: Any, reference: Rows, n_bits: int, rng: np.random.Generator) -> None:
        self.X = X
        self.n_bits = n_bits
        self.mean = np.zeros(X.shape[1])
        for part in block_slices(len(reference), BLOCK_ROWS):
            total = X[reference[part]].sum(axis=0, dtype=np.float64)
            self.mean += np.asarray(total).ravel() / len(reference)
        self.directions = rng.standard_normal((X.shape[1], n_bits))

    @property
    def n_columns(self) -> int:
        """Columns of X, and so sign bits."""
        return int(self.X.shape[1])

    def unit_rows(self, rows: Rows) -> Any:
        """Rows of length one (rows of zeros stay so), float32, or sparse where the features are."""
        if sp.issparse(self.X):
            block = sp.csr_array(self.X[rows], dtype=np.float64)
            size = np.repeat(abs(block).max(axis=1).toarray().ravel(), np.diff(block.indptr))
            block.data /= np.where(size > 0, size, 1)
            norms = np.sqrt(np.asarray(block.power(2).sum(axis=1)).ravel())
            block.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(block.indptr))
            return block
        out = np.empty((len(rows), self.n_columns), np.float32)
        for part in block_slices(len(rows), BLOCK_ROWS):
            dense = np.asarray(self.X[rows[part]], np.float64)
            size = np.abs(dense).max(axis=1, keepdims=True)  # so that squares neither overflow nor vanish
            dense = dense / np.where(size > 0, size, 1)
            norms = np.sqrt((dense**2).sum(axis=1, keepdims=True))
            out[part] = dense / np.where(norms > 0, norms, 1)
        return out

    def sign_bits(self, rows: Rows) -> Packed:
        """Packed signs of the centred columns."""
        return self._packed(rows, lambda centred: centred > 0)

    def lsh_bits(self, rows: Rows) -> Packed:
        """Packed signs of random projections of the centred columns."""
        return self._packed(rows, lambda centred: centred @ self.directions > 0)

    def _packed(self, rows: Rows, bits: Callable[[Floats], Any]) -> Packed:
        def one(part: slice) -> Packed:
            block = self.X[rows[part]]
            dense = block.toarray() if sp.issparse(block) else np.asarray(block)
            return pack_bits(bits(dense.astype(np.float64) - self.mean))

        return np.concatenate(list(map_blocks(one, block_slices(len(rows), BLOCK_ROWS))))
