"""The kernels again in plain NumPy: slow, obvious, and the truth in the tests.

Those of `top_k`, `top_k_grouped`, `scan_within`, `group_codes` and `list_rows` also answer until the kernels
are compiled, so they take one query at a time: 40 bytes of memory per code and word. Same names and
arguments as in `vector`, `top_k`, `radius`, `multi_index`, `dedupe`, `merge`, `asymmetric`, `grouped`,
`grouped_margins` and `passing`.
"""

from __future__ import annotations

import numpy as np

from ..._internal.types import Array, Bools, Distances, Floats, Ints, Numbers32, Words
from .bits import CODE_BITS, DISTANCE_BITS, Tag
from .layout import codes_of


def blocks_of(codes: Words) -> Words:
    """As in `layout`, without its alignment."""
    padded = np.zeros((-(-len(codes) // 64) * 64, codes.shape[1]), np.uint64)
    padded[: len(codes)] = codes
    return padded.reshape(-1, 8, 8, codes.shape[1]).transpose(0, 1, 3, 2)


def hamming(queries: Words, codes: Words, planes: Words | None = None) -> Ints:
    """Distances (q, n), weighted by the planes of `bit_weights` where there are some."""
    differing = queries[:, None, :] ^ codes[None, :, :]
    if planes is None:
        return np.bitwise_count(differing).sum(-1, dtype=np.int64)
    return sum(
        np.bitwise_count(differing & plane).sum(-1, dtype=np.int64) << b for b, plane in enumerate(planes)
    )


def mask_below(blocks: Words, group: int, queries: Words, number: int, bounds: Ints, tag: Tag) -> int:
    """Which of the 64 codes of a group are nearer to the query than its bound, as 64 bits."""
    near = hamming(queries[number : number + 1], codes_of(blocks[group : group + 1], 64))[0] < bounds[number]
    return sum(1 << int(place) for place in np.flatnonzero(near))


def any_below(blocks: Words, group: int, queries: Words, first: int, bounds: Ints, tag: Tag) -> int:
    """1 if a code of the group is nearer to query ``first`` than its bound, else 0."""
    return int(mask_below(blocks, group, queries, first, bounds, tag) != 0)


def any_below_4(blocks: Words, group: int, queries: Words, first: int, bounds: Ints, tag: Tag) -> int:
    """Four answers of `any_below` in four bits."""
    return sum(any_below(blocks, group, queries, first + b, bounds, tag) << b for b in range(4))


def any_weighted(
    blocks: Words, group: int, queries: Words, first: int, bounds: Ints, weights: Words, tag: Tag
) -> int:
    """As `any_below`, with what a bit of each byte counts."""
    differing = (codes_of(blocks[group : group + 1], 64) ^ queries[first]).view(np.uint8)
    return int((np.bitwise_count(differing) @ weights.view(np.uint8).astype(int) < bounds[first]).any())


def any_weighted_4(
    blocks: Words, group: int, queries: Words, first: int, bounds: Ints, weights: Words, tag: Tag
) -> int:
    """Four answers of `any_weighted` in four bits."""
    return sum(any_weighted(blocks, group, queries, first + b, bounds, weights, tag) << b for b in range(4))


def weighted_below(blocks: Words, group: int, query: Words, planes: Words, bound: int, tag: Tag) -> int:
    """Which of the 64 codes of a group have a weighted distance below ``bound``, as 64 bits."""
    differing = codes_of(blocks[group : group + 1], 64) ^ query
    ones = np.bitwise_count(differing[:, None, :] & planes[None]).sum(-1, dtype=np.int64)  # (64, planes)
    near = ones @ (1 << np.arange(len(planes))) < bound
    return sum(1 << int(place) for place in np.flatnonzero(near))


def group_codes(words: Words, blocks: Words, code_of_row: Numbers32) -> int:
    """Distinct rows in the order of first appearance, and the number of each row's code."""
    keys = words[:, 0] if words.shape[1] == 1 else words  # sorting numbers is faster than sorting rows
    distinct, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    distinct = distinct.reshape(len(distinct), words.shape[1])
    order = np.argsort(first)
    places = np.arange(len(order))
    blocks[places >> 6, (places >> 3) & 7, :, places & 7] = distinct[order]
    code_of_row[:] = np.argsort(order)[inverse.reshape(-1)]
    return len(distinct)


def list_rows(code_of_row: Numbers32, n_codes: int, starts: Numbers32, rows: Numbers32) -> None:
    """Posting lists: the rows of every code, ascending."""
    rows[:] = np.argsort(code_of_row, kind="stable")
    starts[:] = np.concatenate([[0], np.cumsum(np.bincount(code_of_row, minlength=n_codes))])


def rows_of(code: int, starts: Numbers32, rows: Numbers32) -> Ints:
    """The rows with that code."""
    return rows[starts[code] : starts[code + 1]].astype(np.int64) if starts.size else np.array([code])


def passing_codes(mask: Bools, starts: Numbers32, rows: Numbers32, bits: Words) -> None:
    """Set the bits of the codes with a row that passes."""
    for code in range(len(starts) - 1):
        if mask[rows_of(code, starts, rows)].any():
            bits[code // 64] |= np.uint64(1 << code % 64)


def merge_level(
    codes: Ints, first: int, last: int, starts: Numbers32, rows: Numbers32, ranks: Ints, filled: int,
    mask: Bools | None,
) -> int:  # fmt: skip
    """Append the rows of ``codes[first:last]`` to ``ranks[:filled]`` in ascending order, until it is full."""
    found = np.sort(np.concatenate([rows_of(int(code), starts, rows) for code in codes[first:last]]))
    found = found if mask is None or not starts.size else found[mask[found]]
    found = found[: len(ranks) - filled]
    ranks[filled : filled + len(found)] = found
    return filled + len(found)


def _best_rows(
    per_code: Array,
    starts: Numbers32,
    rows: Numbers32,
    distances: Array,
    ranks: Ints,
    mask: Bools | None = None,
) -> None:
    """Write the first k rows in the order (distance, rank), given the distance of every code."""
    k, per_row = len(ranks), per_code
    all_ranks: Array = rows
    if starts.size:
        per_row = np.repeat(per_code, np.diff(starts))
    else:  # one row per code, its own number
        all_ranks = np.arange(len(per_code))
    if mask is not None:
        passes = mask[all_ranks]
        per_row, all_ranks = per_row[passes], all_ranks[passes]
    near = np.flatnonzero(per_row <= np.partition(per_row, k - 1)[k - 1]) if k else all_ranks[:0]
    order = near[np.lexsort((all_ranks[near], per_row[near]))][:k]
    distances[:], ranks[:] = per_row[order], all_ranks[order]


def top_k(
    blocks: Words, n_codes: int, starts: Numbers32, rows: Numbers32, queries: Words, distances: Distances,
    ranks: Ints, planes: Words | None, least: Words, passing: Words | None, mask: Bools | None, tag: Tag,
) -> None:  # fmt: skip
    """The k nearest rows of every query, in the order (distance, rank)."""
    codes = codes_of(blocks, n_codes)
    for i in range(len(queries)):
        _best_rows(hamming(queries[i : i + 1], codes, planes)[0], starts, rows, distances[i], ranks[i], mask)


def top_k_grouped(
    kin: Words, group_starts: Numbers32, codes: Numbers32, blocks: Words, kin_bits: Words, kin_weight: int,
    alike_weight: int, starts: Numbers32, rows: Numbers32, queries: Words, distances: Distances, ranks: Ints,
    tag: Tag,
) -> None:  # fmt: skip
    """The k nearest rows of every query, by looking at every code."""
    words = np.empty((len(codes), blocks.shape[2]), np.uint64)
    words[codes] = codes_of(blocks, len(codes))
    for i in range(len(queries)):
        query = queries[i : i + 1]
        differing = hamming(query & kin_bits, words & kin_bits)[0]
        per_code = kin_weight * differing + alike_weight * (hamming(query, words)[0] - differing)
        _best_rows(per_code, starts, rows, distances[i], ranks[i])


def scan_within(
    blocks: Words, n_codes: int, queries: Words, radius: int, planes: Words | None, least: Words | None,
    passing: Words | None, tag: Tag,
) -> Ints:  # fmt: skip
    """All finds ``query << 54 | distance << 40 | code`` within the radius, in ascending order."""
    codes, found = codes_of(blocks, n_codes), [np.empty(0, np.int64)]
    counts = np.ones(n_codes, bool)
    if passing is not None:
        counts = np.unpackbits(passing.view(np.uint8), bitorder="little")[:n_codes].astype(bool)
    for i in range(len(queries)):
        distances = hamming(queries[i : i + 1], codes, planes)[0]
        code = np.flatnonzero((distances <= radius) & counts)
        found.append((i << CODE_BITS + DISTANCE_BITS) | (distances[code] << CODE_BITS) | code)
    return np.sort(np.concatenate(found))


def build_table(
    blocks: Words, n_codes: int, chunk: int, offsets: Numbers32, codes: Numbers32, values: Words
) -> None:
    """Sort the codes by one chunk of 16 bits."""
    words = codes_of(blocks, n_codes)[:, chunk >> 2]
    chunks = (words >> np.uint64(16 * (chunk & 3))) & np.uint64(0xFFFF)
    codes[:] = np.argsort(chunks, kind="stable")
    offsets[:] = np.searchsorted(chunks[codes], np.arange(len(offsets)))
    if values.size:
        values[:] = words[codes]


def probe(
    blocks: Words, offsets: Numbers32, codes: Numbers32, values: Words, queries: Words, radius: int,
    flips: Distances, n_flips: Ints,
) -> Ints:  # fmt: skip
    """All finds within the radius, in ascending order: by looking at every code."""
    return scan_within(blocks, codes.shape[1], queries, radius, None, None, None, (0,) * queries.shape[1])


def weighted(queries: Words, codes: Words, weights: Floats) -> Floats:
    """Weighted distances (q, n), summed in the order of the kernel: bits of a byte, then bytes."""
    differing = np.unpackbits((queries[:, None, :] ^ codes[None, :, :]).view(np.uint8), axis=-1)
    parts = np.where(differing, weights[:, None, :], 0.0)
    parts = parts.reshape(*differing.shape[:2], 8 * codes.shape[1], 8)
    per_byte: Floats = np.zeros(parts.shape[:-1])
    for bit in range(8):
        per_byte = per_byte + parts[..., bit]
    total = np.zeros(differing.shape[:2])
    for byte in range(per_byte.shape[-1]):
        total = total + per_byte[..., byte]
    return total


def top_k_weighted(
    blocks: Words, n_codes: int, starts: Numbers32, rows: Numbers32, queries: Words, weights: Floats,
    planes: Words | None, steps: Floats, distances: Floats, ranks: Ints, tag: Tag,
) -> None:  # fmt: skip
    """The k rows of least weighted distance, in the order (distance, rank)."""
    for i, per_code in enumerate(weighted(queries, codes_of(blocks, n_codes), weights)):
        _best_rows(per_code, starts, rows, distances[i], ranks[i])


def top_k_weighted_grouped(
    kin: Words, group_starts: Numbers32, codes: Numbers32, blocks: Words, kin_bits: Words, starts: Numbers32,
    rows: Numbers32, queries: Words, weights: Floats, planes: Words | None, steps: Floats, distances: Floats,
    ranks: Ints, tag: Tag,
) -> None:  # fmt: skip
    """The k rows of least weighted distance, by looking at every code."""
    words = np.empty((len(codes), blocks.shape[2]), np.uint64)
    words[codes] = codes_of(blocks, len(codes))
    for i, per_code in enumerate(weighted(queries, words, weights)):
        _best_rows(per_code, starts, rows, distances[i], ranks[i])
