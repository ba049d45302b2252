"""Out-of-sample extension: scores of a row from its similarities to the anchors.

Each solver extends itself by its own rule. A readout is that rule as plain arrays, so that it can be
stored in a model file and applied to a row of S that is known (learned codes) or predicted
(expected supervision) alike. Its scores are above zero for a 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._internal.blocks import block_slices, map_blocks
from .._internal.numerics import sigmoid
from .._internal.types import Array, Floats, Ints
from ..energies import Energy
from ..models import SOLVE_BITS, Builder, Inexact, Settle, Solve, Unsupported
from ..supervision import Supervision
from .linear_systems import RENORMALIZE, renormalize, solve_each, solve_shared
from .problem import DenseProblem, varying_terms, weighted_grams
from .sample import AnchorSums, Targets
from .sigmoid_line import line_slope

__all__ = [
    "Embedding",
    "Expectation",
    "LinearReadout",
    "PolishReadout",
    "Readout",
    "SolveReadout",
    "VaryingReadout",
    "linear_slope",
    "pull_sums",
    "solve_readout",
]

PULL_BITS = 30  # a pull is at most 2³⁰ parts
GROUPS = 1024  # groups per block: its similarities to 1,000 anchors take 8 MB,
SIMILARITIES = 8_000_000  # and to 50,000 classes no more than 64 MB


@dataclass(frozen=True)
class Expectation:
    """Expected similarities in a model of whole numbers: the place of a value, and its units.

    ``fold`` turns ``S @ matrix − constant`` into a product with that value, where it is not S itself.
    ``others`` are further values, whose products are added.
    """

    place: int
    bits: int
    fold: Callable[[Floats, Floats], tuple[Floats, Floats]] = lambda matrix, constant: (matrix, constant)
    others: tuple[Expectation, ...] = ()

    def product(
        self, builder: Builder, matrix: Floats, constant: Floats, units: int | None = None
    ) -> tuple[int, Array]:
        """``S @ matrix − constant``: its place and its units."""
        folded, less = self.fold(matrix, constant)
        place, exponents = builder.linear(self.place, self.bits, folded, -less, units)
        for other in self.others:
            folded, less = other.fold(matrix, np.zeros_like(constant))
            place, exponents = builder.linear(other.place, other.bits, folded, -less, exponents, plus=place)
        return place, exponents


class Readout(ABC):
    """Scores (k, d) of rows from their similarities (k, m) to the anchors."""

    @abstractmethod
    def scores(self, similarity: Floats) -> Floats:
        """Scores of rows with known or expected similarities."""

    def steps(self, builder: Builder, expected: Expectation, threshold: Floats) -> tuple[int, Array]:
        """Scores less a threshold (d,) as steps of whole numbers: their place and their units (d,)."""
        raise Unsupported("its energy solves a linear system of its own for every row")

    @abstractmethod
    def marginals(self, scores: Floats) -> Floats:
        """φ of those scores."""

    def soft_targets(self, scores: Floats) -> Floats:
        """What an encoder should predict for rows with these scores: the scores, or softer than bits."""
        return scores

    def of_groups(self, supervision: Supervision, anchors: Ints, n_jobs: int | None = None) -> Floats:
        """Scores (groups, d) of every group. Peak memory: the result and a few blocks of S."""

        def one(rows: slice) -> Floats:
            groups = np.arange(rows.start, rows.stop)
            return self.scores(supervision.similarity(groups, anchors))

        size = self.groups_at_once(len(anchors))
        return np.concatenate(list(map_blocks(one, block_slices(supervision.n_groups, size), n_jobs)))

    def groups_at_once(self, n_anchors: int) -> int:
        """Groups of a block."""
        return max(1, min(GROUPS, SIMILARITIES // max(1, n_anchors)))


@dataclass(frozen=True)
class Embedding:
    """Relaxed codes before rotation: ``S_x @ matrix − constant``, (m, r) and (r,); ``entries`` (m, r) has
    those of the sample itself. A rotation of them takes ``n_rounds`` rounds."""

    matrix: Floats
    constant: Floats
    entries: Floats
    n_rounds: int = 50

    def of(self, similarity: Floats) -> Floats:
        """Relaxed codes (k, r) of rows with these similarities (k, m)."""
        return similarity @ self.matrix - self.constant


@dataclass(frozen=True)
class LinearReadout(Readout):
    """``score = S_x @ matrix − constant`` (spectral). ``scale`` (number) turns scores into marginals.

    ``embedding`` is what a rotation was applied to, where any other rotation would do as well.
    """

    matrix: Floats
    constant: Floats
    scale: float = 1.0
    embedding: Embedding | None = None

    @classmethod
    def rotated(cls, embedding: Embedding, rotation: Floats) -> LinearReadout:
        """The embedding turned by ``rotation`` (r, d); scores have unit size on the sample."""
        size = float(np.sqrt(((embedding.entries @ rotation) ** 2).mean())) or 1.0
        return cls(embedding.matrix @ rotation / size, embedding.constant @ rotation / size, 1.0, embedding)

    @classmethod
    def of(cls, sums: AnchorSums, scale: float) -> LinearReadout:
        """Fold the targets' offsets into one affine map."""
        matrix, constant = sums.folded()
        return cls(matrix, constant, scale)

    def scores(self, similarity: Floats) -> Floats:
        return similarity @ self.matrix - self.constant

    def steps(self, builder: Builder, expected: Expectation, threshold: Floats) -> tuple[int, Array]:
        return expected.product(builder, self.matrix, self.constant + threshold)

    def marginals(self, scores: Floats) -> Floats:
        return sigmoid(2 * scores / self.scale)


