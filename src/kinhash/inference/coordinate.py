"""Coordinate descent on the bits themselves: no relaxation, the energy never rises.

A bit is set to the sign of its field, everything else fixed. With one curvature for all pairs
(``bend`` = 4·γ·quadratic) the field is

    f_ik = b_ik − bend · Σ_{l≠k} (G_kl − w_i B_ik B_il) B_il,    G = Σ_j w_j B_j B_jᵀ,

where the subtracted term leaves the own row out; forgetting it makes the energy rise and never
settle. Other energies compare the loss with and without the flip, over all partners of the row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from numba import njit

from ._base import Solution, Solver, random_means
from .problem import DenseProblem, Problem, SparseProblem

__all__ = ["Coordinate", "Polished", "polish_rows"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Coordinate(Solver):
    """Sweeps over all bits until none moves, at most ``n_sweeps``."""

    n_sweeps: int = 10
    extension: ClassVar[str] = "polish"

    def solve(self, problem: Problem, rng: np.random.Generator, start: Floats | None = None) -> Solution:
        start = random_means(problem, rng) if start is None else start
        bits = np.where(start > 0, 1.0, -1.0)
        energies = [problem.energy(bits)]
        for _ in range(self.n_sweeps):
            changed = _sweep(problem, bits)
            energies.append(problem.energy(bits))
            if not changed:
                break
        return Solution(bits, energies)


@dataclass(frozen=True)
class Polished(Solver):
    """Any solver's answer, rounded and polished: coordinate descent started where ``first`` ends."""

    first: Solver
    n_sweeps: int = 10
    extension: ClassVar[str] = "polish"

    def solve(self, problem: Problem, rng: np.random.Generator, start: Floats | None = None) -> Solution:
        begin = self.first.solve(problem, rng, start)
        end = Coordinate(self.n_sweeps).solve(problem, rng, begin.means)
        return Solution(end.means, begin.energies + end.energies, begin.divergences)


def _sweep(problem: Problem, bits: Floats) -> int:
    """One pass over all bits, in place; how many moved."""
    quadratic = problem.law.shared_quadratic(problem.n_bits)
    common = problem.shared(bits)
    if isinstance(problem, DenseProblem) and common is not None:
        everyone = np.arange(problem.n_entries)
        gram = (bits * problem.weights[:, None]).T @ bits
        if problem.background is not None:
            gram = gram + problem.background.gram
        return int(
            _sweep_dense(bits, problem.pull(everyone, bits), problem.pulls, gram, problem.weights, common[1])
        )
    if isinstance(problem, SparseProblem) and quadratic is not None:
        pulls = -2 * problem.law.terms(problem.targets.data, problem.n_bits).linear
        bend = 4 * problem.curvature * quadratic
        return int(_sweep_sparse(bits, problem.targets.indptr, problem.targets.indices, pulls, bend))
    return _sweep_by_loss(problem, bits)


@njit(cache=True, nogil=True)
def _sweep_dense(B, b, pulls, G, w, bend):  # type: ignore[no-untyped-def]
    m, d = B.shape
    changed = 0
    for i in range(m):
        for k in range(d):
            bent = 0.0
            for l in range(d):
                if l != k:
                    bent += G[k, l] * B[i, l] - w[i] * B[i, k]
            f = b[i, k] - bend * bent
            new = 1.0 if f > 0 else (-1.0 if f < 0 else B[i, k])
            if new != B[i, k]:
                step = new - B[i, k]
                for l in range(d):
                    if l != k:
                        G[k, l] += w[i] * step * B[i, l]
                        G[l, k] += w[i] * step * B[i, l]
                for j in range(m):
                    b[j, k] += pulls[j, i] * step
                B[i, k] = new
                changed += 1
    return changed


@njit(cache=True, nogil=True)
def _sweep_sparse(B, indptr, partners, pulls, bend):  # type: ignore[no-untyped-def]
    """The same over listed partners, through their inner products r_ij."""
    m, d = B.shape
    changed = 0
    for i in range(m):
        start, stop = indptr[i], indptr[i + 1]
        r = np.zeros(stop - start)
        for place in range(start, stop):
            for l in range(d):
                r[place - start] += B[i, l] * B[partners[place], l]
        for k in range(d):
            f = 0.0
            for place in range(start, stop):
                other = B[partners[place], k]
                f += other * (pulls[place] - bend * (r[place - start] - B[i, k] * other))
            new = 1.0 if f > 0 else (-1.0 if f < 0 else B[i, k])
            if new != B[i, k]:
                for place in range(start, stop):
                    r[place - start] += (new - B[i, k]) * B[partners[place], k]
                B[i, k] = new
                changed += 1
    return changed


def _sweep_by_loss(problem: Problem, bits: Floats) -> int:
    """Any energy: flip a bit when the loss over all partners falls."""
    changed = 0
    for i in range(problem.n_entries):
        partners, s, w = problem.partners(i)
        near = bits[partners]
        r = near @ bits[i]
        now = problem.pair_loss(r, s)
        for k in range(problem.n_bits):
            moved = r - 2 * bits[i, k] * near[:, k]
            then = problem.pair_loss(moved, s)
            gain = w @ (now - then)
            if problem.field is not None:  # the field rewards agreement by half its size
                gain -= problem.field[i, k] * bits[i, k]
            if gain > 1e-12 * (1.0 + abs(w @ now)):
                bits[i, k] = -bits[i, k]
                r, now = moved, then
                changed += 1
    return changed


@njit(cache=True, nogil=True)
def polish_rows(B, b, G, bend, sweeps, least=None):  # type: ignore[no-untyped-def]
    """Rows outside the sample, whose bits do not enter G: coordinate descent on each, in place.

    ``least`` (n, 1), where given, falls to the least |field| by which a bit of the row was ever decided.
    """
    n, d = B.shape
    for i in range(n):
        for _ in range(sweeps):
            changed = 0
            for k in range(d):
                bent = 0.0
                for l in range(d):
                    if l != k:
                        bent += G[k, l] * B[i, l]
                f = b[i, k] - bend * bent
                if least is not None:
                    least[i, 0] = min(least[i, 0], abs(f))
                new = 1.0 if f > 0 else (-1.0 if f < 0 else B[i, k])
                if new != B[i, k]:
                    B[i, k] = new
                    changed += 1
            if changed == 0:
                break
