"""Cosine of the features, the ranking that codes must beat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices
from .._internal.types import Array, Ints, Matrix

__all__ = ["ScoreRows", "cosine_scores", "unit_rows"]

BLOCK_ROWS = 2048

ScoreRows = Callable[[Ints], Array]  # query positions → their scores for the whole database


def cosine_scores(queries: Matrix, database: Matrix) -> ScoreRows:
    """Inner products of rows of length one, dense or sparse, a few queries at a time."""

    def scores(wanted: Ints) -> Array:
        products = queries[wanted] @ database.T
        return np.asarray(products.toarray() if sp.issparse(products) else products)

    return scores


def unit_rows(X: Matrix, rows: Ints | None = None) -> Matrix:
    """Rows of length one (rows of zeros stay so): float32, or sparse float64 where X is sparse.

    ``rows`` are row numbers of X, None for all. Peak memory beyond the result: a block of 2,048 rows.
    """
    rows = np.arange(X.shape[0]) if rows is None else rows
    if sp.issparse(X):
        block = sp.csr_array(X[rows], dtype=np.float64)
        size = np.repeat(abs(block).max(axis=1).toarray().ravel(), np.diff(block.indptr))
        block.data /= np.where(size > 0, size, 1)
        norms = np.sqrt(np.asarray(block.power(2).sum(axis=1)).ravel())
        block.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(block.indptr))
        return block
    out = np.empty((len(rows), X.shape[1]), np.float32)
    for part in block_slices(len(rows), BLOCK_ROWS):
        dense = np.asarray(X[rows[part]], np.float64)
        size = np.abs(dense).max(axis=1, keepdims=True, initial=0)  # squares neither overflow nor vanish
        scaled = (dense / np.where(size > 0, size, 1)).astype(np.float32)
        norms = np.linalg.norm(scaled, axis=1, keepdims=True)
        out[part] = scaled / np.where(norms > 0, norms, 1)
    return out
