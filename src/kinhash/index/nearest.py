"""The nearest rows of several segments: what one search does once its filter has been applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..fields import Fields
from .rerank import SecondLook, looked_again
from .segment import Segment
from .segments import best_of

__all__ = ["Asked", "answer"]

Pair = tuple[npt.NDArray[Any], npt.NDArray[Any]]  # distances and ids
MORE = 4  # so many times the rows are asked for while ties go on


@dataclass(frozen=True, eq=False)
class Asked:
    """Queries as segments take them.

    ``weights`` (q, 64 W), for queries with margins, say what each bit counts. ``own`` are ids (m,) to be left
    out, one each for the queries ``owners`` (m,).
    """

    words: npt.NDArray[np.uint64]
    fields: Fields
    weights: npt.NDArray[np.float64] | None = None
    own: npt.NDArray[Any] | None = None
    owners: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: npt.NDArray[np.int64]) -> Asked:
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


def answer(segments: Sequence[Segment], asked: Asked, k: int, look: SecondLook | None) -> Pair:
    """Distances and ids (q, at most k) in the order of the result."""
    if look is None:
        return _nearest(segments, asked, k)
    return looked_again(look, k, _shortlists(segments, asked, look.cut))


def _nearest(segments: Sequence[Segment], asked: Asked, k: int) -> Pair:
    """The k nearest rows by (distance, id); a row that is left out is replaced by the next."""
    if asked.own is None:
        parts = [_of_segment(segment, asked, k)[:2] for segment in segments]
        return parts[0] if len(parts) == 1 else best_of(parts, k, len(asked))
    parts, left_out = [], False
    for segment in segments:
        distances, ids, ranks = _of_segment(segment, asked, k + 1)
        own = np.full(len(asked), -1)
        own[asked.owners] = segment.ids.find(asked.own)
        left_out |= bool((own >= 0).any())
        farther = np.iinfo(np.uint16).max if asked.weights is None else np.inf
        parts.append((np.where(ranks == own[:, None], farther, distances).astype(distances.dtype), ids))
    return best_of(parts, min(k, sum(map(len, segments)) - left_out), len(asked))


def _of_segment(segment: Segment, asked: Asked, k: int) -> tuple[Any, Any, Any]:
    depth = min(k, len(segment))
    if asked.weights is None:
        distances, ranks = segment.top_k(asked.words, depth, asked.fields)
    else:
        distances, ranks = segment.top_k_weighted(asked.words, asked.weights, depth, asked.fields)
    return distances, segment.ids.take(ranks), ranks


def _shortlists(segments: Sequence[Segment], asked: Asked, cut: int) -> list[Pair]:
    """Of each query the first ``cut`` rows, and every other row as near as the last of these."""
    distances, ids = _nearest(segments, asked, cut + 1)
    lists = []
    for i in range(len(asked)):
        near, names, wanted = distances[i], ids[i], cut + 1
        while cut and len(near) == wanted and near[-1] == near[cut - 1]:
            wanted *= MORE
            near, names = (found[0] for found in _nearest(segments, asked.take(np.array([i])), wanted))
        tied = near <= near[cut - 1] if len(near) > cut > 0 else np.arange(len(near)) < cut
        lists.append((near[tied], names[tied]))
    return lists
