"""From an energy to codes: mean field, its linear systems, and how rows outside the sample follow.

For ``E = Σ_{i<j} linear_ij r_ij + quadratic_ij r_ij²`` with independent bits of means ``q = 2φ − 1``, mean
field is ``φ_i = σ(A_i q_i + b_i)`` with

    A_i = −4 offdiag(Σ_{j≠i} w_j quadratic_ij q_j q_jᵀ),    b_i = −2 Σ_{j≠i} w_j linear_ij q_j,

``w_j`` being the number of rows that entry j of the sample stands for. The diagonal of A_i is zero because a
squared bit is 1, and an entry does not meet itself: its rows share one code.

The paper replaces σ by the line ``c₁ x + ½`` on [−c, c]; then the argument v of σ solves the linear system
``(λI − 2c₁A) v = b``, positive definite for every A while ``2 c₁ c < 1`` (`MAX_CLIP`; theorem 1). `linearize`
sweeps over the sample with it, `mean_field` without it, and where no quadratic term couples the bits
`leading_eigenvector` is the answer for all of them.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices, map_blocks, require_memory
from .._internal.numerics import sigmoid
from .._internal.types import Bools, Floats, Ints, Matrix, Numbers, Rng
from ..errors import InvalidInput
from ..pairs import row_numbers
from .energies import Energy
from .similarity import PairSupervision, Supervision

MAX_CLIP = 2.5996819
RENORMALIZE = ("row", "symmetric", "none")
ROUNDING = ("mean", "median", "half")
WHICH = ("largest", "literal")
SETTLED = 1e-8  # relative size of a residual that is zero for our purposes
SMALLEST = 1e-290  # numbers below lose digits
TIE = 1e-8  # eigenvalues this close (relative) are one eigenspace
GROUPS = 1024  # groups per block: its similarities to 1,000 anchors take 8 MB,
SIMILARITIES = 8_000_000  # and to 50,000 classes no more than 64 MB
STEPS = 1000  # of Simpson's rule: more than ten digits


@dataclass(frozen=True)
class Solution:
    """Codes of the sample, and a readout for everybody else.

    ``means`` (m, d) are those of the sample's bits, ``energies`` their energy after each sweep. ``readout``
    is None for listed pairs, whose rows are all in the sample: their scores are the means.
    """

    sample: Sample
    means: Floats
    energies: list[float]
    readout: Readout | None

    def group_scores(self, supervision: Supervision, n_jobs: int | None = None) -> Floats:
        """Scores (groups, d) of every group. Peak memory: the result and a few blocks of S."""
        readout, anchors = self.readout, self.sample.groups
        if readout is None:
            return self.means

        def one(rows: slice) -> Floats:
            return readout.scores(supervision.similarity(np.arange(rows.start, rows.stop), anchors))

        size = min(readout.at_once, max(1, SIMILARITIES // max(1, len(anchors))))
        return np.concatenate(list(map_blocks(one, block_slices(supervision.n_groups, size), n_jobs)))

    def marginals(self, scores: Floats) -> Floats:
        """φ of scores."""
        if self.readout is None:
            return (1 + np.clip(scores, -1, 1)) / 2
        return sigmoid(scores)


@dataclass(frozen=True)
class Minimum:
    """Means q (m, d), and the energy after each sweep."""

    means: Floats
    energies: list[float] = field(default_factory=list)


def solve_linearized(
    supervision: Supervision,
    energy: Energy,
    n_bits: int,
    rng: Rng,
    row_weights: Floats | None = None,
    *,
    n_sweeps: int = 10,
    clip: float = 2.0,
    renormalize: str = "row",
    n_anchors: int = 1000,
    anchors: Numbers | None = None,
    literal: bool = False,
) -> Solution:
    """Algorithm 1: draw the sample, sweep over it, and derive the readout for all other rows.

    ``literal`` updates all rows at once, and lets rows outside the sample, whose bits stay random, add to the
    sums. Memory: a few (m, m) arrays for m anchors; for listed pairs, the pairs.
    """
    line_slope(clip)
    if isinstance(supervision, PairSupervision):
        everyone = np.arange(supervision.n_groups)
        listed = SparseProblem(energy, supervision.among_groups(), n_bits)
        found = linearize(listed, rng, n_sweeps, clip, renormalize, at_once=literal)
        return Solution(Sample(everyone, listed.weights, supervision.rows), found.means, found.energies, None)
    sample = draw_sample(supervision, n_anchors, rng, merge=False, anchors=anchors, row_weights=row_weights)
    similarity = _similarity_of(supervision, sample)
    outside = _background(supervision, sample, n_bits, rng) if literal else None
    problem = DenseProblem(energy, similarity, sample.weights, n_bits, outside)
    found = linearize(problem, rng, n_sweeps, clip, renormalize, at_once=literal)
    alone = DenseProblem(energy, similarity, sample.weights, n_bits)
    coupling = alone.shared(found.means)
    how = energy, found.means, sample.weights
    if coupling is None:
        readout = _varying_readout(*how, clip, renormalize)
    else:
        readout = _shared_readout(*how, coupling[0], clip, renormalize)
    return Solution(sample, found.means, found.energies, readout)


def solve_by_columns(
    supervision: Supervision,
    energy: Energy,
    n_bits: int,
    rng: Rng,
    row_weights: Floats | None = None,
    *,
    clip: float = 2.0,
    which: str = "largest",
    n_anchors: int = 1000,
    anchors: Numbers | None = None,
) -> Solution:
    """An energy without a quadratic term: one eigenvector of S for every bit.

    Every column of Φ solves the same problem with ``A = S`` (zero diagonal) and ``b = 0``. The linear system
    has no other solution than zero, so take the unit vector that violates it least: the eigenvector of the
    largest eigenvalue. The paper's printed form (with A⁻¹) can pick the most negative one instead, and does
    for seven or more balanced classes; that is ``which="literal"``, whose entries are stretched until the
    smallest is at −c and the largest at c. Rows outside the sample follow by one power step.

    Rows of one group share their entry, so with n_g rows in group g the eigenproblem is
    ``N^½ S N^½ − diag(s)``, s = similarity of a row with itself, one row and column per group.
    """
    line_slope(clip)
    matrix: Matrix
    problem: Problem
    if isinstance(supervision, PairSupervision):
        matrix = supervision.among_groups()
        problem = SparseProblem(energy, matrix, n_bits)
        sample = Sample(np.arange(supervision.n_groups), problem.weights, supervision.rows)
    else:
        sample = draw_sample(supervision, n_anchors, rng, anchors=anchors, row_weights=row_weights)
        similarity, root = _similarity_of(supervision, sample), np.sqrt(sample.weights)
        matrix = similarity * root[:, None] * root
        matrix[np.diag_indices_from(matrix)] -= np.diag(similarity)
        problem = DenseProblem(energy, similarity, sample.weights, n_bits)
    entries, value = leading_eigenvector(matrix, sample.weights, rng, which, clip)
    gain, shift, low, high = clip, 0.0, float(entries.min()), float(entries.max())
    if which == "literal" and high - low > TIE * max(abs(low), abs(high)):
        gain, shift = 2 * clip / (high - low), clip * (high + low) / (high - low)
    means = np.tile(np.tanh((gain * entries - shift) / 2)[:, None], (1, n_bits))
    energies = [problem.energy(means)]
    if isinstance(supervision, PairSupervision):
        return Solution(sample, means, energies, None)
    step = np.tile((sample.weights * entries / value * gain)[:, None], (1, n_bits))
    return Solution(sample, means, energies, Readout(lambda similarity: similarity @ step - shift))


def _similarity_of(supervision: Supervision, sample: Sample) -> Floats:
    """S among the entries of a sample, if it fits into memory."""
    m = len(sample.groups)
    require_memory(48 * m * m, f"Inference on {m} anchors", "Lower n_anchors")
    return supervision.similarity(sample.groups, sample.groups)


# -- the sample --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Entries of the sample: their groups (m,), how many rows each stands for (m,), and the rows as drawn."""

    groups: Ints
    weights: Floats
    rows: Ints


