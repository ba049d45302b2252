"""COSDISH: codes learned from random columns of the similarity matrix, half of the bits set on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.paper.method import Card, Solved
from kinhash.paper.similarity import Training
from kinhash.plugins import Floats, Ints, check_choice, check_integer

from .cards import PAIRS
from .sample import known_rows
from .two_step import TwoStepBaseline
from .without_intercept import centered_ridge

__all__ = ["COSDISH", "balanced_cluster", "bit_problem"]

DISSIMILAR = ("-r", "+r")
UNDECIDED = 1e-5  # a sum this small leaves the bit as it was


@dataclass(eq=False, repr=False, kw_only=True)
class COSDISH(TwoStepBaseline):
    """Column sampling based discrete supervised hashing (Kang, Li, Zhou, AAAI 2016).

    ``min Σ_{i, j∈Ω} (d·S̃_ij − b_i·b_j)²`` over random columns Ω, as many as there are bits; S̃ is S with its
    strangers weighted by r = kin / strangers of those columns, so that each column sums to about 0.

    Codes start at random. ``n_samplings`` times: draw Ω, call the other rows Γ; ``n_alternations`` times:

    1. for each bit k, given the bits before it, the bits of Ω minimize ``bᵀQb + pᵀb`` with
       ``Q = −2d·S̃_ΩΩ + 2 Σ_{t<k} b_t b_tᵀ`` (zero diagonal) and
       ``p = −2 (d·S̃_ΓΩ − Σ_{t<k} B_t b_tᵀ)ᵀ B_k``, by a balanced 2-approximation: half of the points, one of
       them the constant 1 that carries p, are set to +1;
    2. ``B_Γ = sign(S̃_ΓΩ B_Ω)``, where a sum below 1e-5 leaves the bit as it was.

    New rows: ``sign(x (XᵀX + I)⁻¹ Xᵀ B)`` on standardized columns, without intercept.

    Constants are those of a copy of the authors' program (10, 3). What differs: in that copy the points
    are columns of a Cholesky factor of ``10⁴·I − Q``; since squared distances between them are
    ``2·10⁴ + 2 Q_ij``, the nearest points and the scatter are read off Q directly. S̃ and B enter by groups of
    equal supervision and through BᵀB, so a bit costs O(d² log d) and an alternation O(groups·d²).

    ``dissimilar="+r"`` is the sign in that copy, under which all S̃ are positive and one-bit codes are
    constant; "-r" (default) is what the rebalancing is for.

    Classes, tags and pairs. With few bits not every label is seen in a drawn column: rows whose labels
    never were keep random bits. ``report_.facts["objective"]`` holds the sum above for each Ω, at its end.

    Memory beyond X: codes (n, d) as bytes and float64, and S̃ of groups × d.

    Parameters
    ----------
    n_samplings : how often columns are drawn.
    n_alternations : turns between Ω and Γ for each draw.
    dissimilar : sign of the weight of strangers, "-r" or "+r", see above.
    """

    card = Card(
        "Kang, Li, Zhou, AAAI 2016",
        PAIRS,
        "ridge, no intercept",
        "from a copy of the program; dissimilar pairs count −r where the copy has +r (`dissimilar`)",
    )

    n_samplings: int = 10
    n_alternations: int = 3
    dissimilar: str = "-r"

    def check_parameters(self) -> None:
        super().check_parameters()
        check_integer("n_samplings", self.n_samplings, 1)
        check_integer("n_alternations", self.n_alternations, 1)
        check_choice("dissimilar", self.dissimilar, DISSIMILAR)

    def _solve(self, training: Training) -> Solved:
        rows = known_rows(training)
        groups, member = np.unique(training.supervision.group_of_row[rows], return_inverse=True)
        codes = CodesInTurn(np.where(training.rng.random((len(rows), self.n_bits)) < 0.5, 1, -1), member)
        objective = []
        for _ in range(self.n_samplings):
            columns = self._columns(training, rows)
            S = training.supervision.similarity(groups, groups[member[columns]])
            S = rebalanced(S, np.bincount(member).astype(np.float64), self.dissimilar)
            for _ in range(self.n_alternations):
                sweep(codes, columns, S)
            objective.append(codes.objective(columns, S))
        targets = -np.ones((len(training.rows), self.n_bits))
        targets[rows] = codes.bits
        own = None
        if isinstance(self.map, str) and self.map == "own":
            own = centered_ridge(training, targets, 1.0)
        return Solved(targets, own, {"objective": objective})

    def _columns(self, training: Training, rows: Ints) -> Ints:
        """Random positions among ``rows``, as many as bits; rows that have columns, where not all do."""
        allowed = np.arange(len(rows))
        if training.supervision.anchors is not None:
            allowed = np.flatnonzero(np.isin(rows, training.supervision.anchors))
        return training.rng.choice(allowed, min(self.n_bits, len(allowed)), replace=False)


@dataclass
class CodesInTurn:
    """Bits ±1 (n, d) of rows, and the group each row belongs to."""

    bits: npt.NDArray[Any]
    member: Ints

    def __post_init__(self) -> None:
        self.bits = self.bits.astype(np.int8)

    def outside(self, columns: Ints) -> tuple[Floats, Floats]:
        """Sums of bits by group (g, d) and BᵀB (d, d) over the rows that are not among ``columns``."""
        n_groups = int(self.member.max()) + 1
        sums = np.zeros((n_groups, self.bits.shape[1]))
        gram = np.zeros((self.bits.shape[1],) * 2)
        for start in range(0, len(self.bits), 65536):
            block = self.bits[start : start + 65536].astype(np.float32)
            member = self.member[start : start + 65536]
            gram += block.T @ block
            for k in range(block.shape[1]):
                sums[:, k] += np.bincount(member, block[:, k], n_groups)
        inside = self.bits[columns].astype(np.float64)
        np.subtract.at(sums, self.member[columns], inside)
        return sums, gram - inside.T @ inside

    def objective(self, columns: Ints, S: Floats) -> float:
        """``Σ_{i, j∈Ω} (d·S̃_ij − b_i·b_j)²`` over all rows i and the drawn columns, own pairs included."""
        d = self.bits.shape[1]
        sums, gram = self.outside(columns)
        inside = self.bits[columns].astype(np.float64)
        np.add.at(sums, self.member[columns], inside)
        gram = gram + inside.T @ inside
        sizes = np.bincount(self.member, minlength=len(S)).astype(np.float64)
        squares = d * d * float(sizes @ (S * S).sum(axis=1))
        return (
            squares - 2 * d * float(((S.T @ sums) * inside).sum()) + float(((inside @ gram) * inside).sum())
        )


def rebalanced(S: Floats, sizes: Floats, dissimilar: str) -> Floats:
    """S̃ (g, q): strangers weighted by r = kin / strangers; "+r" turns their sign, as the copy does."""
    kin, strangers = np.maximum(S, 0), np.maximum(-S, 0)
    total = float((sizes @ strangers).sum())
    r = float((sizes @ kin).sum()) / total if total > 0 else 0.0
    return kin - r * strangers if dissimilar == "-r" else kin + r * strangers


def sweep(codes: CodesInTurn, columns: Ints, S: Floats) -> None:
    """One alternation, in place: every bit of Ω, then all bits of Γ."""
    d, q = codes.bits.shape[1], len(columns)
    inner = S[codes.member[columns]]
    sums, gram = codes.outside(columns)
    pull = S.T @ sums
    chosen = np.zeros((q, d))
    for k in range(d):
        Q, p = bit_problem(inner, pull[:, k], gram[:k, k], chosen[:, :k], d)
        chosen[:, k] = balanced_cluster(Q, p)
    field = S @ chosen
    new = np.where(field > 0, 1, -1).astype(np.int8)
    keep = np.abs(field) < UNDECIDED
    moved = new[codes.member]
    if keep.any():
        moved = np.where(keep[codes.member], codes.bits, moved)
    moved[columns] = chosen
    codes.bits = moved


def bit_problem(
    inner: Floats, pull: Floats, gram: Floats, earlier: Floats, n_bits: int
) -> tuple[Floats, Floats]:
    """Q (q, q) and p (q,) of the next bit, given S̃_ΩΩ, ``S̃_ΓΩᵀ B_k``, ``B_tᵀB_k`` and earlier bits (q, t)."""
    Q = -2.0 * n_bits * (inner + inner.T) / 2 + 2.0 * earlier @ earlier.T
    Q[np.diag_indices_from(Q)] = 0.0
    p: Floats = -2.0 * (n_bits * pull - earlier @ gram)
    return Q, p


def balanced_cluster(Q: Floats, p: Floats) -> Floats:
    """Half of the points to +1, one of them a constant that carries p: the 2-approximation, bits ±1 (q,).

    With ``b = 2x − 1`` the objective is ``xᵀ4Qx + (2p − 4Q1)ᵀx``; the linear part becomes a last point that
    is always in. Each of the q + 1 points in turn is a center and gathers its nearest; the gathering of
    least scatter wins, which is the one of least objective.
    """
    q = len(p)
    whole = np.zeros((q + 1, q + 1))
    whole[:q, :q] = 4 * Q
    whole[:q, q] = whole[q, :q] = p - 2 * Q.sum(axis=1)
    members = (q + 2) // 2 - 1  # half of the q + 1 points, rounded up, less the constant
    near = whole[:, :q].copy()
    near[np.arange(q), np.arange(q)] = -np.inf  # a center is nearest to itself
    order = np.argsort(near, axis=1, kind="stable")[:, :members]
    inside = np.zeros((q + 1, q + 1))
    np.put_along_axis(inside, order, 1.0, axis=1)
    inside[:, q] = 1.0
    scatter = ((inside @ whole) * inside).sum(axis=1)
    return np.where(inside[scatter.argmin(), :q] > 0, 1.0, -1.0)
