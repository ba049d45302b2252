"""Rows that are nearly the same: groups linked by pairs of codes within a radius, exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._internal.blocks import n_threads
from .._internal.types import Array, Bools, Distances, Ints
from .._internal.validation import check_choice, check_integer
from ..codes import BitLayout, Codes, as_codes, to_words
from .hamming_index import HammingIndex
from .ids import Ids, as_ids
from .kernels.bit_weights import weighing_of
from .kernels.unions import unite
from .segment import EMPTY, Segment, read_only

__all__ = ["NearDuplicates", "near_duplicates"]

MOST_PAIRS = 2**23  # pairs that a search can find at most, per thread: some 80 bytes each while it runs
MOST_QUERIES = 100  # codes of a search, per thread, where that bound leaves more
KEEP = ("first", "last")


@dataclass(frozen=True, eq=False)
class NearDuplicates:
    """The rows in groups of two or more, group after group, each in the order of the rows.

    ``distances`` are those to the row of the group that is kept. In a chain of near duplicates they may
    exceed the radius.
    """

    n_rows: int
    radius: int
    ids: Array
    groups: Ints
    kept: Bools
    distances: Distances

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.kept.sum())

    @property
    def dropped(self) -> Array:
        """The ids that are not kept, as `HammingIndex.remove` takes them."""
        return self.ids[~self.kept]

    def __repr__(self) -> str:
        return f"NearDuplicates({len(self.ids)} of {self.n_rows} rows in {self.n_groups} groups)"


def near_duplicates(
    codes: HammingIndex | Codes | npt.ArrayLike, radius: int, *, keep: str = "first"
) -> NearDuplicates:
    """Find the groups of rows that are linked by pairs within ``radius``, exactly.

    Two rows are in one group if a chain of rows leads from one to the other, each within ``radius`` of the
    next, in the weighted distance of the codes. One row of each group is kept.

    Distinct codes are compared, so a million equal rows cost no more than one. Never n × n: they are
    searched in blocks that find 2**23 pairs per thread at most, 80 bytes each. Beyond that, some 100 bytes
    per row of 64 bits.

    Parameters
    ----------
    codes : an index, or codes.
    radius : largest distance of a pair that links two rows; 0 finds equal codes.
    keep : which row of a group is kept, ``"first"`` or ``"last"`` in the order of the ids of an index, or of
        the rows of codes.

    Examples
    --------
    >>> found = near_duplicates(np.array([[0b0000], [0b1111], [0b0001], [0b1111]], np.uint8), radius=1)
    >>> found.ids.tolist(), found.groups.tolist(), found.dropped.tolist()
    ([0, 2, 1, 3], [0, 0, 1, 1], [2, 3])
    """
    check_choice("keep", keep, KEEP)
    rows = codes.codes() if isinstance(codes, HammingIndex) else as_codes(codes)
    radius = min(check_integer("radius", radius, 0), rows.max_distance)
    words = read_only(to_words(rows.packed))
    segment = Segment.build(words, rows.n_bits, Ids(len(rows)))
    roots = _roots(segment, radius, rows.fields)[segment.code_of_rank()]
    members = np.flatnonzero(np.bincount(roots, minlength=1)[roots] > 1)
    _, groups = np.unique(roots[members], return_inverse=True)
    order = np.argsort(groups, kind="stable")
    members, groups = members[order], groups[order]
    turns = groups[1:] != groups[:-1]
    edge = [True] * min(1, len(groups))
    kept = np.concatenate([edge, turns] if keep == "first" else [turns, edge]).astype(bool)
    differing = words[members] ^ words[members[kept]][groups]
    distances = weighing_of(rows.fields, rows.n_bits).distances(differing).astype(np.uint16)
    ids = members if rows.ids is None else as_ids(rows.ids)[members]
    return NearDuplicates(len(rows), radius, ids, groups, kept, distances)


def _roots(segment: Segment, radius: int, fields: BitLayout) -> Ints:
    """The smallest code of the group of every distinct code."""
    n_codes = segment.n_codes
    distinct = Segment(segment.n_bits, segment.blocks, n_codes, EMPTY, EMPTY, Ids(n_codes))
    words = distinct.words()
    parents = np.arange(n_codes)
    size = n_threads() * max(1, min(MOST_QUERIES, MOST_PAIRS // max(1, n_codes)))
    for start in range(0, n_codes if radius else 0, size):
        query, _, others = distinct.within(read_only(words[start : start + size]), radius, fields)
        query = query + start
        later = others > query  # each pair is found from both sides
        unite(parents, query[later], others[later])
    while (above := parents[parents] != parents).any():
        parents[above] = parents[parents[above]]
    return parents