def draw_sample(
    supervision: Supervision,
    n_anchors: int,
    rng: Rng,
    *,
    merge: bool = True,
    anchors: Numbers | None = None,
    row_weights: Floats | None = None,
) -> Sample:
    """Draw anchor rows, columns of S, and gather them into entries.

    With ``merge``, anchors with equal supervision become one weighted entry, and where all groups
    fit into ``n_anchors`` every row counts and nothing is left to chance. Classes always do, however many
    there are: a class without an anchor would have no code of its own. Without ``merge``, every
    anchor row is an entry of its own, as in the paper. Entries are in order of first appearance,
    so the names of classes do not matter.
    """
    group = supervision.group_of_row
    fixed = supervision.anchors if anchors is None else _fixed_anchors(anchors, supervision)
    known = np.flatnonzero(group >= 0)
    if row_weights is not None:
        known = known[row_weights[known] > 0]
    if not len(known):
        raise InvalidInput(
            "Nothing is known about any row (every label is missing, or every weight is 0)",
            "labels for some rows",
            "Pass labels, pairs or a similarity matrix",
        )
    all_count = supervision.n_groups <= n_anchors or supervision.every_group_counts
    if fixed is not None:
        rows = fixed[np.isin(fixed, known)]
    elif len(known) <= n_anchors or (merge and all_count):
        rows = known
    else:
        share = None if row_weights is None else row_weights[known] / row_weights[known].sum()
        rows = rng.choice(known, n_anchors, replace=False, p=share, shuffle=False)
        rows.sort()
    # Rows drawn in proportion to their weight have had their say; only a full count weighs again.
    drawn = fixed is None and len(rows) < len(known)
    per_row = None if row_weights is None or drawn else row_weights[rows]
    if not merge:
        return Sample(group[rows], np.ones(len(rows)) if per_row is None else per_row, rows)
    unique, first, inverse = np.unique(group[rows], return_index=True, return_inverse=True)
    weights = np.bincount(inverse, per_row, len(unique)).astype(np.float64)
    order = np.argsort(first, kind="stable")
    return Sample(unique[order], weights[order], rows)


