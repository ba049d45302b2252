"""Codes of many rows: all of them fast, then once more those within rounding error of zero.

Few rows are in doubt, one or two of a block, and deciding them block by block would take longer than the
blocks. So their numbers are collected, and their rows read again.
"""

from __future__ import annotations

import logging

import numpy as np

from .._arithmetic import FAST, FIXED, doubtful_rows
from .._blocks import block_slices, map_blocks
from .._types import Array, Bytes, Ints
from ..codes import n_bytes, pack_bits
from ..gpu.use import card_in_use
from ..rows import Rows
from .base import Map, in_agreement
from .on_gpu import codes_on, knows

__all__ = ["mapped_codes"]

log = logging.getLogger("kinhash")
MOST_SCORES = 1 << 22  # of rows in doubt that are kept: 32 MB
SMALLEST, LARGEST = 256, 1024  # rows of a block: large enough for BLAS,
NUMBERS = 1 << 16  # and no more than this many numbers, to stay in the cache


def mapped_codes(map_: Map, rows: Rows, n_jobs: int | None) -> Bytes:
    """Packed codes (n, bytes) of rows by a map. Memory beyond them: 32 MB, and a few blocks per thread."""
    card = card_in_use()
    if card is not None and knows(map_) and len(rows):
        return codes_on(card, map_, rows)
    packed = np.empty((len(rows), n_bytes(map_.n_bits)), np.uint8)
    stretch = max(SMALLEST, MOST_SCORES // map_.n_bits)
    again = sum(_encode(map_, rows, part, packed, n_jobs) for part in block_slices(len(rows), stretch))
    log.debug("%d of %d rows lay within rounding error of zero and were decided again", again, len(rows))
    return packed


def _encode(map_: Map, rows: Rows, stretch: slice, packed: Bytes, n_jobs: int | None) -> int:
    """Fill in the codes of a stretch of rows; how many were decided again."""

    def fast(part: slice) -> tuple[Ints, Array, Array] | None:
        block = np.ascontiguousarray(rows.plain(part)) if map_.takes_float32 else rows.read(part)
        scores, bound = map_.evaluate(block, FAST)
        packed[part] = pack_bits(scores > 0)
        if bound is None:
            return None
        doubtful = doubtful_rows(scores, bound)
        return (part.start + doubtful, scores[doubtful], bound[doubtful]) if len(doubtful) else None

    def fixed(some: Ints | slice) -> Array:
        scores = map_.evaluate(rows.read(some), FIXED)[0]
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
    size = int(np.clip(NUMBERS // width, SMALLEST, LARGEST))
    start = stretch.start
    return [slice(start + p.start, start + p.stop) for p in block_slices(stretch.stop - start, size)]
