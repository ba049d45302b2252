"""Answers of several indexes to the same queries, merged into the answer of one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InvalidInput
from ..index import Neighbors, best_of, sort_keys

__all__ = ["merge_neighbors"]


def merge_neighbors(parts: Sequence[Neighbors], k: int | None = None) -> Neighbors:
    """The ``k`` nearest of what the shards found, in the order (distance, id); all of it without ``k``.

    Every shard must have been asked for ``k`` neighbors, or for the same radius, and no id may occur in
    two of them; codes with fields have the same ones in all shards. Merged answers can be merged again, so
    many shards can be merged in a tree.
    """
    if not parts:
        raise InvalidInput("There are no answers to merge", "at least one", "Search some shards first")
    if any((part.splits is None) != (parts[0].splits is None) for part in parts):
        raise InvalidInput(
            "Some answers come from search and some from search_radius", "one kind", "Ask all shards alike"
        )
    found = [part for part in parts if part.ids.size] or list(parts[:1])  # no rows, no type of ids
    if parts[0].splits is not None:
        return _merge_flat(found, k)
    most = sum(part.ids.shape[1] for part in found)
    distances, ids = best_of(
        [(part.distances, part.ids) for part in found], most if k is None else k, len(parts[0])
    )
    return Neighbors(ids, distances, None, parts[0].full)


def _merge_flat(parts: Sequence[Neighbors], k: int | None) -> Neighbors:
    splits = [part.splits for part in parts if part.splits is not None]
    query = np.concatenate([np.repeat(np.arange(len(s) - 1), np.diff(s)) for s in splits])
    ids = np.concatenate([part.ids for part in parts])
    distances = np.concatenate([part.distances for part in parts])
    order = np.lexsort((sort_keys(ids), distances, query))
    if k is not None:  # the place of a row among those of its query
        place = np.arange(len(order)) - np.searchsorted(query[order], query[order])
        order = order[place < k]
    ends = np.searchsorted(query[order], np.arange(len(splits[0])))
    return Neighbors(ids[order], distances[order], ends, parts[0].full)
