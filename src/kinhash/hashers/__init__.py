"""Hashers: the contract all of them keep, `EnergyHasher`, the paper's methods, learning from blocks."""

from __future__ import annotations

from .base import Explanation, Hasher
from .energy import EnergyHasher
from .paper import EMBRE, EMKSH, EMLFH, EMSPLH, EMExpH, PaperMethod
from .report import FitReport
from .streaming import StreamingHasher

__all__ = [
    "EMBRE",
    "EMKSH",
    "EMLFH",
    "EMSPLH",
    "EMExpH",
    "EnergyHasher",
    "Explanation",
    "FitReport",
    "Hasher",
    "PaperMethod",
    "StreamingHasher",
]
