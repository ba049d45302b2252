"""Real data sets, read from files you have, and readers for files of your own.

``load(name)`` gives a ``Dataset``; ``check()`` says what is there and what is missing; ``gist``
describes pictures; ``open_matrix`` and ``open_labels`` read a user's own files, in blocks.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._base import Dataset, Facts, Source, Wanted
from ._home import DATASETS, Status, check, data_folder, load

if TYPE_CHECKING:
    from ._compact_write import write_compact
    from ._gist import gist
    from ._labels_file import open_labels
    from ._matrix import Matrix, open_matrix
    from ._prepare import prepare
    from .compact import read_compact
    from .mulan import read_mulan

__all__ = [
    "DATASETS",
    "Dataset",
    "Facts",
    "Matrix",
    "Source",
    "Status",
    "Wanted",
    "check",
    "data_folder",
    "gist",
    "load",
    "open_labels",
    "open_matrix",
    "prepare",
    "read_compact",
    "read_mulan",
    "write_compact",
]

_LATER = {
    "Matrix": "_matrix",
    "gist": "_gist",
    "open_labels": "_labels_file",
    "open_matrix": "_matrix",
    "prepare": "_prepare",
    "read_compact": "compact",
    "read_mulan": "mulan",
    "write_compact": "_compact_write",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