def _fixed_anchors(anchors: Numbers, supervision: Supervision) -> Ints:
    rows = row_numbers(anchors, "anchors", supervision.n_rows)
    if len(rows) < 2 or len(np.unique(rows)) < len(rows):
        raise InvalidInput(
            f"anchors holds {len(rows)} row numbers, {len(np.unique(rows))} of them distinct",
            "at least two distinct rows",
            "Pass every anchor row once, or leave anchors out",
        )
    if supervision.anchors is not None and not np.array_equal(rows, supervision.anchors):
        raise InvalidInput(
            "Anchors were set as a parameter and came with S, and they differ",
            "the rows that the columns of S stand for",
            "Leave the parameter out",
        )
    return rows


@dataclass(frozen=True)
class Background:
    """Rows outside the sample with means q (k, d) that never change, and S (k,) towards them by entry.

    Where all pairs share one curvature, their Σ q qᵀ (d, d) and Σ S q (m, d) say it all.
    """

    means: Floats
    similarity: Callable[[int], Floats]
    gram: Floats
    sums: Floats


def _background(supervision: Supervision, sample: Sample, n_bits: int, rng: Rng) -> Background:
    """Rows outside the sample with their random bits: n × d numbers, and one row of S at a time."""
    if supervision.anchors is not None:
        raise InvalidInput(
            "Algorithm 1 to the letter was asked for with similarities to some anchors only",
            "labels, or S for all pairs: its sums run over all rows",
            "Pass the whole S, or do not ask for the letter",
        )
    outside = supervision.group_of_row >= 0
    outside[sample.rows] = False
    q = rng.uniform(-1.0, 1.0, (int(outside.sum()), n_bits))
    groups = supervision.group_of_row[outside]
    by_group = np.zeros((supervision.n_groups, n_bits))
    np.add.at(by_group, groups, q)
    everyone = np.arange(supervision.n_groups)
    unique, inverse = np.unique(sample.groups, return_inverse=True)
    sums = supervision.product(unique, everyone, by_group)[inverse]

    def similarity(entry: int) -> Floats:
        return supervision.similarity(sample.groups[entry : entry + 1], everyone)[0][groups]

    return Background(q, similarity, q.T @ q, sums)


# -- the energy of a sample --------------------------------------------------------------------


class Problem(ABC):
    """Entries that attract and repel each other: their equations and their energy."""

    law: Energy
    n_entries: int
    n_bits: int
    weights: Floats

    @abstractmethod
    def system(self, rows: Ints, q: Floats) -> tuple[Floats, Floats]:
        """A (k, d, d) and b (k, d) of the entries ``rows`` given all means q (m, d)."""

    @abstractmethod
    def energy(self, q: Floats) -> float:
        """Expected energy under independent bits of means q; for q = ±1 the energy of the codes."""

    def shared(self, q: Floats, gram: Floats | None = None) -> tuple[Floats, float] | None:
        """Common A (d, d) and the factor f with ``A_i = A + f w_i offdiag(q_i q_iᵀ)``, if there is one.

        ``gram`` is Σ w q qᵀ (d, d), for callers who keep it up to date.
        """
        return None

    def pull(self, rows: Ints, q: Floats) -> Floats:
        """b of the entries ``rows``."""
        return self.system(rows, q)[1]


