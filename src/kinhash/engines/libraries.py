"""Engines that are libraries: FAISS and LanceDB. They order by distance alone, so ties are finished here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._internal.files import replace_file
from ..codes import Codes
from . import base
from .base import Engine, EngineFacts, Found, Place, Reader, already_there, driver, not_there

Listed = tuple[npt.ArrayLike, npt.ArrayLike]  # ids and distances as a library gives them

_faiss = partial(driver, "faiss", "faiss")
_lance = partial(driver, "lancedb", "lance")


def with_ties(fetch: Callable[[int], Listed], k: int, n_rows: int) -> Found:
    """The ``k`` nearest by (distance, id) from an engine that orders by distance alone.

    ``fetch(m)`` gives ids and ascending distances of some ``m`` nearest rows. We ask for more until a
    distance beyond the k-th appears: then all rows tied with the k-th are there, and the smallest ids win.
    """
    wanted = min(2 * k + 16, n_rows)
    while True:
        ids, distances = fetch(wanted)
        distances = np.asarray(distances)
        if wanted >= n_rows or distances[-1] > distances[k - 1]:
            break
        wanted = min(4 * wanted, n_rows)
    ids, distances = base.id_array(ids), np.rint(distances).astype(np.uint16)
    keys = list(zip(distances.tolist(), ids.tolist(), strict=True))
    order = sorted(range(len(keys)), key=keys.__getitem__)[:k]
    return ids[order], distances[order]


class Faiss(Engine):
    """A file with ``IndexBinaryFlat`` for ``faiss.read_index_binary``. It knows whole bytes only, and no model."""

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


class Lance(Engine):
    """A table ``id``, ``code`` (fixed-size list of uint8) in a folder or an object store; the note is in its schema.

    A table is a chain of versions, and a failed write commits none.
    """

    file: ClassVar[bool] = False

    def problems(self) -> tuple[type[Exception], ...]:
        _lance()
        return (RuntimeError, ValueError)

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        pa = driver("pyarrow", "lance")
        packed = codes.packed
        lists = pa.FixedSizeListArray.from_arrays(pa.array(packed.ravel()), packed.shape[1])
        rows = pa.table({"id": pa.array(base.plain_ids(codes)), "code": lists})
        rows = rows.replace_schema_metadata({"kinhash": EngineFacts.note(codes)})
        folder_is_new = "://" not in place.target and not os.path.exists(place.target)
        db = _lance().connect(place.target)
        there = _table(db, place) is not None
        if there and not overwrite:
            raise already_there(place)
        try:
            db.create_table(place.table, rows, mode="overwrite" if there else "create")
        except BaseException:
            if not there:
                with suppress(RuntimeError, ValueError, OSError):
                    db.drop_table(place.table)
            if "://" not in place.target and not there:
                shutil.rmtree(os.path.join(place.target, f"{place.table}.lance"), ignore_errors=True)
            if folder_is_new:
                shutil.rmtree(place.target, ignore_errors=True)
            raise

    @contextmanager
    def open(self, place: Place) -> Iterator[Reader]:
        if "://" not in place.target and not os.path.isdir(place.target):
            raise not_there(place)  # connecting would make the folder
        table = _table(_lance().connect(place.target), place)
        if table is None:
            raise not_there(place)
        n_rows = table.count_rows()
        facts = EngineFacts.from_note((table.schema.metadata or {}).get(b"kinhash"), n_rows, place)

        def nearest(code: Codes, k: int) -> Found:
            def fetch(wanted: int) -> Listed:
                asked = table.search(code.packed[0], vector_column_name="code").distance_type("hamming")
                found = asked.bypass_vector_index().select(["id", "_distance"]).limit(wanted).to_arrow()
                return found["id"], found["_distance"]

            return with_ties(fetch, k, n_rows)

        yield Reader(facts, nearest)

    def statement(self, code: Codes, k: int, place: Place) -> str:
        return (
            "import lancedb, numpy as np\n"
            f"table = lancedb.connect({place.target!r}).open_table({place.table!r})\n"
            f"query = np.frombuffer(bytes.fromhex({code.packed.tobytes().hex()!r}), np.uint8)\n"
            'asked = table.search(query, vector_column_name="code").distance_type("hamming")\n'
            f"found = asked.bypass_vector_index().limit({k}).to_arrow()\n"
            'ids, distances = found["id"], found["_distance"]'
        )


def _table(db: Any, place: Place) -> Any:
    """The table, or None if there is none."""
    try:
        return db.open_table(place.table)
    except (ValueError, FileNotFoundError) as problem:
        if "not found" in str(problem):
            return None
        raise
