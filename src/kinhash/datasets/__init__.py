"""Readers of your own files: `open_matrix` for features and `open_labels` for labels, in blocks.

They read .npy, .npz, CSV, Parquet and SVMlight files. The data sets of papers are in the package
``kinhash-bench``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._labels_file import open_labels
    from ._matrix import Matrix, open_matrix

__all__ = ["Matrix", "open_labels", "open_matrix"]

_LATER = {"Matrix": "_matrix", "open_labels": "_labels_file", "open_matrix": "_matrix"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
