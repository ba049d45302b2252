"""The functions of `kernels` in plain NumPy: slow, obvious, and the truth in the tests.

They also answer until the kernels are compiled, so they take one query at a time: 40 bytes of memory per code
and word. Same names and arguments; nothing here knows Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._internal.types import Array, Ints, Ints32, Numbers32, Words

# A find of a radius search is one number: query << 55 | distance << 40 | code.
CODE_BITS = 40
DISTANCE_BITS = 15
CODE = (1 << CODE_BITS) - 1
DISTANCE = (1 << DISTANCE_BITS) - 1


def unpacked(finds: Ints) -> tuple[Ints, Ints32, Ints]:
    """Queries, distances and codes of finds."""
    distances = ((finds >> CODE_BITS) & DISTANCE).astype(np.int32)
    return finds >> CODE_BITS + DISTANCE_BITS, distances, finds & CODE


def codes_of(blocks: Words, n_codes: int) -> Words:
    """The codes (n, W), one per row, of the layout that `kernels` describes."""
    return np.ascontiguousarray(blocks.transpose(0, 1, 3, 2)).reshape(-1, blocks.shape[2])[:n_codes]


def hamming(query: Words, codes: Words, planes: Words | None = None) -> Ints:
    """Distances (n,) of one query (W,), weighted where there are planes (P, W)."""
    differing = codes ^ query
    if planes is None:
        return np.bitwise_count(differing).sum(-1, dtype=np.int64)
    total = np.zeros(len(codes), np.int64)
    for p, plane in enumerate(planes):
        total += np.bitwise_count(differing & plane).sum(-1, dtype=np.int64) << p
    return total


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


def top_k(
    blocks: Words, n_codes: int, starts: Numbers32, rows: Numbers32, queries: Words, distances: Ints32,
    ranks: Ints, planes: Words | None, mask: Words | None, tag: Any,
) -> None:  # fmt: skip
    """The k nearest rows of every query, in the order (distance, rank)."""
    codes, k = codes_of(blocks, n_codes), ranks.shape[1]
    code_of = (
        np.repeat(np.arange(n_codes), (starts[1:] - starts[:-1]).astype(np.int64)) if starts.size else None
    )
    row_of: Array = rows if starts.size else np.arange(n_codes)
    keep = None
    if mask is not None:
        keep = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")[row_of])
    for i, query in enumerate(queries):
        near = hamming(query, codes, None if planes is None else planes[i])
        near, row = near if code_of is None else near[code_of], row_of
        if keep is not None:
            near, row = near[keep], row[keep]
        some = np.flatnonzero(near <= np.partition(near, k - 1)[k - 1])
        order = some[np.lexsort((row[some], near[some]))][:k]
        distances[i], ranks[i] = near[order], row[order]


def scan_within(blocks: Words, n_codes: int, queries: Words, radius: int, tag: Any) -> Ints:
    """All finds within the radius, in ascending order."""
    codes, found = codes_of(blocks, n_codes), [np.empty(0, np.int64)]
    for i, query in enumerate(queries):
        distances = hamming(query, codes)
        code = np.flatnonzero(distances <= radius)
        found.append((i << CODE_BITS + DISTANCE_BITS) | (distances[code] << CODE_BITS) | code)
    return np.sort(np.concatenate(found))


def probe(
    blocks: Words, offsets: Numbers32, codes: Numbers32, values: Words, queries: Words, radius: int,
    flips: Ints, n_flips: Ints,
) -> Ints:  # fmt: skip
    """All finds within the radius, in ascending order: by looking at every code."""
    return scan_within(blocks, codes.shape[1], queries, radius, None)


def unite(parents: Ints, left: Ints, right: Ints) -> None:
    """Join groups by giving all members of both the smaller root."""
    for a, b in zip(left.tolist(), right.tolist(), strict=True):
        roots = sorted((parents[a], parents[b]))
        parents[parents == roots[1]] = roots[0]
