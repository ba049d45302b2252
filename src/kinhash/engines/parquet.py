"""Parquet: ids and packed bytes in one file that every data tool reads; DuckDB counts the bits in place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial

from .._internal.files import replace_file
from ..codes import Codes
from .base import (
    EngineFacts,
    Place,
    Reader,
    SqlEngine,
    Value,
    already_there,
    driver,
    plain_ids,
    quoted,
    select,
    sql_reader,
    texts,
)

__all__ = ["Parquet"]

_arrow = partial(driver, "pyarrow", "parquet")


class Parquet(SqlEngine):
    """A file of ``id`` (int64 or string) and ``code`` (packed bytes); the note is in its schema."""

    def problems(self) -> tuple[type[Exception], ...]:
        known: list[type[Exception]] = [_arrow().ArrowException]
        with suppress(ImportError):  # only searching needs DuckDB, and says so
            known.append(driver("duckdb", "duckdb").Error)
        return tuple(known)

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        pa, parquet = _arrow(), driver("pyarrow.parquet", "parquet")
        if os.path.exists(place.target) and not overwrite:
            raise already_there(place, "file")
        n_rows, width = codes.packed.shape
        packed = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(width), n_rows, [None, pa.py_buffer(codes.packed)]
        )
        table = pa.table({"id": pa.array(plain_ids(codes)), "code": packed})
        content = pa.BufferOutputStream()
        parquet.write_table(table.replace_schema_metadata({"kinhash": EngineFacts.note(codes)}), content)
        replace_file(place.target, [memoryview(content.getvalue())])

    @contextmanager
    def open(self, place: Place) -> Iterator[Reader]:
        with driver("pyarrow.parquet", "parquet").ParquetFile(place.target) as file:
            note = (file.schema_arrow.metadata or {}).get(b"kinhash")
            facts = EngineFacts.from_note(note, file.metadata.num_rows, place)
        with closing(driver("duckdb", "duckdb").connect()) as db:
            yield sql_reader(self, place, facts, lambda text: db.execute(text).fetchall())

    def sql(self, code: Codes, k: int, place: Place, value: Value) -> str:
        bits = value(
            "code", texts(code.packed, 8 * code.packed.shape[1])[0].decode()
        )  # whole bytes, as in the file
        file = re.sub(r"([\[*?])", r"[\1]", place.target)  # a name, which DuckDB would take for a pattern
        return select(
            f"bit_count(xor(code::BIT, {bits}::BIT))", f"read_parquet({quoted(file)})", value("k", k)
        )
