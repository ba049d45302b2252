"""Engines that speak SQL: DuckDB, Parquet files (through DuckDB), PostgreSQL and SQLite.

A `TableEngine` writes ``create table``, a note on it, and blocks of rows, in one transaction; its search is the
statement that it prints. Subclasses say how to connect, where the note is, and how bits are counted.
"""

from __future__ import annotations

import os
import re
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from .._internal.blocks import block_slices
from .._internal.files import new_files, replace_file
from .._internal.types import Bytes, Ints
from ..codes import Codes, unpack_bits
from .base import (
    EngineFacts,
    Found,
    Place,
    Reader,
    SqlEngine,
    Value,
    already_there,
    driver,
    has_text_ids,
    id_array,
    not_there,
    plain_ids,
)

BLOCK = 8192  # rows handed over at once: 33 MB as text at 1024 bits

_arrow = partial(driver, "pyarrow", "parquet")
_duckdb = partial(driver, "duckdb", "duckdb")
_psycopg = partial(driver, "psycopg", "postgres")


def texts(packed: Bytes, n_bits: int) -> npt.NDArray[np.bytes_]:
    """Codes as zeros and ones, the first bit first: one text of ``n_bits`` per row."""
    return np.ascontiguousarray(unpack_bits(packed, n_bits) + ord("0")).view(f"S{n_bits}")[:, 0]


def select(distance: str, bits: str, source: str, k: str) -> str:
    """The ``k`` nearest rows in the order (distance, id), which SQL can promise."""
    counted = distance.format(bits)
    return f"select id, {counted} as distance from {source} order by distance, id limit {k}"


