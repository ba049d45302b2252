"""Solvers: from an energy and who is kin to codes of a sample, and a readout for everybody else.

They know no features. Add one: write ``solvers/foo.py`` with a subclass of `Solver` (``minimise`` and
``readout``) and put a row here; other packages use the entry point group "kinhash.solvers".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._table import Table
from .base import Solver, SweepingSolver
from .solution import Minimum, Solution
from .targets import TARGETS

if TYPE_CHECKING:
    from .columns import Columns as Columns
    from .coordinate import Coordinate as Coordinate
    from .coordinate import Polished as Polished
    from .linearised import Linearised as Linearised
    from .mean_field import MeanField as MeanField
    from .spectral import Spectral as Spectral

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


def __getattr__(name: str) -> Any:
    return SOLVERS.class_named(name, __name__)
