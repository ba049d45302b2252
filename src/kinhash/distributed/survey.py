"""The first pass: what the labels of all blocks say, and which rows to gather.

Only labels are read. A survey of a block and a survey of a thousand blocks have the same size, but for one
number per block: the distinct labels while they are few, a fair draw of labels where they are many, and where
rare names were first seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.types import Floats, Ints, LabelsLike, Rng
from ..supervision import Labels, from_labels, read_labels

__all__ = ["RARE", "Survey", "choose_rows", "spread_rows", "survey_block"]

RARE = 5  # rows of a rare name that are gathered beside the draw, so that no name is lost by chance


@dataclass(frozen=True)
class Survey:
    """Labels of consecutive blocks. ``known`` = rows with labels, by block.

    ``kinds`` are the distinct labels in the order they first appear, with their ``counts``; None once
    there are more than ``most``. ``drawn`` are the labels of the ``most`` rows with the smallest ``lots``:
    random numbers of (seed, block, row): a fair draw however blocks are merged. ``seen`` maps the name of
    a class or tag to how often it occurs and to the first rows, as (block, place among the known rows).
    """

    most: int
    n_rows: int
    known: tuple[int, ...]
    kinds: Labels | None
    counts: Floats
    drawn: Labels
    lots: Floats
    seen: dict[object, tuple[int, tuple[tuple[int, int], ...]]]

    @property
    def n_known(self) -> int:
        """Rows with labels."""
        return sum(self.known)

    def merge(self, other: Survey) -> Survey:
        """Both surveys as one, ours first."""
        kinds, counts = None, np.empty(0)
        if self.kinds is not None and other.kinds is not None:
            together = self.kinds.followed_by(other.kinds)
            kinds, counts = _distinct(together, np.concatenate([self.counts, other.counts]), self.most)
        lots = np.concatenate([self.lots, other.lots])
        first = np.sort(np.argsort(lots, kind="stable")[: self.most])
        seen = dict(self.seen)
        for name, (count, rows) in other.seen.items():
            before, earlier = seen.get(name, (0, ()))
            seen[name] = (before + count, (earlier + rows)[:RARE])
        return Survey(
            self.most,
            self.n_rows + other.n_rows,
            self.known + other.known,
            kinds,
            counts,
            self.drawn.followed_by(other.drawn)[first],
            lots[first],
            seen,
        )


def survey_block(number: int, y: LabelsLike, *, most: int, seed: int) -> Survey:
    """Survey of one block's labels."""
    every = read_labels(y)
    labels = every[np.flatnonzero(every.known)]
    kinds, counts = _distinct(labels, np.ones(len(labels)), most)
    lots = np.random.default_rng([seed, number]).random(len(labels))
    first = np.sort(np.argsort(lots, kind="stable")[:most])
    columns = labels.indicator().tocsc()
    seen = {}
    for column, name in enumerate(labels.names.tolist()):
        start, end = int(columns.indptr[column]), int(columns.indptr[column + 1])
        rows = columns.indices[start : min(end, start + RARE)].tolist()
        if rows:
            seen[name] = (end - start, tuple((number, int(row)) for row in rows))
    return Survey(most, len(every), (len(labels),), kinds, counts, labels[first], lots[first], seen)


def choose_rows(survey: Survey, most: int, rng: Rng) -> dict[int, Ints]:
    """All known rows if there are at most ``most``, else a uniform draw and a few rows of every rare name.

    Rows are given as places among the known rows of their block, ascending.
    """
    if survey.n_known <= most:
        return {block: np.arange(size) for block, size in enumerate(survey.known) if size}
    starts = np.concatenate([[0], np.cumsum(survey.known)])
    picked = rng.choice(survey.n_known, most, replace=False, shuffle=False)
    rare = [
        starts[block] + place
        for count, rows in survey.seen.values()
        if count * most < RARE * survey.n_known
        for block, place in rows
    ]
    picked = np.union1d(picked, np.array(rare, np.int64))
    block_of = np.searchsorted(starts, picked, side="right") - 1
    return {int(b): picked[block_of == b] - starts[b] for b in np.unique(block_of)}


def spread_rows(survey: Survey, most: int, n_blocks: int = 16) -> dict[int, Ints]:
    """Rows spread evenly over a few blocks that are spread evenly: for statistics that need not be exact."""
    filled = np.flatnonzero(survey.known)
    filled = filled[np.unique(np.linspace(0, len(filled) - 1, min(len(filled), n_blocks)).astype(np.int64))]
    each = -(-most // len(filled))
    return {
        int(b): np.unique(np.linspace(0, survey.known[b] - 1, min(survey.known[b], each)).astype(np.int64))
        for b in filled
    }


def _distinct(labels: Labels, counts: Floats, most: int) -> tuple[Labels | None, Floats]:
    """Distinct labels in order of first appearance with the sums of their counts; None if too many."""
    group = from_labels(labels).group_of_row
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    if len(first) > most:
        return None, np.empty(0)
    order = np.argsort(first, kind="stable")
    return labels[first[order]], np.bincount(inverse, counts, len(first)).astype(np.float64)[order]
