"""FSDH: SDH turned round, so that all bits follow from the labels in one step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinhash.paper.method import Card, Solved
from kinhash.paper.similarity import Training
from kinhash.plugins import Floats, check_integer, check_number

from .cards import LABELS
from .row_sets import RidgeRows, TrainingRows, count_rows, rbf_preparation, safe_cholesky, sign_or
from .two_step import TwoStepBaseline, label_matrix

__all__ = ["FSDH"]

SETTLED = 1e-5  # relative change at which the authors stop


@dataclass(eq=False, repr=False, kw_only=True)
class FSDH(TwoStepBaseline):
    """Fast supervised discrete hashing: regress codes on labels instead of labels on codes.

    Objective, over codes B (n, d), W (C, d) and a map P, with the label matrix L:
    ``‖B − L W‖² + λ‖W‖² + ν (‖B − φ P‖² + λ_F ‖P‖²)``, φ as in `SDH`.

    Steps: B random; W and P by ridge regression; then up to 5 times ``B = sign(ν φ P + L W)``, W, P. No step
    can raise the objective (``report_.facts["objective"]``). With one label per row and a small ν the code
    of a class is the sign of its mean random code, and stays so: a random codeword per class, in effect.

    Differs from the authors' program: a score of exactly 0 keeps its bit. Learns from classes or tags.
    Their demo maps the database; `codes_` are the learned codes.

    Parameters
    ----------
    n_bits : length of the codes.
    lam, nu, lam_map : λ, ν and λ_F; the authors' 1, 1e-5 and 1e-2.
    n_rounds : rounds; 5.
    n_centers : random training rows to compare with; 1000.
    map : "own", or "linear", "rbf", or a regressor onto the learned codes; see `TwoStepBaseline`.
    alpha : penalty of maps other than the own.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    Memory beyond X: n·n_centers·4 bytes (see `TrainingRows`), 4·8·n·n_bits bytes, 3·8·n_centers².

    Reference: Gui, Liu, Sun, Tao, Tan. Fast supervised discrete hashing. TPAMI 2018.
    """

    card = Card(
        "Gui, Liu, Sun, Tao, Tan, TPAMI 2018",
        LABELS,
        "ridge on 1,000 RBF features",
        "a score of exactly 0 keeps its bit",
    )

    lam: float = 1.0
    nu: float = 1e-5
    lam_map: float = 1e-2
    n_rounds: int = 5

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("lam", self.lam, 0.0, open_low=True)
        check_number("nu", self.nu, 0.0)
        check_number("lam_map", self.lam_map, 0.0, open_low=True)
        check_integer("n_rounds", self.n_rounds, 1)

    def _solve(self, training: Training) -> Solved:
        from scipy.linalg import cho_solve

        counted = count_rows(training, label_matrix(training, "FSDH"))
        labels, weights = counted.labels, counted.weights
        rows = TrainingRows(counted.training, rbf_preparation(counted.training, self.n_centers))
        ridge = RidgeRows(rows, self.lam_map, constant=True)
        weighted = labels.multiply(weights[:, None]).tocsr()
        factor = safe_cholesky((weighted.T @ labels).toarray(), self.lam)
        B = np.where(training.rng.standard_normal((len(counted), self.n_bits)) > 0, 1.0, -1.0)
        W: Floats = cho_solve((factor, True), weighted.T @ B)
        P = ridge.fit(B)
        objective = []
        for _ in range(self.n_rounds):
            from_labels, predicted = labels @ W, ridge.predict(P)
            objective.append(self._objective(B, from_labels, predicted, W, P, weights))
            B = sign_or(self.nu * predicted + from_labels, B)
            old, W, P = P, cho_solve((factor, True), weighted.T @ B), ridge.fit(B)
            if np.linalg.norm(P - old) < SETTLED * np.linalg.norm(old, 2):
                break
        objective.append(self._objective(B, labels @ W, ridge.predict(P), W, P, weights))
        return Solved(counted.everywhere(B), ridge.as_map(P), {"objective": objective})

    def _objective(
        self, B: Floats, from_labels: Floats, predicted: Floats, W: Floats, P: Floats, weights: Floats
    ) -> float:
        fit = ((B - from_labels) ** 2).sum(axis=1) @ weights + self.lam * (W**2).sum()
        map_term = ((B - predicted) ** 2).sum(axis=1) @ weights + self.lam_map * (P**2).sum()
        return float(fit + self.nu * map_term)
