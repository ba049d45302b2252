"""The rows of an index: their ids, distinct codes, and how a part of them is searched and filed.

*Ids* are 64-bit integers or strings, kept in ascending order. The position of an id in that order is its
*rank*. Everything below works on ranks, so one order, (distance, rank), serves numbers and strings alike.

An index is a few *segments*. A change makes new ones and leaves the old ones to searches that still read
them. Arrays are read-only, which also gives the kernels one type to compile for, mapped or not.

The rows that pass a filter are a `FilteredSegment`. A large part is scanned where it is, with a mask in the
kernel. Of a small part the codes are copied, and searches read nothing else; a prepared filter copies more.
Answers are the same.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from operator import eq, lt
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._internal.blocks import n_threads
from .._internal.container import read_container, write_container
from .._internal.locks import new_lock
from .._internal.texts import STRING, from_bytes, to_bytes
from .._internal.types import Array, Bools, Bytes, Ints, Ints32, Numbers32, Words
from .._internal.validation import is_integer
from ..codes import MAX_BITS, n_bytes, pack_bits, planes_of, to_words
from ..errors import DamagedFile, InvalidInput
from . import kernels
from .filters import RowValues
from .payload import MOST_IDS, Column, Columns, ListColumn, concatenated, places_of_runs
from .reference import CODE, codes_of, unpacked

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
TASK = 100  # queries of one task; also what the kernel takes at a time
WORTH_A_THREAD = 4_000_000  # steps, about half a millisecond


# ---- ids ---------------------------------------------------------------------------------------

INLINE = 15  # bytes of UTF-8 that NumPy keeps in the array itself; longer strings lie beside it


@dataclass(frozen=True, eq=False)
class Ids:
    """Distinct ids in ascending order; ``values`` None stands for ``first ... first + count - 1``."""

    count: int
    first: int = 0
    values: Array | None = None

    def __len__(self) -> int:
        return self.count

    @property
    def are_strings(self) -> bool:
        """Whether the ids are strings (numbers otherwise)."""
        return self.values is not None and self.values.dtype == STRING

    @property
    def n_bytes(self) -> int:
        """Memory the ids take, the text of long strings included."""
        if self.values is None:
            return 0
        lengths = (len(text.encode()) for text in self.values.tolist()) if self.are_strings else ()
        return int(self.values.nbytes) + sum(length for length in lengths if length > INLINE)

    def all(self) -> Array:
        """Every id, ascending."""
        return self.take(np.arange(self.count)) if self.values is None else self.values

    def take(self, ranks: Ints) -> Array:
        """The ids of these ranks."""
        if self.values is not None:
            return self.values[ranks]
        return ranks + self.first if self.first else ranks

    def find(self, ids: Array) -> Ints:
        """The ranks of these ids, -1 where there is none."""
        if self.values is None:
            places = np.asarray(ids - self.first, np.int64)
            return np.where((places >= 0) & (places < self.count), places, -1)
        if not self.count:
            return np.full(len(ids), -1)
        if not self.are_strings:
            places = np.minimum(np.searchsorted(self.values, ids), self.count - 1)
            return np.where(self.values[places] == ids, places, -1)
        # By Python: np.searchsorted misplaces strings of 16 bytes and more before NumPy 2.5. Few by binary
        # search; many, faster, in a dictionary, which takes some 200 bytes per id meanwhile.
        wanted, values = ids.tolist(), self.values
        if 4 * len(wanted) > self.count:
            rank = dict(zip(values.tolist(), range(self.count), strict=True))
            return np.array([rank.get(text, -1) for text in wanted], np.int64)
        pairs = [(bisect_left(values, text), text) for text in wanted]
        return np.array([p if p < self.count and values[p] == text else -1 for p, text in pairs], np.int64)

    @classmethod
    def of_sorted(cls, values: Array) -> Ids:
        """From ascending ids; consecutive integers become a range, which is not stored."""
        if not len(values):
            return cls(0, 0, values if values.dtype == STRING else None)
        if values.dtype != STRING and int(values[-1]) - int(values[0]) == len(values) - 1:
            return cls(len(values), int(values[0]))
        return cls(len(values), 0, values)


def is_ascending(ids: Array) -> bool:
    """Whether every id is larger than the one before."""
    if ids.dtype != STRING:
        return bool((ids[1:] > ids[:-1]).all())
    texts = ids.tolist()
    return all(map(lt, texts, texts[1:]))


def sort_keys(ids: Array) -> Array:
    """Integers in the order of the ids, equal where the ids are, in the same shape.

    Python compares the strings: before 2.5 NumPy takes those that differ only after a NUL for equal, 2.0
    crashes in lexsort, and 2.4 in its unstable sort.
    """
    if ids.dtype.kind in "iu":
        return ids
    texts = ids.ravel().tolist()
    place = {text: number for number, text in enumerate(sorted(dict.fromkeys(texts)))}
    return np.array([place[text] for text in texts], np.int64).reshape(ids.shape)


def sorting_order(ids: Array) -> Ints:
    """The order that makes ids ascend; an id that comes twice is refused."""
    if ids.dtype == STRING:
        texts = ids.tolist()
        order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
        ordered = [texts[place] for place in order.tolist()]
        twins = np.flatnonzero(list(map(eq, ordered, ordered[1:])))
    else:
        order = np.argsort(ids, kind="stable")
        twins = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
    if len(twins):
        twin = ids[order[twins[:1]]].tolist()[0]
        raise InvalidInput(f"The id {twin!r} came twice", "distinct ids", "Pass every id once")
    return order


# ---- segments ----------------------------------------------------------------------------------


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
    values: Any = None  # `RowValues` of the payload
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
        cls, words: Words, n_bits: int, ids: Ids, payload: Mapping[str, Column], learned: Any
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
        return cls(n_bits, blocks, n_codes, starts, rows, ids, payload, learned)

    def words(self) -> Words:
        """The codes (n, W), one per row, in the order of the ids."""
        codes = codes_of(self.blocks, self.n_codes)
        return codes[self.code_of_rank()] if self.starts.size else codes

    def keep(self, mask: Bools) -> Segment:
        """The rows of a boolean mask in the order of the ids, as a segment of their own.

        One pass over the rows, no hashing. Memory: as much as the segment that results.
        """
        ranks = np.flatnonzero(mask)
        payload = {name: column[ranks] for name, column in self.payload.items()}
        about = Ids.of_sorted(self.ids.take(ranks)), payload, some_learned(self.learned, ranks)
        codes = codes_of(self.blocks, self.n_codes)
        if not self.starts.size:
            return self._of_codes(codes[ranks], EMPTY, EMPTY, *about)
        stays = mask[self.rows]
        sizes = np.add.reduceat(stays, self.starts[:-1], dtype=np.int64)
        rows = (np.cumsum(mask) - 1)[self.rows[stays]]
        codes, sizes = codes[sizes > 0], sizes[sizes > 0]
        if len(codes) == len(rows):
            return self._of_codes(codes[np.argsort(rows)], EMPTY, EMPTY, *about)
        # The smallest row of a code may be gone, so the codes are put in order again.
        starts = np.cumsum(sizes) - sizes
        order = np.argsort(rows[starts])
        listed = rows[places_of_runs(starts[order], sizes[order])].astype(np.uint32)
        new_starts = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.uint32)
        return self._of_codes(codes[order], new_starts, listed, *about)

    def only(self, mask: Bools) -> FilteredSegment:
        """The rows of a mask, for searches: they stay where they are."""
        mask = mask.view()
        mask.flags.writeable = False
        return FilteredSegment(self, mask, int(np.count_nonzero(mask)))

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

    def list_sizes(self) -> Ints:
        """How many rows each code has, where codes repeat."""
        return np.diff(self.starts).astype(np.int64)

    # ---- searching ---------------------------------------------------------------------------

    def top_k(
        self, queries: Words, k: int, weights: Bytes | None = None, mask: Words | None = None
    ) -> tuple[Ints32, Ints]:
        """Distances (q, k) and ranks (q, k) of the nearest rows; k at most the number of rows that pass.

        With ``weights`` (q, d), from 0 to 15, a differing bit counts its weight. ``mask`` has a bit for every
        row, whether it passes.
        """
        distances, ranks = np.empty((len(queries), k), np.int32), np.empty((len(queries), k), np.int64)
        tag = kernels.tag_of(queries.shape[1])
        planes = None if weights is None else read_only(planes_of(weights))

        def one(part: slice) -> None:
            kernels.top_k(
                self.blocks, self.n_codes, self.starts, self.rows, queries[part], distances[part],
                ranks[part], None if planes is None else planes[part], mask, tag,
            )  # fmt: skip

        if k:
            _map_queries(one, len(queries), self._steps(1))
        return distances, ranks

    def within(self, queries: Words, radius: int) -> Finds:
        """Query number, distance and rank of every row within the radius, sorted by these three."""
        tables, tag = self._tables_for(len(queries), radius), kernels.tag_of(queries.shape[1])

        def one(part: slice) -> Finds:
            if tables is None:
                finds = kernels.scan_within(self.blocks, self.n_codes, queries[part], radius, tag)
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
        """Sort the codes by each chunk of 16 bits: those with the value ``v`` are ``offsets[v:v + 2]``.

        Memory: 4 bytes per code and chunk, and 8 more for codes of one word, so that checking a bucket reads
        memory in sequence: 48 per 64-bit code.
        """
        words = codes_of(self.blocks, self.n_codes)
        offsets = np.empty((n_chunks, (1 << 16) + 1), np.uint32)
        codes = np.empty((n_chunks, self.n_codes), np.uint32)
        values = np.empty((n_chunks, self.n_codes if words.shape[1] == 1 else 0), np.uint64)

        def one(chunk: int) -> None:
            own = words[:, chunk >> 2]
            numbers = (own >> np.uint64(16 * (chunk & 3))).astype(np.uint16)
            codes[chunk] = np.argsort(numbers, kind="stable")
            offsets[chunk] = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=1 << 16))])
            if values.size:
                values[chunk] = own[codes[chunk]]

        _map_threads(one, range(n_chunks))
        return Tables(offsets, codes, values)


@dataclass(eq=False)
class FilteredSegment:
    """Rows of ``segment`` where ``mask`` (by rank) is True; answers have the ranks of the whole segment.

    ``lasting`` is for prepared filters: their searches pay for a copy of many rows.
    """

    segment: Segment
    mask: Bools
    count: int
    lasting: bool = False
    rows: tuple[Segment, Ints] | None = None
    bits: Words | None = None

    def __len__(self) -> int:
        return self.count

    @property
    def ids(self) -> Ids:
        """The ids of the whole segment, by its ranks."""
        return self.segment.ids

    def prepared(self) -> FilteredSegment:
        """The same rows for many searches."""
        return FilteredSegment(self.segment, self.mask, self.count, True, self.rows, self.bits)

    def top_k(self, queries: Words, k: int, weights: Bytes | None = None) -> tuple[Ints32, Ints]:
        """As `Segment.top_k`; k at most the number of rows that pass."""
        copied = self._copied()
        if copied is None:
            if self.bits is None:
                bits = np.zeros((-(-len(self.mask) // 64), 8), np.uint8)
                bits.ravel()[: -(-len(self.mask) // 8)] = np.packbits(self.mask, bitorder="little")
                self.bits = read_only(bits.view(np.uint64)[:, 0])
            return self.segment.top_k(queries, k, weights, self.bits)
        distances, places = copied[0].top_k(queries, k, weights)
        return distances, copied[1][places]

    def within(self, queries: Words, radius: int) -> Finds:
        """As `Segment.within`."""
        copied = self._copied()
        if copied is not None:
            query, distances, places = copied[0].within(queries, radius)
            return query, distances, copied[1][places]
        query, distances, ranks = self.segment.within(queries, radius)
        passes = self.mask[ranks]
        return query[passes], distances[passes], ranks[passes]

    def _copied(self) -> tuple[Segment, Ints] | None:
        """The rows as a segment of their own, with their ranks, where that is worth it.

        So it is for few rows, and for a prepared filter unless most rows pass. Two threads may copy at once;
        each leaves a whole copy.
        """
        segment = self.segment
        few = GATHERING * self.count <= segment.n_codes
        if self.rows is None and (few or (self.lasting and 4 * self.count <= 3 * len(segment))):
            ranks = np.flatnonzero(self.mask)
            codes = (segment.n_bits, segment.blocks, segment.n_codes, segment.starts, segment.rows)
            if few:  # equal codes are not merged
                codes_of_few = ranks
                if segment.starts.size:  # kept for the next filter; no column has such a name
                    codes_of_few = segment.values.once("\0code of rank", segment.code_of_rank)[ranks]
                words = kernels.codes_at(segment.blocks, codes_of_few)
                self.rows = segment._of_codes(words, EMPTY, EMPTY, Ids(len(ranks)), {}, False), ranks
            else:
                self.rows = Segment(*codes, Ids(len(segment))).keep(self.mask), ranks
        return self.rows


def ids_order(segments: Sequence[Segment]) -> Ints | None:
    """The order that sorts the rows of several segments by id; None where they are sorted."""

    def end(one: Ids, place: int) -> Any:
        return one.take(np.array([place % len(one)])).tolist()[0]

    if all(end(one.ids, -1) < end(other.ids, 0) for one, other in pairwise(segments)):
        return None
    return sorting_order(np.concatenate([one.ids.all() for one in segments]))


def all_ids(segments: Sequence[Segment]) -> Array:
    """The ids of all rows, ascending."""
    if len(segments) == 1:
        return segments[0].ids.all()
    ids = np.concatenate([one.ids.all() for one in segments]) if segments else np.empty(0, np.int64)
    order = ids_order(segments)
    return ids if order is None else ids[order]


def all_columns(segments: Sequence[Segment]) -> Columns:
    """The payload of all rows, by ascending id."""
    if len(segments) == 1:
        return dict(segments[0].payload)
    names, order = list(segments[0].payload) if segments else [], ids_order(segments)
    whole = {name: concatenated([one.payload[name] for one in segments]) for name in names}
    return whole if order is None else {name: column[order] for name, column in whole.items()}


def in_order(segments: Sequence[Segment], n_bits: int) -> tuple[Words, Array, Columns, Any]:
    """Codes (n, W), ids, payload and learned rows of all segments, by ascending id."""
    none = np.empty((0, -(-n_bits // 64)), np.uint64)
    words = np.concatenate([none, *(one.words() for one in segments)])
    learned: Any = np.concatenate([np.empty(0, bool), *(np.full(len(one), one.learned) for one in segments)])
    order = ids_order(segments)
    if order is not None:
        words, learned = words[order], learned[order]
    return words, all_ids(segments), all_columns(segments), some_learned(learned, slice(None))


def some_learned(learned: Any, ranks: Any) -> Any:
    """Which of these rows were learned; flags that are all equal as one bool."""
    if isinstance(learned, bool):
        return learned
    flags = learned[ranks]
    return bool(flags.any()) if flags.all() or not flags.any() else flags


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
    tasks = list(tasks)
    if len(tasks) < 2 or (threads := n_threads()) == 1:
        return [function(task) for task in tasks]
    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads, thread_name_prefix="kinhash")
    return list(_pools[threads].map(function, tasks))


def _map_queries(function: Callable[[slice], T], n_queries: int, steps: int) -> list[T]:
    """Results for parts of the queries, on all threads if each query takes enough ``steps``."""
    size = TASK
    if n_queries > 1 and n_queries * steps > WORTH_A_THREAD:  # in fours, as kernels take queries
        size = min(TASK, -(-n_queries // (4 * n_threads())) * 4)
    return _map_threads(function, [slice(i, min(i + size, n_queries)) for i in range(0, n_queries, size)])


if hasattr(os, "register_at_fork"):  # threads do not survive a fork; the child starts its own
    os.register_at_fork(after_in_child=_pools.clear)


# ---- files -------------------------------------------------------------------------------------
# The arrays of one segment in the container format of all kinhash files. A valid digest does not prove that
# the contents are sound, so they are checked here: a forged file may hold numbers that point outside the
# arrays, and the kernels trust what they are given.

Arrays = dict[str, Array]


def write_segment(path: str, segment: Segment, facts: Mapping[str, Any]) -> None:
    """Save the rows and facts about all of them, or nothing.

    Working memory: the strings among ids and payload, encoded.
    """
    arrays: Arrays = {"blocks": segment.blocks}
    if segment.starts.size:
        arrays |= {"starts": segment.starts, "rows": segment.rows}
    if segment.ids.values is not None:
        arrays |= _stored("ids", segment.ids.values)
    if not isinstance(segment.learned, bool):
        arrays["learned"] = segment.learned
    for number, column in enumerate(segment.payload.values()):
        arrays |= _stored(f"payload.{number}", column)
    header = {
        "n_bits": segment.n_bits,
        "n_rows": len(segment),
        "n_codes": segment.n_codes,
        "first_id": segment.ids.first,
        "payload": list(segment.payload),
        "learned": segment.learned is True,
        **facts,
    }
    write_container(path, arrays, header, "index")


def _stored(name: str, values: Column) -> Arrays:
    if isinstance(values, ListColumn):
        return {f"{name}.lists": values.ends, **_stored(f"{name}.values", values.values)}
    if values.dtype != STRING:
        return {name: values}
    text, ends = to_bytes(values.tolist())
    return {f"{name}.text": text, f"{name}.ends": ends}


def read_segment(path: str, mmap: bool) -> tuple[Segment, dict[str, Any]]:
    """Open and verify what `write_segment` wrote."""
    arrays, header = read_container(path, "index", mmap=mmap)
    try:
        return _assemble(arrays, header)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        raise DamagedFile(
            f"{path} holds an index whose parts do not fit together",
            "an index as kinhash writes it",
            "Build the index again from its codes",
        ) from None


def _assemble(arrays: Arrays, header: Mapping[str, Any]) -> tuple[Segment, dict[str, Any]]:
    names = ("n_bits", "n_rows", "n_codes", "first_id", "next_id")
    _need(all(is_integer(header[name]) for name in names))
    n_bits, n_rows, n_codes, first, next_id = (int(header[name]) for name in names)
    _need(1 <= n_bits <= MAX_BITS and 0 <= n_codes <= n_rows < 2**32 and 0 <= next_id <= MOST_IDS)
    blocks = arrays["blocks"]
    _need(blocks.dtype == np.uint64 and blocks.shape == (-(-n_codes // 64), 8, -(-n_bits // 64), 8))
    ones = to_words(pack_bits(np.ones((1, n_bits))))[0, -1]  # padding would count as differing
    _need(np.bitwise_or.reduce(blocks[:, :, -1], axis=None) & ~ones == 0)
    starts, rows = arrays.get("starts", EMPTY), arrays.get("rows", EMPTY)
    if n_codes < n_rows:
        _check_lists(starts, rows, n_codes, n_rows)
    else:
        _need(not starts.size and not rows.size)
    _need(-MOST_IDS <= first < MOST_IDS and first + n_rows <= MOST_IDS)
    ids = Ids(n_rows, first)
    if {"ids", "ids.text"} & set(arrays):
        values = _restored(arrays, "ids")
        _need(values.dtype in (np.int64, STRING) and values.shape == (n_rows,) and is_ascending(values))
        ids = Ids(n_rows, first, values)
    _need(ids.are_strings or not n_rows or next_id > int(ids.take(np.array([n_rows - 1]))[0]))
    columns = header["payload"]
    _need(isinstance(columns, list) and all(isinstance(name, str) for name in columns))
    payload = {name: _column(arrays, f"payload.{number}") for number, name in enumerate(columns)}
    _need(len(payload) == len(columns) and all(column.shape == (n_rows,) for column in payload.values()))
    model_id, same_within = header["model_id"], header["same_within"]
    _need(model_id is None or isinstance(model_id, str))
    _need(same_within is None or (is_integer(same_within) and 0 <= same_within <= n_bits))
    learned = arrays.get("learned", header["learned"])
    _need(isinstance(learned, bool) or (learned.dtype == bool and learned.shape == (n_rows,)))
    segment = Segment(n_bits, blocks, n_codes, starts, rows, ids, payload, learned)
    return segment, {"next_id": next_id, "model_id": model_id, "same_within": same_within}


def _check_lists(starts: Array, rows: Array, n_codes: int, n_rows: int) -> None:
    """Raise unless every row is in one list, and lists are not empty, ascending, and ordered by first row."""
    _need(starts.dtype == np.uint32 and starts.shape == (n_codes + 1,))
    _need(rows.dtype == np.uint32 and rows.shape == (n_rows,))
    _need(starts[0] == 0 and starts[-1] == n_rows and bool((starts[1:] > starts[:-1]).all()))
    _need(bool((rows < n_rows).all()))
    seen = np.zeros(n_rows, bool)
    seen[rows] = True
    falls = np.flatnonzero(rows[1:] <= rows[:-1]) + 1
    _need(bool(seen.all()) and bool(np.isin(falls, starts, assume_unique=True).all()))
    heads = rows[starts[:-1]]
    _need(bool((heads[1:] > heads[:-1]).all()))


def _column(arrays: Arrays, name: str) -> Column:
    if f"{name}.lists" not in arrays:
        return _restored(arrays, name)
    ends, values = arrays[f"{name}.lists"], _restored(arrays, f"{name}.values")
    _need(ends.dtype == np.int64 and ends.ndim == values.ndim == 1)
    _need(values.dtype == STRING or values.dtype in (bool, np.int64, np.float64))
    steps = np.diff(ends, prepend=0, append=len(values))
    _need(bool((steps[:-1] >= 0).all()) and (steps[-1] == 0 if len(ends) else not len(values)))
    return ListColumn(values, ends)


def _restored(arrays: Arrays, name: str) -> Array:
    if name in arrays:
        return arrays[name]
    return from_bytes(arrays[f"{name}.text"], arrays[f"{name}.ends"])


def _need(holds: bool | np.bool_) -> None:
    if not holds:
        raise ValueError("the parts do not fit together")
