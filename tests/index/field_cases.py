"""Generated cases of an index with fields, and the truth about each: Python's sort over unpacked bits.

A case builds an index as people do (added in parts, some rows replaced, some removed), then asks it for
neighbours in every way there is.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import strategies as st

from kinhash import Codes, Fields
from kinhash.index import HammingIndex

from .oracle import IDS, random_codes

WEIGHTS = [1, 2, 3, 4, 7, 15]


@st.composite
def fields_of_any_size(draw):
    """(share of alike bits, weights)."""
    share = draw(st.sampled_from([0.0, 0.1, 0.5, 0.6, 0.9, 1.0]))
    return share, draw(st.sampled_from(WEIGHTS)), draw(st.sampled_from(WEIGHTS))


FIELD_CASES = {
    "seed": st.integers(0, 2**32),
    "n_bits": st.sampled_from([1, 6, 13, 32, 64, 64, 64, 100]),  # few widths: each is compiled once
    "fields": fields_of_any_size(),
    "how": st.sampled_from(["plain", "filter", "per query", "exclude", "both"]),
}


def check_field_case(seed, n_bits, fields, how):
    """Build an index, ask it, compare."""
    rng = np.random.default_rng(seed)
    fields = Fields(round(fields[0] * n_bits), *fields[1:])
    index, rows = built(rng, n_bits, fields)
    queries = bits_of(rng, int(rng.integers(0, 7)), n_bits, fields)
    for i in range(0, len(queries) if rows else 0, 2):  # half of them are near some row
        queries[i] = rows[sorted(rows)[rng.integers(len(rows))]]
    asked = Codes.from_bits(queries, fields=fields)
    k = int(rng.integers(0, 2 * len(rows) + 3)) if rng.random() < 0.5 else int(rng.integers(0, 12))
    truth = [ranked(rows, query, fields.weights(n_bits)) for query in queries]
    found = index.search(asked, k)
    assert [row.ids.tolist() for row in found] == [[name for _, name in row[:k]] for row in truth]
    assert [row.distances.tolist() for row in found] == [[d for d, _ in row[:k]] for row in truth]
    r = int(rng.integers(0, fields.max_distance(n_bits) + 2))
    near = index.search_radius(asked, r)
    inside = [[(d, name) for d, name in row if d <= r] for row in truth]
    assert [list(zip(row.distances.tolist(), row.ids.tolist(), strict=True)) for row in near] == inside


def bits_of(rng, n_rows, n_bits, fields):
    """Codes with a handful of kin codes and any alike bits, or few of both, or none alike."""
    n_kin = fields.kin(n_bits)
    kind = rng.integers(3)
    kin = rng.integers(0, 2, (1 + int(rng.integers(6)), n_kin))
    bits = np.hstack([kin[rng.integers(0, len(kin), n_rows)], rng.integers(0, 2, (n_rows, fields.alike))])
    if kind == 1:
        bits = np.unpackbits(random_codes(rng, n_rows, n_bits), axis=1, count=n_bits)
    elif kind == 2:
        bits = np.unpackbits(random_codes(rng, n_rows, n_bits, 5, 0.02), axis=1, count=n_bits)
    return bits.astype(np.uint8)


def built(rng, n_bits, fields):
    """An index with a history, and what it should hold: {id: bits}."""
    name = IDS[list(IDS)[rng.integers(len(IDS))]]
    index, rows = HammingIndex(n_bits, fields=fields), {}
    for _ in range(rng.integers(1, 4)):
        numbers = rng.choice(400, int(rng.integers(0, 120)), replace=False)
        ids = [name(int(number)) for number in numbers]
        bits = bits_of(rng, len(ids), n_bits, fields)
        index.upsert(Codes.from_bits(bits, fields=fields), ids)
        rows |= dict(zip(ids, bits, strict=True))
        gone = [one for one in rows if rng.random() < 0.1]
        index.remove(gone)
        for one in gone:
            del rows[one]
    if rng.random() < 0.3:
        index.compact()
    if rng.random() < 0.6:
        in_groups(index)
    return index, rows


def in_groups(index):
    """Have the index search in two steps, as it would with many rows."""
    for segment in index._state.segments:
        with mock.patch("kinhash.index.grouped.LARGE_ENOUGH", 0):
            segment.build_groups(index.fields)


def ranked(rows, query, weights):
    """(distance, id) of all rows, ascending."""
    return sorted((int(weights[bits != query].sum()), name) for name, bits in rows.items())