@dataclass(frozen=True)
class SolveReadout(Readout):
    """The linearized system with the A all outside rows share; scores are its renormalized solution."""

    matrix: Floats
    constant: Floats
    coupling: Floats
    clip: float
    how: str

    def __post_init__(self) -> None:
        values, vectors = np.linalg.eigh(self.coupling)
        object.__setattr__(self, "_eigen", (values, vectors))  # derived, so not a field

    def scores(self, similarity: Floats) -> Floats:
        b = similarity @ self.matrix - self.constant
        eigen: tuple[Floats, Floats] = vars(self)["_eigen"]
        v = solve_shared(self.coupling, b, self.clip, line_slope(self.clip), eigen)
        return renormalize(v, self.clip, self.how)

    def steps(self, builder: Builder, expected: Expectation, threshold: Floats) -> tuple[int, Array]:
        if threshold.any():
            raise Inexact("a threshold beside a linear system")
        size = float(np.abs(self.matrix).sum(axis=0).max() + np.abs(self.coupling).sum(axis=1).max())
        units = PULL_BITS - int(np.ceil(np.log2(size or 1.0)))
        b, _ = expected.product(builder, self.matrix, self.constant, units)
        values, vectors = vars(self)["_eigen"]
        step = Solve(
            (b,),
            np.rint(vectors * 2.0**SOLVE_BITS).astype(np.int32),
            2 * line_slope(self.clip) * values * 2.0**units,
            np.abs(self.coupling).sum(axis=1) * 2.0**units,
            np.array([float(self.clip)]),
            RENORMALIZE.index(self.how),
        )
        return builder.add(step), np.full(len(values), SOLVE_BITS, np.int16)

    def marginals(self, scores: Floats) -> Floats:
        return sigmoid(scores)


