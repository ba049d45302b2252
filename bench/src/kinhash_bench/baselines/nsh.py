"""NSH: labels are codes already; turn them without changing their inner products, then round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinhash.paper.method import Card, Solved
from kinhash.paper.similarity import Training
from kinhash.paper.unsupervised import centered_moments
from kinhash.plugins import Floats, check_integer, check_number

from .cards import LABELS
from .row_sets import RidgeRows, TrainingRows
from .sample import known_rows
from .two_step import TwoStepBaseline, label_matrix

__all__ = ["NSH", "orthonormal_rows", "unit_labels"]


@dataclass(eq=False, repr=False, kw_only=True)
class NSH(TwoStepBaseline):
    """Natural supervised hashing (Liu, Lu, IJCAI 2016), in a reconstruction: call its results "NSH-style".

    Only the abstract could be read: label vectors are taken for codes, the learned codes should have the
    same inner products, and a transformation that preserves inner products avoids n × n matrices. **The
    objective, its steps and all constants below are ours.** μ was chosen on validation rows (CIFAR-10 GIST,
    two partitions, learned plus mapped mAP): 1 is best of 0, .03, .1, .3, 1 and 3 at 16 and 64 bits, and of
    .6, 1.4 and 2 at 16; 3 costs .13 in learned codes. Leaving the mean in (``center``) cost .002 to .03.

    With Z (n, C) the label vectors at unit length, less their mean, over codes B, ``R Rᵀ = I`` (so that
    ``(Z R)(Z R)ᵀ = Z Zᵀ``) and W, minimize ``‖B − √d·Z R‖² + μ(‖B − X W‖² + λ‖W‖²)``, in turn:

    * ``B = sign(√d·Z R + μ X W)``,
    * R from the singular vectors of ``Zᵀ B`` (Procrustes),
    * W by ridge regression, which is also the map of new rows.

    Where there are fewer bits than labels, Z is first reduced to its d leading right singular vectors, and
    inner products are preserved as well as d dimensions can. No step raises the objective, which stands per
    round in ``report_.facts["objective"]``. X is standardized; there is no intercept.

    Classes and tags only: pairs have no label vectors.

    Memory beyond X: prepared features (n, p) as float32 where they fit, codes (n, d) as float64.

    Parameters
    ----------
    n_rounds : rounds of the three steps.
    mu : weight of the features.
    penalty : λ, "auto" is n/p.
    center : False leaves the mean in. Label vectors have no negative entries, so some bits then come out
        the same for all rows.
    """

    card = Card(
        "Liu, Lu, IJCAI 2016",
        LABELS,
        "ridge, no intercept",
        "**a reconstruction**: only the abstract could be read; objective, steps and constants are ours, "
        "μ chosen on validation rows",
    )

    n_rounds: int = 20
    mu: float = 1.0
    penalty: float | str = "auto"
    center: bool = True

    def check_parameters(self) -> None:
        super().check_parameters()
        check_integer("n_rounds", self.n_rounds, 1)
        check_number("mu", self.mu, 0.0)
        if self.penalty != "auto":
            check_number("penalty", self.penalty, 0.0)

    def _solve(self, training: Training) -> Solved:
        known = known_rows(training)
        Z: Any = unit_labels(label_matrix(training, "NSH"))
        mean = np.asarray(Z[known].mean(axis=0)).ravel() * float(self.center)
        if self.n_bits < Z.shape[1]:
            V = leading_directions(Z[known], mean, self.n_bits)
            Z, mean = Z @ V, mean @ V
        moments, _ = centered_moments(training)
        penalty = moments.weight / len(moments.gram) if self.penalty == "auto" else float(self.penalty)
        ridge = RidgeRows(TrainingRows(training, moments.preparation), penalty, False, moments.gram)
        R = orthonormal_rows(training.rng.normal(size=(Z.shape[1], self.n_bits)))
        scale = np.sqrt(self.n_bits)
        predicted = np.zeros((len(training.rows), self.n_bits))
        objective, W = [], np.zeros((ridge.rows.n_columns, self.n_bits))
        for _ in range(self.n_rounds):
            B = np.where(scale * (Z @ R - mean @ R) + self.mu * predicted > 0, 1.0, -1.0)
            R = orthonormal_rows(Z[known].T @ B[known] - np.outer(mean, B[known].sum(axis=0)))
            W = ridge.fit(B)
            predicted = ridge.predict(W)
            misfit = ((B - scale * (Z @ R - mean @ R))[known] ** 2).sum()
            spread = ((B - predicted)[known] ** 2).sum() + penalty * (W * W).sum()
            objective.append(float(misfit + self.mu * spread))
        return Solved(B, ridge.as_map(W), {"objective": objective})


def unit_labels(labels: sp.csr_array) -> sp.csr_array:
    """Label vectors (n, C) at unit length; rows without labels stay 0."""
    Z = sp.csr_array(labels, dtype=np.float64)
    lengths = np.sqrt(np.asarray(Z.multiply(Z).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1 / np.where(lengths > 0, lengths, 1.0)) @ Z)


def leading_directions(Z: sp.csr_array, mean: Floats, count: int) -> Floats:
    """The ``count`` leading right singular vectors (C, count) of Z − mean, which itself is not formed."""
    gram = (Z.T @ Z).toarray()
    sums = np.asarray(Z.sum(axis=0)).ravel()
    gram += Z.shape[0] * np.outer(mean, mean) - np.outer(sums, mean) - np.outer(mean, sums)
    vectors: Floats = np.linalg.eigh(gram)[1][:, ::-1][:, :count]
    return vectors


def orthonormal_rows(matrix: Floats) -> Floats:
    """The matrix with orthonormal rows that is nearest in angle: U Vᵀ of its singular vectors."""
    u, _, vt = np.linalg.svd(matrix, full_matrices=False)
    nearest: Floats = u @ vt
    return nearest
