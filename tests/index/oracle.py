"""The truth the index is held against: plain NumPy on unpacked codes, no cleverness."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

import numpy as np
from hypothesis import strategies as st

# Ids of every kind, from numbers -50 ... 400. NumPy keeps strings of up to 15 bytes apart from longer ones.
IDS = {
    "numbers": lambda number: number,
    "last numbers": lambda number: 2**63 - 1 - (400 - number),
    "first numbers": lambda number: -(2**63) + 50 + number,
    "short strings": lambda number: f"id {number}",
    "uuids": lambda number: str(uuid5(NAMESPACE_URL, str(number))),
    "paths": lambda number: f"/archive/{'shared/' * 40}{number}.jpg",
    "unicode": lambda number: f"{'é' * (number % 12)}{chr(0x10000 - number)}日本語",
    "zeros": lambda number: f"before the zero\0{number}",
}
STRINGS = [kind for kind, name in IDS.items() if isinstance(name(0), str)]


def brute_force(packed, ids, queries, k):
    """Ids and distances (q, k) by sorting (distance, id), one query at a time."""
    k = min(k, len(ids))
    found_ids, found_distances = [], []
    for query in queries:
        distances = np.bitwise_count(packed ^ query).sum(axis=1, dtype=np.int64)
        order = sorted(range(len(ids)), key=lambda row: (distances[row], ids[row]))[:k]
        found_ids.append([ids[row] for row in order])
        found_distances.append([int(distances[row]) for row in order])
    return found_ids, found_distances


def brute_force_radius(packed, ids, queries, radius):
    ids_found, distances_found = brute_force(packed, ids, queries, len(ids))
    keep = [[d <= radius for d in row] for row in distances_found]
    return (
        [[i for i, ok in zip(row, oks, strict=True) if ok] for row, oks in zip(ids_found, keep, strict=True)],
        [
            [d for d, ok in zip(row, oks, strict=True) if ok]
            for row, oks in zip(distances_found, keep, strict=True)
        ],
    )


def random_codes(rng, n_rows, n_bits, n_distinct=None, noise=0.0):
    """Packed codes; from a few centers with noise when ``n_distinct`` is given."""
    bits = rng.integers(0, 2, (n_distinct or n_rows, n_bits), dtype=np.uint8)
    if n_distinct:
        bits = bits[rng.integers(0, n_distinct, n_rows)] ^ (rng.random((n_rows, n_bits)) < noise)
    return np.packbits(bits, axis=1)


N_BITS = st.one_of(st.sampled_from([1, 7, 8, 63, 64, 65, 128, 256]), st.integers(1, 200))


@st.composite
def cases(draw, most_rows=300, n_bits=N_BITS):
    """(rng, packed codes, packed queries, n_bits): distinct, few, clustered or equal codes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    bits = draw(n_bits)
    n_rows = draw(st.integers(0, most_rows))
    kind = draw(st.sampled_from(["random", "few", "clustered", "equal"]))
    n_distinct = {"random": None, "few": 3, "clustered": 10, "equal": 1}[kind]
    packed = random_codes(rng, n_rows, bits, n_distinct, 0.05 if kind == "clustered" else 0.0)
    n_queries = draw(st.integers(0, 9))
    queries = random_codes(rng, n_queries, bits)
    for i in range(0, n_queries if n_rows else 0, 2):  # half of them are near some row
        queries[i] = packed[rng.integers(n_rows)]
    return rng, packed, queries, bits