@dataclass(frozen=True)
class PolishReadout(Readout):
    """Coordinate descent on the row's own bits; scores are the fields at the bits it settles on."""

    matrix: Floats
    constant: Floats
    gram: Floats
    bend: float
    scale: float = 1.0
    n_sweeps: int = 10

    def scores(self, similarity: Floats) -> Floats:
        return self.settle(similarity @ self.matrix - self.constant)

    def settle(self, b: Floats) -> Floats:
        """BitLayout of rows with pulls ``b`` (k, d)."""
        from ..models import settle_rows  # compiled code waits until it is needed

        bits = np.where(b > 0, 1.0, -1.0)
        off = self.gram - np.diag(np.diag(self.gram))
        settle_rows(bits, np.ascontiguousarray(b), off, self.bend, self.n_sweeps)
        fields: Floats = b - self.bend * (bits @ off)
        # A field of exactly zero keeps the bit it has.
        return np.where(fields == 0, 1e-12 * bits, fields)

    def steps(self, builder: Builder, expected: Expectation, threshold: Floats) -> tuple[int, Array]:
        if threshold.any():
            raise Inexact("a threshold beside bits that settle")
        off = self.bend * (self.gram - np.diag(np.diag(self.gram)))
        size = float(np.abs(self.matrix).sum(axis=0).max() + np.abs(off).sum(axis=1).max())
        units = PULL_BITS - int(np.ceil(np.log2(size or 1.0)))
        b, _ = expected.product(builder, self.matrix, self.constant, units)
        step = Settle((b,), np.rint(off * 2.0**units).astype(np.int64), self.n_sweeps)
        return builder.add(step), np.full(len(off), units, np.int16)

    def marginals(self, scores: Floats) -> Floats:
        return sigmoid(2 * scores / self.scale)

    def soft_targets(self, scores: Floats) -> Floats:
        return 2 * sigmoid(2 * scores / self.scale) - 1


@dataclass(frozen=True)
class VaryingReadout(Readout):
    """Energies that give every pair its own curvature: a few linear systems per row, each its own A."""

    law: Energy
    targets: Targets
    means: Floats
    weights: Floats
    clip: float
    how: str
    curvature: float = 1.0
    n_sweeps: int = 3

    def scores(self, similarity: Floats) -> Floats:
        T, d = self.targets.rows(similarity), self.means.shape[1]
        q = np.zeros((len(T), d))  # nothing is known of the row yet: E[r²] = d
        v = q
        for _ in range(self.n_sweeps):
            linear, quadratic = varying_terms(self.law, T, q, self.means, d)
            b = -2 * (linear * self.weights) @ self.means
            solved = self._solve(-4 * self.curvature * quadratic * self.weights, b)
            v = renormalize(solved, self.clip, self.how)
            q = 2 * sigmoid(v) - 1
        return v

    def _solve(self, bends: Floats, b: Floats) -> Floats:
        """The system of each row, bends (k, m) and pulls (k, d); a block of A's stays near 64 MB."""
        v, slope = np.empty_like(b), line_slope(self.clip)
        for rows in block_slices(len(b), max(1, 8_000_000 // b.shape[1] ** 2)):
            v[rows] = solve_each(weighted_grams(bends[rows], self.means), b[rows], self.clip, slope)
        return v

    def marginals(self, scores: Floats) -> Floats:
        return sigmoid(scores)

    def groups_at_once(self, n_anchors: int) -> int:
        # A block of A's stays near 64 MB, and its similarities to 1,000 anchors below 8 MB.
        return min(GROUPS, max(1, 8_000_000 // self.means.shape[1] ** 2))


def linear_slope(law: Energy, n_bits: int) -> tuple[float, float]:
    """Slope and constant of an energy's linear coefficient, which is affine in s by contract."""
    high, low = law.terms(np.array([1.0, -1.0]), n_bits).linear
    return float(high - low) / 2, float(high + low) / 2


def pull_sums(law: Energy, targets: Targets, means: Floats, weights: Floats) -> AnchorSums:
    """Sums that give ``b_x = −2 Σ_j w_j linear(T_xj) q_j`` of any row x."""
    slope, constant = linear_slope(law, means.shape[1])
    sums = AnchorSums.of(targets, -2 * slope * weights[:, None] * means)
    extra: Any = 2 * constant * (weights @ means)
    return AnchorSums(sums.matrix, sums.totals, sums.constant + extra, sums.own_share, sums.common)


def solve_readout(problem: DenseProblem, targets: Targets, q: Floats, clip: float, how: str) -> Readout:
    """The linearized system of a row outside the sample, which meets all of the sample and only it."""
    if problem.shared(q) is None:
        return VaryingReadout(problem.law, targets, q, problem.weights, clip, how, problem.curvature)
    matrix, constant = pull_sums(problem.law, targets, q, problem.weights).folded()
    alone = DenseProblem(
        problem.law, problem.targets, problem.weights, problem.n_bits, curvature=problem.curvature
    )
    coupling = alone.shared(q)
    assert coupling is not None
    return SolveReadout(matrix, constant, coupling[0], clip, how)
