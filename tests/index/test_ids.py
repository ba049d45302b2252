"""Ids of every kind, held against Python's own strings, integers and dictionaries."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash._internal.texts import STRING
from kinhash.distributed import merge_neighbors
from kinhash.errors import InvalidInput
from kinhash.index import HammingIndex
from kinhash.index.ids import Ids, as_ids, is_ascending, sort_keys, sorting_order

from .oracle import IDS, STRINGS, brute_force, brute_force_radius, random_codes

NUMBERS = range(-50, 400)
LAST = 2**63 - 1

# A shared beginning of 0 to 40 characters, so that strings of both storages and long common prefixes occur.
texts = st.builds(
    lambda length, end: "p" * length + end,
    st.sampled_from([0, 12, 15, 16, 40]),
    st.text(st.sampled_from("ab\0é\uffff\U0001f600"), max_size=6),
)


# ---- order and finding -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("n_wanted", [20, 450], ids=["few", "many"])
def test_found_as_in_a_dictionary(kind, n_wanted):
    names = [IDS[kind](number) for number in NUMBERS]
    there = sorted(names[::3])
    rank = {name: place for place, name in enumerate(there)}
    wanted = random.Random(0).sample(names, n_wanted)
    found = Ids.of_sorted(as_ids(there)).find(as_ids(wanted))
    assert found.tolist() == [rank.get(name, -1) for name in wanted]


@given(st.lists(texts, max_size=40), st.lists(texts, max_size=10))
def test_any_strings_are_found_and_sorted_as_python_does(values, others):
    there = sorted(set(values))
    ids = np.array(there, STRING)
    wanted = values + others
    found = Ids.of_sorted(ids).find(np.array(wanted, STRING))
    assert found.tolist() == [there.index(text) if text in there else -1 for text in wanted]
    assert sort_keys(np.array(values, STRING)).tolist() == [there.index(text) for text in values]
    assert is_ascending(ids)
    assert is_ascending(np.array(values, STRING)) == (values == there)
    distinct = list(dict.fromkeys(values))
    assert [distinct[i] for i in sorting_order(np.array(distinct, STRING))] == there
    if len(distinct) < len(values):
        with pytest.raises(InvalidInput, match="came twice"):
            sorting_order(np.array(values, STRING))


@pytest.mark.parametrize("kind", IDS)
def test_a_life_of_an_index_equals_a_dictionary(kind):
    """Rows of several segments are replaced, removed, filtered and searched."""
    rng = np.random.default_rng(0)
    names = [IDS[kind](number) for number in rng.permutation(NUMBERS).tolist()]
    codes = dict(zip(names, random_codes(rng, len(names), 64, 8, 0.02), strict=True))

    def rows(some):
        return np.array([codes[name] for name in some])

    index = HammingIndex(64)
    for begin, end in ((0, 300), (300, 400), (400, 440)):
        index.add(rows(names[begin:end]), names[begin:end])
    with pytest.raises(InvalidInput, match="already"):
        index.add(rows(names[439:441]), names[439:441])
    codes[names[0]], codes[names[449]] = codes[names[449]], codes[names[0]]
    index.upsert(rows(names[-11:] + names[:1]), names[-11:] + names[:1])
    assert len(index) == 450
    index.remove(names[100:200])
    left = names[:100] + names[200:]
    assert index.stats().n_segments > 1
    assert index.ids.tolist() == sorted(left)
    queries = random_codes(rng, 4, 64, 2, 0.1)
    for passing in (left, left[::7]):
        where = None if passing is left else names[100:110] + passing
        truth = brute_force(rows(passing), passing, queries, 40)
        found = index.search(queries, 40, where=where)
        assert (found.ids.tolist(), found.distances.tolist()) == truth
        truth = brute_force_radius(rows(passing), passing, queries, 28)
        within = index.search_radius(queries, 28, where=where)
        assert [row.ids.tolist() for row in within] == truth[0]


@pytest.mark.parametrize("kind", STRINGS)
def test_equal_distances_of_vectors_and_of_shards_are_in_the_order_of_the_ids(kind):
    names = random.Random(0).sample([IDS[kind](number) for number in NUMBERS], 90)
    codes, query = np.zeros((90, 1), np.uint8), np.zeros((1, 1), np.uint8)
    index = HammingIndex.from_codes(codes, ids=names)
    found = index.search(query, 90, vectors=(np.zeros((1, 2)), lambda ids: np.ones((len(ids), 2))))
    assert found.ids[0].tolist() == sorted(names)
    shards = [HammingIndex.from_codes(codes[:45], ids=part) for part in (names[:45], names[45:])]
    assert merge_neighbors([shard.search(query, 90) for shard in shards]).ids[0].tolist() == sorted(names)
    assert merge_neighbors([shard.search_radius(query, 0) for shard in shards]).ids.tolist() == sorted(names)


@pytest.mark.parametrize("kind", STRINGS)
@pytest.mark.parametrize("n_wanted", [1, 5, 60])
def test_payload_strings_are_told_apart(kind, n_wanted):
    column = [IDS[kind](number % 150) for number in NUMBERS]
    wanted = random.Random(0).sample(column, n_wanted)
    index = HammingIndex.from_codes(np.zeros((len(column), 1), np.uint8), payload={"name": column})
    for value, passing in ((wanted, set(wanted)), (wanted[0], {wanted[0]})):
        found = index.search(np.zeros((1, 1), np.uint8), 999, where={"name": value})
        assert found.ids[0].tolist() == [row for row, name in enumerate(column) if name in passing]


def test_the_text_of_long_ids_counts_as_memory():
    names = [IDS["paths"](number) for number in NUMBERS]
    index = HammingIndex.from_codes(np.zeros((len(names), 1), np.uint8), ids=names)
    assert index.stats().id_bytes == sum(16 + len(name) for name in names)


# ---- numbers at the ends of 64 bits ----------------------------------------------------------


@pytest.mark.parametrize("ids", [[LAST], [LAST - 1, LAST], [-5, LAST], [-LAST - 1, LAST], [-LAST - 1, -LAST]])
def test_the_largest_and_smallest_numbers_stay_what_they_are(ids, tmp_path):
    codes = np.arange(len(ids), dtype=np.uint8)[:, None]
    index = HammingIndex.from_codes(codes, ids=ids)
    index.save(tmp_path / "index.kin")
    for one in (index, HammingIndex.load(tmp_path / "index.kin")):
        assert (one.ids.dtype, one.ids.tolist()) == (np.int64, ids)
        assert one.search(codes[:1], 9).ids.tolist() == [ids]
        assert one.search(codes[:1], 9, where=[ids[-1], 7]).ids.tolist() == [ids[-1:]]
        assert one.codes().ids.tolist() == ids
        one.remove(ids[-1:])
        assert one.ids.tolist() == ids[:-1]


def test_no_number_follows_the_largest():
    index = HammingIndex.from_codes(np.zeros((1, 1), np.uint8), ids=[LAST - 1])
    with pytest.raises(InvalidInput, match="no numbers for 2 rows"):
        index.add(np.zeros((2, 1), np.uint8))
    assert index.add(np.zeros((1, 1), np.uint8)).tolist() == [LAST]
    with pytest.raises(InvalidInput, match="no numbers for 1 rows"):
        index.add(np.zeros((1, 1), np.uint8))
    assert index.add(np.zeros((0, 1), np.uint8)).dtype == np.int64
    assert (index.ids.dtype, index.ids.tolist()) == (np.int64, [LAST - 1, LAST])


@pytest.mark.parametrize(
    "ids",
    [
        [np.uint64(5), -3],
        [np.uint64(LAST), np.int64(-1)],
        [2**53 + 1, np.uint64(2**53 + 3)],
        np.array([5, LAST], np.uint64),
        np.array([np.uint64(LAST), -LAST - 1], object),
    ],
)
def test_signed_and_unsigned_numbers_may_come_together(ids):
    found = as_ids(ids)
    assert (found.dtype, found.tolist()) == (np.int64, [int(value) for value in ids])


@pytest.mark.parametrize(
    "ids",
    [
        [2**63],
        [-1, 2**63],
        [np.uint64(2**63), np.int64(-1)],
        [-(2**63) - 1],
        [10**30],
        np.array([1, 2**63], np.uint64),
        np.array([1, 2**63], object),
    ],
)
def test_larger_numbers_are_refused_by_name(ids):
    with pytest.raises(
        InvalidInput, match=r"The number -?\d+ is among the ids.*from -2\*\*63 to 2\*\*63 - 1"
    ):
        as_ids(ids)


def test_floats_are_refused():
    for ids in ([1.0, 2.0], np.array([1.0]), [1, 2.0], [True, 1.0]):
        with pytest.raises(InvalidInput, match="came as values of type"):
            as_ids(ids)


def test_an_id_that_comes_twice_is_not_removed():
    for ids in (range(60), [IDS["uuids"](number) for number in range(60)]):
        index = HammingIndex.from_codes(np.zeros((60, 1), np.uint8), ids=list(ids))
        with pytest.raises(InvalidInput, match=f"The id {ids[50]!r} came twice"):
            index.remove([ids[50], ids[50]])
        assert len(index) == 60
