"""The energy of a sample as systems of equations: ``φ_i = σ(A_i q_i + b_i)``.

For ``E = Σ_{i<j} linear_ij r_ij + quadratic_ij r_ij²`` with independent bits of means q, mean field gives

    A_i = −4 offdiag(Σ_{j≠i} w_j quadratic_ij q_j q_jᵀ),    b_i = −2 Σ_{j≠i} w_j linear_ij q_j,

with ``w_j`` the number of rows entry j stands for. The diagonal of A_i is zero because a squared
bit is 1, and an entry does not meet itself: its rows share one code, whose inner product with
itself is constant. ``curvature`` multiplies every quadratic term (METHODS calls it γ).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._internal.types import Floats, Ints
from ..energies import Energy

__all__ = ["Background", "DenseProblem", "Problem", "SparseProblem", "System", "offdiagonal"]


@dataclass(frozen=True)
class System:
    """Equations of some entries: A (k, d, d) and b (k, d)."""

    A: Floats
    b: Floats


@dataclass(frozen=True)
class Background:
    """Rows outside the sample with means q (k, d) that never change, and S (m, k) towards them by entry.

    Where all pairs share one curvature, their Σ q qᵀ (d, d) and Σ S q (m, d) say it all.
    """

    means: Floats
    similarity: Callable[[int], Floats]
    gram: Floats
    sums: Floats


class Problem(ABC):
    """Entries that attract and repel each other; solvers ask it for systems and energies."""

    law: Energy
    n_entries: int
    n_bits: int
    weights: Floats
    curvature: float
    field: Floats | None = None

    @abstractmethod
    def partners(self, i: int) -> tuple[Ints, Floats, Floats]:
        """Entries that entry ``i`` meets, their targets and their weights."""

    def pair_loss(self, r: Floats, s: Floats) -> Floats:
        """Loss of pairs of codes, plus (γ − 1) times the quadratic part of its parabola at r."""
        loss = self.law.loss(r, s, self.n_bits)
        if self.curvature != 1:
            terms = self.law.terms(s, self.n_bits, tangent_point(self.law, r, r**2))
            loss = loss + (self.curvature - 1) * terms.quadratic * r**2
        return loss

    @abstractmethod
    def system(self, rows: Ints, q: Floats) -> System:
        """Equations of the entries ``rows`` given all means q (m, d)."""

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
        return self.system(rows, q).b


class DenseProblem(Problem):
    """Every pair of entries has a target: ``targets`` (m, m). Memory: three (m, m) arrays.

    ``field`` (m, d) is added to every b (the lean to the features); ``background`` comes from
    rows outside the sample.
    """

    def __init__(
        self,
        energy: Energy,
        targets: Floats,
        weights: Floats,
        n_bits: int,
        *,
        curvature: float = 1.0,
        field: Floats | None = None,
        background: Background | None = None,
    ) -> None:
        self.law, self.targets, self.weights = energy, targets, weights
        self.n_bits, self.curvature = n_bits, curvature
        self.n_entries = len(targets)
        self.field, self.background = field, background
        self._base: float | None = None
        self._meets = np.broadcast_to(weights, targets.shape).copy()
        np.fill_diagonal(self._meets, 0.0)
        quadratic = energy.shared_quadratic(n_bits)
        self._bend = None if quadratic is None else 4 * curvature * quadratic
        if quadratic is not None:
            self.pulls = -2 * energy.terms(targets, n_bits).linear * self._meets

    def shared(self, q: Floats, gram: Floats | None = None) -> tuple[Floats, float] | None:
        if self._bend is None:
            return None
        gram = (q * self.weights[:, None]).T @ q if gram is None else gram
        if self.background is not None:
            gram = gram + self.background.gram
        return offdiagonal(-self._bend * gram), self._bend

    def pull(self, rows: Ints, q: Floats) -> Floats:
        if self._bend is None:
            return self.system(rows, q).b
        return self._with_extras(self.pulls[rows] @ q, rows)

    def system(self, rows: Ints, q: Floats) -> System:
        common = self.shared(q)
        if common is not None:
            own = q[rows]
            outer = offdiagonal(own[:, :, None] * own[:, None, :])
            A = common[0] + common[1] * self.weights[rows, None, None] * outer
            return System(A, self.pull(rows, q))
        linear, quadratic = varying_terms(self.law, self.targets[rows], q[rows], q, self.n_bits)
        meets = self._meets[rows]
        A = weighted_grams(-4 * self.curvature * quadratic * meets, q)
        b = -2 * (linear * meets) @ q
        if self.background is not None:
            for place, row in enumerate(rows):
                self._add_background(A[place], b[place], q[row : row + 1], int(row), self.background)
        return System(A, b if self.field is None else b + self.field[rows])

    def partners(self, i: int) -> tuple[Ints, Floats, Floats]:
        others = np.delete(np.arange(self.n_entries), i)
        return others, self.targets[i, others], self.weights[others]

    def energy(self, q: Floats) -> float:
        if self._bend is not None:
            return self._energy_by_sums(q)
        first, second = pair_moments(q, q, self.n_bits)
        values = pair_energies(self.law, self.targets, first, second, self.n_bits, self.curvature)
        total = 0.5 * float((values * self._meets * self.weights[:, None]).sum())
        if self.field is not None:  # b gains the field, so the energy loses half its product with q
            total -= 0.5 * float((self.weights[:, None] * self.field * q).sum())
        return total

    def _energy_by_sums(self, q: Floats) -> float:
        """The same in O(m² d): no pair is looked at singly where all share one curvature.

        Σ w_i w_j E[r_ij²] = d (Σw)² + ‖G‖² − Σ_k (Σ_i w_i q_ik²)², G = Σ w q qᵀ, less the terms of i = j.
        """
        assert self._bend is not None
        w, d = self.weights, self.n_bits
        if self._base is None:
            losses = self.law.loss(np.zeros_like(self.targets), self.targets, d)
            self._base = 0.5 * float(w @ (losses * self._meets).sum(axis=1))
        linear = -0.25 * float(w @ ((self.pulls @ q) * q).sum(axis=1))
        squares = q**2
        gram = (q * w[:, None]).T @ q
        seconds = d * w.sum() ** 2 + (gram**2).sum() - ((w @ squares) ** 2).sum()
        own = squares.sum(axis=1)
        seconds -= w**2 @ (d + own**2 - (squares**2).sum(axis=1))
        total = self._base + linear + self._bend / 8 * float(seconds)
        if self.field is not None:
            total -= 0.5 * float((w[:, None] * self.field * q).sum())
        return total

    def _add_background(self, A: Floats, b: Floats, own: Floats, row: int, outside: Background) -> None:
        s = outside.similarity(row)[None, :]
        linear, quadratic = varying_terms(self.law, s, own, outside.means, self.n_bits)
        A += weighted_grams(-4 * self.curvature * quadratic, outside.means)[0]
        b += -2 * linear[0] @ outside.means

    def _with_extras(self, b: Floats, rows: Ints) -> Floats:
        if self.background is not None:
            high, low = self.law.terms(np.array([1.0, -1.0]), self.n_bits).linear
            means = self.background.means.sum(axis=0)  # times what of the slope does not depend on S
            b = b - (high - low) * self.background.sums[rows] - (high + low) * means
        if self.field is not None:
            b = b + self.field[rows]
        return b


class SparseProblem(Problem):
    """Only listed pairs have a say: ``targets`` is a symmetric CSR matrix without diagonal.

    There is no common A, since every entry meets partners of its own. Memory: the listed pairs.
    """

    def __init__(self, energy: Energy, targets: sp.csr_array, n_bits: int, *, curvature: float = 1.0) -> None:
        self.law, self.targets = energy, targets
        self.n_bits, self.curvature = n_bits, curvature
        self.n_entries = targets.shape[0]
        self.weights = np.ones(self.n_entries)

    def system(self, rows: Ints, q: Floats) -> System:
        d = self.n_bits
        A, b = np.empty((len(rows), d, d)), np.empty((len(rows), d))
        for place, row in enumerate(rows):
            start, stop = self.targets.indptr[row], self.targets.indptr[row + 1]
            partners, s = self.targets.indices[start:stop], self.targets.data[start:stop]
            near = q[partners]
            linear, quadratic = varying_terms(self.law, s[None, :], q[row : row + 1], near, d)
            A[place] = weighted_grams(-4 * self.curvature * quadratic, near)[0]
            b[place] = -2 * linear[0] @ near
        return System(A, b)

    def partners(self, i: int) -> tuple[Ints, Floats, Floats]:
        start, stop = self.targets.indptr[i], self.targets.indptr[i + 1]
        return self.targets.indices[start:stop], self.targets.data[start:stop], np.ones(stop - start)

    def energy(self, q: Floats) -> float:
        coo = sp.coo_array(self.targets)
        i, j = coo.coords
        m = q[i] * q[j]
        first = m.sum(axis=1)
        second = self.n_bits + first**2 - (m**2).sum(axis=1)
        values = pair_energies(self.law, coo.data, first, second, self.n_bits, self.curvature)
        return 0.5 * float(values.sum())


def offdiagonal(A: Floats) -> Floats:
    """A (or a stack of A) with its diagonal set to zero, in place."""
    d = A.shape[-1]
    A[..., np.arange(d), np.arange(d)] = 0.0
    return A


def pair_moments(q_rows: Floats, q: Floats, n_bits: int) -> tuple[Floats, Floats]:
    """E[r] and E[r²] (k, m): bits are independent, so E[r²] = d + E[r]² − Σ (q_i q_j)²."""
    first = q_rows @ q.T
    return first, n_bits + first**2 - q_rows**2 @ (q**2).T


def tangent_point(law: Energy, first: Floats, second: Floats) -> Floats | None:
    """Where the bounding parabola touches: the moment the energy asks for."""
    if law.tangent is None:
        return None
    return first if law.tangent == "mean" else np.sqrt(np.maximum(second, 0.0))


def varying_terms(law: Energy, s: Floats, q_rows: Floats, q: Floats, n_bits: int) -> tuple[Floats, Floats]:
    """Linear and quadratic coefficients (k, m) at the current means."""
    xi = tangent_point(law, *pair_moments(q_rows, q, n_bits))
    terms = law.terms(s, n_bits, xi)
    return terms.linear, np.broadcast_to(np.asarray(terms.quadratic, np.float64), s.shape)


def weighted_grams(weights: Floats, q: Floats) -> Floats:
    """offdiag(Σ_j weights_ij q_j q_jᵀ) for each row i: (k, d, d)."""
    k, d = len(weights), q.shape[1]
    stacked = np.empty((k, d, d))
    for i in range(k):
        stacked[i] = (q * weights[i][:, None]).T @ q
    return offdiagonal(stacked)


def pair_energies(
    law: Energy, s: Floats, first: Floats, second: Floats, n_bits: int, curvature: float
) -> Floats:
    """Expected value of each pair's parabola, constants included, from E[r] and E[r²]."""
    xi = tangent_point(law, first, second)
    at = np.zeros_like(first) if xi is None else xi
    terms = law.terms(s, n_bits, xi)
    quadratic = np.asarray(terms.quadratic)
    base = law.loss(at, s, n_bits) - terms.linear * at - quadratic * at**2
    return base + terms.linear * first + curvature * quadratic * second
