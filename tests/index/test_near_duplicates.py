"""Groups of near duplicates are the connected components of all pairs within the radius, by brute force."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from kinhash import BitLayout, Codes, HammingIndex
from kinhash.errors import InvalidInput, UnknownName
from kinhash.index import near_duplicates


def by_brute_force(codes, radius, keep):
    """(group, kept, distance) of every row in a group, by row; groups numbered by their first row."""
    bits = codes.repeated()
    distances = np.bitwise_count(bits[:, None] ^ bits[None]).sum(axis=2)
    _, labels = connected_components(distances <= radius)
    answer, numbers = {}, {}
    for row, label in enumerate(labels.tolist()):
        group = np.flatnonzero(labels == label)
        if len(group) > 1:
            kept = int(group[0] if keep == "first" else group[-1])
            answer[row] = numbers.setdefault(label, len(numbers)), row == kept, int(distances[row, kept])
    return answer


@st.composite
def some_codes(draw):
    n_bits = draw(st.sampled_from([3, 8, 20, 64, 70]))
    n_rows = draw(st.integers(0, 60))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    centers = rng.integers(0, 2, (4, n_bits))
    flips = rng.random((n_rows, n_bits)) < draw(st.sampled_from([0.0, 0.05, 0.3]))
    bits = centers[rng.integers(0, 4, n_rows)] ^ flips
    fields = draw(st.sampled_from([BitLayout(), BitLayout(alike=n_bits // 2, kin_weight=3)]))
    ids = draw(st.sampled_from([None, rng.permutation(n_rows), [f"row {k}" for k in range(n_rows)]]))
    return Codes(np.packbits(bits, axis=1), n_bits, ids, fields=fields)


@given(some_codes(), st.integers(0, 30), st.sampled_from(["first", "last"]))
@settings(max_examples=150, deadline=None)
def test_groups_are_the_components_of_all_pairs(codes, radius, keep):
    found = near_duplicates(codes, radius, keep=keep)
    expected = by_brute_force(codes, radius, keep)
    names = list(range(len(codes))) if codes.ids is None else np.asarray(codes.ids).tolist()
    order = sorted(expected, key=lambda row: (expected[row][0], row))
    assert found.ids.tolist() == [names[row] for row in order]
    facts = zip(found.groups.tolist(), found.kept.tolist(), found.distances.tolist(), strict=True)
    assert list(facts) == [expected[row] for row in order]
    assert found.n_groups == len({group for group, *_ in expected.values()})
    assert found.dropped.tolist() == [names[row] for row in order if not expected[row][1]]
    assert found.n_rows == len(codes)


def test_unite_gives_the_components_of_a_graph():
    from kinhash.index.kernels.unions import unite

    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 300, (2, 200))
    parents = np.arange(300)
    for part in np.array_split(np.arange(200), 7):
        unite(parents, left[part], right[part])
    assert (parents <= np.arange(300)).all()
    for _ in range(300):
        parents = parents[parents]
    _, labels = connected_components(csr_array((np.ones(200), (left, right)), shape=(300, 300)))
    firsts = [int(np.flatnonzero(labels == label)[0]) for label in labels]
    assert parents.tolist() == firsts


def test_tasks_of_a_few_codes_give_the_same_groups(monkeypatch):
    module = sys.modules[near_duplicates.__module__]
    rng = np.random.default_rng(0)
    codes = Codes(np.packbits(rng.random((500, 16)) < 0.2, axis=1), 16)
    whole = near_duplicates(codes, 1)
    assert 1 < whole.n_groups < len(whole.dropped)
    for most in (1, 5_000):
        monkeypatch.setattr(module, "MOST_PAIRS", most)
        again = near_duplicates(codes, 1)
        np.testing.assert_array_equal(again.groups, whole.groups)
        np.testing.assert_array_equal(again.ids, whole.ids)


def test_an_index_gives_its_rows_in_the_order_of_their_ids_however_they_came():
    rng = np.random.default_rng(1)
    packed = np.packbits(rng.random((300, 24)) < 0.1, axis=1)
    ids = rng.permutation(1000)[:300]
    index = HammingIndex.from_codes(packed[:200], ids=ids[:200], payload={"kind": ids[:200]})
    index.add(packed[200:], ids[200:], {"kind": ids[200:]})
    found, order = near_duplicates(index, 1), np.argsort(ids)
    alone = near_duplicates(Codes(packed[order], 24, ids[order]), 1)
    assert len(found.ids) > 100
    for name in ("ids", "groups", "kept", "distances"):
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name))
    index.remove(found.dropped)
    assert len(near_duplicates(index, 0).ids) == 0, "what is left differs"


def test_more_codes_than_one_thread_takes():
    rng = np.random.default_rng(2)
    packed = rng.integers(0, 256, (60_000, 8), np.uint8)  # no two of them are near by chance
    twins = rng.choice(59_000, 500, replace=False)
    packed[59_000:59_500] = packed[twins]
    packed[59_000:59_500, 3] ^= 1 << rng.integers(0, 8, 500).astype(np.uint8)
    found = near_duplicates(packed, 2)
    assert sorted(found.ids[found.kept].tolist()) == sorted(twins.tolist())
    assert sorted(found.dropped.tolist()) == list(range(59_000, 59_500))
    assert set(found.distances.tolist()) == {0, 1}


def test_a_million_equal_rows_are_one_code():
    """As pairs of rows they would be 5e11 finds of 16 bytes."""
    packed = np.zeros((1_000_000, 8), np.uint8)
    packed[-1] = 255
    found = near_duplicates(packed, 3)
    assert (found.n_groups, len(found.dropped)) == (1, 999_998)


def test_what_cannot_be_asked():
    with pytest.raises(InvalidInput, match="radius is -1"):
        near_duplicates(np.zeros((2, 1), np.uint8), -1)
    with pytest.raises((InvalidInput, UnknownName), match="keep"):
        near_duplicates(np.zeros((2, 1), np.uint8), 1, keep="best")
    assert repr(near_duplicates(np.zeros((2, 1), np.uint8), 1)) == "NearDuplicates(2 of 2 rows in 1 groups)"
