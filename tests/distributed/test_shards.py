"""Answers of shards, merged: the answer of one index, ties across shards included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash import BitLayout, Codes, HammingIndex
from kinhash.distributed import merge_in_order, merge_neighbors
from kinhash.errors import InvalidInput


def same(one, other):
    assert one.ids.tolist() == other.ids.tolist()
    assert one.distances.tolist() == other.distances.tolist()
    assert one.full == other.full
    assert (one.splits is None) == (other.splits is None)
    if one.splits is not None:
        assert one.splits.tolist() == other.splits.tolist()


@given(
    seed=st.integers(0, 10**6),
    n_bits=st.sampled_from([1, 3, 8, 20]),  # few bits: ties everywhere
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=6).filter(any),
    k=st.integers(1, 40),
    names=st.booleans(),
    weights=st.sampled_from([(0, 1), (1, 4), (1, 15)]),
)
def test_shards_answer_like_one_index(seed, n_bits, sizes, k, names, weights):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    codes = np.packbits(rng.integers(0, 2, (n, n_bits)), axis=1)
    queries = np.packbits(rng.integers(0, 2, (4, n_bits)), axis=1)
    ids = rng.permutation(n)  # shards do not hold consecutive ids
    ids = np.array([f"id {i:03d}" for i in ids]) if names else ids
    fields = BitLayout(*weights)
    whole = HammingIndex.from_codes(Codes(codes, n_bits, fields=fields), ids=ids)
    edges = np.cumsum(sizes)[:-1]
    shards = [
        HammingIndex.from_codes(Codes(c, n_bits, fields=fields), ids=i)
        if len(c)
        else HammingIndex(n_bits, fields=fields)
        for c, i in zip(np.split(codes, edges), np.split(ids, edges), strict=True)
    ]
    found = [shard.search(queries, k) for shard in shards]
    same(merge_neighbors(found, k), whole.search(queries, k))
    same(merge_in_order(found, lambda a, b: merge_neighbors([a, b], k)), whole.search(queries, k))
    filters = [None, None, [ids[0]], None]  # one for each query
    alone = [shard.search(queries, k, where=filters) for shard in shards]
    same(merge_neighbors(alone, k), whole.search(queries, k, where=filters))
    r = int(rng.integers(0, n_bits + 1))
    within = [shard.search_radius(queries, r) for shard in shards]
    same(merge_neighbors(within), whole.search_radius(queries, r))


def test_answers_that_cannot_be_merged_are_refused():
    index = HammingIndex.from_codes(np.arange(5, dtype=np.uint8)[:, None])
    query = np.zeros((1, 1), np.uint8)
    with pytest.raises(InvalidInput, match="no answers"):
        merge_neighbors([])
    with pytest.raises(InvalidInput, match="one kind"):
        merge_neighbors([index.search(query, 2), index.search_radius(query, 2)])
