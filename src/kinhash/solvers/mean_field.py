"""Mean field as it stands: ``φ_i = σ(A_i q_i + b_i)``, iterated.

In sequence, each bit's update minimises KL(q ‖ p) with the others fixed, so the divergence never rises.
All rows in parallel it may rise, and often oscillates: the contrast the paper starts from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..errors import UnknownName
from ._base import Solution, Solver, random_means
from .linear_systems import sigmoid
from .problem import Problem

__all__ = ["MeanField"]

Floats = npt.NDArray[np.float64]
ORDERS = ("sequential", "parallel")


@dataclass(frozen=True)
class MeanField(Solver):
    """Fixed-point sweeps; ``order`` is "sequential" (bit by bit) or "parallel" (everything at once)."""

    n_sweeps: int = 10
    order: str = "sequential"
    extension: ClassVar[str] = "solve"

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise UnknownName.among("order of updates", self.order, ORDERS)

    def solve(self, problem: Problem, rng: np.random.Generator, start: Floats | None = None) -> Solution:
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
        return Solution(q, energies, divergences)


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
