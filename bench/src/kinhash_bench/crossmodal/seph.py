"""SePH_km: codes whose distances have the distribution of label similarities, and a classifier per bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kinhash.paper.method import Card
from kinhash.plugins import Bools, Floats

from ..baselines import unit_rows
from .base import CrossModal, Solved, View, ViewMap, gaussian_features

__all__ = ["SePH", "divergence"]


@dataclass(eq=False)
class SePH(CrossModal):
    """Semantics-preserving hashing, k-means version (Lin, Ding, Hu, Wang, CVPR 2015).

    ``min KL(P ‖ Q) + α/(d n) Σ(|h| − 1)²`` over real codes h: P the cosines of label vectors,
    ``Q ∝ 1/(1 + ‖h_i − h_j‖²/4)``, both summing to 1 over pairs i ≠ j. Codes are the signs of h. For each bit
    and view a kernel logistic regression on 500 k-means centers (Gaussian, σ² the mean squared distance,
    penalty ``c·uᵀKu``, no intercept) is the hash function.

    P is n × n, so at most ``n_rows`` random rows are learned from, as in the paper (5,000 there, 2,000 here:
    32 MB a matrix); the others are encoded only. α = 0.01, c = 0.01 and 500 centers are the authors' (a
    toolkit's copy was read). Differs: at most 100 steps of L-BFGS from a random start in place of their
    descent (300 steps are worse on validation rows of COCO captions); ``MiniBatchKMeans`` for k-means.
    No ``codes_``: most training rows have none.
    """

    n_rows: int = 2000
    n_centers: int = 500
    alpha: float = 0.01
    penalty: float = 0.01
    n_steps: int = 100

    card = Card(
        "Lin, Ding, Hu, Wang, CVPR 2015",
        "classes, tags",
        "kernel logistic regression, 500 centers",
        "2,000 training rows; L-BFGS; mini-batch k-means",
    )

    def _solve(self, views: tuple[Floats, Floats], labels: sp.csr_array, rng: np.random.Generator) -> Solved:
        n = labels.shape[0]
        rows = np.sort(rng.choice(n, min(n, self.n_rows), replace=False))
        unit = unit_rows(labels[rows])
        P = (unit @ unit.T).toarray()
        np.fill_diagonal(P, 0.0)
        P /= max(P.sum(), 1e-300)
        B = self._codes(P, rng) > 0
        maps = [self._functions(X[rows], B, rng) for X in views]
        return Solved((maps[0], maps[1]))

    def _codes(self, P: Floats, rng: np.random.Generator) -> Floats:
        from scipy.optimize import minimize

        start = rng.standard_normal((len(P), self.n_bits)).ravel()

        def value(h: Floats) -> tuple[float, Floats]:
            found, gradient = divergence(h.reshape(len(P), -1), P, self.alpha / (self.n_bits * len(P)))
            return found, gradient.ravel()

        options = {"maxiter": self.n_steps, "gtol": 0.0}  # entries of the gradient are of the size of P
        h: Floats = minimize(value, start, jac=True, method="L-BFGS-B", options=options).x
        return h.reshape(len(P), -1)

    def _functions(self, X: Floats, B: Bools, rng: np.random.Generator) -> ViewMap:
        """Kernel logistic regressions as linear ones: with ``K = F Fᵀ`` and ``w = Fᵀu``, uᵀKu is ‖w‖²."""
        from sklearn.cluster import MiniBatchKMeans
        from sklearn.linear_model import LogisticRegression

        seed = int(rng.integers(2**31))
        count = min(self.n_centers, len(X))
        centers = MiniBatchKMeans(count, n_init=1, random_state=seed).fit(X).cluster_centers_
        view = gaussian_features(X, centers.astype(np.float64))
        view = View(view.mean, view.kernel)
        values, vectors = np.linalg.eigh(view(centers))
        keep = values > 1e-10 * values[-1]
        whiten = vectors[:, keep] / np.sqrt(values[keep])
        Z, weights = view(X) @ whiten, np.zeros((keep.sum(), self.n_bits))
        model = LogisticRegression(C=1 / (2 * self.penalty), fit_intercept=False, max_iter=200, tol=1e-3)
        for k in range(self.n_bits):
            if B[:, k].all() or not B[:, k].any():
                weights[:, k] = (1.0 if B[0, k] else -1.0) * Z.mean(axis=0)
            else:
                weights[:, k] = model.fit(Z, B[:, k]).coef_[0]
        return ViewMap(view, whiten @ weights)


def divergence(h: Floats, P: Floats, weight: float) -> tuple[float, Floats]:
    """``KL(P ‖ Q) + weight·Σ(|h| − 1)²`` and its gradient (m, d)."""
    squares = (h * h).sum(axis=1)
    near = squares[:, None] + squares - 2 * (h @ h.T)
    near = 1 / (1 + np.maximum(near, 0) / 4)
    np.fill_diagonal(near, 0.0)
    total = near.sum()
    known = P > 0
    value = float((P[known] * np.log(P[known] * total / near[known])).sum())
    force = (P - near / total) * near
    gradient = force.sum(axis=1)[:, None] * h - force @ h
    off = np.abs(h) - 1
    return value + weight * float((off * off).sum()), gradient + 2 * weight * off * np.sign(h)
