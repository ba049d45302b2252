"""All rows within a radius of several segments: what one search does once its filter has been applied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._internal.types import Array, Distances, Ints
from .ids import sort_keys
from .nearest import QueryBatch
from .segments import Part

__all__ = ["Around", "around", "together"]

# Number of its query, distance and id of every row that was found.
Around = tuple[Ints, Distances, Array]


def around(segments: Sequence[Part], asked: QueryBatch, r: int) -> Around:
    """The rows within ``r`` of every query, in the order (query, distance, id)."""
    return together([_of_segment(segment, asked, r) for segment in segments])


def together(parts: Sequence[Around]) -> Around:
    """What was found in several segments, or by several filters, in one order."""
    nothing: Around = np.empty(0, np.int64), np.empty(0, np.uint16), np.empty(0, np.int64)
    found = [part for part in parts if len(part[0])]  # what is empty may have ids of another type
    if len(found) < 2:
        return [*found, *parts, nothing][0]
    query, distances, ids = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((sort_keys(ids), distances, query))
    return query[order], distances[order], ids[order]


def _of_segment(segment: Part, asked: QueryBatch, r: int) -> Around:
    query, distances, ranks = segment.within(asked.words, r, asked.fields)
    if asked.own is not None:
        own = np.full(len(asked), -1)
        own[asked.owners] = segment.ids.find(asked.own)
        kept = ranks != own[query]
        query, distances, ranks = query[kept], distances[kept], ranks[kept]
    return query, distances, segment.ids.take(ranks)
