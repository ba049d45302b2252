"""CCA-ITQ: directions most correlated with the labels, rotated until they round well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinhash.paper.method import Baseline, Card, Solved
from kinhash.paper.similarity import Training
from kinhash.paper.unsupervised import centered_moments, rotated_map
from kinhash.plugins import Floats, check_integer, check_number

from .cards import LABELS
from .row_sets import safe_cholesky
from .two_step import label_matrix

__all__ = ["CCAITQ"]


@dataclass(eq=False, repr=False, kw_only=True)
class CCAITQ(Baseline):
    """Canonical correlation of features and label matrix, then ITQ on the projections scaled by it.

    Objective: ``max corr(X a, L b)`` for one pair of directions after the other, then ``min ‖B − V R‖²`` with
    ``V = X A diag(r)``, r the correlations.

    Steps: standardize the columns; ``Cxx + reg·I`` and ``Cyy + reg·I`` with reg = 1e-4; with their Cholesky
    factors the correlations are the singular values of ``Rx⁻ᵀ Cxy Ry⁻¹``; 51 rounds of ITQ.

    There are at most min(p, C) directions, C − 1 of any weight for C classes: further bits repeat them in
    other rotations, so mAP hardly grows with the number of bits. ``report_.facts["correlations"]`` has r.

    Differs from the authors' program: columns are standardized (theirs centers only, so the effect of its
    ``reg`` depends on the units of X); the eigenproblem is solved as an SVD, which cannot give negative
    eigenvalues. Learns from classes or tags. Database codes: mapped.

    Parameters
    ----------
    n_bits : length of the codes.
    reg : added to the diagonals of both covariances.
    n_rounds : rounds of the rotation.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    Memory beyond X: p² + C², the standardized rows (4·n·p bytes) and 3·8·n·min(C, n_bits) bytes.

    Reference: Gong, Lazebnik, Gordo, Perronnin. Iterative quantization. TPAMI 2013.
    """

    card = Card(
        "Gong, Lazebnik, Gordo, Perronnin, TPAMI 2013",
        LABELS,
        "canonical directions, rotated",
        "columns standardized; SVD in place of a general eigensolver",
    )

    reg: float = 1e-4
    n_rounds: int = 51

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("reg", self.reg, 0.0, open_low=True)
        check_integer("n_rounds", self.n_rounds, 1)

    def _solve(self, training: Training) -> Solved:
        labels = label_matrix(training, "CCAITQ")
        moments, _ = centered_moments(training, lambda part: labels[part].toarray().astype(np.float32))
        weights = training.known_weights
        weighted = labels if weights is None else labels.multiply(weights[:, None]).tocsr()
        second = (weighted.T @ labels.astype(np.float64)).toarray()
        degrees = max(moments.weight - 1, 1e-12)
        mean = moments.target_mean
        Cyy = (second - moments.weight * np.outer(mean, mean)) / degrees
        A, r = canonical_directions(moments.gram / degrees, moments.cross / degrees, Cyy, self.reg)
        A, r = A[:, : self.n_bits], r[: self.n_bits]
        found, errors = rotated_map(training, moments, A * r, self.n_bits, self.n_rounds)
        return Solved(None, found, {"correlations": r, "quantization_error": errors})


def canonical_directions(Cxx: Floats, Cxy: Floats, Cyy: Floats, reg: float) -> tuple[Floats, Floats]:
    """Directions A (p, k) in the features and correlations r (k,), largest first, k = min(p, C)."""
    from scipy.linalg import solve_triangular

    lower_x, lower_y = safe_cholesky(Cxx, reg), safe_cholesky(Cyy, reg)
    whitened = solve_triangular(lower_x, Cxy, lower=True)
    whitened = solve_triangular(lower_y, whitened.T, lower=True).T
    left, r, _ = np.linalg.svd(whitened, full_matrices=False)
    peaks = left[np.abs(left).argmax(axis=0), np.arange(len(r))]
    A: Floats = solve_triangular(lower_x, left * np.where(peaks < 0, -1.0, 1.0), lower=True, trans="T")
    return A, r
