"""SQLite: plain integers and plain SQL, so the statement runs in every SQLite there is.

SQLite has neither xor nor a count of bits. A code is kept as words of seven bytes in the columns ``w0, w1,
...`` (first bit highest, zeros at the end): 56 bits leave room below the sign. ``(w | q) - (w & q)`` is their
xor, and its ones are counted three bits at a time: ``t = x - (x>>1 & 0333...) - (x>>2 & 0111...)`` holds one
count per octal digit, neighbors are added, and the remainder by 63 adds up the pairs.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import ClassVar
from urllib.parse import quote

import numpy as np

from .._internal.blocks import block_slices
from .._internal.types import Ints
from ..codes import Codes
from .base import (
    EngineFacts,
    Place,
    Reader,
    SqlEngine,
    Value,
    already_there,
    fresh_file,
    has_text_ids,
    not_there,
    sql_reader,
)

__all__ = ["SQLite"]

WORD = 7  # bytes
THREES, ONES, SEVENS = int("3" * 19, 8), int("1" * 19, 8), int("07" * 10, 8)
BLOCK = 16384


class SQLite(SqlEngine):
    """A table ``id, w0, w1, ...`` in a database file."""

    parameter: ClassVar[str] = ":{}"

    def problems(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        assert codes.ids is not None
        names = list(_words(codes[:0]))
        words = "".join(f", {name} integer not null" for name in names)
        note = EngineFacts.note(codes).replace("*/", "*\\/")  # the note is a comment that SQLite keeps
        path = os.path.abspath(place.target)
        with fresh_file(path), closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("begin immediate")
            try:
                if overwrite:
                    db.execute(f'drop table if exists "{place.table}"')
                elif _definition(db, place) is not None:
                    raise already_there(place)
                kind = "text not null" if has_text_ids(codes) else "integer"
                db.execute(f'create table "{place.table}" /*{note}*/ (id {kind} primary key{words})')
                insert = f'insert into "{place.table}" values (?{", ?" * len(names)})'
                for rows in block_slices(len(codes), BLOCK):
                    values = [word.tolist() for word in _words(codes[rows]).values()]
                    db.executemany(insert, zip(codes.ids[rows].tolist(), *values, strict=True))
                db.execute("commit")
            except BaseException:
                if db.in_transaction:
                    db.execute("rollback")
                raise

    @contextmanager
    def open(self, place: Place) -> Iterator[Reader]:
        path = quote(os.path.abspath(place.target))
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            definition = _definition(db, place)
            if definition is None:
                raise not_there(place)
            n_rows = db.execute(f'select count(*) from "{place.table}"').fetchone()[0]
            note = definition.partition("/*")[2].partition("*/")[0]
            facts = EngineFacts.from_note(note, n_rows, place)
            yield sql_reader(self, place, facts, lambda text: db.execute(text).fetchall())

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


def _definition(db: sqlite3.Connection, place: Place) -> str | None:
    """The statement that made the table, with the note inside; None without such a table."""
    rows = db.execute("select sql from sqlite_master where name = ?", (place.table,)).fetchall()
    return rows[0][0] if rows else None


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
