"""A PostgreSQL table of ``bit(n)``, shared by `postgres` and `pgvector`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from .._internal.blocks import block_slices
from ..codes import Codes
from .base import EngineFacts, Place, Reader, driver, has_text_ids
from .code_columns import Column, columns, weighted
from .sql import SqlEngine, Value, already_there, not_there, quoted, select, sql_reader

__all__ = ["PostgresTable"]

_psycopg = partial(driver, "psycopg", "postgres")

BLOCK = 16384  # rows sent at once: 17 MB of text at 1024 bits


class PostgresTable(SqlEngine):
    """A table ``id bigint, code bit(n)``; the note is its comment. The target is a connection string.

    Codes that are not plain have two columns of bits, ``kin`` and ``alike``.

    String ids are ``text collate "C"``: ordered by their bytes, whatever the language of the database.

    Everything happens in one transaction: other sessions see the table as it was until all rows are there.
    """

    file: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    # Both have exactly as many bits as digits; '...'::bit(n) would silently cut or pad.
    bits: ClassVar[str] = "B'{}'"
    bits_parameter: ClassVar[str] = "%({})s::varbit"
    parameter: ClassVar[str] = "%({})s"
    extension: ClassVar[str | None] = None  # what must be in the database before it can count

    @abstractmethod
    def distance(self, column: str, bits: str) -> str:
        """SQL that counts the bits in which a column differs from others."""

    def problems(self) -> tuple[type[Exception], ...]:
        return (_psycopg().Error,)

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        assert codes.ids is not None
        with _psycopg().connect(place.target) as db, db.cursor() as cursor:
            if self.extension:
                cursor.execute(f"create extension if not exists {self.extension}")
            if overwrite:
                cursor.execute(f'drop table if exists "{place.table}"')
            elif _comment(cursor, place) is not None:
                raise already_there(place)
            kind = 'text collate "C"' if has_text_ids(codes) else "bigint"
            bits = "".join(f", {part.name} bit({part.n_bits}) not null" for part in columns(codes[:0]))
            cursor.execute(f'create table "{place.table}" (id {kind} primary key{bits})')
            cursor.execute(f'comment on table "{place.table}" is {quoted(EngineFacts.note(codes))}')
            with cursor.copy(f'copy "{place.table}" from stdin') as copy:
                for rows in block_slices(len(codes), BLOCK):
                    texts = [part.texts().tolist() for part in columns(codes[rows])]
                    ids = map(_copied, codes.ids[rows].tolist())
                    copy.write(b"".join(b"\t".join(row) + b"\n" for row in zip(ids, *texts, strict=True)))

    @contextmanager
    def open(self, place: Place) -> Iterator[Reader]:
        with _psycopg().connect(place.target) as db, db.cursor() as cursor:
            db.read_only = True
            comment = _comment(cursor, place)
            if comment is None:
                raise not_there(place)
            n_rows = cursor.execute(f'select count(*) from "{place.table}"').fetchone()[0]
            facts = EngineFacts.from_note(comment, n_rows, place)
            yield sql_reader(self, place, facts, lambda text: cursor.execute(text).fetchall())

    def sql(self, code: Codes, k: int, place: Place, value: Value) -> str:
        def count(part: Column) -> str:
            return self.distance(part.name, value(part.name, part.texts()[0].decode()))

        return select(weighted(columns(code), count), f'"{place.table}"', value("k", k))


def _copied(value: int | str) -> bytes:
    """An id as COPY reads it."""
    text = str(value)
    for mark, escaped in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(mark, escaped)
    return text.encode()


def _comment(cursor: Any, place: Place) -> str | None:
    """The comment of the table, empty without one; None without such a table."""
    cursor.execute(
        "select coalesce(obj_description(found, 'pg_class'), ''), found is not null "
        "from to_regclass(%s) as found",
        [f'"{place.table}"'],
    )
    comment, there = cursor.fetchone()
    return comment if there else None
