"""`load` opens any kinhash file: a model, codes or an index."""

from __future__ import annotations

import os
from typing import Any

from .codes import container_kind, load_codes, save_codes
from .errors import FileProblem

__all__ = ["load", "load_codes", "save_codes"]


def load(path: str | os.PathLike[str]) -> Any:
    """Open any file that kinhash wrote: a fitted hasher, a `Codes` value, or a `HammingIndex`.

    The type of the result depends on the file. A model encodes exactly as it did when it was saved.
    """
    kind = container_kind(path)
    if kind == "model":
        from .hashers import load_model

        return load_model(path)
    if kind == "codes":
        return load_codes(path)
    if kind == "index":
        from .index import HammingIndex

        return HammingIndex.load(path)
    raise FileProblem(
        f"{os.fspath(path)} is a kinhash file of kind {kind[:40]!r}",
        "a model, codes or an index",
        "Open it with the version that wrote it",
    )
