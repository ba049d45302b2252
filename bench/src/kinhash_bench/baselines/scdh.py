"""SCDH: codes near real vectors that are balanced, uncorrelated and explain the similarity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kinhash.paper.method import Card, Solved
from kinhash.paper.similarity import Training
from kinhash.plugins import Floats, check_integer, check_number

from .cards import LABELS
from .row_sets import RidgeRows, TrainingRows, count_rows, rbf_preparation, sign_or
from .two_step import TwoStepBaseline, label_matrix

__all__ = ["SCDH", "balanced_factor", "similarity_times"]

MOST_CENTERS = 2000
RANK = 1e-10  # directions of a smaller share of the largest singular value are rounding


@dataclass(eq=False, repr=False, kw_only=True)
class SCDH(TwoStepBaseline):
    """Strongly constrained discrete hashing.

    Objective, over codes B (n, d), real Z (n, d) with ``Zᵀ1 = 0`` and ``ZᵀZ = nI``, and a map P:
    ``‖Z Bᵀ − d S̃‖² + λ‖φ P − B‖² + α_z‖B − Z‖² + β‖P‖²``, with ``S̃ = 2 L̃L̃ᵀ − 11ᵀ``, L̃ the label matrix with
    rows of unit length. φ are similarities to random training rows, ``exp(−‖x − z‖ / (2·0.4²))`` (the
    distance is not squared) on rows of unit length, with a column of ones.

    Steps: B random; 10 times: P by ridge regression; Z from the SVD of the centered ``d S̃ B + α_z B``,
    missing directions filled by random ones; ``B = sign(d S̃ Z + λ φ P + α_z Z)``. Each solves its block
    exactly, so the objective cannot rise: ``report_.facts["objective"]``, without its constant terms. The own
    map is P.

    Differs from the authors' program: directions come from a QR and an SVD with a relative rank threshold
    (theirs, from a general eigensolver, turn complex past C − 1 and collapse); P is fitted once more at
    the end.
    Learns from classes or tags; rows of weight 0 are left out, other sample weights matter for P alone.

    Parameters
    ----------
    n_bits : length of the codes.
    alpha_z, beta, lam : the authors' 0.1, 1 and 10.
    n_rounds : rounds; 10.
    n_centers : random training rows to compare with; 2000.
    map : "own", or "linear", "rbf", or a regressor onto the learned codes; see `TwoStepBaseline`.
    alpha : penalty of maps other than the own.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    Memory beyond X: n·n_centers·4 bytes (see `TrainingRows`), 6·8·n·n_bits bytes, 3·8·n_centers².

    Reference: Chen, Tian, Zhang, Wang, Zhang. Strongly constrained discrete hashing. TIP 2020.
    """

    card = Card(
        "Chen, Tian, Zhang, Wang, Zhang, TIP 2020",
        LABELS,
        "ridge on 2,000 RBF features",
        "directions by QR and SVD (the program's collapse past C − 1 bits)",
    )

    alpha_z: float = 0.1
    beta: float = 1.0
    lam: float = 10.0
    n_rounds: int = 10
    n_centers: int = MOST_CENTERS

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("alpha_z", self.alpha_z, 0.0)
        check_number("beta", self.beta, 0.0, open_low=True)
        check_number("lam", self.lam, 0.0, open_low=True)
        check_integer("n_rounds", self.n_rounds, 1)

    def _solve(self, training: Training) -> Solved:
        counted = count_rows(training, label_matrix(training, "SCDH"))
        labels, d = unit_rows(counted.labels), self.n_bits
        rows = TrainingRows(counted.training, rbf_preparation(counted.training, self.n_centers, power=1))
        ridge = RidgeRows(rows, self.beta / self.lam, constant=True)
        B = np.where(training.rng.standard_normal((len(counted), d)) >= 0, 1.0, -1.0)
        P = ridge.fit(B)
        predicted = ridge.predict(P)
        objective = []
        for _ in range(self.n_rounds):
            Z = balanced_factor(d * similarity_times(labels, B) + self.alpha_z * B, training.rng)
            pull = d * similarity_times(labels, Z) + self.alpha_z * Z
            B = sign_or(pull + self.lam * predicted, np.ones_like(B))
            P = ridge.fit(B)
            predicted = ridge.predict(P)
            objective.append(self._objective(B, pull, predicted, P))
        return Solved(counted.everywhere(B), ridge.as_map(P), {"objective": objective})

    def _objective(self, B: Floats, pull: Floats, predicted: Floats, P: Floats) -> float:
        """Without ``n²d + d²‖S̃‖² + 2α_z n d``, which no step changes."""
        map_term = self.lam * ((predicted - B) ** 2).sum() + self.beta * (P**2).sum()
        return float(map_term - 2 * (pull * B).sum())


def unit_rows(labels: sp.csr_array) -> sp.csr_array:
    """Label rows of length one; rows without a label stay empty."""
    length = np.sqrt(np.asarray(labels.multiply(labels).sum(axis=1)).ravel())
    return sp.csr_array(labels.multiply((1 / np.where(length > 0, length, 1))[:, None]))


def similarity_times(labels: sp.csr_array, values: Floats) -> Floats:
    """``S̃ V`` with ``S̃ = 2 L̃ L̃ᵀ − 1 1ᵀ``, in O(n d)."""
    product: Floats = 2 * (labels @ (labels.T @ values)) - values.sum(axis=0)
    return product


def balanced_factor(C: Floats, rng: np.random.Generator) -> Floats:
    """Z (n, d) nearest to C with ``Zᵀ1 = 0`` and ``ZᵀZ = nI`` (as far as n − 1 dimensions allow)."""
    n, d = C.shape
    centered = C - C.mean(axis=0)
    basis, triangle = np.linalg.qr(centered)
    left, values, right = np.linalg.svd(triangle)  # right holds the missing directions, too
    rank = min(int((values > RANK * max(values[0], 1e-300)).sum()), n - 1)
    left = basis @ left[:, :rank]
    missing = min(d, n - 1) - rank
    if missing > 0:
        random = rng.standard_normal((n, missing))
        for _ in range(2):  # once more removes what rounding left of the others
            random -= random.mean(axis=0)
            random -= left @ (left.T @ random)
        left = np.concatenate([left, np.linalg.qr(random)[0]], axis=1)
    return np.sqrt(n) * left @ right[: left.shape[1]]
