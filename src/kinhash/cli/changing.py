"""An index file that a command changes: read, changed and replaced by one process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from .._internal.files import keeping_others_out
from .._internal.types import Array
from ..codes import Codes
from ..index import HammingIndex
from .files import open_codes

__all__ = ["changing", "codes_for", "ids_as_in"]


@contextmanager
def changing(path: str, output: str | None) -> Iterator[HammingIndex]:
    """The index of a file, saved once the block ends without an error: in its place, or as ``output``.

    Other commands that change the file wait meanwhile. Peak memory: the index, twice.
    """
    with keeping_others_out(path):
        index = HammingIndex.load(path, mmap=False)  # a mapped file cannot be replaced on Windows
        yield index
        index.save(output or path)


def codes_for(index: HammingIndex, path: str) -> Codes:
    """Codes from a file; bare bytes of a ``.npy`` count as having the length and fields of the index."""
    if not path.lower().endswith(".npy"):
        return open_codes(path)
    return replace(open_codes(path, index.n_bits), fields=index.fields)


def ids_as_in(index: HammingIndex, ids: Array | None) -> Any:
    """Ids from a text file as strings where the index has strings: a name may be all digits."""
    if ids is None or not len(index) or index.ids.dtype.kind == "i" or ids.dtype.kind not in "iu":
        return ids
    return list(map(str, ids.tolist()))
