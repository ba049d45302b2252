"""What all cross-modal rivals share: the contract, maps of a view, ridge regression onto codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinhash.codes import Codes, pack_bits
from kinhash.errors import InvalidInput
from kinhash.labels import read_labels
from kinhash.paper.method import Card
from kinhash.plugins import (
    Floats,
    block_slices,
    check_n_bits,
    jittered_cholesky,
    make_rng,
    single_blas_thread,
)

from ..baselines import Gaussian, root_mean_square_distance

__all__ = ["CrossModal", "Solved", "View", "ViewMap", "gaussian_features", "ridge"]

BLOCK = 4096  # rows that are encoded at a time


@dataclass(frozen=True)
class View:
    """Rows of one view: ``x − mean``, then similarities to centers less their mean, if there are centers."""

    mean: Floats
    kernel: Gaussian | None = None
    kernel_mean: Floats | float = 0.0

    def __call__(self, X: Any) -> Floats:
        centered = np.asarray(X, np.float64) - self.mean
        return centered if self.kernel is None else self.kernel(centered) - self.kernel_mean


@dataclass(frozen=True)
class ViewMap:
    """``features(x) @ weights``: scores of the bits."""

    features: View
    weights: Floats

    def scores(self, X: Any) -> Floats:
        """Scores (k, d) of raw rows (k, p), block by block."""
        parts = [self.features(X[part]) @ self.weights for part in block_slices(len(X), BLOCK)]
        return np.concatenate(parts)


@dataclass(frozen=True)
class Solved:
    """A map for either view, and codes ±1 (n, d) of the training rows where a method learns such."""

    maps: tuple[ViewMap, ViewMap]
    codes: Floats | None = None


@dataclass(eq=False)
class CrossModal(ABC):
    """A method that gives rows of two views codes in one space.

    ``fit(X, T, Y)`` learns from rows X (n, p) and T (n, q) of the same n things and their labels Y (classes,
    tags or an indicator matrix). ``encode(rows, view=0)`` encodes rows like X, ``view=1`` rows like T.
    ``codes_`` are learned codes of the training rows, None for methods that have none.
    """

    n_bits: int = 64
    random_state: Any = None

    card = Card("", "", "", "")

    @abstractmethod
    def _solve(self, views: tuple[Floats, Floats], labels: sp.csr_array, rng: np.random.Generator) -> Solved:
        """Learn from both views as float64 (n, p) and (n, q), and the 0/1 labels (n, C)."""

    def fit(self, X: Any, T: Any, Y: Any = None) -> Self:
        """Learn from two views of the same rows, and their labels."""
        check_n_bits(self.n_bits)
        X, T = np.asarray(X, np.float64), np.asarray(T, np.float64)
        if X.ndim != 2 or T.ndim != 2 or len(X) != len(T):
            raise InvalidInput(
                f"The views have shapes {X.shape} and {T.shape}",
                "two matrices with the same number of rows",
                "Pass row i of both views for thing i",
            )
        labels = sp.csr_array((len(X), 0)) if Y is None else read_labels(Y, len(X)).indicator()
        with single_blas_thread():
            solved = self._solve((X, T), sp.csr_array(labels, dtype=np.float64), make_rng(self.random_state))
        self.maps_ = solved.maps
        self.codes_ = None if solved.codes is None else Codes(pack_bits(solved.codes > 0), self.n_bits)
        return self

    def encode(self, X: Any, view: int = 0) -> Codes:
        """Codes of rows of one view: 0 is that of X, 1 that of T."""
        with single_blas_thread():
            return Codes(pack_bits(self.maps_[view].scores(np.asarray(X)) > 0), self.n_bits)


def centered_view(X: Floats) -> View:
    """The columns less their means."""
    return View(X.mean(axis=0))


def gaussian_features(X: Floats, centers: Floats) -> View:
    """``exp(−‖x − z‖² / (2 σ²))``, σ² the mean of all ‖x − z‖², less its mean over X.

    ``centers`` (m, p) are raw rows.
    """
    mean = X.mean(axis=0)
    kernel = Gaussian(centers - mean, root_mean_square_distance(X, centers))
    sums = sum(kernel(X[part] - mean).sum(axis=0) for part in block_slices(len(X), BLOCK))
    return View(mean, kernel, sums / len(X))


def ridge(Z: Floats, targets: Floats, penalty: float) -> Floats:
    """``(ZᵀZ + penalty·I)⁻¹ Zᵀ targets``; where that is singular, with the least jitter that mends it."""
    from scipy.linalg import cho_solve

    factor = jittered_cholesky(Z.T @ Z, penalty, (0.0, 1e-12, 1e-10, 1e-8, 1e-6))
    found: Floats = cho_solve((factor, True), Z.T @ targets)
    return found
