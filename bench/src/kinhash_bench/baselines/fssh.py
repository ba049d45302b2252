"""FSSH: features and labels in one product that explains the similarity, never formed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinhash.paper.maps import standardized_moments
from kinhash.paper.method import Card, Solved
from kinhash.paper.similarity import Training
from kinhash.plugins import Floats, check_choice, check_integer, check_number

from .cards import LABELS
from .features import features_of_name
from .row_sets import RidgeRows, TrainingRows, count_rows, safe_cholesky, sign_or
from .similar_rows import guess_of_rows
from .two_step import TwoStepBaseline, label_matrix

__all__ = ["FSSH", "similarity_times_labels"]


@dataclass(eq=False, repr=False, kw_only=True)
class FSSH(TwoStepBaseline):
    """Fast scalable supervised hashing, two-step version (FSSH_ts).

    Objective, over codes B (n, d), G (C, d) and W (q, d), with the label matrix L and the features Z:
    ``‖S − (Z W)(L G)ᵀ‖² + μ‖B − L G‖² + θ‖B − Z W‖²``. Only ``S L`` enters, which follows from L alone.
    Z are standardized similarities to random training rows, ``exp(−‖x − z‖² / (2·0.4²))`` on rows of unit
    length.

    Steps: G and W random; 5 times ``B = sign(μ L G + θ Z W)``,
    ``G = (LᵀL)⁻¹ (μ LᵀB + Aᵀ W)(μI + WᵀZᵀZW)⁻¹`` and
    ``W = (ZᵀZ)⁻¹ (θ ZᵀB + A G)(θI + GᵀLᵀLG)⁻¹``, ``A = Zᵀ S L``. Each solves its block exactly, so the
    objective cannot rise: ``report_.facts["objective"]``, less ``‖S‖²``. The own map is ridge onto B,
    penalty 1.

    Differs from the authors' program: ``similarity="signed"`` is their paper's S = ±1, while the file their
    program loads holds 0 and 1 ("binary"); inverses are Cholesky factors with the least jitter that makes
    them exist (twin centers, empty classes); a score of exactly 0 is a 1. Kin as the product of labels
    counts shared tags. Learns from classes or tags; sample weights matter for the map alone.

    Parameters
    ----------
    n_bits : length of the codes.
    mu, theta : the authors' 1e4 and 1e-2.
    n_rounds : rounds; 5.
    similarity : "signed" or "binary".
    n_centers : random training rows to compare with; 1000.
    map : "own", or "linear", "rbf", or a regressor onto the learned codes; see `TwoStepBaseline`.
    alpha : penalty of maps other than the own.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    Memory beyond X: n·n_centers·4 bytes (see `TrainingRows`), 3·8·n·n_bits + 8·n·C bytes, 4·8·n_centers².

    Reference: Luo, Nie, He, Wu, Chen, Xu. Fast scalable supervised hashing. SIGIR 2018.
    """

    card = Card(
        "Luo, Nie, He, Wu, Chen, Xu, SIGIR 2018",
        LABELS,
        "ridge on 1,000 RBF features",
        "S = ±1 as in the paper (the program's file has 0 and 1: `similarity`); Cholesky in place of "
        "plain inverses",
    )

    mu: float = 1e4
    theta: float = 1e-2
    n_rounds: int = 5
    similarity: str = "signed"

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("mu", self.mu, 0.0, open_low=True)
        check_number("theta", self.theta, 0.0, open_low=True)
        check_integer("n_rounds", self.n_rounds, 1)
        check_choice("similarity", self.similarity, ("signed", "binary"))

    def _solve(self, training: Training) -> Solved:
        counted = count_rows(training, label_matrix(training, "FSSH"))
        labels, rng = counted.labels, training.rng
        rows = self._features(counted.training)
        gram, label_gram = rows.gram(), (labels.T @ labels).toarray()
        inverse, label_inverse = safe_cholesky(gram, 0.0), safe_cholesky(label_gram, 0.0)
        A = rows.cross(similarity_times_labels(labels, label_gram, self.similarity))
        G = rng.standard_normal((labels.shape[1], self.n_bits))
        W = rng.standard_normal((rows.n_columns, self.n_bits))
        from_labels, from_rows = labels @ G, rows.times(W)
        objective = []
        for _ in range(self.n_rounds):
            B = sign_or(self.mu * from_labels + self.theta * from_rows, np.ones_like(from_rows))
            cross, label_cross = rows.cross(B), labels.T @ B
            G = best_factor(label_inverse, self.mu * label_cross + A.T @ W, W.T @ gram @ W, self.mu)
            W = best_factor(inverse, self.theta * cross + A @ G, G.T @ label_gram @ G, self.theta)
            from_labels, from_rows = labels @ G, rows.times(W)
            objective.append(self._objective(B, from_labels, from_rows, W, G, A))
        ridge = RidgeRows(rows, 1.0, constant=False, gram=gram)
        return Solved(counted.everywhere(B), ridge.as_map(ridge.fit(B)), {"objective": objective})

    def _features(self, training: Training) -> TrainingRows:
        everyone = np.arange(len(training.rows))
        similarities = features_of_name("rbf", self.n_centers).similarities(
            training.rows, everyone, training.rng
        )
        moments = standardized_moments(training, guess_of_rows(training.rows, similarities))
        return TrainingRows(training, moments.preparation)

    def _objective(
        self, B: Floats, from_labels: Floats, from_rows: Floats, W: Floats, G: Floats, A: Floats
    ) -> float:
        product = ((from_rows.T @ from_rows) * (from_labels.T @ from_labels)).sum() - 2 * (W * (A @ G)).sum()
        near_labels = self.mu * ((B - from_labels) ** 2).sum()
        return float(product + near_labels + self.theta * ((B - from_rows) ** 2).sum())


def best_factor(factor: Floats, right_side: Floats, gram: Floats, penalty: float) -> Floats:
    """``M⁻¹ R (gram + penalty·I)⁻¹``, the step of G and of W, with M given by its Cholesky factor."""
    from scipy.linalg import cho_solve

    raised = gram + penalty * np.eye(len(gram))
    found: Floats = cho_solve((factor, True), np.linalg.solve(raised, right_side.T).T)
    return found


def similarity_times_labels(labels: Any, label_gram: Floats, kind: str) -> Floats:
    """``S L`` (n, C) with ``S = 2 L Lᵀ − 1 1ᵀ`` ("signed") or ``L Lᵀ`` ("binary")."""
    products: Floats = labels @ label_gram
    if kind == "binary":
        return products
    return 2 * products - np.asarray(labels.sum(axis=0))
