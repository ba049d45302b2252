"""Codes without learning, to compare with: signs of the features, and signs of random projections."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices, map_blocks
from .._internal.types import Array, Bytes, Floats, Ints, Matrix, Rng
from ..codes import Codes, pack_bits

__all__ = ["CodeReferences", "random_directions"]

BLOCK_ROWS = 2048


def random_directions(n_columns: int, n_bits: int, rng: Rng) -> Floats:
    """The normals of LSH's random hyperplanes (n_columns, n_bits), standard normal.

    Reference: Charikar. Similarity estimation techniques from rounding algorithms. STOC 2002.
    """
    return rng.standard_normal((n_columns, n_bits))


class CodeReferences:
    """Sign bits and LSH of rows of X, both of columns centered by the mean over ``mean_rows``.

    *Sign bits* are the signs of the centered columns, one bit each. *LSH* takes the signs of ``n_bits``
    random projections of the centered columns. Unlike `kinhash.baselines.SignBits` and `LSH`, which make
    models, sign bits have no greatest length here, and the arithmetic is float64.
    """

    def __init__(self, X: Matrix, mean_rows: Ints, n_bits: int, rng: Rng) -> None:
        self.X = X
        self.n_bits = n_bits
        self.mean = np.zeros(X.shape[1])
        for part in block_slices(len(mean_rows), BLOCK_ROWS):
            total = X[mean_rows[part]].sum(axis=0, dtype=np.float64)
            self.mean += np.asarray(total).ravel() / len(mean_rows)
        self.directions = random_directions(X.shape[1], n_bits, rng)

    def sign_bits(self, rows: Ints) -> Bytes:
        """Packed signs of the centered columns."""
        return self._packed(rows, lambda centered: centered > 0)

    def lsh(self, rows: Ints) -> Codes:
        """Signs of random projections of the centered columns."""
        return Codes(self._packed(rows, lambda centered: centered @ self.directions > 0), self.n_bits)

    def _packed(self, rows: Ints, bits: Callable[[Floats], Array]) -> Bytes:
        def one(part: slice) -> Bytes:
            block = self.X[rows[part]]
            dense = block.toarray() if sp.issparse(block) else np.asarray(block)
            return pack_bits(bits(dense.astype(np.float64) - self.mean))

        return np.concatenate(list(map_blocks(one, block_slices(len(rows), BLOCK_ROWS))))
