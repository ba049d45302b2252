"""Inference: from an energy and who is kin to means of bits, by several solvers.

Knows no features and no maps. Add a solver: write ``inference/foo.py`` with a subclass of `Solver` and
put a row here.
"""

from __future__ import annotations

from .._table import Table
from ._base import Solution, Solver
from .targets import TARGETS

__all__ = ["SOLVERS", "TARGETS", "Solution", "Solver"]

SOLVERS = Table(
    "solver",
    {
        "columns": "kinhash.inference.columns:Columns",
        "coordinate": "kinhash.inference.coordinate:Coordinate",
        "linearised": "kinhash.inference.linearised:Linearised",
        "mean_field": "kinhash.inference.mean_field:MeanField",
        "spectral": "kinhash.inference.spectral:Spectral",
    },
)
