"""Codes of many rows: all of them fast, then once more those within rounding error of zero.

Few rows are in doubt, one or two of a block, and deciding them block by block would take longer than the
blocks. So their numbers are collected, and their rows read again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import numpy as np

from .._arithmetic import FAST, FIXED, doubtful_rows
from .._blocks import block_slices, map_blocks
from .._types import Array, Bytes, Ints
from ..codes import n_bytes, pack_bits
from ..gpu.use import card_in_use
from ..rows import Rows
from .base import Map, in_agreement
from .on_gpu import codes_on, knows

__all__ = ["Evidence", "mapped_codes"]

log = logging.getLogger("kinhash")
MOST_SCORES = 1 << 22  # of rows in doubt that are kept: 32 MB
SMALLEST, LARGEST = 256, 1024  # rows of a block: large enough for BLAS,
NUMBERS = 1 << 16  # and no more than this many numbers, to stay in the cache;
MOST_NUMBERS = 1 << 23  # of rows that are millions of columns wide, blocks of 64 MB


@dataclass(frozen=True)
class Evidence:
    """What is known of rows beside their features: scores (n, d) of their labels, ``table[place]``.

    A score becomes ``trust·label + (1 − trust)·map``; rows with ``place`` −1 have no label.
    """

    table: Array
    place: Ints
    trust: float

    def __call__(self, scores: Array, rows: slice | Ints) -> Array:
        place = self.place[rows]
        known = (place >= 0)[:, None]
        mixed = self.trust * self.table[place] + (1 - self.trust) * scores
        return np.where(known, mixed, scores)


def mapped_codes(map_: Map, rows: Rows, n_jobs: int | None, evidence: Evidence | None = None) -> Bytes:
    """Packed codes (n, bytes) of rows by a map, and by ``evidence`` where more is known than their features.

    Memory beyond them: 32 MB, and a few blocks per thread.
    """
    card = card_in_use()
    if card is not None and knows(map_) and len(rows) and evidence is None:
        return codes_on(card, map_, rows)
    packed = np.empty((len(rows), n_bytes(map_.n_bits)), np.uint8)
    stretch = max(SMALLEST, MOST_SCORES // map_.n_bits)
    again = sum(
        _encode(map_, rows, part, packed, n_jobs, evidence) for part in block_slices(len(rows), stretch)
    )
    log.debug("%d of %d rows lay within rounding error of zero and were decided again", again, len(rows))
    return packed


def _encode(
    map_: Map, rows: Rows, stretch: slice, packed: Bytes, n_jobs: int | None, evidence: Evidence | None
) -> int:
    """Fill in the codes of a stretch of rows; how many were decided again."""

    def fast(part: slice) -> tuple[Ints, Array, Array] | None:
        block = np.ascontiguousarray(rows.plain(part)) if map_.takes_float32 else rows.read(part)
        scores, bound = map_.evaluate(block, FAST)
        scores = scores if evidence is None else evidence(scores, part)
        packed[part] = pack_bits(scores > 0)
        if bound is None:
            return None
        doubtful = doubtful_rows(scores, bound)
        return (part.start + doubtful, scores[doubtful], bound[doubtful]) if len(doubtful) else None

    def fixed(some: Ints | slice) -> Array:
        scores = map_.evaluate(rows.read(some), FIXED)[0]
        scores = scores if evidence is None else evidence(scores, some)
        packed[some] = pack_bits(scores > 0)
        return scores

    blocks = _blocks(stretch, max(rows.shape[1], map_.widest))
    found = [each for each in map_blocks(fast, blocks, n_jobs) if each is not None]
    if not found:
        return 0
    doubtful, scores, bounds = (np.concatenate(part) for part in zip(*found, strict=True))
    parts = [doubtful[part] for part in block_slices(len(doubtful), SMALLEST)]
    if in_agreement(scores, np.concatenate(list(map_blocks(fixed, parts, n_jobs))), bounds):
        return len(doubtful)
    for _ in map_blocks(fixed, blocks, n_jobs):
        pass
    return stretch.stop - stretch.start


def _blocks(stretch: slice, width: int) -> list[slice]:
    size = min(int(np.clip(NUMBERS // width, SMALLEST, LARGEST)), max(1, MOST_NUMBERS // width))
    start = stretch.start
    return [slice(start + p.start, start + p.stop) for p in block_slices(stretch.stop - start, size)]
