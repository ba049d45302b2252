"""Training rows as the rivals use them: prepared once, multiplied block by block, and ridge onto them.

Blocks are fixed by the width of X, spread over threads and summed in their order, so the numbers do not
depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.errors import InvalidInput
from kinhash.paper.maps import LinearMap, Preparation, prepare_rows
from kinhash.paper.similarity import NoSupervision, Training
from kinhash.plugins import (
    Floats,
    Floats32,
    Rows,
    available_memory,
    block_slices,
    jittered_cholesky,
    map_blocks,
    require_memory,
)

from .features import UnitRBF
from .similar_rows import SimilarityPreparation

__all__ = [
    "Counted",
    "RidgeRows",
    "TrainingRows",
    "count_rows",
    "rbf_preparation",
    "safe_cholesky",
    "sign_or",
]

MOST_BYTES = 4 << 30  # prepared features beyond this are not kept
WIDTH = 0.4  # of the kernels of SDH and its heirs, on rows of unit length


@dataclass(frozen=True)
class Counted:
    """The rows that count (labels known, weight above 0), their labels, and the way back to all rows."""

    training: Training
    labels: sp.csr_array
    rows: npt.NDArray[np.int64]
    n_all: int

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def weights(self) -> Floats:
        """How much each row counts (n,)."""
        return np.ones(len(self)) if self.training.weights is None else self.training.weights

    def everywhere(self, values: Floats) -> Floats:
        """Values (n_all, d) for all rows, 0 for those that do not count."""
        if len(self) == self.n_all:
            return values
        whole = np.zeros((self.n_all, values.shape[1]))
        whole[self.rows] = values
        return whole


def count_rows(training: Training, labels: sp.csr_array) -> Counted:
    """Leave out what has no label or no weight; copies X only if there is such a row."""
    weights, n = training.known_weights, len(training.rows)
    rows = np.arange(n) if weights is None else np.flatnonzero(weights > 0)
    labels = sp.csr_array(labels, dtype=np.float64)
    if len(rows) == n:
        return Counted(training, labels, rows, n)
    kept = None if training.weights is None else training.weights[rows]
    some = replace(
        training, rows=Rows(training.rows.X[rows]), supervision=NoSupervision(len(rows)), weights=kept
    )
    return Counted(some, labels[rows], rows, n)


class PreparedRows:
    """Prepared rows (n, q) by block. Work that passes over them many times keeps them if they fit.

    Memory: n·q·4 bytes where that is below 4 GB and below a quarter of what is free, else a few blocks.
    """

    def __init__(self, rows: Rows, preparation: Preparation, n_jobs: int | None = None) -> None:
        self.rows, self.preparation = rows, preparation
        self.blocks = block_slices(len(rows), rows.block_rows())
        size = 4 * len(rows) * len(preparation.mean)
        self._kept: Floats32 | None = None
        if size < min(MOST_BYTES, available_memory() // 4):
            self._kept = prepare_rows(rows, preparation, None, n_jobs)

    def read(self, part: slice) -> Floats32:
        """Prepared rows of a slice."""
        if self._kept is not None:
            return self._kept[part]
        return self.preparation(self.rows.read(part))


class TrainingRows:
    """Prepared rows (n, q) of the training set, to be multiplied.

    Memory: n·q·4 bytes where that is below 4 GB and a quarter of what is free, else a few blocks.
    """

    def __init__(self, training: Training, preparation: Preparation) -> None:
        self.preparation = preparation
        self.n_rows, self.n_columns = len(training.rows), len(preparation.mean)
        self.n_jobs = training.n_jobs
        self.weights = training.known_weights
        require_memory(
            4 * 8 * self.n_columns**2,
            f"The Gram matrix of {self.n_columns} features",
            "Reduce the features first, or lower n_centers",
        )
        self._prepared = PreparedRows(training.rows, preparation, training.n_jobs)

    @property
    def total_weight(self) -> float:
        """Number of rows that count, or the sum of their weights."""
        return float(self.n_rows if self.weights is None else self.weights.sum())

    def gram(self) -> Floats:
        """``Zᵀ Z`` (q, q) in float64: penalties of .01 on 58,000 rows drown in the rounding of float32."""

        def one(part: slice) -> Floats:
            z = self._prepared.read(part).astype(np.float64)
            return (z if self.weights is None else z * self.weights[part, None]).T @ z

        return self._sum(one)

    def cross(self, targets: npt.NDArray[Any]) -> Floats:
        """``Zᵀ T`` (q, k)."""
        return self._sum(
            lambda part: (
                self._prepared.read(part).T @ self._weighted(targets, part).astype(np.float32)
            ).astype(np.float64)
        )

    def sums(self) -> Floats:
        """Sum of the rows (q,)."""
        ones = np.ones((self.n_rows, 1), np.float32)
        return self.cross(ones)[:, 0]

    def times(self, weights: Floats) -> Floats:
        """``Z W`` (n, k)."""
        narrow = weights.astype(np.float32)
        out = np.empty((self.n_rows, weights.shape[1]))
        blocks = self._blocks()
        parts = map_blocks(lambda part: self._prepared.read(part) @ narrow, blocks, self.n_jobs)
        for part, product in zip(blocks, parts, strict=True):
            out[part] = product
        return out

    def _weighted(self, targets: npt.NDArray[Any], part: slice) -> npt.NDArray[Any]:
        return targets[part] if self.weights is None else targets[part] * self.weights[part, None]

    def _blocks(self) -> list[slice]:
        return block_slices(self.n_rows, self._prepared.rows.block_rows())

    def _sum(self, one: Any) -> Floats:
        total: Floats | None = None
        for part in map_blocks(one, self._blocks(), self.n_jobs):
            total = part if total is None else total + part
        assert total is not None
        return total


class RidgeRows:
    """Ridge from training rows to changing targets: ``min ‖T − Z W − 1cᵀ‖² + α(‖W‖² + ‖c‖²)``.

    The Gram matrix is factored once. Without ``constant`` there is no c: the map passes through the origin.
    """

    def __init__(self, rows: TrainingRows, alpha: float, constant: bool, gram: Floats | None = None) -> None:
        self.rows, self.alpha, self.constant = rows, alpha, constant
        gram = rows.gram() if gram is None else gram
        if constant:
            sums = rows.sums()
            gram = np.block([[gram, sums[:, None]], [sums[None, :], np.array([[rows.total_weight]])]])
        self.factor = safe_cholesky(gram, alpha)

    def fit(self, targets: npt.NDArray[Any]) -> Floats:
        """Weights (q, k), with the constant as last row (q + 1, k) if there is one."""
        from scipy.linalg import cho_solve

        cross = self.rows.cross(targets)
        if self.constant:
            weights = targets if self.rows.weights is None else targets * self.rows.weights[:, None]
            cross = np.concatenate([cross, weights.sum(axis=0, dtype=np.float64)[None]])
        found: Floats = cho_solve((self.factor, True), cross)
        return found

    def predict(self, weights: Floats) -> Floats:
        """Predictions (n, k) for the training rows."""
        if not self.constant:
            return self.rows.times(weights)
        return self.rows.times(weights[:-1]) + weights[-1]

    def as_map(self, weights: Floats) -> LinearMap:
        """The map that predicts so for any row."""
        q, k = self.rows.n_columns, weights.shape[1]
        intercept = weights[q] if self.constant else np.zeros(k)
        return LinearMap(self.rows.preparation, weights[:q].astype(np.float32), intercept.astype(np.float32))


def safe_cholesky(gram: Floats, alpha: float) -> Floats:
    """Lower factor of G + αI, with the least jitter that makes it one: twin centers make G singular."""
    try:
        return jittered_cholesky(gram, alpha, (0.0, 1e-12, 1e-10, 1e-8, 1e-6), smallest_pivot=1e-7)
    except np.linalg.LinAlgError:
        raise InvalidInput(
            "The columns of X are so nearly collinear that least squares has no answer",
            "features that are not copies of each other",
            "Drop duplicate columns, or fit with map='linear'",
        ) from None


def rbf_preparation(training: Training, n_centers: int, power: int = 2) -> Preparation:
    """Similarities to centers drawn among the rows that count, neither centered nor scaled."""
    weights = training.known_weights
    known = np.arange(len(training.rows)) if weights is None else np.flatnonzero(weights > 0)
    centers = np.sort(training.rng.choice(known, min(len(known), n_centers), replace=False))
    similarities = UnitRBF.of(training.rows.read(centers), WIDTH, power)
    return SimilarityPreparation(np.zeros(len(centers)), np.ones(len(centers)), similarities=similarities)


def sign_or(scores: Floats, otherwise: Floats) -> Floats:
    """±1 by the sign of each score; where it is exactly 0, what stands in ``otherwise``."""
    return np.where(scores == 0, otherwise, np.where(scores > 0, 1.0, -1.0))
