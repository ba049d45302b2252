"""The rows of a segment that pass a filter: searched in place, or copied where that is cheaper.

A large part is scanned with a mask in the kernel: a bit for each distinct code that has a passing row, and
for codes that repeat also the rows themselves. Of a small part the codes are copied, and searches read
nothing else. A prepared filter copies a large part, too, once searching it in place took as long as copying
would. Answers are the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.locks import new_lock
from .._internal.types import Bools, Floats, Ints, Words
from ..codes import KIN_ONLY, BitLayout
from .ids import SomeIds
from .kernels.passing import passing_codes

if TYPE_CHECKING:
    from .segment import Finds, Pair, Segment

__all__ = ["FilteredSegment"]

FEW = (
    64  # codes that are scanned in the time it takes to gather one: a part of fewer rows than that is copied
)
COPYING = 5e-8  # seconds to copy the code of a row
LISTING = 3e-9  # seconds to look at a row in the list of its code
MANY_QUERIES = 16  # from here on, looking at every list once is worth it in the first search
ALL = np.uint64(2**64 - 1)


@dataclass
class _Parts:
    """What searches need, made by the first that does: bits of the codes, or the copied rows."""

    bits: Words | None = None
    rows: tuple[Segment, Ints] | None = None
    seconds: float = 0.0  # spent on searches in place
    lock: Any = field(default_factory=new_lock)


@dataclass(frozen=True, eq=False)
class FilteredSegment:
    """Rows of ``segment`` where ``mask`` (by rank) is True; answers have the ranks of the whole segment.

    ``lasting`` is for prepared filters: they may keep a copy of many rows.
    """

    segment: Segment
    mask: Bools
    count: int
    lasting: bool = False
    parts: _Parts = field(default_factory=_Parts)

    @classmethod
    def of(cls, segment: Segment, mask: Bools) -> FilteredSegment:
        """The rows of a mask."""
        mask = mask.view()
        mask.flags.writeable = False
        return cls(segment, mask, int(np.count_nonzero(mask)))

    def __len__(self) -> int:
        return self.count

    @property
    def ids(self) -> SomeIds:
        """The ids of the rows, by the ranks of the whole segment."""
        return SomeIds(self.segment.ids, self.mask, self.count)

    def prepared(self) -> FilteredSegment:
        """The same rows for many searches."""
        return replace(self, lasting=True, parts=_Parts(self.parts.bits, self.parts.rows))

    # ---- searching ---------------------------------------------------------------------------

    def top_k(self, queries: Words, k: int, fields: BitLayout = KIN_ONLY) -> Pair:
        """As `Segment.top_k`; k at most the number of rows that pass."""
        copied = self._rows(copy=False)
        if copied is not None:
            distances, places = copied[0].top_k(queries, k, fields)
            return distances, copied[1][places]
        begin = time.perf_counter()
        found = self.segment.top_k_passing(queries, k, fields, self._bits(len(queries)), self.mask)
        self.parts.seconds += time.perf_counter() - begin
        return found

    def top_k_weighted(self, queries: Words, weights: Floats, k: int, fields: BitLayout = KIN_ONLY) -> Pair:
        """As `Segment.top_k_weighted`, of a copy of the rows."""
        copied = self._rows(copy=True)
        assert copied is not None
        distances, places = copied[0].top_k_weighted(queries, weights, k, fields)
        return distances, copied[1][places]

    def within(self, queries: Words, radius: int, fields: BitLayout = KIN_ONLY) -> Finds:
        """As `Segment.within`."""
        copied = self._rows(copy=False)
        if copied is not None:
            query, distances, places = copied[0].within(queries, radius, fields)
            return query, distances, copied[1][places]
        begin = time.perf_counter()
        query, distances, ranks = self.segment.within(queries, radius, fields, self._bits(len(queries)))
        self.parts.seconds += time.perf_counter() - begin
        passes = self.mask[ranks]
        return query[passes], distances[passes], ranks[passes]

    # ---- what searches need ------------------------------------------------------------------

    def _rows(self, copy: bool) -> tuple[Segment, Ints] | None:
        """The rows as a segment of their own, with their ranks, if they are there, few or due."""
        found = self.parts.rows
        few = FEW * self.count <= self.segment.n_codes
        due = self.lasting and self.parts.seconds > COPYING * self.count
        if found is not None or not (copy or few or due):
            return found
        with self.parts.lock:
            if self.parts.rows is None:
                ranks = np.flatnonzero(self.mask)
                rows = self.segment.copied(ranks) if few else self.segment.codes_only().keep(self.mask)
                if not (few or self.lasting):  # nobody would free it: a copy for this search alone
                    return rows, ranks
                self.parts.rows = rows, ranks
            return self.parts.rows

    def _bits(self, n_queries: int) -> Words:
        """A bit for each code that may have a row that passes (``n_codes / 64`` words).

        Where codes repeat, all bits are set until searches have taken as long as looking at every list.
        """
        if self.parts.bits is not None:
            return self.parts.bits
        segment = self.segment
        n_words = -(-segment.n_codes // 64)
        if not segment.starts.size:
            bits = np.zeros(n_words, np.uint64)
            packed = np.packbits(self.mask, bitorder="little")
            bits.view(np.uint8)[: len(packed)] = packed
        elif n_queries < MANY_QUERIES and self.parts.seconds < LISTING * len(segment):
            return _frozen(np.full(n_words, ALL))
        else:
            bits = np.zeros(n_words, np.uint64)
            passing_codes(self.mask, segment.starts, segment.rows, bits)
        self.parts.bits = _frozen(bits)
        return bits


def _frozen(bits: Words) -> Words:
    bits.flags.writeable = False
    return bits
