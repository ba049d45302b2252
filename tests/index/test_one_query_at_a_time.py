"""Every query of a batch gets what it gets alone, whatever the other queries exclude or filter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash.index import HammingIndex

from .oracle import random_codes

N_BITS = 16


def expected(hamming, euclidean, rows, k, look):
    """Rows by brute force; ``look`` is None, "ties", or the length of the shortlist."""
    if look is None:
        return sorted(rows, key=lambda row: (hamming[row], row))[:k]
    if look == "ties":
        return sorted(rows, key=lambda row: (hamming[row], euclidean[row], row))[:k]
    cut = max(k, look)
    if len(rows) > cut > 0:
        last = sorted(hamming[row] for row in rows)[cut - 1]
        rows = [row for row in rows if hamming[row] <= last]
    return sorted(rows, key=lambda row: (euclidean[row], row))[:k]


def filters(draw, rng, n_rows):
    """A filter, and the rows that pass it."""
    kind = draw(st.sampled_from(["none", "mask", "ids", "columns"]))
    some = rng.random(n_rows) < draw(st.sampled_from([0.0, 0.5, 1.0]))
    rows = np.flatnonzero(some).tolist()
    if kind == "none":
        return None, list(range(n_rows))
    if kind == "columns":
        return {"even": True}, list(range(0, n_rows, 2))
    return (some, rows) if kind == "mask" else (rows, rows)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_query_of_a_batch_gets_what_it_gets_alone(data):
    draw = data.draw
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n_queries = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    packed = random_codes(rng, n_rows, N_BITS, draw(st.sampled_from([None, 1, 3])))
    queries = random_codes(rng, n_queries, N_BITS, 2)
    rows, asked = rng.normal(size=(n_rows, 3)), rng.normal(size=(n_queries, 3))
    split = draw(st.integers(0, n_rows))
    index = HammingIndex(N_BITS)
    even = np.arange(n_rows) % 2 == 0
    for part in (slice(split), slice(split, None)):
        index.add(packed[part], np.arange(n_rows)[part], {"even": even[part]})
    k, look = draw(st.integers(0, n_rows + 1)), draw(st.sampled_from([None, "ties", 0, 2, 30]))
    options = {} if look is None else {"vectors": (asked, rows)}
    options |= {"rerank": "ties"} if look == "ties" else {} if look is None else {"shortlist": look}
    own = draw(
        st.one_of(
            st.none(), st.lists(st.sampled_from([None, 0, 1, 5, 99]), min_size=n_queries, max_size=n_queries)
        )
    )
    several = draw(st.booleans())
    chosen = [filters(draw, rng, n_rows) for _ in range(n_queries if several else 1)]
    where = [one for one, _ in chosen] if several else chosen[0][0]
    found = index.search(queries, k, where=where, exclude=own, **options)
    assert len(found) == n_queries
    hamming = np.bitwise_count(queries[:, None] ^ packed[None]).sum(axis=-1, dtype=int)
    euclidean = np.sqrt(((asked[:, None] - rows[None]) ** 2).sum(axis=-1))
    for i in range(n_queries):
        passing = [row for row in chosen[i if several else 0][1] if own is None or row != own[i]]
        wanted = expected(hamming[i], euclidean[i], passing, k, look)
        assert found[i].ids.tolist() == wanted
        by = hamming if look in (None, "ties") else euclidean
        np.testing.assert_allclose(found[i].distances, by[i][wanted])


@pytest.mark.parametrize("options", [{}, {"rerank": "ties"}])
def test_what_one_query_excludes_does_not_change_another_with_vectors(options):
    packed = np.zeros((2, 2), np.uint8)
    rows = np.array([[5.0], [1.0]])
    index = HammingIndex.from_codes(packed)
    for own in (None, [None, 0], [None, None]):
        found = index.search(packed[:2], 1, vectors=(np.zeros((2, 1)), rows), exclude=own, **options)
        assert found.ids[:, 0].tolist() == [1, 1]


def test_a_query_without_exclude_keeps_all_rows_beside_one_that_excludes():
    packed = np.array([[0], [1], [3]], np.uint8)
    index = HammingIndex.from_codes(packed)
    found = index.search(packed[:2], 3, exclude=[None, 1])
    assert [one.ids.tolist() for one in found] == [[0, 1, 2], [0, 2]]
    found = index.search(packed[:2], 3, exclude=[None, 1], where=[None, None])
    assert [one.ids.tolist() for one in found] == [[0, 1, 2], [0, 2]]
    assert found[0].scores.tolist() == [1.0, 0.75, 0.5]
    assert index.search(packed[:2], 3, exclude=[0, 1]).ids.tolist() == [[1, 2], [0, 2]]
