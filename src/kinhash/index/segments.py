"""Several segments as one: made, merged, thinned out, and their answers put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from .._internal.types import Array, Bools, Words
from ..codes import n_bytes
from .filtered_segment import FilteredSegment
from .ids import Ids, is_ascending, sort_keys, sorting_order
from .lists import Column, concatenated
from .segment import Segment

__all__ = ["Build", "Part", "all_ids", "best_of", "in_order", "merged", "segment_of", "settled", "without"]

Part: TypeAlias = Segment | FilteredSegment  # what a search looks at
Build = Callable[..., Segment]


def segment_of(
    words: Words,
    n_bits: int,
    ids: Array,
    payload: Mapping[str, Column],
    build: Build = Segment.build,
) -> Segment:
    """A segment of rows in any order; ids that come twice are refused."""
    if not is_ascending(ids):
        order = sorting_order(ids)
        ids, words = ids[order], words[order]
        payload = {name: column[order] for name, column in payload.items()}
    return build(words, n_bits, Ids.of_sorted(ids), payload)


def best_of(parts: list[tuple[Array, Array]], k: int, n_queries: int) -> tuple[Array, Array]:
    """The k best of several segments' answers, in the order (distance, id)."""
    if not parts:
        return np.empty((n_queries, 0), np.uint16), np.empty((n_queries, 0), np.int64)
    distances = np.concatenate([part[0] for part in parts], axis=1)
    ids = np.concatenate([part[1] for part in parts], axis=1)
    order = np.lexsort((sort_keys(ids), distances), axis=1)[:, :k]
    # Strings are taken from one dimension: NumPy before 2.2 loses them when it picks from two.
    flat = order + ids.shape[1] * np.arange(len(ids))[:, None]
    return np.take_along_axis(distances, order, axis=1), ids.ravel()[flat]


def in_order(segments: Sequence[Segment], n_bits: int) -> tuple[Words, Array, dict[str, Column]]:
    """Codes (n, W), ids and payload of all rows, by ascending id."""
    if not segments:
        return np.empty((0, -(-n_bytes(n_bits) // 8)), np.uint64), np.empty(0, np.int64), {}
    ids = np.concatenate([segment.ids.all() for segment in segments])
    words = np.concatenate([segment.words() for segment in segments])
    payload = {
        name: concatenated([segment.payload[name] for segment in segments]) for name in segments[0].payload
    }
    if len(segments) > 1:
        order = sorting_order(ids)
        words, ids = words[order], ids[order]
        payload = {name: column[order] for name, column in payload.items()}
    return words, ids, payload


def all_ids(segments: Sequence[Segment]) -> Array:
    """The ids of all rows, ascending."""
    if not segments:
        return np.empty(0, np.int64)
    if len(segments) == 1:
        return segments[0].ids.all()
    ids = np.concatenate([segment.ids.all() for segment in segments])
    return ids[sorting_order(ids)]


def merged(segments: Sequence[Segment], n_bits: int, build: Build = Segment.build) -> Segment:
    """All rows in one segment."""
    if len(segments) == 1:
        return segments[0]
    words, ids, payload = in_order(segments, n_bits)
    return build(words, n_bits, Ids.of_sorted(ids), payload)


def settled(segments: tuple[Segment, ...], n_bits: int, build: Build = Segment.build) -> tuple[Segment, ...]:
    """Merge from the end until each segment is at least twice the next: a few, whatever was added."""
    while len(segments) > 1 and len(segments[-2]) < 2 * len(segments[-1]):
        segments = (*segments[:-2], merged(segments[-2:], n_bits, build))
    return segments


def without(segments: tuple[Segment, ...], ids: Array) -> tuple[tuple[Segment, ...], Bools]:
    """The segments without the rows of these ids, and which of the ids were there."""
    found = np.zeros(len(ids), bool)
    left = []
    for segment in segments:
        ranks = segment.ids.find(ids)
        here = ranks >= 0
        found |= here
        if here.any():
            mask = np.ones(len(segment), bool)
            mask[ranks[here]] = False
            segment = segment.keep(mask)
        if len(segment):
            left.append(segment)
    return tuple(left), found
