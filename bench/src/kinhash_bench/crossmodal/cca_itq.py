"""CCA of the two views, then one ITQ rotation for both: no labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kinhash.paper.method import Card
from kinhash.plugins import Floats, fit_rotation

from ..baselines import canonical_directions
from .base import CrossModal, Solved, ViewMap, centered_view

__all__ = ["CCAITQ2"]


@dataclass(eq=False)
class CCAITQ2(CrossModal):
    """Canonical correlation of the two views, and an ITQ rotation of both (after Gong, Lazebnik, CVPR 2011).

    Directions A, B maximize the correlation of ``X A`` and ``T B``, one pair after the other, and are scaled
    to unit variance times the correlation r; R then minimizes the rounding error of ``X A R`` and ``T B R``
    together. Labels are not read. With fewer columns than bits R has orthonormal rows. A line of our own: the
    paper has CCA with labels. ``reg`` is added to both covariances of columns at one common scale.
    """

    reg: float = 1e-4

    card = Card("after Gong, Lazebnik, CVPR 2011", "two views, no labels", "linear", "all of it")

    def _solve(self, views: tuple[Floats, Floats], labels: sp.csr_array, rng: np.random.Generator) -> Solved:
        features = [centered_view(X) for X in views]
        X, T = (view(rows) for view, rows in zip(features, views, strict=True))
        sizes = [np.sqrt((rows * rows).mean()) or 1.0 for rows in (X, T)]
        X, T, n = X / sizes[0], T / sizes[1], len(X)
        Cxx, Cyy, Cxy = X.T @ X / n, T.T @ T / n, X.T @ T / n
        A, r = canonical_directions(Cxx, Cxy, Cyy, self.reg)
        B, s = canonical_directions(Cyy, Cxy.T, Cxx, self.reg)
        A, B = A[:, : self.n_bits] * r[: self.n_bits], B[:, : self.n_bits] * s[: self.n_bits]
        B = B * np.where(((X @ A) * (T @ B)).sum(axis=0) < 0, -1.0, 1.0)
        R = fit_rotation(np.concatenate([X @ A, T @ B]), self.n_bits, rng)
        return Solved((ViewMap(features[0], A @ R), ViewMap(features[1], B @ R)))
