"""Immutable rows of an index: distinct codes, the rows that have them, their ids and payload.

An index is a few segments. A change makes new ones and leaves the old ones to searches that still read them.
Arrays are read-only, which also gives the kernels one type to compile for, mapped or not.

The rows that pass a filter are a `FilteredSegment`. A large part is scanned with a mask in the kernel: a bit
for each distinct code that has a passing row, and for codes that repeat also the rows themselves. Of a small
part the codes are copied, and searches read nothing else. A prepared filter copies a large part, too, once
many queries have searched it in place. Answers are the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._internal.bit_planes import planes_of
from .._internal.blocks import n_threads
from .._internal.locks import new_lock
from .._internal.types import Array, Bools, Bytes, Ints, Ints32, Numbers32, Words
from ..codes import n_bytes
from . import kernels
from .filters import RowValues
from .payload import (
    Column,
    Columns,
    Ids,
    ListColumn,
    SomeIds,
    concatenated,
    is_ascending,
    places_of_runs,
    sorting_order,
)
from .reference import CODE, unpacked

__all__ = [
    "EMPTY", "FilteredSegment", "Segment", "all_ids", "in_order", "merge", "read_only", "segment_of",
    "settle", "some_learned", "without",
]  # fmt: skip

T = TypeVar("T")
S = TypeVar("S")
Finds = tuple[Ints, Ints32, Ints]  # query, distance and rank of every row found
EMPTY = np.empty(0, np.uint32)

# Rules that choose between ways of the same answers, by sizes alone. Costs are in steps: one word compared.
FEW_CODES = 50_000  # with fewer codes no tables are built
MOST_CHUNKS = 64  # of 16 bits; tables of wider codes would take too much memory
BUILDING = 200  # steps that one chunk of a code costs when tables are built
PROBING = 15  # steps that looking at a code in a bucket costs
SAMPLE = 4096  # codes that tell how crowded buckets would be
GATHERING = 64  # codes that are scanned in the time it takes to copy one
LISTING = 15  # codes that are scanned in the time it takes to look at a row in the list of its code
TASK = 100  # queries of one task; also what the kernel takes at a time
WORTH_A_THREAD = 4_000_000  # steps, about half a millisecond


def read_only(words: Array) -> Array:
    """The same words as every kernel expects them: aligned and not to be written."""
    if not (words.flags.c_contiguous and words.flags.aligned):
        words = np.require(words, requirements=["C", "A"])
    words = words.view()
    words.setflags(write=False)
    return words


class Tables(NamedTuple):
    """The buckets of multi-index hashing: ``offsets`` (C, 65537), ``codes`` and ``values`` (C, n)."""

    offsets: Numbers32
    codes: Numbers32
    values: Words  # empty for codes of several words

    @property
    def n_bytes(self) -> int:
        """Memory the tables take."""
        return sum(array.nbytes for array in self)


@dataclass
class _Hashing:
    """Tables for radius search, once they are built, and the steps that searches took without them."""

    tables: Tables | None = None
    crowding: Array | None = None
    steps: int = 0
    lock: Any = field(default_factory=new_lock)


@dataclass(frozen=True, eq=False)
class Segment:
    """``n_codes`` distinct codes in ``blocks``; ``rows[starts[c]:starts[c + 1]]`` are the rows of code ``c``.

    ``rows`` holds ranks. Codes are in the order of their smallest rank. When every code has one row, code
    ``c`` belongs to rank ``c``, and ``starts`` and ``rows`` are empty. ``learned`` says which rows were
    learned with their labels: one bool, or one for every rank.
    """

    n_bits: int
    blocks: Words
    n_codes: int
    starts: Numbers32
    rows: Numbers32
    ids: Ids
    payload: Mapping[str, Column] = field(default_factory=dict)
    learned: Any = False
    values: RowValues | Any = None
    hashing: _Hashing = field(default_factory=_Hashing)

    def __post_init__(self) -> None:
        assert self.blocks.ctypes.data % 64 == 0 or not self.blocks.size, "vector loads need alignment"
        for array in (self.blocks, self.starts, self.rows, self.ids.values, *self.payload.values()):
            if array is not None and not isinstance(array, ListColumn):
                array.flags.writeable = False
        if self.values is None:
            object.__setattr__(self, "values", RowValues(self.payload, len(self.ids)))

    def __len__(self) -> int:
        return len(self.ids)

    # ---- making ------------------------------------------------------------------------------

    @classmethod
    def build(
        cls, words: Words, n_bits: int, ids: Ids, payload: Mapping[str, Column] | None, learned: Any
    ) -> Segment:
        """From codes (n, W) in the order of their ids. Working memory: 4 bytes per row, 20 per code."""
        words = read_only(words)
        n_rows, n_words = words.shape
        blocks = kernels.aligned_blocks(n_rows, n_words)
        code_of_row = np.empty(n_rows, np.uint32)
        n_codes = int(kernels.group_codes(words, blocks, code_of_row))
        starts = rows = EMPTY
        if n_codes < n_rows:
            starts, rows = np.empty(n_codes + 1, np.uint32), np.empty(n_rows, np.uint32)
            kernels.list_rows(code_of_row, n_codes, starts, rows)
            full, blocks = blocks, kernels.aligned_blocks(n_codes, n_words)
            blocks[:] = full[: len(blocks)]
        kernels.clear_tail(blocks, n_codes)
        return cls(n_bits, blocks, n_codes, starts, rows, ids, payload or {}, learned)

    def words(self) -> Words:
        """The codes (n, W), one per row, in the order of the ids."""
        codes = self._codes()
        if not self.starts.size:
            return codes
        words = np.empty((len(self), codes.shape[1]), np.uint64)
        words[self.rows] = np.repeat(codes, self.list_sizes(), axis=0)
        return words

    def keep(self, mask: Bools) -> Segment:
        """The rows of a boolean mask in the order of the ids, as a segment of their own.

        One pass over the rows, no hashing. Memory: as much as the segment that results.
        """
        ranks = np.flatnonzero(mask)
        payload = {name: column[ranks] for name, column in self.payload.items()}
        about = self.ids.keep(ranks), payload, some_learned(self.learned, ranks)
        if not self.starts.size:
            return self._of_codes(self._codes()[ranks], EMPTY, EMPTY, *about)
        stays = mask[self.rows]
        sizes = np.add.reduceat(stays, self.starts[:-1], dtype=np.int64)
        new_rank = np.cumsum(mask) - 1
        rows = new_rank[self.rows[stays]]
        codes, sizes = self._codes()[sizes > 0], sizes[sizes > 0]
        if len(codes) == len(rows):
            return self._of_codes(codes[np.argsort(rows)], EMPTY, EMPTY, *about)
        # The smallest row of a code may be gone, so the codes are put in order again.
        starts = np.cumsum(sizes) - sizes
        order = np.argsort(rows[starts]) if len(rows) else np.empty(0, np.int64)
        listed = rows[places_of_runs(starts[order], sizes[order])].astype(np.uint32)
        new_starts = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.uint32)
        return self._of_codes(codes[order], new_starts, listed, *about)

    def only(self, mask: Bools) -> FilteredSegment:
        """The rows of a mask, for searches: they stay where they are."""
        mask = mask.view()
        mask.flags.writeable = False
        return FilteredSegment(self, mask, int(np.count_nonzero(mask)))

    def copied(self, ranks: Ints) -> Segment:
        """The codes of a few rows, whose ids are their positions in ``ranks``; equal codes are not merged."""
        codes: Array = ranks
        if self.starts.size:
            codes = self.values.once("\0code of rank", self.code_of_rank)[ranks]  # no column has such a name
        return self._of_codes(kernels.codes_at(self.blocks, codes), EMPTY, EMPTY, Ids(len(ranks)), {}, False)

    def code_of_rank(self) -> Numbers32:
        """The number of every row's code. Memory: 4 bytes per row."""
        codes = np.arange(self.n_codes, dtype=np.uint32)
        if not self.starts.size:
            return codes
        of_rank = np.empty(len(self), np.uint32)
        of_rank[self.rows] = np.repeat(codes, self.list_sizes())
        return of_rank

    def _of_codes(
        self, codes: Words, starts: Numbers32, rows: Numbers32, ids: Ids, payload: Columns, learned: Any
    ) -> Segment:
        blocks = kernels.blocks_of(codes)
        return Segment(self.n_bits, blocks, len(codes), starts, rows, ids, payload, learned)

    def _codes(self) -> Words:
        return kernels.codes_of(self.blocks, self.n_codes)

    def list_sizes(self) -> Ints:
        """How many rows each code has, where codes repeat."""
        return (self.starts[1:] - self.starts[:-1]).astype(np.int64)

    # ---- searching ---------------------------------------------------------------------------

    def top_k(
        self,
        queries: Words,
        k: int,
        weights: Bytes | None = None,
        passing: Words | None = None,
        mask: Bools | None = None,
    ) -> tuple[Ints32, Ints]:
        """Distances (q, k) and ranks (q, k) of the nearest rows; k at most the number of rows that pass.

        With ``weights`` (q, d), from 0 to 15, a differing bit counts its weight. ``passing`` has a bit for
        each code with a row of the ``mask``.
        """
        distances, ranks = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.int64)
        tag = kernels.tag_of(queries.shape[1])
        planes = None if weights is None else read_only(planes_of(weights))

        def one(part: slice) -> None:
            kernels.top_k(
                self.blocks, self.n_codes, self.starts, self.rows, queries[part], distances[part],
                ranks[part], None if planes is None else planes[part], passing, mask, tag,
            )  # fmt: skip

        if k:
            _map_queries(one, len(queries), self._steps(1))
        return distances, ranks

    def within(self, queries: Words, radius: int, passing: Words | None = None) -> Finds:
        """Query number, distance and rank of every row within the radius, sorted by these three.

        ``passing`` has a bit for each code that counts; tables ignore it, so the caller filters what they
        find.
        """
        tables, tag = self._tables_for(len(queries), radius), kernels.tag_of(queries.shape[1])

        def one(part: slice) -> Finds:
            if tables is None:
                finds = kernels.scan_within(self.blocks, self.n_codes, queries[part], radius, passing, tag)
            else:
                finds = kernels.probe(self.blocks, *tables, queries[part], radius, *_flip_patterns())
            if self.starts.size:
                codes: Array = finds & CODE
                sizes = self.list_sizes()[codes]
                rows = self.rows[places_of_runs(self.starts[codes].astype(np.int64), sizes)]
                finds = np.repeat(finds - codes, sizes) + rows
            query, distances, ranks = unpacked(np.sort(finds))
            return query + part.start, distances, ranks

        found = _map_queries(one, len(queries), self._steps(1))
        none = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64)
        query, distances, ranks = (np.concatenate(column) for column in zip(none, *found, strict=True))
        return query, distances, ranks

    def _steps(self, n_queries: int) -> int:
        """Steps of a scan."""
        return n_queries * self.n_codes * self.blocks.shape[2]

    def _tables_for(self, n_queries: int, radius: int) -> Tables | None:
        """The tables of multi-index hashing, if probing them is cheaper than scanning at this radius.

        They are built once scanning, this search included, would have taken as many steps as building them:
        then the detour costs at most twice the better choice, whatever comes.
        """
        hashing, n_chunks = self.hashing, -(-n_bytes(self.n_bits) // 2)
        if self.n_codes < FEW_CODES or n_chunks > MOST_CHUNKS:
            return None
        if hashing.crowding is None:
            hashing.crowding = self._crowding(n_chunks)
        n_flips = _flip_patterns()[1]
        full, extra = divmod(radius, n_chunks)
        reach = np.where(np.arange(n_chunks) <= extra, full, full - 1)
        buckets = np.where(reach >= 0, n_flips[np.clip(reach, 0, 16)], 0)
        if PROBING * float(buckets @ (hashing.crowding + 4)) > self._steps(1):
            return None
        hashing.steps += self._steps(n_queries)
        if hashing.tables is None and hashing.steps > BUILDING * n_chunks * self.n_codes:
            with hashing.lock:
                if hashing.tables is None:
                    hashing.tables = self._build_tables(n_chunks)
        return hashing.tables

    def _crowding(self, n_chunks: int) -> Array:
        """How many codes share a bucket with a code, on average: by chunk (C,), from a sample."""
        places = np.unique(np.linspace(0, self.n_codes - 1, SAMPLE).astype(np.int64))
        chunks = np.ascontiguousarray(kernels.codes_at(self.blocks, places)).view(np.uint16)[:, :n_chunks]
        same = [np.unique(chunk, return_counts=True)[1] for chunk in chunks.T]
        shares = [float((counts * (counts - 1)).sum()) for counts in same]
        return np.maximum(np.array(shares) / (len(places) * (len(places) - 1)), 2.0**-16) * self.n_codes

    def _build_tables(self, n_chunks: int) -> Tables:
        """Memory: 4 bytes per code and chunk, and 8 more for codes of one word: 48 per 64-bit code."""
        offsets = np.empty((n_chunks, (1 << 16) + 1), np.uint32)
        codes = np.empty((n_chunks, self.n_codes), np.uint32)
        values = np.empty((n_chunks, self.n_codes if self.blocks.shape[2] == 1 else 0), np.uint64)

        def one(chunk: int) -> None:
            kernels.build_table(self.blocks, self.n_codes, chunk, offsets[chunk], codes[chunk], values[chunk])

        _map_threads(one, range(n_chunks))
        return Tables(offsets, codes, values)


# ---- rows that pass a filter -------------------------------------------------------------------


@dataclass(eq=False)
class FilteredSegment:
    """Rows of ``segment`` where ``mask`` (by rank) is True; answers have the ranks of the whole segment.

    ``lasting`` is for prepared filters: they may keep a copy of many rows.
    """

    segment: Segment
    mask: Bools
    count: int
    lasting: bool = False
    bits: Words | None = None
    rows: tuple[Segment, Ints] | None = None
    queries: int = 0  # that were answered in place

    def __len__(self) -> int:
        return self.count

    @property
    def ids(self) -> SomeIds:
        """The ids of the rows, by the ranks of the whole segment."""
        return SomeIds(self.segment.ids, self.mask, self.count)

    def prepared(self) -> FilteredSegment:
        """The same rows for many searches."""
        return FilteredSegment(self.segment, self.mask, self.count, True, self.bits, self.rows)

    def top_k(self, queries: Words, k: int, weights: Bytes | None = None) -> tuple[Ints32, Ints]:
        """As `Segment.top_k`; k at most the number of rows that pass."""
        copied = self._copied(len(queries))
        if copied is None:
            return self.segment.top_k(queries, k, weights, self._bits(len(queries)), self.mask)
        distances, places = copied[0].top_k(queries, k, weights)
        return distances, copied[1][places]

    def within(self, queries: Words, radius: int) -> Finds:
        """As `Segment.within`."""
        copied = self._copied(len(queries))
        if copied is not None:
            query, distances, places = copied[0].within(queries, radius)
            return query, distances, copied[1][places]
        query, distances, ranks = self.segment.within(queries, radius, self._bits(len(queries)))
        passes = self.mask[ranks]
        return query[passes], distances[passes], ranks[passes]

    def _copied(self, n_queries: int) -> tuple[Segment, Ints] | None:
        """The rows as a segment of their own, with their ranks, if they are there, few or due.

        Two threads may copy at once; each leaves a whole copy.
        """
        if self.rows is None:
            few = GATHERING * self.count <= self.segment.n_codes
            saved = self.segment._steps(self.queries) * (1 - self.count / max(1, len(self.segment)))
            due = self.lasting and saved > 2 * GATHERING * self.count
            if few:
                ranks = np.flatnonzero(self.mask)
                self.rows = self.segment.copied(ranks), ranks
            elif due:
                segment = self.segment
                codes = (segment.n_bits, segment.blocks, segment.n_codes, segment.starts, segment.rows)
                self.rows = Segment(*codes, Ids(len(segment))).keep(self.mask), np.flatnonzero(self.mask)
            self.queries += n_queries
        return self.rows

    def _bits(self, n_queries: int) -> Words:
        """A bit for each code that may have a row that passes (``n_codes / 64`` words).

        Where codes repeat, all bits are set until as many queries came as pay for looking at every list.
        """
        if self.bits is not None:
            return self.bits
        segment = self.segment
        bits = np.zeros(-(-segment.n_codes // 64), np.uint64)
        if not segment.starts.size:
            packed = np.packbits(self.mask, bitorder="little")
            bits.view(np.uint8)[: len(packed)] = packed
        elif self.queries * segment.n_codes < LISTING * len(segment):
            bits[:] = ~np.uint64(0)
            return read_only(bits)
        else:
            kernels.passing_codes(self.mask, segment.starts, segment.rows, bits)
        self.bits = read_only(bits)
        return self.bits


# ---- several segments as one -------------------------------------------------------------------

Build = Callable[..., Segment]


def segment_of(
    words: Words, n_bits: int, ids: Array, payload: Mapping[str, Column], learned: Any, build: Build
) -> Segment:
    """A segment of rows in any order; ids that come twice are refused."""
    if not is_ascending(ids):
        order = sorting_order(ids)
        ids, words, learned = ids[order], words[order], some_learned(learned, order)
        payload = {name: column[order] for name, column in payload.items()}
    return build(words, n_bits, Ids.of_sorted(ids), payload, learned)


def in_order(segments: Sequence[Segment], n_bits: int) -> tuple[Words, Array, Columns, Any]:
    """Codes (n, W), ids, payload and learned rows of all segments, by ascending id."""
    if not segments:
        return np.empty((0, -(-n_bytes(n_bits) // 8)), np.uint64), np.empty(0, np.int64), {}, False
    ids = np.concatenate([segment.ids.all() for segment in segments])
    words = np.concatenate([segment.words() for segment in segments])
    payload = {
        name: concatenated([segment.payload[name] for segment in segments]) for name in segments[0].payload
    }
    learned: Any = np.concatenate([np.full(len(one), one.learned) for one in segments])
    if len(segments) > 1:
        order = sorting_order(ids)
        words, ids, learned = words[order], ids[order], learned[order]
        payload = {name: column[order] for name, column in payload.items()}
    return words, ids, payload, _one_or_each(learned)


def all_ids(segments: Sequence[Segment]) -> Array:
    """The ids of all rows, ascending."""
    if len(segments) == 1:
        return segments[0].ids.all()
    if not segments:
        return np.empty(0, np.int64)
    ids = np.concatenate([segment.ids.all() for segment in segments])
    return ids[sorting_order(ids)]


def merge(segments: Sequence[Segment], n_bits: int, build: Build) -> Segment:
    """All rows in one segment."""
    if len(segments) == 1:
        return segments[0]
    words, ids, payload, learned = in_order(segments, n_bits)
    return build(words, n_bits, Ids.of_sorted(ids), payload, learned)


def settle(segments: tuple[Segment, ...], n_bits: int, build: Build) -> tuple[Segment, ...]:
    """Merge from the end until each segment is at least twice the next: a few, whatever was added."""
    while len(segments) > 1 and len(segments[-2]) < 2 * len(segments[-1]):
        segments = (*segments[:-2], merge(segments[-2:], n_bits, build))
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


def some_learned(learned: Any, ranks: Ints) -> Any:
    """Which of these rows were learned."""
    return learned if isinstance(learned, bool) else _one_or_each(learned[ranks])


def _one_or_each(learned: Bools) -> Any:
    """Flags that are all equal as one bool."""
    return bool(learned.any()) if learned.all() or not learned.any() else learned


@lru_cache(maxsize=1)
def _flip_patterns() -> tuple[Ints, Ints]:
    """The 16-bit patterns by their number of ones, and how many have at most 0, 1, ... 16."""
    patterns = np.arange(1 << 16)
    ones = np.bitwise_count(patterns)
    order = np.argsort(ones, kind="stable")
    return patterns[order], np.cumsum(np.bincount(ones, minlength=17))


# ---- threads -----------------------------------------------------------------------------------
# One pool for all searches. Kernels release the GIL.

_pools: dict[int, ThreadPoolExecutor] = {}


def _map_threads(function: Callable[[S], T], tasks: Iterable[S]) -> list[T]:
    """Results of all tasks, in their order, from all threads we may use."""
    tasks, threads = list(tasks), n_threads()
    if threads == 1 or len(tasks) < 2:
        return [function(task) for task in tasks]
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="kinhash")
    return list(_pools[threads].map(function, tasks))


def _map_queries(function: Callable[[slice], T], n_queries: int, steps: int) -> list[T]:
    """Results for parts of the queries, on all threads if each query takes enough ``steps``."""
    if n_queries == 1:
        return [function(slice(0, 1))]
    size = TASK
    if n_queries * steps > WORTH_A_THREAD:  # a part for every thread, in fours as kernels take queries
        size = min(TASK, -(-n_queries // (4 * n_threads())) * 4)
    parts = [slice(start, min(start + size, n_queries)) for start in range(0, n_queries, size)]
    return _map_threads(function, parts)


if hasattr(os, "register_at_fork"):  # threads do not survive a fork; the child starts its own
    os.register_at_fork(after_in_child=_pools.clear)
