"""The relaxed problem, solved exactly: eigenvectors of the targets, rotated until they round well.

With real numbers in place of bits, ``min ‖B Bᵀ − d T‖²`` is solved by the top positive eigenvectors of T
scaled by √(d·eigenvalue), and any rotation of them is as good. The rotation (as in ITQ) is the one
that loses least when rounding, on the codes themselves or on what a map predicts for them. Negative
eigenvalues are never used; with fewer positive ones than bits, the rotation spreads them over all bits.
Where more directions than bits are nearly as good (nine for ten classes), they are kept and the rotation
chooses among them: at 8 bits on ten classes that is worth .06 mAP.

Gong, Lazebnik. Iterative quantization: a procrustean approach to learning binary codes. CVPR 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..errors import InvalidInput
from ._base import Solution, Solver
from .problem import DenseProblem, Problem, SparseProblem

__all__ = ["Spectral", "SpectralBasis", "fit_rotation", "spectral_basis"]

Floats = npt.NDArray[np.float64]
SMALLEST = 1e-3  # eigenvalues below this share of the largest are noise
NEARLY = 0.3  # directions beyond the bits are kept down to this share of the last one needed
MOST = 3  # ... up to so many per bit


@dataclass(frozen=True)
class SpectralBasis:
    """Relaxed codes before rotation: ``embedding`` (m, r) of the entries, ``readout`` (m, r) for any row.

    A row with targets T_x towards the entries has the relaxed code ``T_x @ readout``.
    """

    embedding: Floats
    readout: Floats


@dataclass(frozen=True)
class Spectral(Solver):
    """Top eigenvectors, then ``n_rounds`` of rotation. Memory: one (m, m) array."""

    n_rounds: int = 50
    extension: ClassVar[str] = "linear"

    def solve(self, problem: Problem, rng: np.random.Generator, start: Floats | None = None) -> Solution:
        basis = spectral_basis(problem)
        rotation = fit_rotation(basis.embedding, problem.n_bits, rng, self.n_rounds, problem.weights)
        codes = basis.embedding @ rotation
        return Solution(codes, [problem.energy(np.where(codes > 0, 1.0, -1.0))])


def spectral_basis(problem: Problem) -> SpectralBasis:
    """Scaled top eigenvectors of ``W^½ T W^½`` and how other rows are read off them."""
    if not problem.law.shared_quadratic(problem.n_bits):
        raise InvalidInput(
            f"The spectral solver was asked to solve {problem.law!r}",
            "an energy whose pairs all share one quadratic term, such as ksh or bre",
            "Use solver='linearised' or solver='coordinate'",
        )
    d = problem.n_bits
    values, vectors = _top_eigenpairs(problem, min(MOST * d, problem.n_entries))
    last = values[min(d, len(values)) - 1]
    noise = max(SMALLEST * values[0], 1e-9 * problem.weights.sum())
    keep = (values > noise) & ((np.arange(len(values)) < d) | (values >= NEARLY * last))
    if not keep.any():
        raise InvalidInput(
            "The targets have no positive eigenvalue: no two rows attract each other",
            "some kin among the sampled rows",
            "Check the labels, or raise n_anchors so that kin are sampled",
        )
    values, vectors = values[keep], vectors[:, keep]
    # A fixed sign, so that the same data give the same bits under any LAPACK.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    root = np.sqrt(problem.weights)[:, None]
    return SpectralBasis(vectors * np.sqrt(d * values) / root, root * vectors * np.sqrt(d / values))


def fit_rotation(
    codes: Floats,
    n_bits: int,
    rng: np.random.Generator,
    n_rounds: int = 50,
    weights: Floats | None = None,
    start: Floats | None = None,
) -> Floats:
    """Matrix R (r, d) that brings ``codes @ R`` near its own signs: orthonormal rows, or columns if r > d."""
    if start is None:
        left, _, right = np.linalg.svd(rng.standard_normal((codes.shape[1], n_bits)), full_matrices=False)
        start = left @ right
    rotation: Floats = start
    weighted = codes if weights is None else codes * weights[:, None]
    for _ in range(n_rounds):
        left, _, right = np.linalg.svd(weighted.T @ np.sign(codes @ rotation), full_matrices=False)
        rotation = left @ right
    return rotation


def _top_eigenpairs(problem: Problem, n_vectors: int) -> tuple[Floats, Floats]:
    """Largest eigenvalues first."""
    m = problem.n_entries
    if isinstance(problem, SparseProblem) and m > 500 and n_vectors < m // 2:
        from scipy.sparse.linalg import eigsh

        start = np.ones(m) / np.sqrt(m)  # a fixed start makes Lanczos repeatable
        values, vectors = eigsh(sp.csr_array(problem.targets), k=n_vectors, which="LA", v0=start)
    else:
        T = problem.targets if isinstance(problem, DenseProblem) else problem.targets.toarray()  # type: ignore[attr-defined]
        root = np.sqrt(problem.weights)
        values, vectors = _dense_eigenpairs(T * root[:, None] * root, n_vectors)
    return values[::-1], vectors[:, ::-1]


def _dense_eigenpairs(matrix: Floats, n_vectors: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues of a symmetric matrix, in rising order.

    LAPACK's solver for a few eigenpairs ("evr") can fail where many eigenvalues are equal, as those of
    balanced classes are. The one for all of them by divide and conquer ("evd") takes longer and does not.
    """
    from scipy.linalg import LinAlgError, eigh

    m = len(matrix)
    try:
        values, vectors = eigh(matrix, subset_by_index=(m - n_vectors, m - 1))
    except LinAlgError:
        values, vectors = eigh(matrix, driver="evd")
    return values[-n_vectors:], vectors[:, -n_vectors:]
