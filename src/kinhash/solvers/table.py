"""Table of this room: names, and where each is defined."""

from __future__ import annotations

from .._internal.registry import Table

__all__ = ["SOLVERS"]

SOLVERS = Table(
    "solver",
    {
        "columns": "kinhash.solvers.columns:Columns",
        "coordinate": "kinhash.solvers.coordinate:Coordinate",
        "linearized": "kinhash.solvers.linearized:Linearized",
        "mean_field": "kinhash.solvers.mean_field:MeanField",
        "polished": "kinhash.solvers.coordinate:Polished",
        "spectral": "kinhash.solvers.spectral:Spectral",
    },
    entry_points="kinhash.solvers",
)
