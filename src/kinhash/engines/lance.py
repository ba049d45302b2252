"""LanceDB: a versioned table of byte lists in a folder or an object store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ClassVar

from ..codes import Codes
from .base import (
    Engine,
    EngineFacts,
    Found,
    Listed,
    Place,
    Reader,
    already_there,
    driver,
    not_there,
    plain_ids,
    with_ties,
)

__all__ = ["Lance"]

_lance = partial(driver, "lancedb", "lance")


class Lance(Engine):
    """A table ``id``, ``code`` (fixed-size list of uint8); the note is in its schema.

    A table is a chain of versions and a failed write commits none. Ties come in the order of storage, not of
    ids, so we fetch all rows tied with the last and sort.
    """

    file: ClassVar[bool] = False

    def problems(self) -> tuple[type[Exception], ...]:
        _lance()
        return (RuntimeError, ValueError)

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        pa = driver("pyarrow", "lance")
        packed = codes.packed
        lists = pa.FixedSizeListArray.from_arrays(pa.array(packed.ravel()), packed.shape[1])
        rows = pa.table({"id": pa.array(plain_ids(codes)), "code": lists})
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
