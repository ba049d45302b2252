"""ITQ: principal components, rotated until they lose least by rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.numerics import fit_rotation
from .._internal.types import Floats, Rng
from .._internal.validation import check_integer
from ..encoders import LinearMap, Standardized, prepare_rows
from ..supervision import Training
from .base import Solved, Unsupervised
from .card import FEATURES, Card
from .centered import centered_moments

__all__ = ["ITQ", "itq_rotation", "principal_directions", "rotated_map"]


@dataclass(eq=False, repr=False, kw_only=True)
class ITQ(Unsupervised):
    """PCA-ITQ: ``min ‖B − V R‖²`` over codes B and rotations R, with V the top d principal components.

    Steps: center the columns; V = their top d principal components; R = a random rotation; then 51 times
    B = sign(V R) and R = the rotation nearest to taking V to B (from the SVD of Bᵀ V). Each step can only
    lower the error, which ``report_.facts["quantization_error"]`` records (mean over entries, V scaled to
    mean square 1).

    Differs from the authors' program: with fewer columns than bits R is r × d with orthonormal rows (theirs
    stops), and V is scaled as said, which changes no bit. Database codes: mapped. Labels are not read.

    Parameters
    ----------
    n_bits : length of the codes.
    n_rounds : rounds of the rotation; 51 in the authors' program.
    random_state, n_jobs, verbose : as in scikit-learn; results do not depend on n_jobs.

    Memory beyond X: p² and the projections, 3·8·n·n_bits bytes.

    Reference: Gong, Lazebnik. Iterative quantization: a procrustean approach to learning binary codes.
    CVPR 2011.
    """

    card = Card(
        "Gong, Lazebnik, CVPR 2011",
        FEATURES,
        "principal components, rotated",
        "more bits than columns",
    )

    n_rounds: int = 51

    def check_parameters(self) -> None:
        super().check_parameters()
        check_integer("n_rounds", self.n_rounds, 1)

    def _solve(self, training: Training) -> Solved:
        moments, shares = centered_moments(training)
        directions = shares[:, None] * principal_directions(moments, shares, self.n_bits)[0]
        found, errors = rotated_map(training, moments, directions, self.n_bits, self.n_rounds)
        return Solved(None, found, {"quantization_error": errors})


def principal_directions(moments: Standardized, shares: Floats, n_most: int) -> tuple[Floats, Floats]:
    """Top eigenvectors (p, r) of the covariance of the centered columns, and its eigenvalues (r,).

    Signs are fixed: the entry of largest size is positive.
    """
    covariance = moments.gram * shares * shares[:, None] / moments.weight
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1][:n_most], vectors[:, ::-1][:, :n_most]
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(peaks < 0, -1.0, 1.0), np.maximum(values, 0)


def rotated_map(
    training: Training, moments: Standardized, directions: Floats, n_bits: int, n_rounds: int
) -> tuple[LinearMap, list[float]]:
    """The map ``z → z directions R`` with R fitted by ITQ on the training rows, and its errors."""
    z = prepare_rows(training.rows, moments.preparation, None, training.n_jobs)
    projected = (z @ directions.astype(np.float32)).astype(np.float64)
    del z
    rotation, errors = itq_rotation(projected, n_bits, training.rng, n_rounds, training.known_weights)
    size = float(np.sqrt((projected**2).mean())) or 1.0
    weights = (directions @ rotation / size).astype(np.float32)
    return LinearMap(moments.preparation, weights, np.zeros(n_bits, np.float32)), errors


def itq_rotation(
    projected: Floats,
    n_bits: int,
    rng: Rng,
    n_rounds: int = 51,
    weights: Floats | None = None,
) -> tuple[Floats, list[float]]:
    """R (r, d), r ≤ d, with orthonormal rows, and the mean squared error of each round.

    ``projected`` V (n, r) is scaled to mean square 1 per bit; ``weights`` (n,) says how much rows count.
    """
    r = projected.shape[1]
    size = float(np.sqrt((projected**2).mean() * r / n_bits)) or 1.0
    V = projected / size
    errors: list[float] = []
    rotation = fit_rotation(
        V, n_bits, rng, n_rounds, weights, watch=lambda turned: errors.append(_error(turned, weights))
    )
    errors.append(_error(V @ rotation, weights))
    return rotation, errors


def _error(turned: Floats, weights: Floats | None) -> float:
    squares = ((1 - np.abs(turned)) ** 2).mean(axis=1)
    return float(np.average(squares, weights=weights))
