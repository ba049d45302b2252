"""The relaxed problem, solved exactly: eigenvectors of the targets, rotated until they round well.

With real numbers in place of bits, ``min ‖B Bᵀ − d T‖²`` is solved by the top positive eigenvectors of T
scaled by √(d·eigenvalue), and any rotation of them is as good. The rotation (as in ITQ) is the one
that loses least when rounding, on the codes themselves or on what an encoder predicts for them. Negative
eigenvalues are never used; with fewer positive ones than bits, the rotation spreads them over all bits.
Where more directions than bits are nearly as good (nine for ten classes), they are kept and the rotation
chooses among them: at 8 bits on ten classes that is worth .06 mAP.

Eigenvectors go to the largest classes first. Where that would leave a class without a direction of its own,
all classes count alike; and where there are more classes than directions, they get codewords instead
(`codewords`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .._internal.numerics import fit_rotation
from .._internal.types import Floats, Ints, Rng
from .._internal.validation import check_choice, check_flag, check_integer
from ..energies import Energy
from ..errors import InvalidInput
from ..supervision import ClassSupervision, Supervision
from .base import Minimum, Solution, Solver
from .codewords import spread_codewords, tree_codewords
from .problem import DenseProblem, Problem, SparseProblem
from .readout import Embedding, LinearReadout, linear_slope
from .sample import AnchorSums, Sample, Targets, draw_sample

__all__ = [
    "Spectral",
    "SpectralBasis",
    "most_directions",
    "n_directions",
    "needs_codewords",
    "spectral_basis",
]

SMALLEST = 1e-3  # eigenvalues below this share of the largest are noise
NEARLY = 0.3  # directions beyond the bits are kept down to this share of the last one needed
MOST = 3  # ... and at most this number per bit


@dataclass(frozen=True)
class SpectralBasis:
    """Relaxed codes before rotation: ``embedding`` (m, r) of the entries, ``readout`` (m, r) for any row.

    A row with targets T_x towards the entries has the relaxed code ``T_x @ readout``.
    """

    embedding: Floats
    readout: Floats


@dataclass(frozen=True)
class RelaxedMinimum(Minimum):
    """The codes of one rotation, and the basis that any other rotation turns."""

    basis: SpectralBasis | None = None
    rotation: Floats | None = None


@dataclass(repr=False, kw_only=True)
class Spectral(Solver):
    """Top eigenvectors of the targets, rotated. Memory: one (m, m) array.

    Parameters
    ----------
    rotation : "predictions": the encoder turns the codes so that what it predicts rounds well; "codes": they
        are turned here, for themselves.
    n_rounds : rounds of the rotation.
    balance : give all classes the same weight if the rarest would have no direction of its own otherwise, and
        a codeword each if there are more than 3 classes per bit.
    targets, rounding, n_anchors, anchors : as in every solver.
    """

    rotation: str = "predictions"
    n_rounds: int = 50
    balance: bool = True
    needs_kin: ClassVar[bool] = True

    def check(self) -> None:
        super().check()
        check_choice("rotation", self.rotation, ("predictions", "codes"))
        if self.rotation == "predictions" and self.rounding != "zero":
            raise InvalidInput(
                f"rounding={self.rounding!r} was asked for with rotation='predictions'",
                "rounding='zero', where rotated predictions turn",
                "Set rotation='codes', or leave rounding out",
            )
        check_integer("n_rounds", self.n_rounds, 0)
        check_flag("balance", self.balance)

    def refuse(self, energy: Energy, n_bits: int) -> None:
        if not energy.shared_quadratic(n_bits) or linear_slope(energy, n_bits)[1] != 0:
            raise InvalidInput(
                f"The spectral solver was asked to solve {energy!r}",
                "an energy whose pairs all share one quadratic term, with a linear term that is a multiple "
                "of S, such as ksh or bre",
                "Use solver='linearized' or solver='coordinate'",
            )

    def solve(
        self,
        supervision: Supervision,
        energy: Energy,
        n_bits: int,
        rng: Rng,
        row_weights: Floats | None = None,
    ) -> Solution:
        plain = isinstance(supervision, ClassSupervision) and supervision.between is None
        if plain and self.balance and self.anchors is None:
            assert isinstance(supervision, ClassSupervision)
            sample = draw_sample(supervision, self.n_anchors, rng, row_weights=row_weights)
            if needs_codewords(len(sample.groups), n_bits):
                self.check()
                self.refuse(energy, n_bits)
                return _with_codewords(sample, n_bits, rng, self.rounding, supervision.levels)
        return super().solve(supervision, energy, n_bits, rng, row_weights)

    def entry_weights(self, similarity: Floats, sample: Sample, n_bits: int) -> Floats:
        if self.balance and _leaves_classes_out(similarity, sample.weights, n_bits):
            return np.ones(len(sample.weights))
        return sample.weights

    def minimize(self, problem: Problem, rng: Rng, start: Floats | None = None) -> Minimum:
        self.refuse(problem.law, problem.n_bits)
        basis = spectral_basis(problem)
        free = self.rotation == "predictions" and isinstance(problem, DenseProblem)
        n_rounds = 0 if free else self.n_rounds
        rotation = fit_rotation(basis.embedding, problem.n_bits, rng, n_rounds, problem.weights)
        codes = basis.embedding @ rotation
        energy = problem.energy(np.where(codes > 0, 1.0, -1.0))
        return RelaxedMinimum(codes, [energy], basis=basis, rotation=rotation)

    def readout(self, problem: DenseProblem, targets: Targets, minimum: Minimum) -> LinearReadout:
        assert isinstance(minimum, RelaxedMinimum)
        assert minimum.basis is not None
        assert minimum.rotation is not None
        if self.rotation == "predictions":
            matrix, constant = AnchorSums.of(targets, minimum.basis.readout).folded()
            embedding = Embedding(matrix, constant, minimum.basis.embedding, self.n_rounds)
            return LinearReadout.rotated(embedding, minimum.rotation)
        scale = float(np.sqrt((minimum.means**2).mean()))
        return LinearReadout.of(AnchorSums.of(targets, minimum.basis.readout @ minimum.rotation), scale)


def most_directions(n_bits: int) -> int:
    """The most classes that get a direction of their own."""
    return MOST * n_bits + 1


def needs_codewords(n_classes: int, n_bits: int) -> bool:
    """Whether there are more classes than directions, so that each gets a codeword."""
    return n_classes > most_directions(n_bits)


def _with_codewords(sample: Sample, n_bits: int, rng: Rng, rounding: str, levels: Ints | None) -> Solution:
    """A codeword for every class, the largest classes the farthest apart.

    A row that belongs to class j with probability p_j has S̄ = 2p − 1 and the scores Σ p_j c_j, since
    ``S̄ C/2 + Σ C/2 = p C``.
    """
    bits = np.empty((len(sample.groups), n_bits), bool)
    if levels is None:
        bits[np.argsort(-sample.weights, kind="stable")] = spread_codewords(len(bits), n_bits, rng)
    else:
        bits = tree_codewords(levels[sample.groups], n_bits, rng)
    codewords = np.where(bits, 1.0, -1.0)
    readout = LinearReadout(codewords / 2, -codewords.sum(axis=0) / 2)
    return Solution(sample, n_bits, Minimum(codewords), readout, rounding)


def _leaves_classes_out(similarity: Floats, weights: Floats, n_bits: int) -> bool:
    """Whether these are classes, and the rarest would have no direction among those that are kept.

    Eigenvalues of classes lie between their weights, twice over: the rarest is as large as `spectral_basis`
    asks for, or it is left out.
    """
    if ((similarity > 0).sum(axis=1) > 1).any():
        return False
    largest = np.sort(weights)[::-1]
    needed = NEARLY * largest[n_bits] if len(weights) - 1 > n_bits else SMALLEST * largest[0]
    return bool(largest[-1] < needed)


def spectral_basis(problem: Problem) -> SpectralBasis:
    """Scaled top eigenvectors of ``W^½ T W^½`` and how other rows are read off them."""
    d = problem.n_bits
    values, vectors = _top_eigenpairs(problem, min(MOST * d, problem.n_entries))
    noise = max(SMALLEST * values[0], 1e-9 * problem.weights.sum())
    keep = (values > noise) & (np.arange(len(values)) < n_directions(values, d))
    if not keep.any():
        raise InvalidInput(
            "The targets have no positive eigenvalue: no two rows attract each other",
            "some similar rows among the sampled ones",
            "Check the labels, or raise n_anchors so that similar rows are sampled",
        )
    values, vectors = values[keep], vectors[:, keep]
    # A fixed sign, so that the same data give the same bits under any LAPACK.
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    root = np.sqrt(problem.weights)[:, None]
    return SpectralBasis(vectors * np.sqrt(d * values) / root, root * vectors * np.sqrt(d / values))


def n_directions(values: Floats, n_bits: int) -> int:
    """Number of leading directions to keep for ``n_bits``; eigenvalues are in descending order."""
    last = values[min(n_bits, len(values)) - 1]
    return max(n_bits, int((values[: MOST * n_bits] >= NEARLY * last).sum()))


def _top_eigenpairs(problem: Problem, n_vectors: int) -> tuple[Floats, Floats]:
    """Largest eigenvalues first."""
    m = problem.n_entries
    if isinstance(problem, SparseProblem) and m > 500 and n_vectors < m // 2:
        from scipy.sparse.linalg import eigsh

        start = np.ones(m) / np.sqrt(m)  # a fixed start makes Lanczos repeatable
        values, vectors = eigsh(sp.csr_array(problem.targets), k=n_vectors, which="LA", v0=start)
    else:
        targets: Any = problem.targets  # type: ignore[attr-defined]
        T = targets if isinstance(problem, DenseProblem) else targets.toarray()
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
