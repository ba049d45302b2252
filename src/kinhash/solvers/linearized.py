"""The paper's solver: replace the sigmoid by a line, and a sweep becomes linear systems.

Rows are solved in small blocks one after the other, always with the newest means; Algorithm 1
read to the letter solves all rows at once, and collapses: every row sees the same b ≈ −dΣq.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._internal.numerics import sigmoid
from .._internal.types import Floats, Ints, Rng
from .._internal.validation import check_choice
from .base import Minimum, SweepingSolver, random_means
from .linear_systems import RENORMALIZE, renormalize, solve_each, solve_near
from .problem import DenseProblem, Problem
from .readout import Readout, solve_readout
from .sample import Targets
from .sigmoid_line import line_slope

__all__ = ["Linearized"]

BLOCKS = ("sequential", "at_once")


@dataclass(repr=False, kw_only=True)
class Linearized(SweepingSolver):
    """Sweeps of linear systems.

    ``blocks`` is "sequential" (blocks of 5 % of the entries) or "at_once"; ``renormalize`` is "row",
    "symmetric" or "none". A sweep costs O(m² d + m d²) and holds O(m d) beside the problem; where the
    energy gives every pair its own curvature, O(m² d²).
    """

    clip: float = 2.0
    renormalize: str = "row"
    blocks: str = "sequential"

    def check(self) -> None:
        super().check()
        line_slope(self.clip)
        check_choice("renormalize", self.renormalize, RENORMALIZE)
        check_choice("blocks", self.blocks, BLOCKS)

    def minimize(self, problem: Problem, rng: Rng, start: Floats | None = None) -> Minimum:
        q = random_means(problem, rng) if start is None else start.copy()
        slope = line_slope(self.clip)
        energies = []
        w = problem.weights[:, None]
        for _ in range(self.n_sweeps):
            gram = (w * q).T @ q
            for rows in self._row_blocks(problem.n_entries, rng):
                v = _solve_rows(problem, rows, q, gram, self.clip, slope)
                old, new = q[rows], 2 * sigmoid(renormalize(v, self.clip, self.renormalize)) - 1
                gram = gram + (w[rows] * new).T @ new - (w[rows] * old).T @ old
                q[rows] = new
            energies.append(problem.energy(q))
        return Minimum(q, energies)

    def readout(self, problem: DenseProblem, targets: Targets, minimum: Minimum) -> Readout:
        return solve_readout(problem, targets, minimum.means, self.clip, self.renormalize)

    def _row_blocks(self, n: int, rng: Rng) -> list[Ints]:
        if self.blocks == "at_once":
            return [np.arange(n)]
        return np.array_split(rng.permutation(n), min(n, max(20, math.ceil(n / 256))))


def _solve_rows(problem: Problem, rows: Ints, q: Floats, gram: Floats, clip: float, slope: float) -> Floats:
    common = problem.shared(q, gram)
    if common is None or problem.n_bits < 8 or len(rows) < 4:
        system = problem.system(rows, q)
        return solve_each(system.A, system.b, clip, slope)
    A, factor = common
    return solve_near(A, q[rows], factor * problem.weights[rows], problem.pull(rows, q), clip, slope)