class DenseProblem(Problem):
    """Every pair of entries has a similarity: S (m, m). Memory: three (m, m) arrays."""

    def __init__(
        self, energy: Energy, S: Floats, weights: Floats, n_bits: int, background: Background | None = None
    ) -> None:
        self.law, self.S, self.weights = energy, S, weights
        self.n_entries, self.n_bits, self.background = len(S), n_bits, background
        self._meets = np.tile(weights, (len(S), 1))
        np.fill_diagonal(self._meets, 0.0)
        quadratic = energy.shared_quadratic(n_bits)
        self._bend = None if quadratic is None else 4 * quadratic
        if self._bend is not None:
            self.pulls = -2 * energy.terms(S, n_bits).linear * self._meets

    def shared(self, q: Floats, gram: Floats | None = None) -> tuple[Floats, float] | None:
        if self._bend is None:
            return None
        gram = (q * self.weights[:, None]).T @ q if gram is None else gram
        if self.background is not None:
            gram = gram + self.background.gram
        return offdiagonal(-self._bend * gram), self._bend

    def pull(self, rows: Ints, q: Floats) -> Floats:
        if self._bend is None:
            return super().pull(rows, q)
        b = self.pulls[rows] @ q
        if self.background is not None:
            high, low = self.law.terms(np.array([1.0, -1.0]), self.n_bits).linear
            means = self.background.means.sum(axis=0)  # times what of the slope does not depend on S
            b = b - (high - low) * self.background.sums[rows] - (high + low) * means
        return b

    def system(self, rows: Ints, q: Floats) -> tuple[Floats, Floats]:
        common = self.shared(q)
        if common is not None:
            own = q[rows]
            outer = offdiagonal(own[:, :, None] * own[:, None, :])
            return common[0] + common[1] * self.weights[rows, None, None] * outer, self.pull(rows, q)
        linear, quadratic = varying_terms(self.law, self.S[rows], q[rows], q, self.n_bits)
        meets = self._meets[rows]
        A, b = weighted_grams(-4 * quadratic * meets, q), -2 * (linear * meets) @ q
        for place, row in enumerate(rows if self.background is not None else ()):
            assert self.background is not None
            s, means = self.background.similarity(int(row))[None, :], self.background.means
            linear, quadratic = varying_terms(self.law, s, q[row : row + 1], means, self.n_bits)
            A[place] += weighted_grams(-4 * quadratic, means)[0]
            b[place] += -2 * linear[0] @ means
        return A, b

    def energy(self, q: Floats) -> float:
        if self._bend is None:
            first = q @ q.T
            second = self.n_bits + first**2 - q**2 @ (q**2).T
            values = pair_energies(self.law, self.S, first, second, self.n_bits)
            return 0.5 * float((values * self._meets * self.weights[:, None]).sum())
        # The same in O(m² d): no pair is looked at singly where all share one curvature.
        # Σ w_i w_j E[r_ij²] = d (Σw)² + ‖G‖² − Σ_k (Σ_i w_i q_ik²)², G = Σ w q qᵀ, less the terms of i = j.
        w, d = self.weights, self.n_bits
        linear = -0.25 * float(w @ ((self.pulls @ q) * q).sum(axis=1))
        squares = q**2
        gram = (q * w[:, None]).T @ q
        seconds = d * w.sum() ** 2 + (gram**2).sum() - ((w @ squares) ** 2).sum()
        own = squares.sum(axis=1)
        seconds -= w**2 @ (d + own**2 - (squares**2).sum(axis=1))
        return self._base + linear + self._bend / 8 * float(seconds)

    @cached_property
    def _base(self) -> float:
        """What does not depend on the codes."""
        losses = self.law.loss(np.zeros_like(self.S), self.S, self.n_bits)
        return 0.5 * float(self.weights @ (losses * self._meets).sum(axis=1))


