"""DuckDB: native ``BIT`` of any length, ``bit_count(xor(...))``, order promised by SQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import numpy as np

from .._internal.blocks import block_slices
from ..codes import Codes
from .base import (
    EngineFacts,
    Place,
    Reader,
    SqlEngine,
    Value,
    already_there,
    driver,
    fresh_file,
    has_text_ids,
    not_there,
    quoted,
    select,
    sql_reader,
    texts,
)

__all__ = ["DuckDB"]

_duckdb = partial(driver, "duckdb", "duckdb")

VIEW = "_kinhash_block"  # begins as no table of ours does
BLOCK = 8192  # rows handed over at once: 33 MB as text at 1024 bits


class DuckDB(SqlEngine):
    """A table ``id BIGINT, code BIT`` in a database file; the note is the comment of the table.

    String ids are ``VARCHAR``, which DuckDB orders by their bytes.
    """

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
            db.execute(f'create table "{place.table}" (id {kind} primary key, code BIT not null)')
            db.execute(f'comment on table "{place.table}" is {quoted(EngineFacts.note(codes))}')
            for rows in block_slices(len(codes), BLOCK):
                ids = codes.ids[rows].astype(object if kind == "VARCHAR" else np.int64)
                written = texts(codes.packed[rows], codes.n_bits).astype(np.str_)
                db.register(VIEW, {"id": ids, "code": written})
                db.execute(f'insert into "{place.table}" select id, code::BIT from {VIEW}')
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
        bits = value("code", texts(code.packed, code.n_bits)[0].decode())
        return select(f"bit_count(xor(code, {bits}::BIT))", f'"{place.table}"', value("k", k))


def _comment(db: Any, place: Place) -> str | None:
    """The comment of the table, empty without one; None without such a table (or view)."""
    found = db.execute(
        "select coalesce(comment, '') from duckdb_tables() where table_name = ? "
        "and database_name = current_database() and schema_name = current_schema() "
        "union all select '' from duckdb_views() where view_name = ? and not internal",
        [place.table, place.table],
    ).fetchone()
    return None if found is None else str(found[0])
