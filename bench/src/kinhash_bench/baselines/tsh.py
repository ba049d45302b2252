"""TSH: first the bits, one binary problem after the other; then a classifier for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinhash.paper.maps import LinearMap
from kinhash.paper.method import Card, Solved
from kinhash.paper.similarity import Training
from kinhash.plugins import Floats, block_slices, check_choice, check_integer, check_number, map_blocks

from .cards import PAIRS
from .gaussian import Gaussian, root_mean_square_distance
from .pair_bits import LOSSES, ListedPairs, bit_weights
from .similar_rows import SimilarityPreparation
from .two_step import RowCodes, TwoStepBaseline

__all__ = ["TSH", "refined_bit", "spectral_bit"]

SMALL = 100  # rows up to which the whole spectrum is computed


@dataclass(eq=False, repr=False, kw_only=True)
class TSH(TwoStepBaseline):
    """Two-step hashing (Lin, Shen, Suter, van den Hengel, ICCV 2013).

    ``min Σ_{(i,j)∈N} ℓ(Hamming_ij; S_ij)`` over listed pairs N, bit by bit. Given the earlier bits, the next
    one has to minimize ``Σ a_ij z_i z_j``, ``a_ij = ℓ(H⁰) − ℓ(H⁰ + 1)``. D below is Hamming over all d bits.

    * ``loss``: "ksh" ``(S − (1 − 2D))²``, "bre" ``([S<0] − D)²``, "hinge" (kin D², strangers max(0, ½ − D)²),
      or "exph" ``exp(−½·S·(1 − 2D))``. **The constant of ExpH is ours: the paper's could not be read.**
    * Code step: the eigenvector of the smallest eigenvalue of a, cut at 0, then L-BFGS-B on zᵀAz/n over
      the box [−1, 1]ⁿ from there (≤ 30 steps), kept only where the cut result lowers the objective.
    * Map: an SVM with Gaussian kernel per bit, on at most ``svm_rows`` random rows that all bits share,
      stored as a linear map on similarities to them. Trees: ``map=HistGradientBoostingRegressor()``.

    Constants are those of the authors' FastHash toolbox, where it states them (30 steps, at most 100 kin
    and 100 strangers per row). The SVM's penalty C and width are ours (1, and half of the mean squared
    distance as twice the squared width); the paper chose by validation.

    Classes, tags and pairs. ``report_.facts["objective"]`` holds Σℓ before the first bit (all distances 0)
    and after each.

    Memory beyond X: about 50 bytes per pair (600 MB for 58,000 rows), the kernel among ``svm_rows``.

    Parameters
    ----------
    loss : see above.
    n_partners : kin, and as many strangers, drawn for each row.
    svm_rows, svm_penalty : of the map.
    """

    card = Card(
        "Lin, Shen, Suter, van den Hengel, ICCV 2013",
        PAIRS,
        "Gaussian SVM per bit on 3,000 rows",
        "the constant of ExpH; the SVM's penalty and width",
    )

    loss: str = "ksh"
    n_partners: int = 100
    svm_rows: int = 3000
    svm_penalty: float = 1.0

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("loss", self.loss, tuple(LOSSES))
        check_integer("n_partners", self.n_partners, 1)
        check_integer("svm_rows", self.svm_rows, 2)
        check_number("svm_penalty", self.svm_penalty, 0.0, open_low=True)

    def _solve(self, training: Training) -> Solved:
        pairs = ListedPairs.draw(training, self.n_partners)
        hamming = np.zeros(len(pairs.S), np.int64)
        bits = np.empty((len(pairs.rows), self.n_bits), bool)
        loss = LOSSES[self.loss]
        objective = [float(loss(hamming / self.n_bits, pairs.S).sum())]
        for k in range(self.n_bits):
            A = pairs.matrix(bit_weights(self.loss, hamming, pairs.S, self.n_bits))
            bits[:, k] = refined_bit(A, spectral_bit(A, training.rng)) > 0
            pairs.add_bit(hamming, bits[:, k])
            objective.append(float(loss(hamming / self.n_bits, pairs.S).sum()))
        targets = -np.ones((len(training.rows), self.n_bits))
        targets[pairs.rows] = np.where(bits, 1.0, -1.0)
        own = None
        if isinstance(self.map, str) and self.map == "own":
            own = self._svm(training, pairs.rows, targets)
        return Solved(targets, own, {"objective": objective})

    def _svm(self, training: Training, rows: Any, targets: RowCodes) -> LinearMap:
        """One SVM per bit on shared rows. Scores are ``Σ_j α_j y_j κ(x_j, x) + c``: linear in κ."""
        if len(rows) > self.svm_rows:
            rows = np.sort(training.rng.choice(rows, self.svm_rows, replace=False))
        X = training.rows.read(rows)
        kernel = Gaussian(X, root_mean_square_distance(X, X) / 2)
        K = np.concatenate([kernel(X[part]) for part in block_slices(len(X), 1024)])
        weights = None if training.weights is None else training.weights[rows]

        def one(bit: int) -> tuple[Floats, float]:
            return svm(K, targets[rows, bit], self.svm_penalty, weights)

        found = list(map_blocks(one, range(self.n_bits), training.n_jobs))
        dual = np.stack([coefficients for coefficients, _ in found], axis=1)
        used = np.flatnonzero((dual != 0).any(axis=1))
        used = used if len(used) else np.arange(1)
        near = Gaussian(X[used], kernel.width)
        preparation = SimilarityPreparation(np.zeros(len(used)), np.ones(len(used)), similarities=near)
        offsets = np.array([offset for _, offset in found], np.float32)
        return LinearMap(preparation, dual[used].astype(np.float32), offsets)


def svm(K: Floats, labels: Floats, penalty: float, weights: Floats | None) -> tuple[Floats, float]:
    """Coefficients (n,) and offset of an SVM with this kernel matrix; a bit that never changes needs none."""
    from sklearn.svm import SVC

    if (labels == labels[0]).all():
        return np.zeros(len(K)), float(labels[0])
    fitted = SVC(C=penalty, kernel="precomputed", cache_size=64).fit(K, labels, weights)
    coefficients = np.zeros(len(K))
    coefficients[fitted.support_] = fitted.dual_coef_[0]
    return coefficients, float(fitted.intercept_[0])


def spectral_bit(A: sp.csr_array, rng: np.random.Generator) -> Floats:
    """Signs ±1 of the eigenvector of the smallest eigenvalue of a symmetric sparse matrix."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = A.shape[0]
    start = rng.normal(size=n)
    if n <= SMALL:
        vector = np.linalg.eigh(A.toarray())[1][:, 0]
    elif not A.nnz or not np.abs(A.data).max():
        vector = start
    else:
        try:
            vector = eigsh(A, k=1, which="SA", v0=start, tol=1e-3, maxiter=300)[1][:, 0]
        except ArpackNoConvergence as stopped:
            vector = stopped.eigenvectors[:, 0] if stopped.eigenvectors.size else start
    return np.where(vector * (1.0 if vector[np.abs(vector).argmax()] > 0 else -1.0) > 0, 1.0, -1.0)


def refined_bit(A: sp.csr_array, z: Floats, steps: int = 30) -> Floats:
    """Descend zᵀAz/n over the box [−1, 1]ⁿ from a bit, and cut again; the old bit where that is no better."""
    from scipy.optimize import minimize

    n = len(z)

    def value(at: Floats) -> tuple[float, Floats]:
        image = A @ at
        return float(at @ image) / n, 2 * image / n

    found = minimize(
        value,
        z,
        jac=True,
        method="L-BFGS-B",
        bounds=[(-1.0, 1.0)] * n,
        options={"maxiter": steps, "ftol": 1e-12},
    )
    new = np.where(found.x > 0, 1.0, -1.0)
    return new if value(new)[0] < value(z)[0] else z
