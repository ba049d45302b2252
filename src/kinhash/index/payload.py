"""Payload columns of the rows, and which rows a filter lets pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .._internal.texts import STRING
from .._internal.types import Array, Bools, Ints
from ..errors import InvalidInput
from .conditions import Condition, Not, as_condition
from .filtered_segment import FilteredSegment
from .ids import Ids, as_ids, sorting_order
from .lists import Column, ListColumn, concatenated, holds_lists
from .matching import mask_of
from .segment import Segment
from .segments import Part

__all__ = ["PayloadLike", "Where", "as_payload", "filtered", "select"]

Columns = dict[str, Column]
PayloadLike: TypeAlias = Any  # columns by name: a mapping, or a data frame
Where = npt.ArrayLike | Mapping[str, Any] | Not | Callable[[Mapping[str, Any]], npt.ArrayLike] | None


def as_payload(payload: PayloadLike, n_rows: int) -> Columns:
    """Columns of booleans, numbers, strings or lists of these, one entry per row; a copy. None gives none."""
    if payload is None:
        return {}
    if not isinstance(payload, Mapping) and not hasattr(payload, "columns"):
        raise InvalidInput(
            f"The payload is a {type(payload).__name__}",
            "columns by name: a mapping or a data frame",
            "Pass for example payload={'year': years}",
        )
    names = list(payload.columns) if hasattr(payload, "columns") else list(payload)
    return {str(name): _column(str(name), payload[name], n_rows) for name in names}


def _column(name: str, values: Any, n_rows: int) -> Column:
    if holds_lists(values):
        lists = (
            values if isinstance(values, ListColumn) else ListColumn.of(values, f"payload column {name!r}")
        )
        _require_rows(name, lists.shape, n_rows)
        return lists
    try:
        column = np.asarray(values)
    except ValueError:  # lists of several lengths among other values
        raise InvalidInput(
            f"The payload column {name!r} has lists in some rows only",
            "one value for every row, or a list for every row",
            "Pass [] for a row without values",
        ) from None
    _require_rows(name, column.shape, n_rows)
    if column.dtype.kind in "biuf" and column.dtype.itemsize <= 8:
        return np.array(column, column.dtype.newbyteorder("="))
    # Read from what was handed in: a fixed-width array would drop trailing NULs.
    plain = isinstance(values, np.ndarray) or hasattr(values, "to_numpy")
    texts = column.tolist() if plain else list(values)
    if column.dtype.kind in "UTO" and all(isinstance(text, str) for text in texts):
        return as_ids(texts, f"payload column {name!r}") if texts else np.empty(0, STRING)
    raise InvalidInput(
        f"The payload column {name!r} has dtype {column.dtype}",
        "booleans, numbers or strings, or lists of numbers or of strings, none missing",
        "Convert the column first, dates for example with .astype('int64')",
    )


def _require_rows(name: str, shape: tuple[int, ...], n_rows: int) -> None:
    if shape != (n_rows,):
        raise InvalidInput(
            f"The payload column {name!r} has shape {shape}",
            f"one value for each of the {n_rows} rows",
            "Pass a 1-D array as long as the codes, or a list of lists for several values in a row",
        )


def select(segments: Sequence[Segment], where: object) -> list[Part]:
    """The rows that pass the filter, as parts of segments, before any search."""
    if where is None:
        return list(segments)
    return [
        segment if len(part) == len(segment) else part
        for segment, part in zip(segments, filtered(segments, where), strict=True)
        if len(part)
    ]


def filtered(segments: Sequence[Segment], where: object) -> list[FilteredSegment]:
    """The rows of every segment that pass."""
    condition = as_condition(where)
    if isinstance(condition, Condition) and not _is_opaque(condition):
        return [_remembered(segment, condition) for segment in segments]
    return [segment.only(mask) for segment, mask in zip(segments, _masks(segments, condition), strict=True)]


def _remembered(segment: Segment, condition: Condition) -> FilteredSegment:
    return segment.filtering.remembered(condition, lambda: segment.only(mask_of(segment, condition)))


def _is_opaque(condition: object) -> bool:
    """Whether it ends in ids, a mask or a function, which may be different things at another time."""
    while isinstance(condition, Not):
        condition = condition.where
    return not isinstance(condition, Condition)


def _masks(segments: Sequence[Segment], where: object) -> Iterable[Bools]:
    if isinstance(where, Not):
        return [~mask for mask in _masks(segments, where.where)]
    if callable(where):
        return _cut_mask(segments, np.asarray(where(_all_columns(segments)))) if segments else []
    if np.asarray(where).dtype == bool:
        return _cut_mask(segments, np.asarray(where))
    return [_listed(segment, where) for segment in segments]


def _order(segments: Sequence[Segment]) -> Ints | None:
    """The order that sorts the rows of several segments by id; None where they are sorted."""
    ids = [segment.ids for segment in segments]
    if all(_end(one, -1) < _end(other, 0) for one, other in pairwise(ids)):
        return None
    return sorting_order(np.concatenate([one.all() for one in ids]))


def _end(ids: Ids, place: int) -> Any:
    return ids.take(np.array([place % len(ids)])).tolist()[0]


def _all_columns(segments: Sequence[Segment]) -> Mapping[str, Column]:
    """The payload of all rows in the order of their ids, however they are spread over segments."""
    if len(segments) == 1:
        return segments[0].payload
    order = _order(segments)
    whole = {name: concatenated([one.payload[name] for one in segments]) for name in segments[0].payload}
    return whole if order is None else {name: column[order] for name, column in whole.items()}


def _checked(mask: Array, n_rows: int) -> Bools:
    if mask.dtype != bool or mask.shape != (n_rows,):
        raise InvalidInput(
            f"A filter gave an array of shape {mask.shape} and dtype {mask.dtype}",
            f"one boolean for each of {n_rows} rows",
            "Combine conditions with & and |, as in lambda p: (p['year'] > 2000) & p['public']",
        )
    return mask


def _cut_mask(segments: Sequence[Segment], mask: Array) -> Iterable[Bools]:
    """One mask over all rows in the order of their ids, cut to the segments; copies of the caller's array."""
    sizes = [len(segment) for segment in segments]
    _checked(mask, sum(sizes))
    order = _order(segments)
    if order is not None:
        spread = np.empty_like(mask)
        spread[order] = mask
        mask = spread
    return [part.copy() for part in np.split(mask, np.cumsum(sizes)[:-1])] if segments else []


def _listed(segment: Segment, wanted: Any) -> Bools:
    """Rows whose id is in the list; ids of rows that are not there do no harm."""
    ids = as_ids(wanted, "ids of a filter")
    mask = np.zeros(len(segment), bool)
    if not len(ids):
        return mask
    if (ids.dtype == STRING) != segment.ids.are_strings:
        raise InvalidInput(
            "The ids of a filter are of another type than those of the index",
            "strings" if segment.ids.are_strings else "integers",
            "Pass ids as the index has them",
        )
    ranks = segment.ids.find(ids)
    mask[ranks[ranks >= 0]] = True
    return mask
