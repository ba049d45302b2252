"""The nearest rows of several segments: what one search does once its filter has been applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._internal.types import Array, Floats, Ints, Words
from ..codes import BitLayout
from .rerank import Answer, Pair, SecondLook, looked_again
from .segments import Part, best_of

__all__ = ["QueryBatch", "answer"]

MORE = 4  # factor by which a shortlist grows while its last rows tie


@dataclass(frozen=True, eq=False)
class QueryBatch:
    """A batch of queries in the form that segments take.

    ``weights`` (q, 64 W), for queries with margins, say what each bit counts. ``own`` are ids (m,) to be left
    out, one each for the queries ``owners`` (m,).
    """

    words: Words
    fields: BitLayout
    weights: Floats | None = None
    own: Array | None = None
    owners: Ints | None = None

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: Ints) -> QueryBatch:
        """Some of the queries."""
        part = replace(self, words=np.ascontiguousarray(self.words[rows]))
        part.words.flags.writeable = False
        if self.weights is not None:
            part = replace(part, weights=self.weights[rows])
        if self.own is not None and self.owners is not None:
            place = np.full(len(self), -1)
            place[self.owners] = np.arange(len(self.owners))
            owners = np.flatnonzero(place[rows] >= 0)
            part = replace(part, own=self.own[place[rows][owners]], owners=owners)
        return part


def answer(segments: Sequence[Part], asked: QueryBatch, k: int, look: SecondLook | None) -> Answer:
    """Distances and ids in the order of the result, at most k for each query."""
    if look is None:
        return _even_or_flat(*_nearest(segments, asked, k))
    return looked_again(look, k, _shortlists(segments, asked, look.cut))


def _even_or_flat(distances: Array, ids: Array, counts: Ints) -> Answer:
    """The answer as it is where all queries have as many rows, else flat and without what is left out."""
    if (counts == distances.shape[1]).all():
        return distances, ids, None
    kept = (np.arange(distances.shape[1]) < counts[:, None]).ravel()
    return distances.ravel()[kept], ids.ravel()[kept], counts


def _nearest(segments: Sequence[Part], asked: QueryBatch, k: int) -> tuple[Array, Array, Ints]:
    """The k nearest rows (q, at most k) by (distance, id), and how many of them each query has.

    A row that is left out is replaced by the next; if there is none, the query has one row less.
    """
    n_rows = sum(map(len, segments))
    if asked.own is None:
        parts = [_of_segment(segment, asked, k)[:2] for segment in segments]
        distances, ids = parts[0] if len(parts) == 1 else best_of(parts, k, len(asked))
        return distances, ids, np.full(len(asked), min(k, n_rows))
    parts, left_out = [], np.zeros(len(asked), np.int64)
    for segment in segments:
        distances, ids, ranks = _of_segment(segment, asked, k + 1)
        own = np.full(len(asked), -1)
        own[asked.owners] = segment.ids.find(asked.own)
        left_out += own >= 0
        farther = np.iinfo(np.uint16).max if asked.weights is None else np.inf
        parts.append((np.where(ranks == own[:, None], farther, distances).astype(distances.dtype), ids))
    counts = np.minimum(k, n_rows - left_out)
    return *best_of(parts, int(counts.max(initial=0)), len(asked)), counts


def _of_segment(segment: Part, asked: QueryBatch, k: int) -> tuple[Array, Array, Ints]:
    depth = min(k, len(segment))
    if asked.weights is None:
        distances, ranks = segment.top_k(asked.words, depth, asked.fields)
    else:
        distances, ranks = segment.top_k_weighted(asked.words, asked.weights, depth, asked.fields)
    return distances, segment.ids.take(ranks), ranks


def _shortlists(segments: Sequence[Part], asked: QueryBatch, cut: int) -> list[Pair]:
    """Of each query the first ``cut`` rows, and every other row as near as the last of these."""
    distances, ids, counts = _nearest(segments, asked, cut + 1)
    lists = []
    for i, count in enumerate(counts.tolist()):
        near, names, wanted = distances[i, :count], ids[i, :count], cut + 1
        while cut and len(near) == wanted and near[-1] == near[cut - 1]:
            wanted *= MORE
            more, others, counts = _nearest(segments, asked.take(np.array([i])), wanted)
            near, names = more[0, : counts[0]], others[0, : counts[0]]
        tied = near <= near[cut - 1] if len(near) > cut > 0 else np.arange(len(near)) < cut
        lists.append((near[tied], names[tied]))
    return lists
