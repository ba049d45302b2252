"""Something to type on the page: ids of the index, and a filter over columns that it has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._internal.aliases import Facts
from ..index import ListColumn, column_as_text, value_as_text
from .pair import Pair

__all__ = ["hints_of"]

SHOWN_IDS = 3
SHOWN_CONDITIONS = 2
LONGEST = 40  # characters of a text or a name that is shown


def hints_of(pair: Pair) -> Facts:
    """The first ids, and a filter as text that the first row passes; None if there is no such filter."""
    ids = pair.ids.take(np.arange(min(SHOWN_IDS, len(pair.ids)))).tolist()
    found = [_condition(name, column) for name, column in pair.payload.items() if len(column)]
    conditions = [one for one in found if one is not None][:SHOWN_CONDITIONS]
    return {"ids": ids, "where": " and ".join(conditions) or None}


def _condition(name: str, column: Any) -> str | None:
    shown = column_as_text(name)
    if shown is None or len(name) > LONGEST:
        return None
    if isinstance(column, ListColumn):
        value = _as_text(column[0][:1])
        return None if value is None else f"{value} in {shown}"
    first = column[:1].tolist()
    value = _as_text(first)
    equal = isinstance(first[0], (str, bool))
    return None if value is None else f"{shown} {'==' if equal else '>='} {value}"


def _as_text(values: list[Any]) -> str | None:
    """A value as a filter has it; None for what it cannot have, and for none and long ones."""
    if not values:
        return None
    (value,) = values
    if isinstance(value, str):
        return value_as_text(value) if len(value) <= LONGEST and value.isprintable() else None
    return value_as_text(value) if math.isfinite(value) else None
