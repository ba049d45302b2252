"""How a row that was not in the sample gets its scores from its similarities to the anchors.

Each solver extends itself by its own rule. A readout is that rule as plain arrays, so that it can be
stored in a model file and applied to a row of S that is known (learned codes) or predicted
(expected supervision) alike. Its scores are above zero for a 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._arithmetic import FAST, Arithmetic
from .._blocks import block_slices, map_blocks
from .._types import Floats, Ints
from ..energies import Energy
from ..supervision import Supervision
from .linear_systems import renormalised_error, renormalize, sigmoid, solve_each, solve_shared
from .problem import DenseProblem, varying_terms, weighted_grams
from .sigmoid_line import line_slope
from .targets import AnchorSums, Targets

__all__ = [
    "Embedding",
    "LinearReadout",
    "PolishReadout",
    "Readout",
    "SolveReadout",
    "VaryingReadout",
    "linear_slope",
    "pull_sums",
    "solve_readout",
]

SOLVED = (
    1e-9  # error of a solution of linear systems in float64: 10⁵ times the largest seen on real rows (7e-15)
)
GROUPS = 1024  # groups per block: its similarities to 1,000 anchors take 8 MB,
SIMILARITIES = 8_000_000  # and to 50,000 classes no more than 64 MB


class Readout(ABC):
    """Scores (k, d) of rows from their similarities (k, m) to the anchors."""

    matrix: Floats
    # True where similarities must be FIXED: errors in them would grow beyond a useful bound.
    steep: ClassVar[bool] = False

    def scores(self, similarity: Floats) -> Floats:
        """Scores of rows with known or expected similarities."""
        return self.evaluate(similarity, 0.0, FAST)[0]

    @abstractmethod
    def evaluate(self, similarity: Floats, error: Floats | float, by: Arithmetic) -> tuple[Floats, Floats]:
        """Scores, and how far FAST ones may be from FIXED ones: (k, 1), infinite for rows in doubt anyway.

        ``error`` (k, 1) bounds what errors of the similarities do to ``similarity @ matrix``.
        """

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

        size = max(1, min(GROUPS, SIMILARITIES // max(1, len(anchors))))
        blocks = map_blocks(one, block_slices(supervision.n_groups, size), n_jobs)
        return np.concatenate(list(blocks))


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

    def evaluate(self, similarity: Floats, error: Floats | float, by: Arithmetic) -> tuple[Floats, Floats]:
        scores = by.product(similarity, self.matrix) - self.constant
        return scores, np.asarray(error + self._roundings)

    @cached_property
    def _roundings(self) -> float:
        return _roundings(self.matrix, self.constant)

    def marginals(self, scores: Floats) -> Floats:
        return sigmoid(2 * scores / self.scale)


@dataclass(frozen=True)
class SolveReadout(Readout):
    """The linearised system with the A all outside rows share; scores are its renormalized solution."""

    matrix: Floats
    constant: Floats
    coupling: Floats
    clip: float
    how: str
    steep: ClassVar[bool] = True

    def __post_init__(self) -> None:
        values, vectors = np.linalg.eigh(self.coupling)
        object.__setattr__(self, "_eigen", (values, vectors))  # derived, so not a field

    def evaluate(self, similarity: Floats, error: Floats | float, by: Arithmetic) -> tuple[Floats, Floats]:
        b, slope = by.product(similarity, self.matrix) - self.constant, line_slope(self.clip)
        if by is FAST:
            eigen: tuple[Floats, Floats] = vars(self)["_eigen"]
            v = solve_shared(self.coupling, b, self.clip, slope, eigen)
        else:
            shared = np.broadcast_to(self.coupling, (len(b), *self.coupling.shape))
            v = solve_each(shared, b, self.clip, slope, by)
        return renormalize(v, self.clip, self.how), renormalised_error(v, SOLVED, self.clip, self.how)

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

    def evaluate(self, similarity: Floats, error: Floats | float, by: Arithmetic) -> tuple[Floats, Floats]:
        b = by.product(similarity, self.matrix) - self.constant
        scores, least = self.settle(b, by)
        bound = error + self._roundings
        # Every turn on the way was a decision: one in doubt makes the whole row doubtful.
        return scores, np.where(least > bound, bound, np.inf)

    def settle(self, b: Floats, by: Arithmetic = FAST) -> tuple[Floats, Floats]:
        """Fields of rows with pulls ``b`` (k, d), and the least (k, 1) by which a bit was ever decided."""
        from .polish import polish_rows  # compiled code waits until it is needed

        bits = np.where(b > 0, 1.0, -1.0)
        least = np.abs(b).min(axis=1, keepdims=True)
        polish_rows(bits, np.ascontiguousarray(b), self.gram, self.bend, self.n_sweeps, least)
        off = self.gram - np.diag(np.diag(self.gram))
        fields: Floats = b - self.bend * by.product(bits, off)
        # A field of exactly zero keeps the bit it has.
        return np.where(fields == 0, 1e-12 * bits, fields), least

    @cached_property
    def _roundings(self) -> float:
        fields = 2.0**-40 * abs(self.bend) * float(np.abs(self.gram).sum(axis=0).max())
        return _roundings(self.matrix, self.constant) + fields

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
    steep: ClassVar[bool] = True

    def evaluate(self, similarity: Floats, error: Floats | float, by: Arithmetic) -> tuple[Floats, Floats]:
        T, d = self.targets.rows(similarity, by), self.means.shape[1]
        q = np.zeros((len(T), d))  # nothing is known of the row yet: E[r²] = d
        v, bound = q, np.zeros((len(T), 1))
        for _ in range(self.n_sweeps):
            linear, quadratic = varying_terms(self.law, T, q, self.means, d, by)
            b = by.product(-2 * (linear * self.weights), self.means)
            solved = self._solve(-4 * self.curvature * quadratic * self.weights, b, by)
            v = renormalize(solved, self.clip, self.how)
            bound = np.maximum(bound, renormalised_error(solved, SOLVED, self.clip, self.how))
            q = 2 * sigmoid(v, by) - 1
        return v, bound

    def _solve(self, bends: Floats, b: Floats, by: Arithmetic) -> Floats:
        """The system of each row, bends (k, m) and pulls (k, d); a block of A's stays near 64 MB."""
        v, slope = np.empty_like(b), line_slope(self.clip)
        for rows in block_slices(len(b), max(1, 8_000_000 // b.shape[1] ** 2)):
            v[rows] = solve_each(weighted_grams(bends[rows], self.means, by), b[rows], self.clip, slope, by)
        return v

    def marginals(self, scores: Floats) -> Floats:
        return sigmoid(scores)

    def of_groups(self, supervision: Supervision, anchors: Ints, n_jobs: int | None = None) -> Floats:
        # A block of A's stays near 64 MB, and its similarities to 1,000 anchors below 8 MB.
        size = min(GROUPS, max(1, 8_000_000 // self.means.shape[1] ** 2))

        def one(rows: slice) -> Floats:
            groups = np.arange(rows.start, rows.stop)
            return self.scores(supervision.similarity(groups, anchors))

        return np.concatenate(list(map_blocks(one, block_slices(supervision.n_groups, size), n_jobs)))


def _roundings(matrix: Floats, constant: Floats) -> float:
    """What float64 rounds off ``S @ matrix − constant`` for up to 2¹³ anchors."""
    return 2.0**-40 * float((np.abs(matrix).sum(axis=0) + np.abs(constant)).max())


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
    """The linearised system of a row outside the sample, which meets all of the sample and only it."""
    if problem.shared(q) is None:
        return VaryingReadout(problem.law, targets, q, problem.weights, clip, how, problem.curvature)
    matrix, constant = pull_sums(problem.law, targets, q, problem.weights).folded()
    alone = DenseProblem(
        problem.law, problem.targets, problem.weights, problem.n_bits, curvature=problem.curvature
    )
    coupling = alone.shared(q)
    assert coupling is not None
    return SolveReadout(matrix, constant, coupling[0], clip, how)
