"""The silhouette of a solver: a problem goes in, means of bits and a readout come out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from .problem import Problem

__all__ = ["Solution", "Solver"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """Means q (m, d) of the sample's bits, the energy after each sweep, and the KL divergence if asked for.

    The divergence leaves out ln Z, which no q can change.
    """

    means: Floats
    energies: list[float] = field(default_factory=list)
    divergences: list[float] = field(default_factory=list)


class Solver(ABC):
    """One way to lower the energy. ``extension`` names how other rows get their scores."""

    extension: ClassVar[str]

    @abstractmethod
    def solve(self, problem: Problem, rng: np.random.Generator, start: Floats | None = None) -> Solution:
        """Lower the energy from ``start`` (m, d), or from seeded random means."""


def random_means(problem: Problem, rng: np.random.Generator) -> Floats:
    """φ uniform on (0, 1), so q uniform on (−1, 1)."""
    return rng.uniform(-1.0, 1.0, (problem.n_entries, problem.n_bits))