class SparseProblem(Problem):
    """Only listed pairs have a say: S is a symmetric CSR matrix without diagonal.

    There is no common A, since every entry meets partners of its own. Memory: the listed pairs.
    """

    def __init__(self, energy: Energy, S: sp.csr_array, n_bits: int) -> None:
        self.law, self.S, self.n_bits = energy, S, n_bits
        self.n_entries = S.shape[0]
        self.weights = np.ones(self.n_entries)

    def system(self, rows: Ints, q: Floats) -> tuple[Floats, Floats]:
        d = self.n_bits
        A, b = np.empty((len(rows), d, d)), np.empty((len(rows), d))
        for place, row in enumerate(rows):
            listed = slice(self.S.indptr[row], self.S.indptr[row + 1])
            near, s = q[self.S.indices[listed]], self.S.data[listed]
            linear, quadratic = varying_terms(self.law, s[None, :], q[row : row + 1], near, d)
            A[place] = weighted_grams(-4 * quadratic, near)[0]
            b[place] = -2 * linear[0] @ near
        return A, b

    def energy(self, q: Floats) -> float:
        coo = sp.coo_array(self.S)
        i, j = coo.coords
        m = q[i] * q[j]
        first = m.sum(axis=1)
        second = self.n_bits + first**2 - (m**2).sum(axis=1)
        return 0.5 * float(pair_energies(self.law, coo.data, first, second, self.n_bits).sum())


def offdiagonal(A: Floats) -> Floats:
    """A (or a stack of A) with its diagonal set to zero, in place."""
    d = A.shape[-1]
    A[..., np.arange(d), np.arange(d)] = 0.0
    return A


def _tangent_point(law: Energy, first: Floats, second: Floats) -> Floats | None:
    """Where the bounding parabola touches: the moment of r, E[r] or √E[r²], that the energy asks for."""
    if law.tangent is None:
        return None
    return first if law.tangent == "mean" else np.sqrt(np.maximum(second, 0.0))


def varying_terms(law: Energy, s: Floats, q_rows: Floats, q: Floats, n_bits: int) -> tuple[Floats, Floats]:
    """Linear and quadratic coefficients (k, m) at the current means.

    Bits are independent, so E[r²] = d + E[r]² − Σ (q_i q_j)².
    """
    first = q_rows @ q.T
    xi = _tangent_point(law, first, n_bits + first**2 - q_rows**2 @ (q**2).T)
    terms = law.terms(s, n_bits, xi)
    return terms.linear, np.broadcast_to(np.asarray(terms.quadratic, np.float64), s.shape)


def weighted_grams(weights: Floats, q: Floats) -> Floats:
    """offdiag(Σ_j weights_ij q_j q_jᵀ) for each row i: (k, d, d)."""
    return offdiagonal(np.stack([(q * row[:, None]).T @ q for row in weights]))


def pair_energies(law: Energy, s: Floats, first: Floats, second: Floats, n_bits: int) -> Floats:
    """Expected value of each pair's parabola, constants included, from E[r] and E[r²]."""
    xi = _tangent_point(law, first, second)
    at = np.zeros_like(first) if xi is None else xi
    terms = law.terms(s, n_bits, xi)
    quadratic = np.asarray(terms.quadratic)
    base = law.loss(at, s, n_bits) - terms.linear * at - quadratic * at**2
    return base + terms.linear * first + quadratic * second


# -- minimizing it -----------------------------------------------------------------------------


def mean_field(
    problem: Problem, rng: Rng, n_sweeps: int = 10, *, parallel: bool = False, start: Floats | None = None
) -> Minimum:
    """Mean field without linearization: ``φ_i = σ(A_i q_i + b_i)``, iterated.

    In sequence, each bit's update minimizes KL(q ‖ p) with the others fixed, so the divergence never rises.
    All rows in parallel it may rise, and often oscillates: the contrast the paper starts from.
    """
    q = rng.uniform(-1.0, 1.0, (problem.n_entries, problem.n_bits)) if start is None else start.copy()
    energies = []
    for _ in range(n_sweeps):
        if parallel:
            A, b = problem.system(np.arange(problem.n_entries), q)
            q = np.tanh(0.5 * (np.einsum("ikl,il->ik", A, q) + b))
        else:
            for i in rng.permutation(problem.n_entries):
                A, b = problem.system(
                    np.array([i]), q
                )  # they do not contain q_i: one system for all its bits
                for k in range(problem.n_bits):
                    q[i, k] = np.tanh(0.5 * (A[0, k] @ q[i] + b[0, k]))
        energies.append(problem.energy(q))
    return Minimum(q, energies)


