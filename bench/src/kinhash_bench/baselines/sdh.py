"""SDH: codes from which a linear classifier can read the labels, found bit by bit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinhash.paper.method import Card, Solved
from kinhash.paper.similarity import Training
from kinhash.plugins import Floats, check_integer, check_number

from .bit_step import settle_bits
from .cards import LABELS
from .row_sets import Counted, RidgeRows, TrainingRows, count_rows, rbf_preparation
from .two_step import TwoStepBaseline, label_matrix

__all__ = ["SDH"]

SETTLED = 1e-5  # relative change at which the authors stop


@dataclass(eq=False, repr=False, kw_only=True)
class SDH(TwoStepBaseline):
    """Supervised discrete hashing, with the squared loss.

    Objective, over codes B (n, d), a classifier W (d, C) and a map P, with the label matrix L:
    ``‖L − B W‖² + λ‖W‖² + ν (‖B − φ P‖² + λ_F ‖P‖²)``; φ are similarities to random training rows,
    ``exp(−‖x − z‖² / (2·0.4²))`` on rows of unit length, with a column of ones.

    Steps: B random; W and P by ridge regression; then up to 5 times: bits one by one in up to 10 sweeps,
    ``b_k = sign(q_k − B₋ₖ W₋ₖ w_kᵀ)`` with ``Q = L Wᵀ + ν φ P``; W; P. No step can raise the objective;
    ``report_.facts["objective"]`` has it after every round. ν is so small that rows of equal labels
    end up with few different codes. The own map is P.

    Differs from the authors' program: a score of exactly 0 keeps its bit (theirs may write a 0).
    Learns from classes or tags. Their demo maps the database; `codes_` are the learned codes.

    Parameters
    ----------
    n_bits : length of the codes.
    lam, nu, lam_map : λ, ν and λ_F; the authors' 1, 1e-5 and 1e-2.
    n_rounds, n_sweeps : rounds and sweeps of the bit step.
    n_centers : random training rows to compare with; 1000.
    map : "own", or "linear", "rbf", or a regressor onto the learned codes; see `TwoStepBaseline`.
    alpha : penalty of maps other than the own.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    Memory beyond X: n·n_centers·4 bytes (see `TrainingRows`), 5·8·n·n_bits bytes, 3·8·n_centers².

    Reference: Shen, Shen, Liu, Shen. Supervised discrete hashing. CVPR 2015.
    """

    card = Card(
        "Shen, Shen, Liu, Shen, CVPR 2015",
        LABELS,
        "ridge on 1,000 RBF features",
        "a score of exactly 0 keeps its bit; squared loss only",
    )

    lam: float = 1.0
    nu: float = 1e-5
    lam_map: float = 1e-2
    n_rounds: int = 5
    n_sweeps: int = 10

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("lam", self.lam, 0.0, open_low=True)
        check_number("nu", self.nu, 0.0)
        check_number("lam_map", self.lam_map, 0.0, open_low=True)
        check_integer("n_rounds", self.n_rounds, 1)
        check_integer("n_sweeps", self.n_sweeps, 1)

    def _solve(self, training: Training) -> Solved:
        counted = count_rows(training, label_matrix(training, "SDH"))
        rows = TrainingRows(counted.training, rbf_preparation(counted.training, self.n_centers))
        ridge = RidgeRows(rows, self.lam_map, constant=True)
        B = np.where(training.rng.standard_normal((len(counted), self.n_bits)) > 0, 1.0, -1.0)
        W, P = self._classifier(B, counted), ridge.fit(B)
        predicted = ridge.predict(P)
        objective = [self._objective(B, W, P, predicted, counted)]
        for _ in range(self.n_rounds):
            pull = counted.labels @ W.T + self.nu * predicted
            B = settle_bits(B, pull, W @ W.T, self.n_sweeps, training.n_jobs)
            old, W, P = P, self._classifier(B, counted), ridge.fit(B)
            predicted = ridge.predict(P)
            objective.append(self._objective(B, W, P, predicted, counted))
            if np.linalg.norm(P - old) < SETTLED * np.linalg.norm(old, 2):
                break
        return Solved(counted.everywhere(B), ridge.as_map(P), {"objective": objective})

    def _classifier(self, B: Floats, counted: Counted) -> Floats:
        """``W = (Bᵀ B + λI)⁻¹ Bᵀ L``, rows by their weights."""
        weighted = B * counted.weights[:, None]
        gram = weighted.T @ B + self.lam * np.eye(B.shape[1])
        W: Floats = np.linalg.solve(gram, (counted.labels.T @ weighted).T)
        return W

    def _objective(self, B: Floats, W: Floats, P: Floats, predicted: Floats, counted: Counted) -> float:
        weights, labels = counted.weights, counted.labels
        wB = B * weights[:, None]
        # ‖L − BW‖² without a dense (n, C) array.
        fit = labels.multiply(labels).sum(axis=1) @ weights
        fit += ((wB.T @ B) @ W * W).sum() - 2 * ((labels.T @ wB) * W.T).sum()
        map_term = (((B - predicted) ** 2).sum(axis=1) @ weights) + self.lam_map * (P**2).sum()
        return float(fit + self.lam * (W**2).sum() + self.nu * map_term)
