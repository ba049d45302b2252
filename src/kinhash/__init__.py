"""kinhash: short binary codes that know your labels, and exact search among them.

    from kinhash import EnergyHasher

    hasher = EnergyHasher(n_bits=64).fit(X, y)   # y: classes, tags or an indicator matrix
    codes = hasher.encode(X_new)                 # (n, 8) bytes, np.packbits order

Public names are imported on first use, so ``import kinhash`` costs nothing.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "EMBRE",
    "EMKSH",
    "EMLFH",
    "EMSPLH",
    "BitLayout",
    "Codes",
    "EMExpH",
    "EnergyHasher",
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
    "explore",
    "explorer",
    "index",
    "load",
    "load_codes",
    "metrics",
    "models",
    "on_gpu",
    "pack_bits",
    "plot",
    "save_codes",
    "solvers",
    "supervision",
    "unpack_bits",
]
