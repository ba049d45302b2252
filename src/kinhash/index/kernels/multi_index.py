"""Multi-index hashing: radius search that looks at a few buckets instead of every code.

A code is cut into chunks of 16 bits and each chunk has a table of buckets. Two codes within radius
``r = a C + b`` of each other (``C`` chunks, ``b < C``) differ by at most ``a`` bits in one of the chunks
``0 ... b``, or by at most ``a - 1`` in one of the others: otherwise they would differ by more than ``r`` in
total. So it is enough to look into the buckets that near the query, and to check what is there.
A code found through several chunks counts for the first of them.

Norouzi, Punjani and Fleet, Fast search in Hamming space with multi-index hashing, CVPR 2012.
The twins of `build_table` and `probe` are in `numpy_reference`; that of `probe` is a scan, and they must
agree in every answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..._internal.compile import compiled_kernels, njit
from ..._internal.popcount import popcount
from ..._internal.types import Distances, Ints, Numbers32, Words
from ..threads import map_threads
from .bits import CODE_BITS, DISTANCE_BITS
from .layout import codes_at
from .radius import scan_within, with_room

__all__ = ["Tables", "build_table", "build_tables", "expected_candidates", "least_seconds", "probe"]

BUCKETS = 1 << 16
MASK = np.uint64(BUCKETS - 1)


@njit(cache=True, nogil=True)
def build_table(
    blocks: Words, n_codes: int, chunk: int, offsets: Numbers32, codes: Numbers32, values: Words
) -> None:
    """Sort the codes by one chunk of 16 bits, by counting.

    ``codes[offsets[v]:offsets[v + 1]]`` are the codes whose chunk is ``v``; ``values``, unless empty, gets
    their words in the same order, so that checking a bucket of one-word codes reads memory in sequence.
    """
    w, shift = chunk >> 2, np.uint64(16 * (chunk & 3))
    for bucket in range(offsets.size):
        offsets[bucket] = 0
    for c in range(n_codes):
        offsets[np.int64((blocks[c >> 6, (c >> 3) & 7, w, c & 7] >> shift) & MASK) + 1] += 1
    for bucket in range(BUCKETS):
        offsets[bucket + 1] += offsets[bucket]
    free = offsets.copy()
    for c in range(n_codes):
        word = blocks[c >> 6, (c >> 3) & 7, w, c & 7]
        v = np.int64((word >> shift) & MASK)
        codes[free[v]] = c
        if values.size:
            values[free[v]] = word
        free[v] += 1


@njit(cache=True, nogil=True)
def _chunk(differing: Words, chunk: int) -> np.uint64:
    return (differing[chunk >> 2] >> np.uint64(16 * (chunk & 3))) & MASK


@njit(cache=True, nogil=True)
def _found_before(differing: Words, chunk: int, full: int, extra: int) -> bool:
    """Whether an earlier chunk has led to this code already."""
    for earlier in range(chunk):
        reach = full if earlier <= extra else full - 1
        if np.int64(popcount(_chunk(differing, earlier))) <= reach:
            return True
    return False


@njit(cache=True, nogil=True)
def probe(
    blocks: Words, offsets: Numbers32, codes: Numbers32, values: Words, queries: Words, radius: int,
    flips: Distances, n_flips: Ints,
) -> Ints:  # fmt: skip
    """All finds within ``radius``, as `scan_within` gives them, from the buckets near each query.

    ``flips`` are the 16-bit patterns by their number of ones, ``n_flips[a]`` how many have at most ``a``.
    Working memory: 16 bytes per find.
    """
    n_chunks, n_words = offsets.shape[0], queries.shape[1]
    full, extra = radius // n_chunks, radius % n_chunks
    differing = np.empty(n_words, np.uint64)
    finds = np.empty(1024, np.int64)
    count = 0
    for i in range(queries.shape[0]):
        for chunk in range(n_chunks):
            reach = full if chunk <= extra else full - 1
            if reach < 0:
                continue
            here = np.int64((queries[i, chunk >> 2] >> np.uint64(16 * (chunk & 3))) & MASK)
            for f in range(n_flips[min(reach, 16)]):
                bucket = here ^ np.int64(flips[f])
                for p in range(offsets[chunk, bucket], offsets[chunk, bucket + 1]):
                    distance = np.int64(0)
                    if n_words == 1:
                        distance = np.int64(popcount(values[chunk, p] ^ queries[i, 0]))
                        if distance > radius:
                            continue
                        differing[0] = values[chunk, p] ^ queries[i, 0]
                    else:
                        c = np.int64(codes[chunk, p])
                        for w in range(n_words):
                            differing[w] = blocks[c >> 6, (c >> 3) & 7, w, c & 7] ^ queries[i, w]
                            distance += np.int64(popcount(differing[w]))
                        if distance > radius:
                            continue
                    if _found_before(differing, chunk, full, extra):
                        continue
                    finds = with_room(finds, count)
                    code = np.int64(codes[chunk, p])
                    finds[count] = (i << CODE_BITS + DISTANCE_BITS) | (distance << CODE_BITS) | code
                    count += 1
    return finds[:count]


@lru_cache(maxsize=1)
def _flip_patterns() -> tuple[Distances, Ints]:
    patterns = np.arange(BUCKETS, dtype=np.uint16)
    ones = np.bitwise_count(patterns)
    order = np.argsort(ones, kind="stable")
    return patterns[order], np.cumsum(np.bincount(ones, minlength=17))


def expected_candidates(n_codes: int, n_chunks: int, radius: int) -> float:
    """Codes and buckets a query would look at if chunks were evenly spread: a first guess of its cost."""
    n_flips = _flip_patterns()[1]
    full, extra = divmod(radius, n_chunks)
    reaches = [full if chunk <= extra else full - 1 for chunk in range(n_chunks)]
    buckets = sum(int(n_flips[min(reach, 16)]) for reach in reaches if reach >= 0)
    return buckets * (n_codes / BUCKETS + 4)


@dataclass(frozen=True, eq=False)
class Tables:
    """The buckets of every chunk, and up to which radius they beat the scan on this machine."""

    offsets: Numbers32  # (C, 65537)
    codes: Numbers32  # (C, n)
    values: Words  # (C, n) for codes of one word, else empty
    largest_radius: int

    @property
    def n_bytes(self) -> int:
        """Memory the tables take."""
        return self.offsets.nbytes + self.codes.nbytes + self.values.nbytes

    def within(self, blocks: Words, queries: Words, radius: int) -> Ints:
        """All finds within the radius, unordered."""
        return probe(blocks, self.offsets, self.codes, self.values, queries, radius, *_flip_patterns())


def build_tables(blocks: Words, n_codes: int, n_bytes: int) -> Tables:
    """Tables for all chunks, with the radius up to which probing was measured to be cheaper than scanning.

    Memory: 4 bytes per code and chunk, and another 8 for codes of one word; 48 bytes per 64-bit code.
    """
    n_chunks, n_words = -(-n_bytes // 2), blocks.shape[2]
    offsets = np.empty((n_chunks, BUCKETS + 1), np.uint32)
    codes = np.empty((n_chunks, n_codes), np.uint32)
    values = np.empty((n_chunks, n_codes if n_words == 1 else 0), np.uint64)

    def one(chunk: int) -> None:
        build_table(blocks, n_codes, chunk, offsets[chunk], codes[chunk], values[chunk])

    map_threads(one, range(n_chunks))
    tables = Tables(offsets, codes, values, -1)
    with compiled_kernels():
        return Tables(offsets, codes, values, _measure(tables, blocks, n_codes, 8 * n_bytes))


def _measure(tables: Tables, blocks: Words, n_codes: int, n_bits: int) -> int:
    """The largest radius at which a few stored codes are found faster by probing than by scanning."""
    places = np.linspace(0, n_codes - 1, 4).astype(np.int64)
    samples = np.ascontiguousarray(codes_at(blocks, places))
    tag = (0,) * blocks.shape[2]
    scan_within(
        blocks[:1], min(64, n_codes), samples, 0, None, None, None, tag
    )  # compiled before the clock runs
    tables.within(blocks, samples, 0)
    scan = least_seconds(lambda: scan_within(blocks, n_codes, samples, 0, None, None, None, tag))
    radius = 0
    while radius <= n_bits and least_seconds(lambda: tables.within(blocks, samples, radius)) < scan:  # noqa: B023
        radius += 1
    return radius - 1


def least_seconds(work: Callable[[], object]) -> float:
    """The shorter of two runs; the first of them may compile."""
    best = np.inf
    for _ in range(2):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return float(best)
