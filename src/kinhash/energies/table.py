"""Table of this room: names, and where each is defined."""

from __future__ import annotations

from .._internal.registry import Table

__all__ = ["ENERGIES"]

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
