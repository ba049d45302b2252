"""Entry points of all engines: they validate the input and translate errors of engines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .._internal.types import Array
from .._internal.validation import check_integer
from ..codes import Codes, CodesLike, as_codes
from ..errors import EngineProblem, InvalidInput, KinhashError
from ..index import Neighbors, as_ids, sorting_order
from . import ENGINES
from .base import Engine, Place, has_text_ids, without_password
from .sql import PreparedStatement, SqlEngine

__all__ = [
    "as_place",
    "plainly",
    "prepared",
    "prepared_statement",
    "search",
    "statement",
    "without_password",
    "write",
]

Target = str | os.PathLike[str]
TABLE = re.compile(r"[a-z][a-z0-9_]{0,62}")


def write(
    engine: str,
    codes: CodesLike,
    target: Target,
    *,
    n_bits: int | None = None,
    ids: npt.ArrayLike | None = None,
    table: str = "codes",
    overwrite: bool = False,
) -> int:
    """Write codes with their ids to an engine, all or nothing; returns the number of rows.

    ``target`` is a file, a folder or a connection, see docs/engines.md. Ids are 64-bit integers, or strings
    where the engine holds them (all but FAISS and USearch), each once; without any, those of the codes, or
    row numbers. What is there already stays unless ``overwrite``. The engine's distances are those of the
    codes: where it cannot weigh fields, a bit that counts w is written w times (`Codes.repeated`).
    Peak memory: a copy of what is written, and for engines that write one file, that file.
    """
    one: Engine = ENGINES.make(engine)
    rows = prepared(as_codes(codes, n_bits), ids)
    if has_text_ids(rows) and not one.text_ids:
        holding = ", ".join(name for name in ENGINES if ENGINES[name].text_ids)
        raise InvalidInput(
            f"The ids are strings, and {engine} holds numbers only",
            "64-bit integers, or another engine",
            f"Number the rows and keep a table of names, or use one of {holding}",
        )
    place = as_place(target, table)
    with plainly(one, place, "written"):
        one.write(rows, place, overwrite)
    return len(rows)


def search(
    engine: str,
    target: Target,
    queries: CodesLike,
    k: int,
    *,
    n_bits: int | None = None,
    table: str = "codes",
) -> Neighbors:
    """The ``k`` nearest rows of every query, found by the engine: the value `HammingIndex.search` gives."""
    one: Engine = ENGINES.make(engine)
    if not one.answers:
        raise InvalidInput(
            f"kinhash writes files for {engine} and does not speak to its server",
            f"an engine that answers: {', '.join(name for name in ENGINES if ENGINES[name].answers)}",
            "Load the files and send the request that kinhash.engines.statement gives",
        )
    place = as_place(target, table)
    return answers(one, place, as_codes(queries, n_bits), check_integer("k", k, 0))


def answers(one: Engine, place: Place, queries: Codes, k: int) -> Neighbors:
    """The neighbors of checked queries."""
    with plainly(one, place, "searched"), one.open(place) as reader:
        reader.facts.require(queries, place)
        k = min(k, reader.facts.n_rows)
        found = [reader.nearest(queries[row], k) for row in range(len(queries))] if k else []
    if not found:
        return Neighbors(*_nothing(len(queries), k), full=float(queries.max_distance))
    ids, distances = (np.stack(column) for column in zip(*found, strict=True))
    return Neighbors(ids, distances, full=float(queries.max_distance))


def _nothing(n_queries: int, k: int) -> tuple[Array, Array]:
    return np.empty((n_queries, k), np.int64), np.empty((n_queries, k), np.uint16)


def statement(
    engine: str,
    code: CodesLike,
    target: Target,
    k: int = 10,
    *,
    n_bits: int | None = None,
    table: str = "codes",
) -> str:
    """The exact text that asks the engine for the ``k`` rows nearest to a code (the first, of several).

    SQL for databases, Python for libraries, the request for servers. Needs no engine to be installed.
    """
    one: Engine = ENGINES.make(engine)
    return one.statement(_first(code, n_bits), check_integer("k", k, 1), as_place(target, table))


def prepared_statement(
    engine: str,
    code: CodesLike,
    target: Target,
    k: int = 10,
    *,
    n_bits: int | None = None,
    table: str = "codes",
) -> PreparedStatement:
    """The statement of `statement` with named parameters in place of the code and ``k``, and their values.

    For DuckDB, Parquet (by DuckDB), SQLite, PostgreSQL (psycopg 3) and pgvector. The text is the same for all
    codes of one model, so a program keeps it, and passes the parameters of each query.
    """
    one: Engine = ENGINES.make(engine)
    if not isinstance(one, SqlEngine):
        names = ", ".join(name for name in ENGINES if issubclass(ENGINES[name], SqlEngine))
        raise InvalidInput(f"{engine} has no SQL", f"one of {names}", "Use kinhash.engines.statement")
    return one.prepared_statement(_first(code, n_bits), check_integer("k", k, 1), as_place(target, table))


def _first(code: CodesLike, n_bits: int | None) -> Codes:
    codes = as_codes(code, n_bits)
    if not len(codes):
        raise InvalidInput("No code came", "one code to ask about", "Pass a row of codes")
    return codes[0]


def as_place(target: Target, table: str) -> Place:
    """A place from what the user named; one rule for tables that every engine accepts."""
    if not isinstance(table, str) or not TABLE.fullmatch(table):
        raise InvalidInput(
            f"A table was to be called {table!r}",
            "lower-case letters, digits and underscores, a letter first, at most 63",
            "Choose another name",
        )
    text = os.fspath(target)
    if not text or "\0" in text:
        raise InvalidInput(f"The target is {text!r}", "a file, a folder or a connection", "Name one")
    return Place(text, table)


def prepared(codes: Codes, ids: npt.ArrayLike | None = None) -> Codes:
    """Codes with ids, 64-bit integers or strings, each once, in ascending order."""
    given = codes.ids if ids is None else ids
    values = np.arange(len(codes)) if given is None else as_ids(given)
    if len(values) != len(codes):
        raise InvalidInput(
            f"{len(values)} ids came with {len(codes)} codes", "one id per code", "Pass as many ids as rows"
        )
    order = sorting_order(values)
    return replace(codes, packed=np.ascontiguousarray(codes.packed[order]), ids=values[order])


@contextmanager
def plainly(one: Engine, place: Place, done: str) -> Iterator[None]:
    """Turn what an engine raises into one error of ours; where it was writing, nothing was changed."""
    known: tuple[type[Exception], ...] = (OSError, *one.problems())
    try:
        yield
    except known as problem:
        if isinstance(problem, KinhashError):
            raise
        reason = " ".join(str(problem).split()) or type(problem).__name__
        remedy = "Check that it exists and can be reached"
        if done == "written":
            remedy = "Check that it can be reached and has space; what was there before is as it was"
        raise EngineProblem(f"{place.shown} could not be {done}: {reason}", "", remedy) from problem
