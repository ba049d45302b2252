"""Generated cases of an index with fields, and the truth about each: Python's sort over unpacked bits.

A case builds an index as people do (added in parts, some rows replaced, some removed), then asks it for
neighbors in every way there is.
"""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import strategies as st

from kinhash import BitLayout, Codes
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
    "how": st.sampled_from(["plain", "filter", "per query", "exclude", "both", "margins"]),
}


def check_field_case(seed, n_bits, fields, how):
    """Build an index, ask it, compare."""
    rng = np.random.default_rng(seed)
    fields = BitLayout(round(fields[0] * n_bits), *fields[1:])
    check_answers(rng, *built(rng, n_bits, fields), how)


def check_answers(rng, index, rows, how):
    """Ask an index that should hold ``rows``, and compare."""
    n_bits, fields = index.n_bits, index.fields
    queries = bits_of(rng, int(rng.integers(0, 7)), n_bits, fields)
    for i in range(0, len(queries) if rows else 0, 2):  # half of them are near some row
        queries[i] = rows[sorted(rows)[rng.integers(len(rows))]]
    asked = Codes.from_bits(queries, fields=fields)
    k = int(rng.integers(0, 2 * len(rows) + 3)) if rng.random() < 0.5 else int(rng.integers(0, 12))
    where, passing = filters(rng, how, rows, len(queries))
    exclude = left_out(rng, how, rows, len(queries))
    if how == "margins":
        check_margins(rng, index, rows, queries, fields, k)
        return
    weights = fields.weights(n_bits)
    truth = [
        ranked(some, query, weights, own)
        for some, query, own in zip(passing, queries, exclude or [None] * len(queries), strict=True)
    ]
    found = index.search(asked, k, where=where, exclude=exclude)
    assert pairs(found) == [row[:k] for row in truth]
    r = int(rng.integers(0, fields.max_distance(n_bits) + 2))
    near = index.search_radius(asked, r, where=where, exclude=exclude)
    assert pairs(near) == [[(d, name) for d, name in row if d <= r] for row in truth]


def pairs(found):
    return [list(zip(one.distances.tolist(), one.ids.tolist(), strict=True)) for one in found]


def filters(rng, how, rows, n_queries):
    """``where``, and what every query may find."""
    some = [{name: bits for name, bits in rows.items() if rng.random() < share} for share in (0.1, 0.7)]
    if how == "filter":
        return list(some[1]), [some[1]] * n_queries
    if how in ("per query", "both") and n_queries:
        chosen = [[None, *some][rng.integers(3)] for _ in range(n_queries)]
        chosen[0] = None  # at least one entry that cannot be an id
        return (
            [None if one is None else list(one) for one in chosen],
            [rows if one is None else one for one in chosen],
        )
    return None, [rows] * n_queries


def left_out(rng, how, rows, n_queries):
    if how not in ("exclude", "both"):
        return None
    names = sorted(rows)
    return [
        names[rng.integers(len(names))] if names and rng.random() < 0.7 else None for _ in range(n_queries)
    ]


def check_margins(rng, index, rows, queries, fields, k):
    """Float distances: equal but for rounding, in the order (distance, id)."""
    n_bits = queries.shape[1]
    margins = rng.normal(size=queries.shape) * rng.choice([0.0, 1.0, 30.0], n_bits)
    of = [None, "kin", "alike"][rng.integers(3)]
    weights = np.tile(fields.weights(n_bits).astype(float), (len(queries), 1))
    for name, bits in (("kin", slice(fields.kin(n_bits))), ("alike", slice(fields.kin(n_bits), n_bits))):
        for weight, margin in zip(weights[:, bits], np.abs(margins[:, bits]), strict=True):
            if of in (None, name) and weight.size:
                two = 0 < fields.alike < n_bits
                weight *= margin / (margin.mean() or 1.0) if two else margin
    found = index.search(Codes.from_bits(queries, fields=fields), k, margins=margins, margins_of=of)
    assert len(found) == len(queries)
    for one, query, weight in zip(found, queries, weights, strict=True):
        truth = {name: float(weight[bits != query].sum()) for name, bits in rows.items()}
        np.testing.assert_allclose(one.distances, sorted(truth.values())[:k], rtol=1e-9, atol=1e-9)
        ids = one.ids.tolist()
        np.testing.assert_allclose([truth[name] for name in ids], one.distances, rtol=1e-9, atol=1e-9)
        in_order = list(zip(one.distances.tolist(), ids, strict=True))
        assert in_order == sorted(in_order)
        assert len(set(ids)) == len(ids)


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
        with (
            mock.patch("kinhash.index.kernels.grouped.LARGE_ENOUGH", 0),
            mock.patch("kinhash.index.segment.MUCH_FASTER", np.inf),
        ):
            segment.build_groups(index.fields)


def ranked(rows, query, weights, own):
    """(distance, id) of all rows but one, ascending."""
    if not rows:
        return []
    distances = (np.array(list(rows.values())) != query) @ weights
    return sorted((d, name) for d, name in zip(distances.tolist(), rows, strict=True) if name != own)
