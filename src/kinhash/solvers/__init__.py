"""Solvers: from an energy and who is kin to codes of a sample, and a readout for everybody else.

They know no features. Add one: write ``solvers/foo.py`` with a subclass of `Solver` (``minimise`` and
``readout``) and put a row here; other packages use the entry point group "kinhash.solvers".
"""

from __future__ import annotations

from .._table import Table
from .base import Solver, SweepingSolver
from .solution import Minimum, Solution
from .targets import TARGETS

__all__ = ["SOLVERS", "TARGETS", "Minimum", "Solution", "Solver", "SweepingSolver"]

SOLVERS = Table(
    "solver",
    {
        "columns": "kinhash.solvers.columns:Columns",
        "coordinate": "kinhash.solvers.coordinate:Coordinate",
        "linearised": "kinhash.solvers.linearised:Linearised",
        "mean_field": "kinhash.solvers.mean_field:MeanField",
        "polished": "kinhash.solvers.coordinate:Polished",
        "spectral": "kinhash.solvers.spectral:Spectral",
    },
    entry_points="kinhash.solvers",
)
