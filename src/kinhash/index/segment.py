"""Immutable rows: distinct codes, the rows that have them, their ids and payload.

An index is a few of these. A change makes new segments and leaves the old ones to searches that still
read them. Arrays are read-only, which also gives the kernels one type to compile for, mapped or not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from .._internal.compile import compiled_kernels
from .._internal.locks import new_lock
from .._internal.types import Array, Bools, Distances, Floats, Ints, Numbers32, Words
from ..codes import KIN_ONLY, BitLayout, n_bytes
from .filtered_segment import FilteredSegment
from .ids import Ids
from .kernels.asymmetric import bit_planes, top_k_weighted
from .kernels.bit_weights import Weighing, weighing_of
from .kernels.bits import CODE, CODE_BITS, DISTANCE, DISTANCE_BITS, unpacked
from .kernels.dedupe import group_codes, list_rows
from .kernels.grouped import Groups, build_groups, top_k_grouped
from .kernels.grouped_margins import top_k_weighted_grouped
from .kernels.layout import aligned_blocks, blocks_of, clear_tail, codes_at, codes_of
from .kernels.multi_index import Tables, build_tables, expected_candidates, least_seconds
from .kernels.radius import scan_within
from .kernels.top_k import top_k
from .lists import Column, ListColumn, places_of_runs
from .matching import Filtering
from .threads import map_queries

__all__ = ["Segment", "read_only"]

T = TypeVar("T")
Pair = tuple[Array, Ints]
Finds = tuple[Ints, Distances, Ints]

FEW_CODES = 50_000  # with fewer codes a scan is so fast that neither groups nor tables are built
MUCH_FASTER = 0.7  # of the time of a scan: groups must gain that much to be kept
EMPTY = np.empty(0, np.uint32)


def read_only(words: Words) -> Words:
    """The same words as every kernel expects them: aligned and not to be written."""
    if not (words.flags.c_contiguous and words.flags.aligned):
        words = np.require(words, requirements=["C", "A"])
    words = words.view()
    words.setflags(write=False)
    return words


@dataclass
class _Hashing:
    """The lazily built tables for radius search, and the time spent without them."""

    tables: Tables | None = None
    seconds_scanning: float = 0.0
    lock: Any = field(default_factory=new_lock)


@dataclass
class _Grouping:
    """The lazily built groups of kin codes (built and None: not worth it), and the time without them."""

    groups: Groups | None = None
    built: bool = False
    seconds_scanning: float = 0.0
    lock: Any = field(default_factory=new_lock)


@dataclass(frozen=True, eq=False)
class Segment:
    """``n_codes`` distinct codes in ``blocks``; ``rows[starts[c]:starts[c + 1]]`` are the rows of code ``c``.

    The rank of a row is its position in the order of ids; ``rows`` holds ranks.
    Codes are in the order of their smallest rank. When every code has one row, code ``c`` belongs to rank
    ``c``, and ``starts`` and ``rows`` are empty.
    """

    n_bits: int
    blocks: Words
    n_codes: int
    starts: Numbers32
    rows: Numbers32
    ids: Ids
    payload: Mapping[str, Column] = field(default_factory=dict)
    hashing: _Hashing = field(default_factory=_Hashing)
    grouping: _Grouping = field(default_factory=_Grouping)
    filtering: Filtering = field(default_factory=Filtering)

    def __post_init__(self) -> None:
        assert self.blocks.ctypes.data % 64 == 0 or not self.blocks.size, "vector loads need alignment"
        for array in (self.blocks, self.starts, self.rows, self.ids.values, *self.payload.values()):
            if array is not None and not isinstance(array, ListColumn):
                array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.ids)

    # ---- making ------------------------------------------------------------------------------

    @classmethod
    def build(
        cls, words: Words, n_bits: int, ids: Ids, payload: Mapping[str, Column] | None = None
    ) -> Segment:
        """From codes (n, W) in the order of their ids. Working memory: 4 bytes per row, 20 per code."""
        words = read_only(words)
        n_rows, n_words = words.shape
        blocks = aligned_blocks(n_rows, n_words)
        code_of_row = np.empty(n_rows, np.uint32)
        n_codes = group_codes(words, blocks, code_of_row)
        starts = rows = EMPTY
        if n_codes < n_rows:
            starts, rows = np.empty(n_codes + 1, np.uint32), np.empty(n_rows, np.uint32)
            list_rows(code_of_row, n_codes, starts, rows)
            full, blocks = blocks, aligned_blocks(n_codes, n_words)
            blocks[:] = full[: len(blocks)]
        clear_tail(blocks, n_codes)
        return cls(n_bits, blocks, n_codes, starts, rows, ids, payload or {})

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
        ids = self.ids.keep(ranks)
        payload = {name: column[ranks] for name, column in self.payload.items()}
        if not self.starts.size:
            return self._of_codes(self._codes()[ranks], EMPTY, EMPTY, ids, payload)
        stays = mask[self.rows]
        sizes = np.add.reduceat(stays, self.starts[:-1], dtype=np.int64)
        new_rank = np.cumsum(mask) - 1
        rows = new_rank[self.rows[stays]]
        codes, sizes = self._codes()[sizes > 0], sizes[sizes > 0]
        if len(codes) == len(rows):
            order = np.argsort(rows)
            return self._of_codes(codes[order], EMPTY, EMPTY, ids, payload)
        # The smallest row of a code may be gone, so the codes are put in order again.
        starts = np.cumsum(sizes) - sizes
        order = np.argsort(rows[starts]) if len(rows) else np.empty(0, np.int64)
        listed = rows[places_of_runs(starts[order], sizes[order])].astype(np.uint32)
        new_starts = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.uint32)
        return self._of_codes(codes[order], new_starts, listed, ids, payload)

    def only(self, mask: Bools) -> FilteredSegment:
        """The rows of a mask, for searches: they stay where they are."""
        return FilteredSegment.of(self, mask)

    def codes_only(self) -> Segment:
        """The same codes with ranks for ids, and without payload."""
        codes = (self.n_bits, self.blocks, self.n_codes, self.starts, self.rows)
        return Segment(*codes, Ids(len(self)))

    def copied(self, ranks: Ints) -> Segment:
        """The codes of a few rows, whose ids are their positions in ``ranks``; equal codes are not merged."""
        codes: Array = ranks
        if self.starts.size:
            codes = self.filtering.once("code of rank", self.code_of_rank)[ranks]
        return self._of_codes(codes_at(self.blocks, codes), EMPTY, EMPTY, Ids(len(ranks)), {})

    def code_of_rank(self) -> Numbers32:
        """The number of every row's code. Memory: 4 bytes per row."""
        codes = np.arange(self.n_codes, dtype=np.uint32)
        if not self.starts.size:
            return codes
        of_rank = np.empty(len(self), np.uint32)
        of_rank[self.rows] = np.repeat(codes, self.list_sizes())
        return of_rank

    def _of_codes(
        self, codes: Words, starts: Numbers32, rows: Numbers32, ids: Ids, payload: Mapping[str, Column]
    ) -> Segment:
        return Segment(self.n_bits, blocks_of(codes), len(codes), starts, rows, ids, payload)

    def _codes(self) -> Words:
        return codes_of(self.blocks, self.n_codes)

    def list_sizes(self) -> Ints:
        """How many rows each code has, where codes repeat."""
        return (self.starts[1:] - self.starts[:-1]).astype(np.int64)

    def longest_list(self) -> int:
        """Most rows with one code."""
        return int(self.list_sizes().max()) if self.starts.size else min(1, self.n_codes)

    # ---- searching ---------------------------------------------------------------------------

    def top_k(self, queries: Words, k: int, fields: BitLayout = KIN_ONLY) -> Pair:
        """Distances (q, k) uint16 and ranks (q, k) of the nearest rows; k at most the number of rows."""
        groups = self._groups_for(len(queries), fields)
        begin = time.perf_counter()
        found = self._ranked(queries, k, fields, groups)
        if groups is None:
            self.grouping.seconds_scanning += time.perf_counter() - begin
        return found

    def top_k_passing(self, queries: Words, k: int, fields: BitLayout, passing: Words, mask: Bools) -> Pair:
        """As `top_k`, of the rows of a mask; ``passing`` has a bit for each code with such a row."""
        return self._ranked(queries, k, fields, None, passing, mask)

    def _ranked(
        self,
        queries: Words,
        k: int,
        fields: BitLayout,
        groups: Groups | None,
        passing: Words | None = None,
        mask: Bools | None = None,
    ) -> Pair:
        """The work of `top_k`: a scan if ``groups`` is None, else by groups, which take no mask."""
        weighing, tag = weighing_of(fields, self.n_bits), (0,) * queries.shape[1]
        distances, ranks = np.empty((len(queries), k), np.uint16), np.empty((len(queries), k), np.int64)

        def one(part: slice) -> None:
            answer = (self.starts, self.rows, queries[part], distances[part], ranks[part])
            if groups is None:
                filtered = (weighing.planes, weighing.least, passing, mask)
                top_k(self.blocks, self.n_codes, *answer, *filtered, tag)
                return
            by_group = (groups.kin, groups.starts, groups.codes, groups.blocks, weighing.kin)
            top_k_grouped(*by_group, fields.kin_weight, fields.alike_weight, *answer, tag)

        if k:
            self._spread(one, len(queries))
        return distances, ranks

    def top_k_weighted(self, queries: Words, weights: Floats, k: int, fields: BitLayout = KIN_ONLY) -> Pair:
        """Weighted distances (q, k) float64 and ranks (q, k), see `asymmetric`."""
        kin, tag = weighing_of(fields, self.n_bits).kin, (0,) * queries.shape[1]
        distances, ranks = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
        groups = self._groups_for(len(queries), fields)
        bounded = weights if groups is None else np.where(np.unpackbits(kin.view(np.uint8)), 0.0, weights)
        planes, steps = bit_planes(bounded)

        def one(part: slice) -> None:
            asked = (queries[part], weights[part], planes[part], steps[part], distances[part], ranks[part])
            if groups is None:
                top_k_weighted(self.blocks, self.n_codes, self.starts, self.rows, *asked, tag)
                return
            by_group = (groups.kin, groups.starts, groups.codes, groups.blocks, kin)
            top_k_weighted_grouped(*by_group, self.starts, self.rows, *asked, tag)

        if k:
            begin = time.perf_counter()
            self._spread(one, len(queries))
            if groups is None:
                self.grouping.seconds_scanning += time.perf_counter() - begin
        return distances, ranks

    def within(
        self, queries: Words, radius: int, fields: BitLayout = KIN_ONLY, passing: Words | None = None
    ) -> Finds:
        """Query number, distance and rank of every row within the radius, sorted by these three.

        ``light`` is what the lightest bit counts: codes within the radius differ in at most
        ``radius / light`` bits, so the tables find all of them. ``passing`` has a bit for each code that
        counts; tables ignore it, so the caller has to filter what they find.
        """
        weighing = weighing_of(fields, self.n_bits)
        light = weighing.light
        tables = self._tables_for(len(queries), radius // light)

        def one(part: slice) -> Finds:
            asked = queries[part]
            if tables is not None:
                finds = self._weighed(tables.within(self.blocks, asked, radius // light), asked, weighing)
                finds = finds[(finds >> CODE_BITS) & DISTANCE <= radius]
            else:
                tag = (0,) * queries.shape[1]
                finds = scan_within(
                    self.blocks, self.n_codes, asked, radius, weighing.planes, weighing.least, passing, tag
                )
            query, distances, ranks = unpacked(self._rows_of(finds))
            query += part.start
            return query, distances, ranks

        begin = time.perf_counter()
        found = self._spread(one, len(queries))
        if tables is None:
            self.hashing.seconds_scanning += time.perf_counter() - begin
        none = np.empty(0, np.int64), np.empty(0, np.uint16), np.empty(0, np.int64)
        query, distances, ranks = (np.concatenate(column) for column in zip(none, *found, strict=True))
        return query, distances, ranks

    def _weighed(self, finds: Ints, queries: Words, weighing: Weighing) -> Ints:
        """Finds, packed as in `kernels.bits`, with weighted distances in place of plain ones."""
        if weighing.planes is None:
            return finds
        query, _, codes = unpacked(finds)
        differing = codes_at(self.blocks, codes) ^ queries[query]
        return (query << CODE_BITS + DISTANCE_BITS) | (weighing.distances(differing) << CODE_BITS) | codes

    def _rows_of(self, finds: Ints) -> Ints:
        """Packed finds of rows from those of codes, sorted: by query, then distance, then rank."""
        if self.starts.size:
            codes: Array = finds & CODE
            sizes = self.list_sizes()[codes]
            finds = np.repeat(finds - codes, sizes) + self.rows[places_of_runs(self.starts[codes], sizes)]
        return np.sort(finds)

    def _spread(self, one: Callable[[slice], T], n_queries: int) -> list[T]:
        return map_queries(one, n_queries, self.n_codes * self.blocks.shape[2])

    # ---- groups of kin codes -----------------------------------------------------------------

    def _groups_for(self, n_queries: int, fields: BitLayout) -> Groups | None:
        """The groups, if they exist or are due: when that is, see `_tables_for`."""
        if not 0 < fields.alike < self.n_bits:
            return None
        spent = self.grouping.seconds_scanning + 2e-10 * n_queries * self.n_codes * self.blocks.shape[2]
        if not self.grouping.built and self.n_codes >= FEW_CODES and spent > 1e-7 * self.n_codes:
            self.build_groups(fields)
        return self.grouping.groups

    def build_groups(self, fields: BitLayout) -> None:
        """Build the groups of kin codes now, and keep them if they are large and beat the scan."""
        with self.grouping.lock:
            if self.grouping.built or not 0 < fields.alike < self.n_bits:
                return
            groups = build_groups(self._codes(), weighing_of(fields, self.n_bits).kin)
            if groups is not None and self._groups_win(groups, fields):
                self.grouping.groups = groups
            self.grouping.built = True

    def _groups_win(self, groups: Groups, fields: BitLayout) -> bool:
        """Whether the nearest ten of a few stored codes are found clearly faster by groups than by scanning.

        Kin bits that say little, or count little, leave all groups to be visited.
        """
        places = np.linspace(0, self.n_codes - 1, 8).astype(np.int64)
        samples = read_only(codes_at(self.blocks, places))
        depth = min(10, len(self))
        with compiled_kernels():
            visit = least_seconds(lambda: self._ranked(samples, depth, fields, groups))
            return visit < MUCH_FASTER * least_seconds(lambda: self._ranked(samples, depth, fields, None))

    # ---- multi-index hashing -----------------------------------------------------------------

    def _tables_for(self, n_queries: int, radius: int) -> Tables | None:
        """The tables, if they exist or are due, and if they beat the scan at this radius.

        They are due once scanning, this search included, would have taken as long as building them: then
        the detour costs at most twice the better choice, whatever comes.
        """
        tables = self.hashing.tables
        if tables is None and self.n_codes >= FEW_CODES:
            n_chunks = -(-n_bytes(self.n_bits) // 2)
            scan = 2e-10 * self.n_codes * self.blocks.shape[2]
            probing = 3e-9 * expected_candidates(self.n_codes, n_chunks, radius)
            spent = self.hashing.seconds_scanning + n_queries * scan
            if probing < scan and spent > 4e-8 * self.n_codes * n_chunks:
                tables = self.build_tables()
        return tables if tables is not None and radius <= tables.largest_radius else None

    def build_tables(self) -> Tables:
        """Build the tables for radius search now; searches use them up to the radius where they win."""
        with self.hashing.lock:
            if self.hashing.tables is None:
                self.hashing.tables = build_tables(self.blocks, self.n_codes, n_bytes(self.n_bits))
            return self.hashing.tables
