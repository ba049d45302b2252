"""Codes that need no labels: ITQ, LSH and sign bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._internal.blocks import block_slices, map_blocks
from .._internal.numerics import fit_rotation
from .._internal.types import Array, Bools, Floats, Rng
from .._internal.validation import check_integer
from .maps import LinearMap, Preparation, Standardized, first_preparation, prepare_rows, standardized_moments
from .method import FEATURES, Card, Solved, Unsupervised
from .similarity import Training


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
    n_bits : int, default=64
    n_rounds : int, default=51
        Rounds of the rotation; 51 in the authors' program.
    random_state : int or Generator, default=None
    n_jobs : int, default=None
        Threads; results do not depend on it.
    verbose : int, default=0

    Notes
    -----
    Memory beyond X: p² and the projections, 3·8·n·n_bits bytes.

    References
    ----------
    Gong, Lazebnik. Iterative quantization: a procrustean approach to learning binary codes. CVPR 2011.
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


class LSH(Unsupervised):
    """Random hyperplanes: bit k of x is 1 where ``(x − mean)·w_k > 0``, with w_k normal.

    Objective: none. Two rows differ in a bit with the probability angle/π, so Hamming distances estimate
    angles, and long codes approach cosine search.

    Steps: center the columns (their scales stay), draw ``W ~ N(0, 1)`` of shape (p, d).
    Differs from the ITQ release's LSH in the bit of a score that is exactly 0, which here is 0.
    Database codes: mapped. Labels are not read.

    Parameters as in `Unsupervised`. Memory beyond X: p·n_bits and a few blocks of rows.

    Reference: Charikar. Similarity estimation techniques from rounding algorithms. STOC 2002.
    """

    card = Card(
        "Charikar, STOC 2002",
        FEATURES,
        "random hyperplanes",
        "nothing",
    )

    def _solve(self, training: Training) -> Solved:
        preparation, shares = center_columns(training)
        directions = training.rng.standard_normal((len(shares), self.n_bits))
        weights = (shares[:, None] * directions).astype(np.float32)
        return Solved(None, LinearMap(preparation, weights, np.zeros(self.n_bits, np.float32)))


class SignBits(Unsupervised):
    """Bit k is 1 where a column is above its training mean; the columns that vary most come first.

    With ``n_bits`` equal to the number of columns every column has its bit, which is what people do to
    embeddings when they are in a hurry. With more bits the columns are gone through again.

    Objective: none. Nothing is random, and labels are not read. Database codes: mapped.

    Parameters as in `Unsupervised`. Memory beyond X: p·n_bits and a few blocks of rows.
    """

    card = Card(
        "signs of centered columns",
        FEATURES,
        "one column per bit",
        "all of it",
    )

    def _solve(self, training: Training) -> Solved:
        preparation, shares = center_columns(training)
        chosen = np.resize(np.argsort(-shares, kind="stable"), self.n_bits)
        weights = np.zeros((len(shares), self.n_bits), np.float32)
        weights[chosen, np.arange(self.n_bits)] = 1.0
        facts = {"columns": chosen}
        return Solved(None, LinearMap(preparation, weights, np.zeros(self.n_bits, np.float32)), facts)


# -- columns, centered -------------------------------------------------------------------------


def center_columns(training: Training) -> tuple[Preparation, Floats]:
    """Standardizing preparation, and each column's deviation as a share of the largest (p,).

    Multiplying standardized columns by these shares gives the centered columns up to one common factor, which
    no sign depends on; so neither huge nor tiny features overflow. Constant columns have the share 0.
    """
    guess = first_preparation(training.rows)
    weights, p = training.known_weights, len(guess.mean)

    def one(part: slice) -> Floats:
        z = guess(training.rows.read(part)).astype(np.float64)
        w = np.ones(len(z)) if weights is None else weights[part]
        return np.stack([w @ z, w @ (z * z), np.full(p, w.sum())])

    total = np.zeros((3, p))
    parts = block_slices(len(training.rows), training.rows.block_rows())
    for sums in map_blocks(one, parts, training.n_jobs):
        total += sums
    mean = total[0] / total[2]
    preparation, _, varies = guess.corrected(mean, total[1] / total[2], total[1] / total[2] - mean**2, True)
    return preparation, _shares(preparation.scale, varies)


def centered_moments(
    training: Training, targets: Callable[[slice], Array] | None = None
) -> tuple[Standardized, Floats]:
    """Moments of standardized columns with ``targets(slice)``, and the shares of `center_columns`."""
    moments = standardized_moments(training, first_preparation(training.rows), targets)
    return moments, _shares(moments.preparation.scale, np.diag(moments.gram) > 0)


def _shares(scale: Floats, varies: Bools) -> Floats:
    if not varies.any():
        return np.zeros(len(scale))
    return np.where(varies, scale / scale[varies].max(), 0.0)


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
    projected: Floats, n_bits: int, rng: Rng, n_rounds: int = 51, weights: Floats | None = None
) -> tuple[Floats, list[float]]:
    """R (r, d), r ≤ d, with orthonormal rows, and the mean squared error of each round.

    ``projected`` V (n, r) is scaled to mean square 1 per bit; ``weights`` (n,) says how much rows count.
    """
    r = projected.shape[1]
    V = projected / (float(np.sqrt((projected**2).mean() * r / n_bits)) or 1.0)
    errors: list[float] = []

    def watch(turned: Floats) -> None:
        squares = ((1 - np.abs(turned)) ** 2).mean(axis=1)
        errors.append(float(np.average(squares, weights=weights)))

    rotation = fit_rotation(V, n_bits, rng, n_rounds, weights, watch=watch)
    watch(V @ rotation)
    return rotation, errors
