"""kinhash: short binary codes that know your labels, and exact search among them.

    from kinhash import EnergyHasher

    hasher = EnergyHasher(n_bits=64).fit(X, y)   # y: classes, tags or an indicator matrix
    codes = hasher.encode(X_new)                 # (n, 8) bytes, np.packbits order

Public names are imported on first use, so ``import kinhash`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# One row per public name: where it lives.
_HOMES = {
    "Codes": "codes",
    "EMBRE": "paper_methods",
    "EMExpH": "paper_methods",
    "EMKSH": "paper_methods",
    "EMLFH": "paper_methods",
    "EMSPLH": "paper_methods",
    "EnergyHasher": "energy_hasher",
    "HammingIndex": "index",
    "KinhashError": "errors",
    "KinhashWarning": "errors",
    "advise": "advice",
    "load": "model_file",
    "load_codes": "model_file",
    "pack_bits": "codes",
    "save_codes": "model_file",
    "unpack_bits": "codes",
}
_ROOMS = [
    "baselines",
    "codes",
    "datasets",
    "energies",
    "engines",
    "errors",
    "evaluation",
    "index",
    "inference",
    "maps",
    "metrics",
    "protocols",
]

__all__ = sorted([*_HOMES, *_ROOMS, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'kinhash' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