def linearize(
    problem: Problem,
    rng: Rng,
    n_sweeps: int = 10,
    clip: float = 2.0,
    how: str = "row",
    *,
    at_once: bool = False,
) -> Minimum:
    """The paper's solver: a sweep of mean field becomes linear systems.

    Rows are solved in blocks of 5 % one after the other, always with the newest means; ``at_once``, as
    Algorithm 1 reads to the letter, collapses: every row sees the same b ≈ −dΣq. A sweep costs
    O(m² d + m d²) and holds O(m d) beside the problem; where the energy gives every pair its own curvature,
    O(m² d²). ``how`` is one of `RENORMALIZE`.
    """
    n, w, slope = problem.n_entries, problem.weights[:, None], line_slope(clip)
    q = rng.uniform(-1.0, 1.0, (n, problem.n_bits))
    energies = []
    for _ in range(n_sweeps):
        gram = (w * q).T @ q
        n_blocks = min(n, max(20, math.ceil(n / 256)))
        for rows in [np.arange(n)] if at_once else np.array_split(rng.permutation(n), n_blocks):
            common = problem.shared(q, gram)
            if common is None or problem.n_bits < 8 or len(rows) < 4:
                v = solve_each(*problem.system(rows, q), clip, slope)
            else:
                b, factor = problem.pull(rows, q), common[1] * problem.weights[rows]
                v = solve_near(common[0], q[rows], factor, b, clip, slope)
            old, new = q[rows], 2 * sigmoid(renormalize(v, clip, how)) - 1
            gram = gram + (w[rows] * new).T @ new - (w[rows] * old).T @ old
            q[rows] = new
        energies.append(problem.energy(q))
    return Minimum(q, energies)


def leading_eigenvector(
    matrix: Matrix, weights: Floats, rng: Rng, which: str = "largest", clip: float = 2.0
) -> tuple[Floats, float]:
    """Eigenvector of a symmetric (m, m) matrix, largest entry in size = 1 and positive, and its eigenvalue.

    An entry stands for ``weights`` rows. Where several eigenvalues tie (balanced classes), a seeded vector is
    projected onto their common eigenspace, so the answer does not depend on the library.
    """
    m = matrix.shape[0]
    seed = rng.standard_normal(m)
    if m > 2000 and which == "largest":
        from scipy.sparse.linalg import eigsh

        values, vectors = eigsh(matrix, k=min(8, m - 1), which="LA", v0=seed / np.linalg.norm(seed))
    else:
        values, vectors = np.linalg.eigh(matrix.toarray() if sp.issparse(matrix) else matrix)
    chosen = values.max()
    if which == "literal":
        # λ is the largest row sum over the n rows, divided by c.
        root = np.sqrt(weights)
        lam = float((np.abs(matrix) @ root / root).max()) / clip
        with np.errstate(divide="ignore"):
            chosen = values[np.argmin(np.abs(lam / values - 2 * line_slope(clip)))]
    tied = np.abs(values - chosen) <= TIE * max(1.0, float(np.abs(values).max()))
    basis = vectors[:, tied]
    entries = basis @ (basis.T @ seed) / np.sqrt(weights)
    top = entries[np.abs(entries).argmax()]
    return entries / (top if top else 1.0), float(chosen)


# -- linear systems ----------------------------------------------------------------------------
#
# ``λ = max_k (Σ_l |A_kl| + |b_k|) / c`` keeps the sigmoid's argument within [−c, c], so λI − 2c₁A is positive
# definite for every A while c stays below its limit, and |v| ≤ c holds for the solution. A may be singular:
# it is never inverted. (This v is the paper's v′ = v + b/λ, eq. 8.)


def line_slope(clip: float) -> float:
    """c₁(c), the slope of the straight line nearest to the sigmoid on [−c, c], to ten digits.

    Minimizing ``∫ (σ(x) − c₁x − ½)² dx`` over [−c, c] gives ``c₁ = 3/(2c³) ∫ x σ(x) dx``, which is
    ``3/(2c³) ∫ x tanh(x/2) dx`` over [0, c]. Its closed form has a dilogarithm; Simpson's rule is simpler.

    >>> round(line_slope(2.0), 7)
    0.2109006
    """
    if isinstance(clip, bool) or not (isinstance(clip, numbers.Real) and 0 < float(clip) < MAX_CLIP):
        raise InvalidInput(
            f"clip is {clip!r}",
            f"a number above 0 and below {MAX_CLIP:.4f} (beyond it the systems need not be solvable)",
            "The paper uses 2.0",
        )
    return _slope(float(clip))


