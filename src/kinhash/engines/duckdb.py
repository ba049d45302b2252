"""DuckDB: native ``BIT`` of any length, ``bit_count(xor(...))``, order promised by SQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._internal.blocks import block_slices
from ..codes import Codes
from .base import EngineFacts, Place, Reader, driver, has_text_ids
from .code_columns import Column, columns, weighted
from .sql import SqlEngine, Value, already_there, fresh_file, not_there, quoted, select, sql_reader

__all__ = ["DuckDB"]

_duckdb = partial(driver, "duckdb", "duckdb")

VIEW = "_kinhash_block"  # begins as no table of ours does
BLOCK = 8192  # rows handed over at once: 33 MB as text at 1024 bits


class DuckDB(SqlEngine):
    """A table ``id BIGINT, code BIT`` in a database file; the note is the comment of the table.

    String ids are ``VARCHAR``, which DuckDB orders by their bytes. Codes that are not plain have two columns
    of bits, ``kin`` and ``alike``.
    """

    weighs: ClassVar[bool] = True

    def problems(self) -> tuple[type[Exception], ...]:
        return (_duckdb().Error,)

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        assert codes.ids is not None
        path = os.path.abspath(place.target)
        with fresh_file(path), closing(_duckdb().connect(path)) as db:
            db.execute("begin")
            if overwrite:
                db.execute(f'drop table if exists "{place.table}"')
            elif _comment(db, place) is not None:
                raise already_there(place)
            kind = "VARCHAR" if has_text_ids(codes) else "BIGINT"
            names = [part.name for part in columns(codes[:0])]
            bits = "".join(f", {name} BIT not null" for name in names)
            db.execute(f'create table "{place.table}" (id {kind} primary key{bits})')
            db.execute(f'comment on table "{place.table}" is {quoted(EngineFacts.note(codes))}')
            for rows in block_slices(len(codes), BLOCK):
                texts = {part.name: part.texts().astype(np.str_) for part in columns(codes[rows])}
                ids = codes.ids[rows].astype(object if kind == "VARCHAR" else np.int64)
                db.register(VIEW, {"id": ids, **texts})
                bits = "".join(f", {name}::BIT" for name in names)
                db.execute(f'insert into "{place.table}" select id{bits} from {VIEW}')
                db.unregister(VIEW)
            db.execute("commit")  # closing without it rolls back

    @contextmanager
    def open(self, place: Place) -> Iterator[Reader]:
        with closing(_duckdb().connect(os.path.abspath(place.target), read_only=True)) as db:
            comment = _comment(db, place)
            if comment is None:
                raise not_there(place)
            n_rows = db.execute(f'select count(*) from "{place.table}"').fetchone()[0]
            facts = EngineFacts.from_note(comment, n_rows, place)
            yield sql_reader(self, place, facts, lambda text: db.execute(text).fetchall())

    def sql(self, code: Codes, k: int, place: Place, value: Value) -> str:
        def count(part: Column) -> str:
            return f"bit_count(xor({part.name}, {value(part.name, part.texts()[0].decode())}::BIT))"

        return select(weighted(columns(code), count), f'"{place.table}"', value("k", k))


def _comment(db: Any, place: Place) -> str | None:
    """The comment of the table, empty without one; None without such a table (or view)."""
    found = db.execute(
        "select coalesce(comment, '') from duckdb_tables() where table_name = ? "
        "and database_name = current_database() and schema_name = current_schema() "
        "union all select '' from duckdb_views() where view_name = ? and not internal",
        [place.table, place.table],
    ).fetchone()
    return None if found is None else str(found[0])
