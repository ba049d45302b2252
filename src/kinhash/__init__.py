"""kinhash: short binary codes that know your labels, and exact search among them.

    from kinhash import EnergyHasher

    hasher = EnergyHasher(n_bits=64).fit(X, y)   # y: classes, tags or an indicator matrix
    codes = hasher.encode(X_new)                 # (n, 8) bytes, np.packbits order

Public names are imported on first use, so ``import kinhash`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see; at run time names are looked up when first used
    from . import (
        baselines,
        codes,
        datasets,
        encoders,
        energies,
        engines,
        errors,
        explorer,
        index,
        metrics,
        plot,
        solvers,
    )
    from .advice import advise
    from .codes import Codes, pack_bits, unpack_bits
    from .errors import KinhashError, KinhashWarning
    from .explorer import explore
    from .fields import Fields
    from .files import load, load_codes, save_codes
    from .gpu.use import on_gpu
    from .hashers import EMBRE, EMKSH, EMLFH, EMSPLH, EMExpH, EnergyHasher
    from .index import HammingIndex

__version__ = "0.1.0"

__all__ = [
    "EMBRE",
    "EMKSH",
    "EMLFH",
    "EMSPLH",
    "Codes",
    "EMExpH",
    "EnergyHasher",
    "Fields",
    "HammingIndex",
    "KinhashError",
    "KinhashWarning",
    "__version__",
    "advise",
    "baselines",
    "codes",
    "datasets",
    "encoders",
    "energies",
    "engines",
    "errors",
    "evaluation",
    "explore",
    "explorer",
    "index",
    "load",
    "load_codes",
    "metrics",
    "on_gpu",
    "pack_bits",
    "plot",
    "save_codes",
    "solvers",
    "unpack_bits",
]

# Where the names that are no rooms live.
_HOMES = {
    "Codes": "codes",
    "Fields": "fields",
    "EMBRE": "hashers",
    "EMExpH": "hashers",
    "EMKSH": "hashers",
    "EMLFH": "hashers",
    "EMSPLH": "hashers",
    "EnergyHasher": "hashers",
    "HammingIndex": "index",
    "KinhashError": "errors",
    "KinhashWarning": "errors",
    "advise": "advice",
    "explore": "explorer",
    "load": "files",
    "load_codes": "codes_file",
    "on_gpu": "gpu.use",
    "pack_bits": "codes",
    "save_codes": "codes_file",
    "unpack_bits": "codes",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module 'kinhash' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
