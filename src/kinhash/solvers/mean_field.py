"""Mean field without linearization: ``φ_i = σ(A_i q_i + b_i)``, iterated.

In sequence, each bit's update minimizes KL(q ‖ p) with the others fixed, so the divergence never rises.
All rows in parallel it may rise, and often oscillates: the contrast the paper starts from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.numerics import sigmoid
from .._internal.types import Floats, Rng
from .._internal.validation import check_choice
from .base import Minimum, SweepingSolver, random_means
from .problem import DenseProblem, Problem
from .readout import Readout, solve_readout
from .sample import Targets

__all__ = ["MeanField"]

ORDERS = ("sequential", "parallel")


@dataclass(repr=False, kw_only=True)
class MeanField(SweepingSolver):
    """Fixed-point sweeps; ``order`` is "sequential" (bit by bit) or "parallel" (everything at once)."""

    order: str = "sequential"

    def check(self) -> None:
        super().check()
        check_choice("order", self.order, ORDERS)

    def minimize(self, problem: Problem, rng: Rng, start: Floats | None = None) -> Minimum:
        q = random_means(problem, rng) if start is None else start.copy()
        energies, divergences = [], []
        everyone = np.arange(problem.n_entries)
        for _ in range(self.n_sweeps):
            if self.order == "parallel":
                system = problem.system(everyone, q)
                argument = np.einsum("ikl,il->ik", system.A, q) + system.b
                q = 2 * sigmoid(argument) - 1
            else:
                for i in rng.permutation(problem.n_entries):
                    _update_row(problem, q, i)
            energies.append(problem.energy(q))
            divergences.append(energies[-1] + _negative_entropy(q, problem.weights))
        return Minimum(q, energies, divergences)

    def readout(self, problem: DenseProblem, targets: Targets, minimum: Minimum) -> Readout:
        return solve_readout(problem, targets, minimum.means, 2.0, "symmetric")


def _update_row(problem: Problem, q: Floats, i: int) -> None:
    """Bits of one row in turn; A_i and b_i do not contain q_i, so one system serves them all."""
    system = problem.system(np.array([i]), q)
    A, b = system.A[0], system.b[0]
    for k in range(problem.n_bits):
        q[i, k] = np.tanh(0.5 * (A[k] @ q[i] + b[k]))


def _negative_entropy(q: Floats, weights: Floats) -> float:
    """Σ φ ln φ + (1 − φ) ln(1 − φ), with 0 ln 0 = 0."""
    phi = np.clip((1 + q) / 2, 1e-300, 1.0)
    rest = np.clip((1 - q) / 2, 1e-300, 1.0)
    return float((weights[:, None] * (phi * np.log(phi) + rest * np.log(rest))).sum())
