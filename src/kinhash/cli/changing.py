"""An index file that a command changes: read, changed and replaced by one process at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from .._internal.files import keeping_others_out
from ..codes import Codes
from ..index import HammingIndex
from .files import open_codes

if TYPE_CHECKING:
    from ..datasets import IdKind

__all__ = ["changing", "codes_for", "kind_of_ids"]


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


def kind_of_ids(index: HammingIndex) -> IdKind | None:
    """As what a file of ids is read for this index; None takes what the file holds."""
    if not len(index):
        return None
    return "number" if index.ids.dtype.kind == "i" else "text"
