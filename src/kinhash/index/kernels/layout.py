"""The layout of `vector`: word ``w`` of code ``c`` is at ``blocks[c >> 6, (c >> 3) & 7, w, c & 7]``."""

from __future__ import annotations

import numpy as np

from ..._internal.types import Array, Words

__all__ = ["aligned_blocks", "blocks_of", "clear_tail", "codes_at", "codes_of"]


def aligned_blocks(n_codes: int, n_words: int) -> Words:
    """Room for that many codes, 64-byte aligned, not cleared."""
    shape = (-(-n_codes // 64), 8, n_words, 8)
    size = int(np.prod(shape)) * 8
    space = np.empty(size + 64, np.uint8)
    return space[-space.ctypes.data % 64 :][:size].view(np.uint64).reshape(shape)


def blocks_of(codes: Words) -> Words:
    """A copy of codes (n, W) in this layout."""
    blocks, whole = aligned_blocks(*codes.shape), len(codes) // 64
    clear_tail(blocks, len(codes))
    blocks.transpose(0, 1, 3, 2)[:whole] = codes[: 64 * whole].reshape(whole, 8, 8, codes.shape[1])
    places = np.arange(64 * whole, len(codes))
    blocks[places >> 6, (places >> 3) & 7, :, places & 7] = codes[64 * whole :]
    return blocks


def clear_tail(blocks: Words, n_codes: int) -> None:
    """Zero the unused places after the last code, so that equal segments are equal byte for byte."""
    places = np.arange(n_codes, 64 * len(blocks))
    blocks[places >> 6, (places >> 3) & 7, :, places & 7] = 0


def codes_of(blocks: Words, n_codes: int) -> Words:
    """The codes (n, W), one per row."""
    return np.ascontiguousarray(blocks.transpose(0, 1, 3, 2)).reshape(-1, blocks.shape[2])[:n_codes]


def codes_at(blocks: Words, numbers: Array) -> Words:
    """The codes (n, W) of these numbers."""
    return blocks[numbers >> 6, (numbers >> 3) & 7, :, numbers & 7]
