"""Parquet: ids and packed bytes in one file that every data tool reads; DuckDB counts the bits in place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from .._files import replace_file
from ..codes import Codes, UInt8
from ._base import Engine, EngineFacts, Place, Reader, as_bits, driver, has_text_ids
from ._sql import already_there, quoted, select, sql_reader

__all__ = ["Parquet"]


class Parquet(Engine):
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
        width = pa.binary(codes.packed.shape[1])
        packed = pa.FixedSizeBinaryArray.from_buffers(width, len(codes), [None, pa.py_buffer(codes.packed)])
        table = pa.table({"id": pa.array(_plain(codes)), "code": packed})
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

    def statement(self, code: UInt8, n_bits: int, k: int, place: Place) -> str:
        bits = as_bits(code[None], 8 * len(code))[0].decode()  # whole bytes, as in the file
        file = re.sub(r"([\[*?])", r"[\1]", place.target)  # a name, which DuckDB would take for a pattern
        return select(f"bit_count(xor(code::BIT, '{bits}'::BIT))", f"read_parquet({quoted(file)})", k)


def _plain(codes: Codes) -> Any:
    """Ids as Arrow takes them, which does not know NumPy's strings."""
    return codes.ids.tolist() if has_text_ids(codes) and codes.ids is not None else codes.ids


def _arrow() -> Any:
    return driver("pyarrow", "parquet")
