"""Data sets of papers, read from files you have.

``load(name)`` gives a `Dataset`; ``check()`` says what is there and what is missing; ``gist`` describes
pictures.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._base import Dataset, Facts, Source, Wanted
from ._home import DATASETS, Status, check, data_folder, load

if TYPE_CHECKING:
    from ._compact_write import write_compact
    from ._gist import gist
    from ._prepare import prepare
    from .compact import read_compact
    from .mulan import read_mulan

__all__ = [
    "DATASETS",
    "Dataset",
    "Facts",
    "Source",
    "Status",
    "Wanted",
    "check",
    "data_folder",
    "gist",
    "load",
    "prepare",
    "read_compact",
    "read_mulan",
    "write_compact",
]

_LATER = {
    "gist": "_gist",
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
