"""Parquet: ids and packed bytes in one file that every data tool reads; DuckDB counts the bits in place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from .._internal.files import replace_file
from ..codes import Codes
from .base import EngineFacts, Place, Reader, driver, has_text_ids
from .code_columns import Column, columns, weighted
from .sql import SqlEngine, Value, already_there, quoted, select, sql_reader

__all__ = ["Parquet"]

_arrow = partial(driver, "pyarrow", "parquet")


class Parquet(SqlEngine):
    """A file of ``id`` (int64 or string) and ``code`` (packed bytes); the note is in its schema.

    Codes that are not plain have two columns of packed bytes, ``kin`` and ``alike``.
    """

    weighs: ClassVar[bool] = True

    def problems(self) -> tuple[type[Exception], ...]:
        known: list[type[Exception]] = [_arrow().ArrowException]
        with suppress(ImportError):  # only searching needs DuckDB, and says so
            known.append(driver("duckdb", "duckdb").Error)
        return tuple(known)

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        pa, parquet = _arrow(), driver("pyarrow.parquet", "parquet")
        if os.path.exists(place.target) and not overwrite:
            raise already_there(place, "file")
        packed = {part.name: _binary(part) for part in columns(codes)}
        table = pa.table({"id": pa.array(_plain(codes)), **packed})
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
        def count(part: Column) -> str:
            whole = replace(part, n_bits=8 * part.packed.shape[1])  # bytes, as in the file
            return f"bit_count(xor({part.name}::BIT, {value(part.name, whole.texts()[0].decode())}::BIT))"

        file = re.sub(r"([\[*?])", r"[\1]", place.target)  # a name, which DuckDB would take for a pattern
        return select(weighted(columns(code), count), f"read_parquet({quoted(file)})", value("k", k))


def _binary(part: Column) -> Any:
    pa = _arrow()
    n_rows, width = part.packed.shape
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), n_rows, [None, pa.py_buffer(part.packed)])


def _plain(codes: Codes) -> Any:
    """Ids as Arrow takes them, which does not know NumPy's strings."""
    return codes.ids.tolist() if has_text_ids(codes) and codes.ids is not None else codes.ids