@lru_cache
def _slope(c: float) -> float:
    t = np.arange(STEPS + 1) / STEPS  # x = c t
    simpson = np.where(np.arange(STEPS + 1) % 2 == 1, 4.0, 2.0)
    simpson[[0, -1]] = 1.0
    return 1.5 / c * (math.fsum(simpson * t * np.tanh(c / 2 * t)) / (3 * STEPS))


def _row_scale(A: Floats, b: Floats, clip: float) -> Floats:
    """λ (k,) of rows with pulls b (k, d): one A (d, d) for all, or one each (k, d, d)."""
    return (np.abs(A).sum(axis=-1) + np.abs(b)).max(axis=1) / clip


def _positive(x: Floats) -> Floats:
    return np.where(x > 0, x, 1.0)


def solve_each(A: Floats, b: Floats, clip: float, slope: float) -> Floats:
    """One system per row: A (k, d, d), b (k, d). Rows whose system is zero stay zero.

    If λ is NaN, or too small for float64, v is b: such a matrix may be singular.
    """
    lam = _row_scale(A, b, clip)
    sound = (lam > SMALLEST) & (lam < np.inf)
    matrices, lam = -2 * slope * A, np.where(sound, lam, 1.0)
    matrices[~sound] = 0.0
    matrices[:, np.arange(b.shape[1]), np.arange(b.shape[1])] += lam[:, None]
    return np.asarray(np.linalg.solve(matrices, b[:, :, None])[:, :, 0], np.float64)


def solve_shared(A: Floats, b: Floats, clip: float, slope: float, eigen: tuple[Floats, Floats]) -> Floats:
    """Many rows, one A (d, d) whose eigenvalues and eigenvectors are given: O(k d²)."""
    values, vectors = eigen
    lam = _positive(_row_scale(A, b, clip))
    return ((b @ vectors) / (lam[:, None] - 2 * slope * values)) @ vectors.T


def solve_near(A: Floats, own: Floats, factor: Floats, b: Floats, clip: float, slope: float) -> Floats:
    """Rows with ``A_i = A + factor_i offdiag(own_i own_iᵀ)``: conjugate gradients on all rows together.

    The matrices are well conditioned (at c = 2 by less than 12), so some twenty products with A settle
    every row; that is far cheaper than a factorization per row, or one eigendecomposition per block.
    Rows that have not settled after sixty (c near its limit) are solved singly.
    """
    lam = _positive(_row_bounds(A, own, factor, np.abs(b)) / clip)[:, None]
    twice, factor = 2 * slope, factor[:, None]

    def apply(v: Floats) -> Floats:
        inner = (own * v).sum(axis=1, keepdims=True)
        return lam * v - twice * (v @ A + factor * (own * inner - own**2 * v))

    v = b / lam
    residual = b - apply(v)
    direction = residual.copy()
    size = (residual**2).sum(axis=1, keepdims=True)
    goal = SETTLED**2 * (b**2).sum(axis=1, keepdims=True)
    for _ in range(60):
        if (size <= goal).all():
            return v
        product = apply(direction)
        curve = (direction * product).sum(axis=1, keepdims=True)
        step = size / np.where(curve > 0, curve, 1.0)
        v = v + step * direction
        residual = residual - step * product
        new = (residual**2).sum(axis=1, keepdims=True)
        direction = residual + new / np.where(size > 0, size, 1.0) * direction
        size = new
    for i in np.flatnonzero((size > goal)[:, 0]):
        outer = factor[i] * np.outer(own[i], own[i])
        np.fill_diagonal(outer, 0.0)
        v[i] = solve_each((A + outer)[None], b[i : i + 1], clip, slope)[0]
    return v


