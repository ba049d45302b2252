"""The functions that users call, the contract that every engine fulfills, and what engines share.

An engine writes codes to a `Place`, opens the place again as a `Reader`, and says which statement finds the
neighbors of a code. Its input is validated by the functions here. Rows come in ascending order of their ids,
which are 64-bit integers or, where an engine holds them, strings. Subclasses are final.
"""

from __future__ import annotations

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from .._internal.registry import Table
from .._internal.types import Array, Facts
from .._internal.validation import check_integer, check_rows
from ..codes import Codes, CodesLike, as_codes, n_bytes, pack_bits, to_words
from ..errors import CodesMismatch, EngineProblem, InvalidInput, KinhashError, MissingExtra
from ..index import Neighbors, as_ids, sorting_order

ENGINES = Table(
    "engine",
    {
        "duckdb": "kinhash.engines.sql:DuckDB",
        "faiss": "kinhash.engines.libraries:Faiss",
        "lance": "kinhash.engines.libraries:Lance",
        "parquet": "kinhash.engines.sql:Parquet",
        "pgvector": "kinhash.engines.sql:PgVector",
        "postgres": "kinhash.engines.sql:Postgres",
        "sqlite": "kinhash.engines.sql:SQLite",
    },
    entry_points="kinhash.engines",
)
Target = str | os.PathLike[str]
Found = tuple[Array, npt.NDArray[np.uint16]]  # ids (int64 or strings) and distances of one query
TABLE = re.compile(r"[a-z][a-z0-9_]{0,62}")


# ---- what users call -------------------------------------------------------------------------------------


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

    Memory: a copy of what is written, and for engines that write one file, that file.

    Parameters
    ----------
    engine : str
        A name in ``ENGINES``.
    codes : Codes or array of uint8 (n, bytes)
        The codes.
    target : path or str
        A file, a folder or a connection, see docs/engines.md.
    n_bits : int, default=None
        Length of the codes if they are a bare array and not 8 bits per byte.
    ids : array-like (n,), default=None
        64-bit integers, or strings where the engine holds them (all but FAISS), each once. None for those of
        the codes, or row numbers.
    table : str, default="codes"
        Name of the table.
    overwrite : bool, default=False
        Whether to replace what is there already; otherwise it stays, and `InvalidInput` is raised.
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
    """Find the ``k`` nearest rows of every query with the engine: the value `HammingIndex.search` gives.

    Parameters
    ----------
    engine, target, n_bits, table
        As in `write`.
    queries : Codes or array of uint8 (q, bytes)
        The codes to search for.
    k : int
        Neighbors of each query.
    """
    one: Engine = ENGINES.make(engine)
    return answers(one, as_place(target, table), as_codes(queries, n_bits), check_integer("k", k, 0))


