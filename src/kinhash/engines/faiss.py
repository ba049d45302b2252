"""FAISS: one file with ``IndexBinaryFlat``, which scans whole bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._internal.files import replace_file
from ..codes import Codes
from .base import Engine, EngineFacts, Found, Listed, Place, Reader, already_there, driver, with_ties

__all__ = ["Faiss"]

_faiss = partial(driver, "faiss", "faiss")


class Faiss(Engine):
    """A file for ``faiss.read_index_binary``. It knows whole bytes only, and no model.

    Equal distances come in the order of insertion, which is that of the ids; FAISS does not promise it, so
    we fetch all rows tied with the last and sort.
    """

    text_ids: ClassVar[bool] = False

    def problems(self) -> tuple[type[Exception], ...]:
        _faiss()
        return (RuntimeError,)

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        if os.path.exists(place.target) and not overwrite:
            raise already_there(place, "file")
        content = _faiss().serialize_index_binary(_index_of(codes))
        replace_file(place.target, [memoryview(content)])

    @contextmanager
    def open(self, place: Place) -> Iterator[Reader]:
        index = _faiss().deserialize_index_binary(np.fromfile(place.target, np.uint8))
        n_rows = int(index.ntotal)

        def nearest(code: Codes, k: int) -> Found:
            def fetch(wanted: int) -> Listed:
                distances, ids = index.search(code.packed, wanted)
                return ids[0], distances[0]

            return with_ties(fetch, k, n_rows)

        yield Reader(EngineFacts(n_rows, index.d, whole_bytes=True), nearest)

    def statement(self, code: Codes, k: int, place: Place) -> str:
        return (
            "import faiss, numpy as np\n"
            f"index = faiss.read_index_binary({place.target!r})\n"
            f"query = np.frombuffer(bytes.fromhex({code.packed.tobytes().hex()!r}), np.uint8)\n"
            f"distances, ids = index.search(query[None], {k})"
        )


def _index_of(codes: Codes) -> Any:
    """``IndexBinaryFlat``, inside ``IndexBinaryIDMap2`` if the ids are not 0, 1, 2, ..."""
    packed, ids = codes.packed, codes.ids
    flat = _faiss().IndexBinaryFlat(8 * packed.shape[1])
    if ids is None or np.array_equal(ids, np.arange(len(ids))):
        flat.add(packed)
        return flat
    mapped = _faiss().IndexBinaryIDMap2(flat)
    mapped.add_with_ids(packed, ids)
    mapped.own_fields = True
    flat.this.disown()
    return mapped
