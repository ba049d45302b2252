"""kinhash: short binary codes that know your labels, and exact search among them.

    from kinhash import EnergyHasher

    hasher = EnergyHasher(n_bits=64).fit(X, y)   # y: classes, tags or an indicator matrix; or leave it out
    codes = hasher.encode(X_new)                 # (n, 8) bytes, np.packbits order

Public names are imported on first use, so ``import kinhash`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .codes import Codes as Codes
    from .codes import load_codes as load_codes
    from .codes import pack_bits as pack_bits
    from .codes import save_codes as save_codes
    from .codes import unpack_bits as unpack_bits
    from .errors import KinhashError as KinhashError
    from .errors import KinhashWarning as KinhashWarning
    from .explorer import explore as explore
    from .files import load as load
    from .gpu import on_gpu as on_gpu
    from .hasher import EnergyHasher as EnergyHasher
    from .index import HammingIndex as HammingIndex
    from .paper import EMBRE as EMBRE
    from .paper import EMKSH as EMKSH
    from .paper import EMLFH as EMLFH
    from .paper import EMSPLH as EMSPLH
    from .paper import EMExpH as EMExpH

__version__ = "0.1.0"

ROOMS = ("codes", "data", "engines", "errors", "explorer", "index", "labels", "metrics", "models", "paper")
NAMES = {
    "EMBRE": "paper",
    "EMExpH": "paper",
    "EMKSH": "paper",
    "EMLFH": "paper",
    "EMSPLH": "paper",
    "Codes": "codes",
    "EnergyHasher": "hasher",
    "HammingIndex": "index",
    "KinhashError": "errors",
    "KinhashWarning": "errors",
    "explore": "explorer",
    "load": "files",
    "load_codes": "codes",
    "on_gpu": "gpu",
    "pack_bits": "codes",
    "save_codes": "codes",
    "unpack_bits": "codes",
}

__all__ = ["__version__", *NAMES, *ROOMS]


def __getattr__(name: str) -> Any:
    """Import a public name, or a room, at its first use."""
    if name in NAMES:
        return getattr(import_module(f".{NAMES[name]}", __name__), name)
    if name in ROOMS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
