"""Energies: what a pair of codes costs, given how similar the pair is.

Add one: write ``energies/foo.py`` with a subclass of `Energy` and put a row here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._table import Table
from ._base import Energy, PairTerms

if TYPE_CHECKING:
    from .bre import BRE as BRE
    from .exph import ExpH as ExpH
    from .ksh import KSH as KSH
    from .lfh import LFH as LFH
    from .splh import SPLH as SPLH

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


def __getattr__(name: str) -> Any:
    return ENERGIES.class_named(name, __name__)
