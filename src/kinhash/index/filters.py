"""One filter for every query: queries with equal filters are searched together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput

__all__ = ["Filters", "filters_of"]

Rows = npt.NDArray[np.int64]
Filters = list[tuple[Any, Rows]]  # each distinct filter, and the numbers of its queries


def filters_of(where: Any, n_queries: int) -> Filters | None:
    """The distinct filters of a list with one for each query; None where ``where`` is a single filter.

    A list of ids is a single filter; a list is one of filters as soon as an entry is None, a mapping, a
    function, or itself a list or an array.
    """
    if not isinstance(where, (list, tuple)) or not any(map(_is_filter, where)):
        return None
    if len(where) != n_queries:
        raise InvalidInput(
            f"{len(where)} filters came with {n_queries} queries",
            "one filter for every query, or one for all",
            "Pass as many filters as queries",
        )
    found: dict[Any, tuple[Any, list[int]]] = {}
    for number, one in enumerate(where):
        found.setdefault(_key(one), (one, []))[1].append(number)
    return [(one, np.array(numbers, np.int64)) for one, numbers in found.values()]


def _is_filter(entry: Any) -> bool:
    if isinstance(entry, np.ndarray):
        return entry.ndim > 0
    on_card = hasattr(entry, "__cuda_array_interface__")
    return on_card or entry is None or callable(entry) or isinstance(entry, (Mapping, list, tuple))


def _key(one: Any) -> Any:
    """Equal keys mean equal filters; what cannot be compared is equal to itself alone."""
    if isinstance(one, np.ndarray) and one.dtype.kind in "biu":
        return one.dtype.str, one.tobytes()
    key: Any = id(one)
    if isinstance(one, Mapping):
        key = (
            "columns",
            *sorted(((name, _typed(v)) for name, v in one.items()), key=lambda entry: str(entry[0])),
        )
    elif isinstance(one, (list, tuple)):
        key = _typed(one)
    elif one is None or callable(one):
        key = one
    try:
        hash(key)
    except TypeError:
        return id(one)
    return key


def _typed(value: Any) -> Any:
    """Values with their types: True and 1 compare equal, but one is of a mask and the other an id."""
    if isinstance(value, (list, tuple, set)):
        return type(value).__name__, *((type(one), one) for one in value)
    return type(value), value
