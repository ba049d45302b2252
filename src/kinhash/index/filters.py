"""Filters that are evaluated once: prepared ones, and equal ones among those of many queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from .._internal.types import Array, Ints
from ..errors import InvalidInput
from .conditions import Not, as_condition, key_of
from .payload import Where, filtered

if TYPE_CHECKING:
    from .filtered_segment import FilteredSegment
    from .hamming_index import HammingIndex
    from .segment import Segment
    from .segments import Part

__all__ = ["Filter", "Filters", "filters_of"]

Filters = list[tuple[object, Ints]]  # each distinct filter, and the numbers of its queries


class Filter:
    """A filter of one index, evaluated once for any number of searches; `HammingIndex.filter` makes it.

    After a change of the index, the next search evaluates it again, for the segments that changed. A mask
    names rows as they were: the filter follows these rows by their ids, and rows added later do not pass.

    ``len(filter)`` is the number of rows that pass. Memory: a byte and a quarter per row; after many searches
    a copy of the codes that pass.

    Parameters
    ----------
    index : the index that is searched.
    where : which rows pass, as `HammingIndex.search` takes it.
    """

    def __init__(self, index: HammingIndex, where: Where) -> None:
        self._index = index
        self._where = _own(as_condition(where))
        self._evaluated = False
        self._chosen: tuple[Sequence[Segment], list[FilteredSegment]] = (), []
        self._parts(index._state.segments)

    def __len__(self) -> int:
        return sum(map(len, self._parts(self._index._state.segments)))

    def __repr__(self) -> str:
        return f"Filter({len(self)} of {len(self._index)} rows)"

    def __reduce__(self) -> tuple[object, ...]:
        """A mask goes as the ids that it names: the index may have changed since."""
        self._parts(self._index._state.segments)
        return Filter, (self._index, self._named() if _is_mask(self._where) else self._where)

    def select(self, index: HammingIndex, segments: Sequence[Segment]) -> list[Part]:
        """The rows that pass, as parts of segments.

        Parameters
        ----------
        index : the index that is searched.
        segments : the rows of its present state.
        """
        if index is not self._index:
            raise InvalidInput(
                "A filter came to another index than the one that prepared it",
                "a filter of the index that is searched",
                "Prepare it with the filter method of that index",
            )
        parts = zip(segments, self._parts(segments), strict=True)
        return [segment if len(part) == len(segment) else part for segment, part in parts if len(part)]

    def _parts(self, segments: Sequence[Segment]) -> list[FilteredSegment]:
        """The rows that pass of every segment, evaluated where it is not known.

        Two threads may do the same work at once; each leaves a whole result.
        """
        seen, parts = self._chosen
        if seen is segments and self._evaluated:
            return parts
        if self._evaluated and _is_mask(self._where):
            self._where = self._named()
        known = {id(segment): part for segment, part in self._held()}
        if callable(self._where) or any(id(segment) not in known for segment in segments):
            fresh = segments if callable(self._where) else [one for one in segments if id(one) not in known]
            found = filtered(fresh, self._where)
            known |= {id(one): _prepared(part) for one, part in zip(fresh, found, strict=True)}
        parts = [known[id(segment)] for segment in segments]
        self._chosen, self._evaluated = (segments, parts), True
        return parts

    def _named(self) -> Array:
        """The ids of the rows that passed when the filter was last evaluated."""
        ids = [segment.ids.take(np.flatnonzero(part.mask)) for segment, part in self._held()]
        return np.concatenate(ids) if ids else np.empty(0, np.int64)

    def _held(self) -> Iterator[tuple[Segment, FilteredSegment]]:
        return zip(*self._chosen, strict=True)


def _prepared(part: FilteredSegment) -> FilteredSegment:
    return part.prepared() if hasattr(part, "prepared") else part


def _own(where: object) -> object:
    """A mask or ids as they are now, whatever becomes of the caller's."""
    if isinstance(where, Not):
        return Not(_own(where.where))
    return copy(where) if isinstance(where, (list, np.ndarray)) else where


def _is_mask(where: object) -> bool:
    while isinstance(where, Not):
        where = where.where
    if isinstance(where, (list, tuple)):
        where = np.asarray(where)
    return getattr(getattr(where, "dtype", None), "kind", "") == "b"


def filters_of(where: object, n_queries: int) -> Filters | None:
    """The distinct filters of a list with one for each query; None where ``where`` is a single filter.

    A list of ids is a single filter; a list is one of filters as soon as an entry is None, a mapping, a
    function, a `Filter`, a `Not`, or itself a list or an array. Then its strings are conditions.
    """
    if not isinstance(where, (list, tuple)) or not any(map(_is_filter, where)):
        return None
    if len(where) != n_queries:
        raise InvalidInput(
            f"{len(where)} filters came with {n_queries} queries",
            "one filter for every query, or one for all",
            "Pass as many filters as queries",
        )
    found: dict[object, tuple[object, list[int]]] = {}
    for number, one in enumerate(where):
        condition = as_condition(one)
        found.setdefault(_key(condition), (condition, []))[1].append(number)
    return [(one, np.array(numbers, np.int64)) for one, numbers in found.values()]


def _is_filter(entry: object) -> bool:
    if isinstance(entry, np.ndarray):
        return entry.ndim > 0
    if hasattr(entry, "__cuda_array_interface__") or entry is None or callable(entry):
        return True
    return isinstance(entry, (Mapping, list, tuple, Filter, Not))


def _key(one: object) -> object:
    """Equal keys mean equal filters; what cannot be compared is equal to itself alone."""
    if isinstance(one, np.ndarray) and one.dtype.kind in "biu":
        return one.dtype.str, one.tobytes()
    key: object = key_of(one)
    if isinstance(one, (list, tuple)):
        key = type(one).__name__, *((type(entry), entry) for entry in one)
    elif one is None or callable(one):
        key = one
    try:
        hash(key)
    except TypeError:
        return id(one)
    return id(one) if key is None and one is not None else key
