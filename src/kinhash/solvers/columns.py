"""Energies without a quadratic term, solved by columns: an eigenvector, the same for every bit.

With ``quadratic = 0`` the bits do not meet, and every column of Φ solves the same problem with ``A = S``
(zero diagonal) and ``b = 0``. The linear system has no other solution than zero, so take the unit vector
that violates it least: the eigenvector of the largest eigenvalue of S. The paper's printed form
(with A⁻¹) can pick the most negative one instead, and does for seven or more balanced classes; it is
kept as ``which="literal"``.

Rows of one group share their entry, so with n_g rows in group g the eigenproblem is
``N^½ S N^½ − diag(s)``, s = similarity of a row with itself, one row and column per group.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from .._internal.types import Floats, Matrix, Rng
from .._internal.validation import check_choice
from ..energies import Energy
from ..errors import InvalidInput, KinhashWarning
from .base import Minimum, Solver
from .problem import DenseProblem, Problem, SparseProblem
from .readout import LinearReadout, Readout
from .sample import AnchorSums, Targets
from .sigmoid_line import line_slope

__all__ = ["Columns", "Eigenvector", "leading_eigenvector"]

WHICH = ("largest", "literal")
METHODS = ("auto", "dense", "lanczos")
TIE = 1e-8  # eigenvalues this close (relative) are one eigenspace


@dataclass(frozen=True)
class Eigenvector:
    """Entries (m,) of the chosen eigenvector, largest in size = 1 and positive, and its eigenvalue."""

    entries: Floats
    value: float


@dataclass(frozen=True)
class EigenMinimum(Minimum):
    """The same means for every bit, and the eigenvector they come from."""

    eigenvector: Eigenvector | None = None


@dataclass(repr=False, kw_only=True)
class Columns(Solver):
    """One eigenvector for all bits. ``method`` is "dense", "lanczos" or "auto"."""

    clip: float = 2.0
    which: str = "largest"
    method: str = "auto"

    def check(self) -> None:
        super().check()
        line_slope(self.clip)
        check_choice("which", self.which, WHICH)
        check_choice("method", self.method, METHODS)

    def refuse(self, energy: Energy, n_bits: int) -> None:
        if energy.shared_quadratic(n_bits) != 0:
            raise InvalidInput(
                f"The solver by columns was asked to solve {energy!r}",
                "an energy without a quadratic term, such as splh",
                "Use solver='linearized', 'coordinate' or 'spectral'",
            )
        if n_bits > 1:
            warnings.warn(
                f"An energy without a quadratic term has one bit: all {n_bits} bits will be the same. "
                "Use n_bits=1, or another energy.",
                KinhashWarning,
                stacklevel=2,
            )

    def minimize(self, problem: Problem, rng: Rng, start: Floats | None = None) -> Minimum:
        found = self.eigenvector(problem, rng)
        gain, shift = self._stretch(found)
        means = np.tile(np.tanh((gain * found.entries - shift) / 2)[:, None], (1, problem.n_bits))
        return EigenMinimum(means, [problem.energy(means)], eigenvector=found)

    def readout(self, problem: DenseProblem, targets: Targets, minimum: Minimum) -> Readout:
        """Rows outside the sample follow by one power step: u_x = Σ_j w_j T_xj u_j / eigenvalue."""
        assert isinstance(minimum, EigenMinimum)
        found = minimum.eigenvector
        assert found is not None
        gain, shift = self._stretch(found)
        step = (problem.weights * found.entries / found.value * gain)[:, None]
        readout = LinearReadout.of(AnchorSums.of(targets, np.tile(step, (1, problem.n_bits))), 2.0)
        return replace(readout, constant=readout.constant + shift) if shift else readout

    def _stretch(self, found: Eigenvector) -> tuple[float, float]:
        """Arguments of the sigmoid are ``gain · entry − shift``: the largest entry in size is at ±c.

        To the paper's letter the smallest entry is at −c and the largest at c, if they differ.
        """
        low, high = float(found.entries.min()), float(found.entries.max())
        if self.which != "literal" or high - low <= TIE * max(abs(low), abs(high)):
            return self.clip, 0.0
        return 2 * self.clip / (high - low), self.clip * (high + low) / (high - low)

    def eigenvector(self, problem: Problem, rng: Rng) -> Eigenvector:
        """The eigenvector of the problem's targets."""
        matrix: Matrix
        if isinstance(problem, SparseProblem):
            matrix = problem.targets
        else:
            assert isinstance(problem, DenseProblem)
            root = np.sqrt(problem.weights)
            matrix = problem.targets * root[:, None] * root
            matrix[np.diag_indices_from(matrix)] -= np.diag(problem.targets)
        return leading_eigenvector(matrix, problem.weights, rng, self.which, self.method, self.clip)


def leading_eigenvector(
    matrix: Matrix,
    weights: Floats,
    rng: Rng,
    which: str = "largest",
    method: str = "auto",
    clip: float = 2.0,
) -> Eigenvector:
    """Eigenvector of a symmetric (m, m) matrix, dense or sparse; an entry stands for ``weights`` rows.

    Where several eigenvalues tie (balanced classes), a seeded vector is projected onto their common
    eigenspace, so the answer does not depend on the library.
    """
    m = matrix.shape[0]
    seed = rng.standard_normal(m)
    if method == "lanczos" or (method == "auto" and m > 2000 and which == "largest"):
        from scipy.sparse.linalg import eigsh

        count = min(8, m - 1)
        values, vectors = eigsh(matrix, k=count, which="LA", v0=seed / np.linalg.norm(seed))
    else:
        values, vectors = np.linalg.eigh(matrix.toarray() if sp.issparse(matrix) else matrix)
    chosen = values.max()
    if which == "literal":
        # λ is the largest row sum over the n rows, divided by c; see the module's docstring.
        root = np.sqrt(weights)
        lam = float((np.abs(matrix) @ root / root).max()) / clip
        with np.errstate(divide="ignore"):
            chosen = values[np.argmin(np.abs(lam / values - 2 * line_slope(clip)))]
    tied = np.abs(values - chosen) <= TIE * max(1.0, float(np.abs(values).max()))
    basis = vectors[:, tied]
    entries = basis @ (basis.T @ seed) / np.sqrt(weights)
    top = entries[np.abs(entries).argmax()]
    return Eigenvector(entries / (top if top else 1.0), float(chosen))