def answers(one: Engine, place: Place, queries: Codes, k: int) -> Neighbors:
    """The neighbors of checked queries."""
    with plainly(one, place, "searched"), one.open(place) as reader:
        reader.facts.require(queries, place)
        n_found = min(k, reader.facts.n_rows)
        found = [reader.nearest(queries[row], n_found) for row in range(len(queries))] if n_found else []
    ids, distances = np.full((len(queries), k), -1, np.int64), np.full((len(queries), k), -1, np.int32)
    if found and found[0][0].dtype.kind == "T":
        ids = np.full(ids.shape, "", found[0][0].dtype)
    for row, (own, far) in enumerate(found):
        ids[row, :n_found], distances[row, :n_found] = own, far
    return Neighbors(ids, distances, np.full(len(queries), n_found), float(queries.n_bits))


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

    SQL for databases, Python for libraries. The engine need not be installed. Parameters as in `search`.
    """
    one, first, k, place = _asked(engine, code, target, k, n_bits, table)
    return one.statement(first, k, place)


def prepared_statement(
    engine: str,
    code: CodesLike,
    target: Target,
    k: int = 10,
    *,
    n_bits: int | None = None,
    table: str = "codes",
) -> PreparedStatement:
    """The text of `statement` with named parameters in place of the code and ``k``, and their values.

    For DuckDB, Parquet (by DuckDB), SQLite, PostgreSQL (psycopg 3) and pgvector. The text is the same for all
    codes of one length, so a program keeps it, and passes the parameters of each query.
    """
    one, first, k, place = _asked(engine, code, target, k, n_bits, table)
    if not isinstance(one, SqlEngine):
        names = ", ".join(name for name in ENGINES if issubclass(ENGINES[name], SqlEngine))
        raise InvalidInput(f"{engine} has no SQL", f"one of {names}", "Use kinhash.engines.statement")
    return one.prepared_statement(first, k, place)


def _asked(
    engine: str, code: CodesLike, target: Target, k: int, n_bits: int | None, table: str
) -> tuple[Engine, Codes, int, Place]:
    """What a statement is about: the engine, one code, ``k`` and the place."""
    codes = as_codes(code, n_bits)
    if not len(codes):
        raise InvalidInput("No code came", "one code to ask about", "Pass a row of codes")
    return ENGINES.make(engine), codes[0], check_integer("k", k, 1), as_place(target, table)


@dataclass(frozen=True)
class Check:
    """The outcome of a self-check: whether distances and ids are equal, over ``n_queries`` queries."""

    n_queries: int
    k: int
    distances_equal: bool
    ids_equal: bool

    @property
    def passed(self) -> bool:
        """Whether every distance and every id was ours."""
        return self.distances_equal and self.ids_equal

    def __str__(self) -> str:
        what = f"{self.n_queries} queries with {self.k} neighbors each"
        if self.passed:
            return f"Checked {what}: the engine's distances and ids equal ours."
        wrong = "distances" if not self.distances_equal else "ids (at equal distances)"
        return f"Checked {what}: the engine's {wrong} differ from ours."


def check(
    engine: str,
    codes: CodesLike,
    target: Target,
    *,
    n_bits: int | None = None,
    ids: npt.ArrayLike | None = None,
    table: str = "codes",
    n_queries: int = 20,
    k: int = 10,
    seed: int = 0,
) -> Check:
    """Search the engine for some of the written codes, and compare with an exact search.

    Half of the queries are written codes, half are written codes with a tenth of their bits flipped.

    Parameters
    ----------
    engine, codes, target, n_bits, ids, table
        What was passed to `write`.
    n_queries : int, default=20
        Number of queries.
    k : int, default=10
        Neighbors of each query.
    seed : int, default=0
        Seed of the choice of queries.
    """
    one: Engine = ENGINES.make(engine)
    n_queries, k = check_integer("n_queries", n_queries, 1), check_integer("k", k, 1)
    rows = prepared(as_codes(codes, n_bits), ids)
    rng = np.random.default_rng(seed)
    if len(rows):
        bits = rows[rng.integers(0, len(rows), n_queries)].bits()
        flips = rng.random(bits.shape) < 0.1
        flips[::2] = False
        bits = bits ^ flips
    else:
        bits = rng.integers(0, 2, (n_queries, rows.n_bits), dtype=np.uint8)
    queries = Codes(pack_bits(bits), rows.n_bits, None, rows.model_id)
    theirs = answers(one, as_place(target, table), queries, k)
    assert rows.ids is not None
    stored = to_words(rows.packed)
    distances_equal = ids_equal = True
    for row, query in enumerate(to_words(queries.packed)):
        distances = np.bitwise_count(stored ^ query).sum(axis=1, dtype=np.uint16)
        order = np.argsort(distances, kind="stable")[:k]  # rows are in the order of their ids
        distances_equal &= np.array_equal(distances[order], theirs[row].distances)
        ids_equal &= rows.ids[order].tolist() == theirs[row].ids.tolist()
    return Check(n_queries, min(k, len(rows)), bool(distances_equal), bool(ids_equal))


def as_place(target: Target, table: str) -> Place:
    """A place from what the user named; one rule for tables that every engine accepts."""
    if not isinstance(table, str) or not TABLE.fullmatch(table):
        raise InvalidInput(
            f"A table was to be called {table!r}",
            "lower-case letters, digits and underscores, a letter first, at most 63",
            "Choose another name",
        )
    text = os.fsdecode(target)
    if not text or "\0" in text:
        raise InvalidInput(f"The target is {text!r}", "a file, a folder or a connection", "Name one")
    return Place(text, table)


def prepared(codes: Codes, ids: npt.ArrayLike | None = None) -> Codes:
    """Codes with ids, 64-bit integers or strings, each once, in ascending order."""
    given = codes.ids if ids is None else ids
    values = np.arange(len(codes)) if given is None else as_ids(given)
    check_rows(len(values), "ids", len(codes), "codes")
    order = sorting_order(values)
    return Codes(np.ascontiguousarray(codes.packed[order]), codes.n_bits, values[order], codes.model_id)


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


# ---- the contract ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where codes are: a file, a folder or a connection, and the table in it where it has tables."""

    target: str
    table: str

    @property
    def shown(self) -> str:
        """The target as it may stand in a message."""
        return without_password(self.target)


@dataclass(frozen=True)
class EngineFacts:
    """What is known about written codes. ``whole_bytes``: the engine knows their length in bytes only."""

    n_rows: int
    n_bits: int
    model_id: str | None = None
    whole_bytes: bool = False

    def require(self, queries: Codes, place: Place) -> None:
        """Refuse queries of another length or another model."""
        if self.n_bits != (8 * n_bytes(queries.n_bits) if self.whole_bytes else queries.n_bits):
            raise CodesMismatch(
                f"Codes of {queries.n_bits} bits came to {place.shown}, "
                f"which holds codes of {self.n_bits} bits",
                "codes of one length",
                "Encode with the model that made the written codes",
            )
        if self.model_id and queries.model_id and self.model_id != queries.model_id:
            raise CodesMismatch(
                f"Codes of model {queries.model_id[:12]} came to {place.shown}, "
                f"which holds codes of model {self.model_id[:12]}",
                "codes made by one model",
                "Encode with the model that made the written codes",
            )

    @staticmethod
    def note(codes: Codes) -> str:
        """The text an engine keeps beside the codes, for `from_note`."""
        return json.dumps({"kinhash": 1, "n_bits": codes.n_bits, "model_id": codes.model_id})

    @classmethod
    def from_note(cls, note: str | bytes | None, n_rows: int, place: Place) -> EngineFacts:
        """Read the note back; a table without one was not written by us, so its bit order is unknown."""
        try:
            found = json.loads(note or "null")
            return cls(n_rows, int(found["n_bits"]), found["model_id"])
        except (ValueError, TypeError, KeyError):
            raise InvalidInput(
                f"{place.table!r} in {place.shown} says nothing about its codes",
                "codes written by kinhash, with their length noted beside them",
                "Write them with kinhash.engines.write",
            ) from None


