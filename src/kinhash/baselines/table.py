"""Table of this room: names, and where each is defined."""

from __future__ import annotations

from .._internal.registry import Table

__all__ = ["BASELINES"]

BASELINES = Table(
    "baseline",
    {
        "ITQ": "kinhash.baselines.itq:ITQ",
        "LSH": "kinhash.baselines.lsh:LSH",
        "SignBits": "kinhash.baselines.sign_bits:SignBits",
    },
)
