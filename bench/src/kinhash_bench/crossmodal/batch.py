"""BATCH: codes near a balanced latent space that the labels and both views share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kinhash.paper.method import Card
from kinhash.plugins import Floats

from ..baselines import balanced_factor, unit_rows
from .base import CrossModal, Solved, ViewMap, gaussian_features, ridge

__all__ = ["BATCH"]

DAMPING = 1e-3  # of the factors U, the authors'


@dataclass(eq=False)
class BATCH(CrossModal):
    """Scalable asymmetric discrete cross-modal hashing (Wang, Luo, Nie, Song, Zhang, Xu, TKDE 2020).

    Over codes B (n, d) and real V (n, d) with ``Vᵀ1 = 0`` and ``VᵀV = nI``:
    ``‖d L̃L̃ᵀ − V Bᵀ‖² + ω‖B − V‖² + η₀‖L − V U_l‖² + η₁‖φ(X) − V U_x‖² + η₂‖φ(T) − V U_t‖²``, L̃ the
    labels with rows of unit length. Alternates: U by least squares; V from the SVD of the centered
    ``d L̃L̃ᵀB + ωB + Σ η φ Uᵀ``; ``B = sgn(d L̃L̃ᵀV + ωV)``. Then ridge regression (ξ) from φ to B in either
    view. φ: Gaussian similarities to random training rows, centered.

    The updates and constants (η = .9, .05, .05; ω = ξ = .01; 6 rounds; 500 and 1,000 centers) are those of
    the authors' program as a toolkit redistributes it. Differs: missing directions of V are orthogonal to the
    others (theirs are random). ``codes_`` are the learned codes.
    """

    etas: tuple[float, float, float] = (0.9, 0.05, 0.05)
    omega: float = 0.01
    xi: float = 0.01
    n_rounds: int = 6
    n_centers: tuple[int, int] = (500, 1000)

    card = Card(
        "Wang, Luo, Nie, Song, Zhang, Xu, TKDE 2020",
        "classes, tags",
        "ridge on RBF features",
        "missing directions of V are orthogonal",
    )

    def _solve(self, views: tuple[Floats, Floats], labels: sp.csr_array, rng: np.random.Generator) -> Solved:
        n, d = len(views[0]), self.n_bits
        picks = [rng.choice(n, min(n, m), replace=False) for m in self.n_centers]
        features = [gaussian_features(X, X[pick]) for X, pick in zip(views, picks, strict=True)]
        first, second = (view(X) for view, X in zip(features, views, strict=True))
        unit, parts = unit_rows(labels), (labels, first, second)
        B = np.where(rng.standard_normal((n, d)) > 0, 1.0, -1.0)
        V = rng.standard_normal((n, d))
        for _ in range(self.n_rounds):
            gram = V.T @ V + DAMPING * np.eye(d)
            Z = d * (unit @ (unit.T @ B)) + self.omega * B
            for eta, part in zip(self.etas, parts, strict=True):
                Z += eta * (part @ np.linalg.solve(gram, (part.T @ V).T).T)
            V = balanced_factor(Z, rng)
            B = np.where(d * (unit @ (unit.T @ V)) + self.omega * V > 0, 1.0, -1.0)
        maps = [ridge(Z, B, self.xi) for Z in (first, second)]
        return Solved((ViewMap(features[0], maps[0]), ViewMap(features[1], maps[1])), B)