@dataclass(frozen=True)
class Reader:
    """An open place: its facts, and the ``k`` nearest rows of one code, by (distance, id)."""

    facts: EngineFacts
    nearest: Callable[[Codes, int], Found]


class Engine(ABC):
    """One engine. Everything that may be slow or absent is imported inside its methods."""

    file: ClassVar[bool] = True  # whether the target is one file
    text_ids: ClassVar[bool] = True  # whether it holds strings as ids

    @abstractmethod
    def problems(self) -> tuple[type[Exception], ...]:
        """What the engine raises when something goes wrong; raises `MissingExtra` where it is absent."""

    @abstractmethod
    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        """Write codes with ids, all or nothing."""

    @abstractmethod
    def open(self, place: Place) -> AbstractContextManager[Reader]:
        """Open what was written, without changing it."""

    @abstractmethod
    def statement(self, code: Codes, k: int, place: Place) -> str:
        """The exact text that finds the ``k`` rows nearest to one code."""


# ---- what engines share ----------------------------------------------------------------------------------


def without_password(target: str) -> str:
    """A connection that may be shown."""
    target = re.sub(r"(://[^:/@]*):.*@", r"\1:***@", target)
    return re.sub(r"(password\s*=\s*)('(\\.|[^'])*'|\S+)", r"\1***", target)


def driver(module: str, extra: str, package: str | None = None) -> ModuleType:
    """The module that speaks to an engine, or an error that names the extra which brings it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra.of(package or module.partition(".")[0], extra) from None


def has_text_ids(codes: Codes) -> bool:
    """Whether the ids are strings; numbers otherwise."""
    return codes.ids is not None and codes.ids.dtype.kind == "T"


def plain_ids(codes: Codes) -> Any:
    """Ids as Arrow takes them, which does not know NumPy's strings."""
    return codes.ids.tolist() if has_text_ids(codes) and codes.ids is not None else codes.ids


def id_array(ids: Any) -> Array:
    """Ids as an engine gave them, numbers or strings, as `HammingIndex` has them."""
    values = ids.to_pylist() if hasattr(ids, "to_pylist") else ids
    return np.array(
        values, np.dtypes.StringDType() if len(values) and isinstance(values[0], str) else np.int64
    )


Value = Callable[[str, object], str]  # the SQL of a value with a name: a literal, or a parameter


class PreparedStatement(NamedTuple):
    """SQL with named parameters, and their values for one code."""

    text: str
    parameters: Facts


class SqlEngine(Engine):
    """An engine whose statement is SQL; the bits of a code are text, its words are numbers."""

    bits: ClassVar[str] = "'{}'"  # bits as a literal
    bits_parameter: ClassVar[str] = "${}"
    parameter: ClassVar[str] = "${}"

    @abstractmethod
    def sql(self, code: Codes, k: int, place: Place, value: Value) -> str:
        """The statement, with ``value(name, …)`` for everything that differs between queries."""

    def statement(self, code: Codes, k: int, place: Place) -> str:
        def literal(name: str, value: object) -> str:
            return self.bits.format(value) if isinstance(value, str) else str(value)

        return self.sql(code, k, place, literal)

    def prepared_statement(self, code: Codes, k: int, place: Place) -> PreparedStatement:
        """The statement with parameters in place of the code and of ``k``, for the engine's client."""
        parameters: Facts = {}

        def parameter(name: str, value: object) -> str:
            parameters[name] = value
            return (self.bits_parameter if isinstance(value, str) else self.parameter).format(name)

        return PreparedStatement(self.sql(code, k, place, parameter), parameters)


def already_there(place: Place, what: str = "table") -> InvalidInput:
    """The refusal to write over something."""
    name = f"{place.table!r}" if what != "file" else place.target
    return InvalidInput(
        f"There is a {what} {name} already",
        "a new name, or the word to overwrite it",
        "Pass overwrite (--overwrite), or another name; nothing was written",
    )


def not_there(place: Place) -> InvalidInput:
    """The refusal to search nothing."""
    return InvalidInput(
        f"There is no table {place.table!r} in that place", "a table of codes", "Write the codes first"
    )
