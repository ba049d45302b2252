"""OPQ: a product quantizer after the rotation that loses least by it."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinhash.plugins import Floats32, check_integer, make_rng

from .quantized import Quantized, faiss_or_refuse, require_rows

__all__ = ["OPQ"]


class OPQ(Quantized):
    """Optimized product quantization (Ge, He, Ke and Sun, CVPR 2013), by FAISS.

    A rotation and a product quantizer take turns, each fitted to the other, ``n_iter`` times (50 in FAISS);
    every part of the rotated features then takes one byte. Queries stay floats (asymmetric distance).
    Labels are not read. Needs the extra ``faiss``, and 256 rows or more.

    Pitfalls: FAISS starts its rotation from a seed of its own, so ``random_state`` moves the quantizer alone;
    with fewer columns than bytes the columns are filled up with zeros.
    """

    def __init__(self, n_bytes: int = 8, n_iter: int = 50, random_state: Any = None) -> None:
        super().__init__(n_bytes, random_state)
        self.n_iter = n_iter

    def _learn(self, rows: Floats32, y: Any) -> None:
        faiss = faiss_or_refuse()
        require_rows(len(rows))
        parts, width = self.n_bytes, rows.shape[1]
        self.width_ = -(-width // parts) * parts
        self.rotation_ = faiss.OPQMatrix(self.width_, parts)
        self.rotation_.niter = check_integer("n_iter", self.n_iter, 1)
        padded, seed = self._padded(rows), int(make_rng(self.random_state).integers(1 << 30))
        within, self.quantizer_ = (faiss.ProductQuantizer(self.width_, parts, 8) for _ in range(2))
        for quantizer in (within, self.quantizer_):
            quantizer.cp.seed, quantizer.cp.min_points_per_centroid = seed, 1
        self.rotation_.pq = within
        self.rotation_.train(padded)
        self.rotation_.pq = None
        self.quantizer_.train(self.rotation_.apply(padded))

    def _padded(self, rows: Floats32) -> Floats32:
        return np.ascontiguousarray(np.pad(rows, ((0, 0), (0, self.width_ - rows.shape[1]))))

    def _vectors(self, rows: Floats32) -> Floats32:
        return np.asarray(self.rotation_.apply(self._padded(rows)), np.float32)

    def _stored(self, vectors: Floats32) -> Floats32:
        return np.asarray(self.quantizer_.decode(self.quantizer_.compute_codes(vectors)), np.float32)
