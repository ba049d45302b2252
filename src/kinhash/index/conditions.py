"""Conditions on payload columns: one form for mappings and for text.

A condition is a tree of `OneOf` and `Between` under `AllOf`, `AnyOf` and `Not`. It knows no index: `matching`
evaluates it. Conditions are values, so equal ones are evaluated once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInput

__all__ = ["AllOf", "AnyOf", "Between", "Condition", "Not", "OneOf", "as_condition", "key_of"]


@dataclass(frozen=True)
class OneOf:
    """The column has one of the values; a column of lists has one of them among its own."""

    column: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Between:
    """The column lies between two bounds; None is no bound, and an open bound itself does not pass."""

    column: str
    low: Any
    high: Any
    low_open: bool = False
    high_open: bool = False


@dataclass(frozen=True)
class AllOf:
    """Every part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class AnyOf:
    """At least one part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    """Every row that ``where`` does not let pass.

    ``where`` is a filter (``Not({"language": "en"})``), or the value of a column inside one
    (``{"language": Not("en"), "year": Not((2010, 2020))}``).
    """

    where: Any


Condition = OneOf | Between | AllOf | AnyOf | Not


def as_condition(where: object) -> object:
    """The condition that a mapping or a text stands for; ids, masks and functions stay as they are."""
    if isinstance(where, str):
        from .grammar import parsed

        return parsed(where)
    if isinstance(where, Mapping):
        parts = tuple(_of_column(name, value) for name, value in where.items())
        return parts[0] if len(parts) == 1 else AllOf(parts)
    if isinstance(where, Not):
        return Not(as_condition(where.where))
    return where


def _of_column(name: str, value: object) -> Condition:
    if isinstance(value, Not):
        return Not(_of_column(name, value.where))
    if isinstance(value, tuple):
        if len(value) != 2:
            raise InvalidInput(
                f"A filter wants a tuple of {len(value)} values of the payload column {name!r}",
                "(lowest, highest) for a range, with None for no bound",
                "Pass a list or a set for one of several values",
            )
        return Between(name, _plain(value[0]), _plain(value[1]))
    if isinstance(value, Collection) and not isinstance(value, (str, bytes)):
        return OneOf(name, tuple(map(_plain, value)))
    return OneOf(name, (_plain(value),))


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value


def key_of(condition: object) -> Condition | None:
    """The condition itself if it can be a key of a dictionary; else None."""
    if not isinstance(condition, Condition):
        return None
    try:
        hash(condition)
    except TypeError:
        return None
    return condition
