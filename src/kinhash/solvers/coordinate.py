"""Coordinate descent on the bits themselves: no relaxation, the energy never rises.

A bit is set to the sign of its field, everything else fixed. With one curvature for all pairs
(``bend`` = 4·γ·quadratic) the field is

    f_ik = b_ik − bend · Σ_{l≠k} (G_kl − w_i B_ik B_il) B_il,    G = Σ_j w_j B_j B_jᵀ,

where the subtracted term leaves the own row out; forgetting it makes the energy rise and never
settle. Other energies compare the loss with and without the flip, over all partners of the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.compile import njit
from .._internal.types import Floats, Rng
from ..energies import Energy
from ..errors import InvalidInput
from .base import Minimum, Solver, SweepingSolver, random_means
from .linearized import Linearized
from .problem import DenseProblem, Problem, SparseProblem
from .readout import PolishReadout, Readout, VaryingReadout, pull_sums
from .sample import Targets

__all__ = ["Coordinate", "Polished"]

# Settings that say what is solved, which a first solver does not decide.
SHARED = {"targets", "rounding", "n_anchors", "anchors", "curvature", "merge", "sums", "balance"}


@dataclass(repr=False, kw_only=True)
class Coordinate(SweepingSolver):
    """Sweeps over all bits until none moves, at most ``n_sweeps``."""

    def minimize(self, problem: Problem, rng: Rng, start: Floats | None = None) -> Minimum:
        start = random_means(problem, rng) if start is None else start
        bits = np.where(start > 0, 1.0, -1.0)
        energies = [problem.energy(bits)]
        for _ in range(self.n_sweeps):
            changed = _sweep(problem, bits)
            energies.append(problem.energy(bits))
            if not changed:
                break
        return Minimum(bits, energies)

    def readout(self, problem: DenseProblem, targets: Targets, minimum: Minimum) -> Readout:
        return polish_readout(problem, targets, minimum.means)


@dataclass(repr=False, kw_only=True)
class Polished(SweepingSolver):
    """Another solver's answer, rounded and improved: coordinate descent started where ``first`` ends.

    ``first`` None is five sweeps of `Linearized`. Where few pairs are listed, many codes are equally good,
    and sweeps of means find better ones than flips alone.
    """

    first: Solver | None = None

    def check(self) -> None:
        super().check()
        if self.first is None:
            return
        if not isinstance(self.first, Solver):
            raise InvalidInput(
                f"first is {self.first!r}", "None or a kinhash Solver", "Pass an object with its settings"
            )
        self.first.check()
        given, plain = self.first.get_params(deep=False), type(self.first)().get_params(deep=False)
        for name in sorted(SHARED & given.keys()):
            if not np.array_equal(given[name], plain[name]):
                raise InvalidInput(
                    f"{name} was set on the first solver of a polished one",
                    "a first solver without it: sample, targets and weights are those of the polished one",
                    "Set it there, or leave it out",
                )

    def refuse(self, energy: Energy, n_bits: int) -> None:
        if self.first is not None:
            self.first.refuse(energy, n_bits)

    def minimize(self, problem: Problem, rng: Rng, start: Floats | None = None) -> Minimum:
        first = Linearized(n_sweeps=5) if self.first is None else self.first
        begin = first.minimize(problem, rng, start)
        end = Coordinate(n_sweeps=self.n_sweeps).minimize(problem, rng, begin.means)
        return Minimum(end.means, begin.energies + end.energies, begin.divergences)

    def readout(self, problem: DenseProblem, targets: Targets, minimum: Minimum) -> Readout:
        return polish_readout(problem, targets, minimum.means)


def polish_readout(problem: DenseProblem, targets: Targets, q: Floats) -> Readout:
    """Coordinate descent on a row's own bits; where pairs differ in curvature, a few linear systems."""
    common = problem.shared(q)
    if common is None:
        return VaryingReadout(problem.law, targets, q, problem.weights, 2.0, "symmetric", problem.curvature)
    matrix, constant = pull_sums(problem.law, targets, q, problem.weights).folded()
    gram = (q * problem.weights[:, None]).T @ q
    polish = PolishReadout(matrix, constant, gram, common[1])
    fields = polish.settle(problem.pull(np.arange(problem.n_entries), q))
    return PolishReadout(matrix, constant, gram, common[1], float(np.abs(fields).mean()) or 1.0)


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
