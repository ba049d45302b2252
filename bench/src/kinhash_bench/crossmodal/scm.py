"""SCM-seq: one pair of directions after the other, each for what the bits before it left unexplained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinhash.paper.method import Card
from kinhash.plugins import Floats

from ..baselines import canonical_directions, unit_rows
from .base import CrossModal, Solved, ViewMap, centered_view

__all__ = ["SCM"]

RIDGE = 1e-6


@dataclass(eq=False)
class SCM(CrossModal):
    """Semantic correlation maximization, sequential (Zhang, Li, AAAI 2014).

    ``min ‖sgn(X W) sgn(T V)ᵀ − d S‖²`` with ``S = 2 L̃L̃ᵀ − 11ᵀ``, L̃ the labels with rows of unit length. Bit k
    maximizes ``wᵀ C v``, ``C = Xᵀ R T``, with ``wᵀXᵀX w = vᵀTᵀT v = 1``; R is dS less the products of earlier
    bits, so ``C ← C − (Xᵀ sgn(Xw)) (Tᵀ sgn(Tv))ᵀ`` and no n × n matrix is formed.

    Differs from the authors' program (a toolkit's copy was read): theirs takes the directions of plain CCA
    from the first bit on whose eigenvalue is larger than the last one's, which on COCO captions may be the
    25th of 64 and costs .07 mAP; here all bits are sequential. The ridge of 1e-6 is relative to the mean of
    the diagonal, and an SVD replaces the eigensolver. Mapped codes only.
    """

    card = Card("Zhang, Li, AAAI 2014", "classes, tags", "linear", "all bits are sequential; relative ridge")

    def _solve(self, views: tuple[Floats, Floats], labels: sp.csr_array, rng: np.random.Generator) -> Solved:
        d, features = self.n_bits, [centered_view(X) for X in views]
        X, T = (view(rows) for view, rows in zip(features, views, strict=True))
        X, T = X / root_mean_square(X), T / root_mean_square(T)
        unit = unit_rows(labels)
        C = d * (2 * (unit.T @ X).T @ (unit.T @ T) - np.outer(X.sum(axis=0), T.sum(axis=0)))
        squares = X.T @ X, T.T @ T
        W, V = (np.zeros((rows.shape[1], d)) for rows in (X, T))
        for k in range(d):
            a, b = canonical_pair(squares[0], C, squares[1])
            W[:, k], V[:, k] = a, b
            C = C - np.outer(X.T @ np.sign(X @ a), T.T @ np.sign(T @ b))
        return Solved((ViewMap(features[0], W), ViewMap(features[1], V)))


def canonical_pair(Cxx: Floats, Cxy: Floats, Cyy: Floats) -> tuple[Floats, Floats]:
    """The direction in either view of the largest correlation; their signs belong together."""
    ridge = [RIDGE * float(np.diag(C).mean()) for C in (Cxx, Cyy)]
    a = canonical_directions(Cxx, Cxy, Cyy, max(ridge))[0][:, 0]
    b: Any = np.linalg.solve(Cyy + ridge[1] * np.eye(len(Cyy)), Cxy.T @ a)
    return a, b / max(float(np.linalg.norm(b)), 1e-300)


def root_mean_square(X: Floats) -> float:
    """Root of the mean squared length of rows; 1 where all are 0."""
    return float(np.sqrt((X * X).sum(axis=1).mean())) or 1.0
