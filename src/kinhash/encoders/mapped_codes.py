"""Codes of many rows, a block at a time, by several threads or on a graphics card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._blocks import block_slices, map_blocks
from .._types import Array, Bytes, Ints
from ..codes import n_bytes, pack_bits
from ..gpu.moved import moved
from ..gpu.use import card_in_use
from ..models import Map, WholeMap
from ..rows import Rows

__all__ = ["Evidence", "mapped_codes"]

SMALLEST, LARGEST = 512, 1024  # rows of a block: large enough for BLAS,
NUMBERS = 1 << 16  # and no more than this many numbers, to stay in the cache;
MOST_NUMBERS = 1 << 23  # of rows that are millions of columns wide, blocks of 64 MB
CARD_BYTES = 1 << 28  # of the widest array of a block on a card; a few such arrays are there at a time


@dataclass(frozen=True)
class Evidence:
    """What is known of rows beside their features: scores (n, k) of their labels, ``table[place]``.

    The first k scores become ``trust·label + (1 − trust)·map``; rows with ``place`` −1 have no label.
    """

    table: Array
    place: Ints
    trust: float

    def __call__(self, scores: Array, rows: slice) -> Array:
        place = self.place[rows]
        known = (place >= 0)[:, None]
        own = scores[:, : self.table.shape[1]]
        mixed = self.trust * self.table[place].astype(np.float64) + (1 - self.trust) * own
        rest = scores[:, self.table.shape[1] :]
        return np.concatenate([np.where(known, mixed, own), rest], axis=1)


def mapped_codes(map_: Map, rows: Rows, n_jobs: int | None, evidence: Evidence | None = None) -> Bytes:
    """Packed codes (n, bytes) of rows by a map, and by ``evidence`` where more is known than their features.

    Memory beyond them: a few blocks per thread.
    """
    whole, card = map_ if isinstance(map_, WholeMap) else None, card_in_use()
    on_card = whole is not None and evidence is None and all(step.on_card for step in whole.steps_)
    if card is not None and whole is not None and on_card and len(rows):
        return _codes_on(card, whole, rows)
    packed = np.empty((len(rows), n_bytes(map_.n_bits)), np.uint8)

    def encode(part: slice) -> None:
        if whole is not None and evidence is None:
            packed[part] = pack_bits(whole.run(rows.plain(part)) > 0)
            return
        scores = map_.scores(rows.read(part) if whole is None else rows.plain(part))
        packed[part] = pack_bits((scores if evidence is None else evidence(scores, part)) > 0)

    width = max(rows.shape[1], 0 if whole is None else whole.widest)
    size = min(int(np.clip(NUMBERS // width, SMALLEST, LARGEST)), max(1, MOST_NUMBERS // width))
    for _ in map_blocks(encode, block_slices(len(rows), size), n_jobs):
        pass
    return packed


def _codes_on(card: Any, map_: WholeMap, rows: Rows) -> Bytes:
    """The same on a card. Memory there: the model, and about six arrays of `CARD_BYTES`."""
    packed = np.empty((len(rows), n_bytes(map_.n_bits)), np.uint8)
    map_.run_with(np, np.zeros((1, rows.shape[1])))  # derives what the steps need, so that it moves too
    there = moved(map_, card)
    for part in block_slices(len(rows), max(1024, CARD_BYTES // (8 * max(rows.shape[1], map_.widest)))):
        with card.active() as xp:
            packed[part] = card.packed_bits(there.run_with(xp, card.put(rows.plain(part))) > 0)
    return packed