def quoted(text: str) -> str:
    """Text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def sql_reader(engine: SqlEngine, place: Place, facts: EngineFacts, db: Any) -> Reader:
    """A search that runs exactly the statement the engine prints."""

    def nearest(code: Codes, k: int) -> Found:
        rows = db.execute(engine.statement(code, k, place)).fetchall()
        return id_array([row[0] for row in rows]), np.array([row[1] for row in rows], np.uint16)

    return Reader(facts, nearest)


@contextmanager
def fresh_file(path: str) -> Iterator[None]:
    """A database file that did not exist before a failure does not exist after it."""
    if os.path.exists(path):
        yield
        return
    with new_files(path, *(path + ending for ending in (".wal", "-journal", "-wal", "-shm"))):
        yield


class TableEngine(SqlEngine):
    """A table of ids and codes, with a note, in a database that others use, too."""

    id_kinds: ClassVar[tuple[str, str]]  # of numbers, and of strings
    code_kind: ClassVar[str]
    distance: ClassVar[str]  # SQL that counts the bits in which the column differs from others

    @abstractmethod
    def connected(self, place: Place, read_only: bool) -> AbstractContextManager[Any]:
        """A connection with one transaction, which ends well with the context or is rolled back."""

    @abstractmethod
    def note(self, db: Any, place: Place) -> str | None:
        """The note of the table, empty without one; None without such a table."""

    @abstractmethod
    def insert(self, db: Any, codes: Codes, place: Place) -> None:
        """Write a block of rows."""

    def create(self, db: Any, codes: Codes, place: Place) -> None:
        """Make the empty table; the note is its comment."""
        columns = f"id {self.id_kinds[has_text_ids(codes)]} primary key, code {self.code_kind} not null"
        db.execute(f'create table "{place.table}" ({columns.format(codes.n_bits)})')
        db.execute(f'comment on table "{place.table}" is {quoted(EngineFacts.note(codes))}')

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        with self.connected(place, read_only=False) as db:
            if overwrite:
                db.execute(f'drop table if exists "{place.table}"')
            elif self.note(db, place) is not None:
                raise already_there(place)
            self.create(db, codes, place)
            for rows in block_slices(len(codes), BLOCK):
                self.insert(db, codes[rows], place)

    @contextmanager
    def open(self, place: Place) -> Iterator[Reader]:
        with self.connected(place, read_only=True) as db:
            note = self.note(db, place)
            if note is None:
                raise not_there(place)
            n_rows = db.execute(f'select count(*) from "{place.table}"').fetchone()[0]
            yield sql_reader(self, place, EngineFacts.from_note(note, n_rows, place), db)

    def sql(self, code: Codes, k: int, place: Place, value: Value) -> str:
        bits = value("code", texts(code.packed, code.n_bits)[0].decode())
        return select(self.distance, bits, f'"{place.table}"', value("k", k))


class DuckDB(TableEngine):
    """A table ``id BIGINT, code BIT`` in a database file; the note is the comment of the table.

    String ids are ``VARCHAR``, which DuckDB orders by their bytes. ``BIT`` has any length.
    """

    id_kinds: ClassVar[tuple[str, str]] = ("BIGINT", "VARCHAR")
    code_kind: ClassVar[str] = "BIT"
    distance: ClassVar[str] = "bit_count(xor(code, {}::BIT))"

    def problems(self) -> tuple[type[Exception], ...]:
        return (_duckdb().Error,)

    @contextmanager
    def connected(self, place: Place, read_only: bool) -> Iterator[Any]:
        path = os.path.abspath(place.target)
        with (
            nullcontext() if read_only else fresh_file(path),
            closing(_duckdb().connect(path, read_only=read_only)) as db,
        ):
            db.execute("begin")
            yield db
            db.execute("commit")  # closing without it rolls back

    def note(self, db: Any, place: Place) -> str | None:
        found = db.execute(
            "select coalesce(comment, '') from duckdb_tables() where table_name = ? "
            "and database_name = current_database() and schema_name = current_schema() "
            "union all select '' from duckdb_views() where view_name = ? and not internal",
            [place.table, place.table],
        ).fetchone()
        return None if found is None else str(found[0])

    def insert(self, db: Any, codes: Codes, place: Place) -> None:
        assert codes.ids is not None
        ids = codes.ids.astype(object if has_text_ids(codes) else np.int64)
        view = "_kinhash_block"  # begins as no table of ours does
        db.register(view, {"id": ids, "code": texts(codes.packed, codes.n_bits).astype(np.str_)})
        db.execute(f'insert into "{place.table}" select id, code::BIT from {view}')
        db.unregister(view)


class Parquet(SqlEngine):
    """A file of ``id`` (int64 or string) and ``code`` (packed bytes); the note is in its schema.

    Every data tool reads it; DuckDB counts the bits in place.
    """

    def problems(self) -> tuple[type[Exception], ...]:
        known: list[type[Exception]] = [_arrow().ArrowException]
        with suppress(ImportError):  # only searching needs DuckDB, and says so
            known.append(_duckdb().Error)
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
        with closing(_duckdb().connect()) as db:
            yield sql_reader(self, place, facts, db)

    def sql(self, code: Codes, k: int, place: Place, value: Value) -> str:
        whole_bytes = texts(code.packed, 8 * code.packed.shape[1])[0]  # as in the file
        file = re.sub(r"([\[*?])", r"[\1]", place.target)  # a name, which DuckDB would take for a pattern
        bits, source = value("code", whole_bytes.decode()), f"read_parquet({quoted(file)})"
        return select("bit_count(xor(code::BIT, {}::BIT))", bits, source, value("k", k))


class PostgresTable(TableEngine):
    """A table ``id bigint, code bit(n)``; the note is its comment. The target is a connection string.

    String ids are ``text collate "C"``: ordered by their bytes, whatever the language of the database. Other
    sessions see the table as it was until all rows are there.
    """

    file: ClassVar[bool] = False
    # Both have exactly as many bits as digits; '...'::bit(n) would silently cut or pad.
    bits: ClassVar[str] = "B'{}'"
    bits_parameter: ClassVar[str] = "%({})s::varbit"
    parameter: ClassVar[str] = "%({})s"
    extension: ClassVar[str | None] = None  # what must be in the database before it can count
    id_kinds: ClassVar[tuple[str, str]] = ("bigint", 'text collate "C"')
    code_kind: ClassVar[str] = "bit({})"

    def problems(self) -> tuple[type[Exception], ...]:
        return (_psycopg().Error,)

    @contextmanager
    def connected(self, place: Place, read_only: bool) -> Iterator[Any]:
        with _psycopg().connect(place.target) as db:
            db.read_only = read_only
            if self.extension and not read_only:
                db.execute(f"create extension if not exists {self.extension}")
            yield db

    def note(self, db: Any, place: Place) -> str | None:
        comment, there = db.execute(
            "select coalesce(obj_description(found, 'pg_class'), ''), found is not null "
            "from to_regclass(%s) as found",
            [f'"{place.table}"'],
        ).fetchone()
        return comment if there else None

    def insert(self, db: Any, codes: Codes, place: Place) -> None:
        assert codes.ids is not None
        ids = map(_copied, codes.ids.tolist())
        lines = zip(ids, texts(codes.packed, codes.n_bits).tolist(), strict=True)
        with db.cursor().copy(f'copy "{place.table}" from stdin') as copy:
            copy.write(b"".join(b"%s\t%s\n" % line for line in lines))


def _copied(value: int | str) -> bytes:
    """An id as COPY reads it."""
    text = str(value)
    for mark, escaped in (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(mark, escaped)
    return text.encode()


class Postgres(PostgresTable):
    """Exact search by a scan, in the order (distance, id), with ``bit_count`` (version 14)."""

    distance: ClassVar[str] = "bit_count(code # {})"


class PgVector(PostgresTable):
    """Exact search by a scan with pgvector's operator (0.7), also where the table has an HNSW index.

    The cast to an integer keeps the planner from answering with an approximate index, whose order is by
    the bare operator. docs/engines.md has the statement that uses such an index.
    """

    extension: ClassVar[str | None] = "vector"
    distance: ClassVar[str] = "(code <~> {})::integer"


WORD = 7  # bytes
THREES, ONES, SEVENS = int("3" * 19, 8), int("1" * 19, 8), int("07" * 10, 8)


class SQLite(TableEngine):
    """A table ``id, w0, w1, ...`` in a database file: plain integers and plain SQL, for every SQLite there is.

    SQLite has neither xor nor a count of bits. A code is kept as words of seven bytes in the columns ``w0, w1,
    ...`` (first bit highest, zeros at the end): 56 bits leave room below the sign. ``(w | q) - (w & q)`` is their
    xor, and its ones are counted three bits at a time: ``t = x - (x>>1 & 0333...) - (x>>2 & 0111...)`` holds one
    count per octal digit, neighbors are added, and the remainder by 63 adds up the pairs.
    """

    parameter: ClassVar[str] = ":{}"
    id_kinds: ClassVar[tuple[str, str]] = ("integer", "text not null")

    def problems(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    @contextmanager
    def connected(self, place: Place, read_only: bool) -> Iterator[Any]:
        path = os.path.abspath(place.target)
        if read_only:
            with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as db:
                yield db
            return
        with fresh_file(path), closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("begin immediate")
            yield db
            db.execute("commit")  # closing without it rolls back

    def note(self, db: Any, place: Place) -> str | None:
        rows = db.execute("select sql from sqlite_master where name = ?", (place.table,)).fetchall()
        return rows[0][0].partition("/*")[2].partition("*/")[0] if rows else None

    def create(self, db: Any, codes: Codes, place: Place) -> None:
        """Make the empty table; the note is a comment in its definition, which SQLite keeps."""
        words = "".join(f", {name} integer not null" for name in _words(codes[:0]))
        note = EngineFacts.note(codes).replace("*/", "*\\/")
        kind = self.id_kinds[has_text_ids(codes)]
        db.execute(f'create table "{place.table}" /*{note}*/ (id {kind} primary key{words})')

    def insert(self, db: Any, codes: Codes, place: Place) -> None:
        assert codes.ids is not None
        words = [word.tolist() for word in _words(codes).values()]
        insert = f'insert into "{place.table}" values (?{", ?" * len(words)})'
        db.executemany(insert, zip(codes.ids.tolist(), *words, strict=True))

    def sql(self, code: Codes, k: int, place: Place, value: Value) -> str:
        words = {name: value(name, int(word[0])) for name, word in _words(code).items()}
        number = {name: i for i, name in enumerate(words)}
        xors = ", ".join(f"({w}|{words[w]})-({w}&{words[w]}) as x{i}" for w, i in number.items())
        counts = ", ".join(f"x{i}-(x{i}>>1&{THREES})-(x{i}>>2&{ONES}) as t{i}" for i in number.values())
        total = "+".join(f"(t{i}+(t{i}>>3)&{SEVENS})%63" for i in number.values())
        return (  # names that begin as no table does: one called x would hide the table x
            f'with _x as (select id, {xors} from "{place.table}"),\n'
            f"     _t as (select id, {counts} from _x)\n"
            f"select id, {total} as distance from _t order by distance, id "
            f"limit {value('k', k)}"
        )


def _words(codes: Codes) -> dict[str, Ints]:
    """Columns of words of 56 bits, the first byte highest: ceil(bytes / 7) of them, (n,) each."""
    n_rows, width = codes.packed.shape
    n_words = -(-width // WORD)
    spread = np.zeros((n_rows, n_words * WORD), np.uint8)
    spread[:, :width] = codes.packed
    words = np.zeros((n_rows, n_words, 8), np.uint8)  # the highest byte stays zero
    words[:, :, 1:] = spread.reshape(n_rows, n_words, WORD)
    values = words.view(">i8")[:, :, 0].astype(np.int64)
    return {f"w{i}": values[:, i] for i in range(n_words)}
