"""What the engines that speak SQL share: one shape of statement, and local database files."""

from __future__ import annotations

import contextlib
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._internal.aliases import Facts
from .._internal.files import new_files
from ..codes import Codes
from ..errors import InvalidInput
from .base import Engine, EngineFacts, Found, Place, Reader, id_array

__all__ = [
    "PreparedStatement",
    "SqlEngine",
    "Value",
    "already_there",
    "fresh_file",
    "not_there",
    "quoted",
    "select",
    "sql_reader",
]

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


def select(distance: str, source: str, k: str) -> str:
    """The ``k`` nearest rows in the order (distance, id), which SQL can promise."""
    return f"select id, {distance} as distance from {source} order by distance, id limit {k}"


def quoted(text: str) -> str:
    """Text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def sql_reader(engine: Engine, place: Place, facts: EngineFacts, run: Callable[[str], list[Any]]) -> Reader:
    """A search that runs exactly the statement the engine prints."""

    def nearest(code: Codes, k: int) -> Found:
        rows = run(engine.statement(code, k, place))
        return id_array([row[0] for row in rows]), np.array([row[1] for row in rows], np.uint16)

    return Reader(facts, nearest)


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


@contextlib.contextmanager
def fresh_file(path: str) -> Iterator[None]:
    """A database file that did not exist before a failure does not exist after it."""
    if os.path.exists(path):
        yield
        return
    with new_files(path, *(path + ending for ending in (".wal", "-journal", "-wal", "-shm"))):
        yield
