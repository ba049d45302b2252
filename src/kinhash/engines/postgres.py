"""PostgreSQL: native ``bit(n)``, with ``bit_count`` (version 14) or with pgvector's operator (0.7)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

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
    has_text_ids,
    not_there,
    quoted,
    select,
    sql_reader,
    texts,
)

__all__ = ["PgVector", "Postgres"]

_psycopg = partial(driver, "psycopg", "postgres")

BLOCK = 16384  # rows sent at once: 17 MB of text at 1024 bits


class PostgresTable(SqlEngine):
    """A table ``id bigint, code bit(n)``; the note is its comment. The target is a connection string.

    String ids are ``text collate "C"``: ordered by their bytes, whatever the language of the database.

    Everything happens in one transaction: other sessions see the table as it was until all rows are there.
    """

    file: ClassVar[bool] = False
    # Both have exactly as many bits as digits; '...'::bit(n) would silently cut or pad.
    bits: ClassVar[str] = "B'{}'"
    bits_parameter: ClassVar[str] = "%({})s::varbit"
    parameter: ClassVar[str] = "%({})s"
    extension: ClassVar[str | None] = None  # what must be in the database before it can count
    distance: ClassVar[str]  # SQL that counts the bits in which the column differs from others

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
            columns = f"(id {kind} primary key, code bit({codes.n_bits}) not null)"
            cursor.execute(f'create table "{place.table}" {columns}')
            cursor.execute(f'comment on table "{place.table}" is {quoted(EngineFacts.note(codes))}')
            with cursor.copy(f'copy "{place.table}" from stdin') as copy:
                for rows in block_slices(len(codes), BLOCK):
                    ids = map(_copied, codes.ids[rows].tolist())
                    lines = zip(ids, texts(codes.packed[rows], codes.n_bits).tolist(), strict=True)
                    copy.write(b"".join(b"%s\t%s\n" % line for line in lines))

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
        bits = value("code", texts(code.packed, code.n_bits)[0].decode())
        return select(self.distance.format(bits), f'"{place.table}"', value("k", k))


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


class Postgres(PostgresTable):
    """Exact search by a scan, in the order (distance, id), without any extension."""

    distance: ClassVar[str] = "bit_count(code # {})"


class PgVector(PostgresTable):
    """Exact search by a scan, in the order (distance, id), also where the table has an HNSW index.

    The cast to an integer keeps the planner from answering with an approximate index, whose order is by
    the bare operator. docs/engines.md has the statement that uses such an index.
    """

    extension: ClassVar[str | None] = "vector"
    distance: ClassVar[str] = "(code <~> {})::integer"
