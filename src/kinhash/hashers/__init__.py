"""Hashers: the contract all of them keep, `EnergyHasher`, the paper's methods, learning from blocks."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

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
]