def _row_bounds(A: Floats, own: Floats, factor: Floats, size: Floats) -> Floats:
    """max_k (Σ_l |A_kl + factor_i own_ik own_il| + |b_ik|) of each row i, without forming every A_i."""
    total, scale = size.copy(), factor[:, None] * own
    for l in range(len(A)):
        part = np.abs(A[:, l] + scale * own[:, l : l + 1])
        part[:, l] = 0.0
        total += part
    return total.max(axis=1)


def renormalize(v: Floats, clip: float, how: str) -> Floats:
    """Stretch each row of v to [−c, c] before the sigmoid.

    ``row``: min–max (the paper); a constant row, or a single bit, has no range to stretch and
    becomes ``sign(v)·c``. ``symmetric``: ``c·v / max|v|``, which respects flips of a bit. ``none``: as is.
    Rows of zeros stay zero, so their marginals are ½.
    """
    if how == "none":
        return v
    if how == "symmetric":
        return clip * v / _positive(np.abs(v).max(axis=1, keepdims=True))
    low, high = v.min(axis=1, keepdims=True), v.max(axis=1, keepdims=True)
    span = high - low
    flat = span <= 1e-12 * np.maximum(np.abs(low), np.abs(high))
    stretched = clip * (2 * (v - low) / np.where(flat, 1.0, span) - 1)
    return np.where(flat, clip * np.sign(v), stretched)


# -- rows outside the sample, and bits ---------------------------------------------------------


class Readout(NamedTuple):
    """Scores (k, d) of rows from their similarities (k, m) to the anchors, and how many rows at a time.

    φ is the sigmoid of a score.
    """

    scores: Callable[[Floats], Floats]
    at_once: int = GROUPS


def _shared_readout(
    law: Energy, means: Floats, weights: Floats, coupling: Floats, clip: float, how: str
) -> Readout:
    """The linearized system with the A (d, d) that all outside rows share; scores are its renormalized solution.

    A row outside the sample meets all of the sample, and only it: ``b_x = −2 Σ_j w_j linear(S_xj) q_j``, and
    the linear coefficient of an energy with one curvature is affine in s.
    """
    high, low = law.terms(np.array([1.0, -1.0]), means.shape[1]).linear
    rise, middle = float(high - low) / 2, float(high + low) / 2
    matrix, constant = -2 * rise * weights[:, None] * means, 2 * middle * (weights @ means)
    eigen, slope = np.linalg.eigh(coupling), line_slope(clip)

    def scores(similarity: Floats) -> Floats:
        b = similarity @ matrix - constant
        return renormalize(solve_shared(coupling, b, clip, slope, (eigen[0], eigen[1])), clip, how)

    return Readout(scores)


def _varying_readout(law: Energy, means: Floats, weights: Floats, clip: float, how: str) -> Readout:
    """Energies that give every pair its own curvature: three linear systems per row, each its own A."""
    n_bits, slope = means.shape[1], line_slope(clip)
    at_once = min(GROUPS, max(1, 8_000_000 // n_bits**2))  # a block of A's stays near 64 MB

    def scores(similarity: Floats) -> Floats:
        q = np.zeros((len(similarity), n_bits))  # nothing is known of the row yet: E[r²] = d
        v = q
        for _ in range(3):
            linear, quadratic = varying_terms(law, similarity, q, means, n_bits)
            b, bends = -2 * (linear * weights) @ means, -4 * quadratic * weights
            solved = np.empty_like(b)
            for rows in block_slices(len(b), at_once):
                solved[rows] = solve_each(weighted_grams(bends[rows], means), b[rows], clip, slope)
            v = renormalize(solved, clip, how)
            q = 2 * sigmoid(v) - 1
        return v

    return Readout(scores, at_once)


def round_marginals(phi: Floats, weights: Floats, how: str) -> tuple[Bools, Floats]:
    """Bits (g, d) of groups that stand for ``weights`` (g,) rows each, and where (d,) each bit turns.

    ``mean`` and ``median`` over all rows balance each bit (the paper rounds at the mean); ``half`` keeps how
    popular an item's labels are, which matters on tags.
    """
    if how == "mean":
        threshold = weights @ phi / weights.sum()
    elif how == "median":
        order = np.argsort(phi, axis=0)
        reached = np.cumsum(weights[order], axis=0) >= weights.sum() / 2
        middle = order[reached.argmax(axis=0), np.arange(phi.shape[1])]
        threshold = phi[middle, np.arange(phi.shape[1])]
    else:
        threshold = np.full(phi.shape[1], 0.5)
    return phi > threshold, threshold
