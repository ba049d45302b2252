"""Energies: what a pair of codes costs, given how similar the pair is.

Add one: write ``energies/foo.py`` with a subclass of `Energy` and put a row here.
"""

from __future__ import annotations

from .._table import Table
from ._base import Energy, PairTerms

__all__ = ["ENERGIES", "Energy", "PairTerms"]

ENERGIES = Table(
    "energy",
    {
        "bre": "kinhash.energies.bre:BRE",
        "exph": "kinhash.energies.exph:ExpH",
        "ksh": "kinhash.energies.ksh:KSH",
        "lfh": "kinhash.energies.lfh:LFH",
        "splh": "kinhash.energies.splh:SPLH",
    },
    entry_points="kinhash.energies",
)
