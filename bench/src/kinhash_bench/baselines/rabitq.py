"""RaBitQ: signs of a randomly rotated row, and an estimate of inner products that is right on average."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.plugins import Floats32, check_integer, make_rng

from .int8 import round_to_bytes
from .quantized import Quantized, principal_axes

__all__ = ["PCARaBitQ"]


class PCARaBitQ(Quantized):
    """PCA, then RaBitQ (Gao and Long, SIGMOD 2024) with float queries, ``n_bytes`` for everything.

    A row's components, at unit length and rotated at random, are o; kept are their signs x = sign(o)/√m and
    the one number ⟨x, o⟩. For a query q, ``⟨x, q⟩/⟨x, o⟩`` estimates ⟨o, q⟩, and on average over rotations it
    is ⟨o, q⟩. Eight bytes are 56 signs, of 56 components, and one byte for ⟨x, o⟩ in even steps between the
    least and the largest of the training rows. Labels are not read; FAISS is not needed.

    What is ours: PCA first (RaBitQ has a bit for each column); components at unit length, so that no bytes go
    to the length of a row; a byte where FAISS keeps two floats; queries are not rounded; the mean is the one
    centroid.
    Pitfall: with fewer columns than bits, bits are left over; they are not filled.
    """

    def _learn(self, rows: Floats32, y: Any) -> None:
        n_signs = 8 * (check_integer("n_bytes", self.n_bytes, 2) - 1)
        self.offset_, axes = principal_axes(rows, n_signs)
        self.axes_ = axes @ _random_rotation(axes.shape[1], make_rng(self.random_state))
        agreement = self._agreement(self._vectors(rows))
        self.low_, self.high_ = agreement.min(axis=0), agreement.max(axis=0)

    def _vectors(self, rows: Floats32) -> Floats32:
        components = (rows - self.offset_) @ self.axes_
        norms = np.linalg.norm(components, axis=1, keepdims=True)
        return np.asarray(components / np.where(norms > 0, norms, 1), np.float32)

    def _agreement(self, vectors: Floats32) -> Floats32:
        """⟨x, o⟩ of each row (n, 1)."""
        return np.asarray(np.abs(vectors).sum(axis=1, keepdims=True) / np.sqrt(vectors.shape[1]), np.float32)

    def _stored(self, vectors: Floats32) -> Floats32:
        signs = np.where(vectors > 0, 1, -1) / np.sqrt(vectors.shape[1])
        kept = round_to_bytes(self._agreement(vectors), self.low_, self.high_)
        return np.asarray(signs / np.maximum(kept, 1e-6), np.float32)

    def scores(self, queries: Any, database: Any) -> npt.NDArray[Any]:
        """Estimated inner products (q, n)."""
        return np.asarray(queries.vectors @ database.stored.T)


def _random_rotation(size: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    rotation, triangle = np.linalg.qr(rng.normal(size=(size, size)))
    turned: npt.NDArray[np.float64] = rotation * np.where(np.diag(triangle) < 0, -1.0, 1.0)
    return turned
