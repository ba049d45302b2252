"""What a search leaves out, filters of single queries, and the second look by vectors."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash import BitLayout, Codes
from kinhash.errors import InvalidInput
from kinhash.index import HammingIndex

from .oracle import random_codes


@pytest.fixture
def tied():
    """Three codes for 600 rows, as learned codes are, with vectors, and queries of the same kind."""
    rng = np.random.default_rng(0)
    packed = random_codes(rng, 600, 16, 3)
    return packed, packed[:7], rng.normal(size=(600, 5)), rng.normal(size=(7, 5))


def ranks(packed, queries, rows, asked):
    """Hamming and Euclidean distances (q, n)."""
    hamming = np.bitwise_count(queries[:, None] ^ packed[None]).sum(axis=-1, dtype=int)
    return hamming, np.sqrt(((asked[:, None] - rows[None]) ** 2).sum(axis=-1))


@pytest.mark.parametrize("names", [False, True])
def test_vectors_decide_among_all_rows_that_tie(tied, names):
    packed, queries, rows, asked = tied
    ids = np.array([f"{i:03d}" for i in range(600)]) if names else np.arange(600)
    index = HammingIndex.from_codes(packed[:500], ids=ids[:500])
    index.add(packed[500:], ids=ids[500:])
    hamming, euclidean = ranks(packed, queries, rows, asked)
    found = index.search(queries, 4, vectors=(asked, lambda some: rows[some.astype(int)]), rerank="ties")
    for i in range(7):
        order = np.lexsort((np.arange(600), euclidean[i], hamming[i]))[:4]
        assert found.ids[i].tolist() == ids[order].tolist()
        assert found.distances[i].tolist() == hamming[i][order].tolist()
    assert found.scores[0, 0] == 1
    short = index.search(queries, 4, vectors=(asked, lambda some: rows[some.astype(int)]), shortlist=9)
    for i in range(7):
        last = np.sort(hamming[i])[8]
        order = np.lexsort((np.arange(600), euclidean[i], hamming[i] > last))[:4]
        assert short.ids[i].tolist() == ids[order].tolist()
        np.testing.assert_allclose(short.distances[i], euclidean[i][order])


def test_a_second_look_with_margins_and_fields(tied):
    packed, queries, rows, asked = tied
    index = HammingIndex.from_codes(Codes(packed, 16, fields=BitLayout(8, 4)))
    margins = np.where(np.unpackbits(queries, axis=1), 1.0, -1.0)  # all firm alike: distances as without
    plain = index.search(queries, 6, vectors=(asked, rows), rerank="ties")
    firm = index.search(queries, 6, margins=margins, vectors=(asked, rows), rerank="ties")
    np.testing.assert_array_equal(plain.ids, firm.ids)


def test_the_query_itself_is_left_out(tied):
    packed, _, rows, _ = tied
    index = HammingIndex.from_codes(packed)
    own = [0, None, 2, 12345, 4, 5, 6]
    found = index.search(packed[:7], 20, exclude=own)
    assert found.ids.shape == (7, 20)
    for i in range(7):
        everyone = index.search(packed[i : i + 1], 600).ids[0].tolist()
        assert found.ids[i].tolist() == [row for row in everyone if row != own[i]][:20]
    assert index.search(packed[:2], 600, exclude=np.arange(2)).ids.shape == (2, 599)
    assert index.search(packed[:2], 600, exclude=[None, 700]).ids.shape == (2, 600)
    nearest = index.search(packed[:7], 1, exclude=list(range(7)), vectors=(rows[:7], rows), rerank="ties")
    assert not (nearest.ids[:, 0] == np.arange(7)).any()
    for wrong in (3, [1], ["a"] * 7, [1.5] * 7):
        with pytest.raises(InvalidInput):
            index.search(packed[:7], 3, exclude=wrong)
        with pytest.raises(InvalidInput):
            index.search_radius(packed[:7], 3, exclude=wrong)


def test_one_filter_for_every_query(tied):
    packed, queries, rows, asked = tied
    color = np.array(["red", "blue"])[np.arange(600) % 2]
    index = HammingIndex.from_codes(packed, payload={"color": color})
    mask = np.arange(600) < 3
    even = lambda row: row["color"] == "red"  # noqa: E731
    where = [{"color": "red"}, {"color": "blue"}, None, mask, [5, 7], even, {"color": "red"}]
    found = index.search(queries, 10, where=where)
    assert [len(one.ids) for one in found] == [10, 10, 10, 3, 2, 10, 10]
    for i, one in enumerate(where):
        alone = index.search(queries[i : i + 1], 10, where=one)
        assert found[i].ids.tolist() == alone.ids[0].tolist()
        assert found[i].scores.tolist() == alone.scores[0].tolist()
    margins = np.random.default_rng(1).normal(size=(7, 16))
    weighed = index.search(queries, 10, where=where, margins=margins)
    assert weighed[3].scores.tolist() == weighed.scores[30:33].tolist()
    looked = index.search(queries, 10, where=where, vectors=(asked, rows))
    assert sorted(looked[4].ids.tolist()) == [5, 7]
    with pytest.raises(InvalidInput, match="2 filters came with 7 queries"):
        index.search(queries, 10, where=[None, None])


def test_equal_filters_are_applied_once(tied):
    packed, queries, _, _ = tied
    index = HammingIndex.from_codes(packed, payload={"number": np.arange(600)})
    calls = []

    def few(payload):
        calls.append(1)
        return payload["number"] < 50

    index.search(queries, 3, where=[few, None] * 3 + [few])
    assert len(calls) == 1


def test_a_mask_and_ids_that_compare_equal_are_two_filters():
    index = HammingIndex.from_codes(np.zeros((2, 2), np.uint8), payload={"flag": [True, False]})
    queries = np.zeros((2, 2), np.uint8)
    for where in ([[1, 0], [True, False]], [[True, False], [1, 0]], [(1, 0), (True, False)]):
        found = index.search(queries, 2, where=where)
        assert sorted(one.ids.tolist() for one in found) == [[0], [0, 1]]
        assert [one.ids.tolist() for one in index.search_radius(queries, 2, where=where)] == [
            one.ids.tolist() for one in found
        ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rerank": "ties"},
        {"shortlist": 3},
        {"margins_of": "kin"},
        {"rerank": "bits", "vectors": (np.zeros((7, 5)), np.zeros((600, 5)))},
        {"rerank": "ties", "shortlist": 5, "vectors": (np.zeros((7, 5)), np.zeros((600, 5)))},
        {"margins": np.zeros((7, 16)), "margins_of": "looks"},
    ],
)
def test_what_would_have_no_effect_is_refused(tied, wrong):
    with pytest.raises(InvalidInput):
        HammingIndex.from_codes(tied[0]).search(tied[1], 3, **wrong)


def test_a_function_as_a_filter_sees_all_rows_at_once_in_the_order_of_ids():
    packed, year = np.zeros((6, 2), np.uint8), np.array([5, 9, 7, 1, 8, 3])
    whole = HammingIndex.from_codes(packed, ids=np.arange(6)[::-1], payload={"year": year})
    grown = HammingIndex(16)
    for row in (slice(0, 4), slice(4, 5), slice(5, 6)):
        grown.add(packed[row], np.arange(6)[::-1][row], {"year": year[row]})
    assert grown.stats().n_segments > 1
    seen = []

    def latest(payload):
        seen.append(payload["year"].tolist())
        return payload["year"] == payload["year"].max()

    for index in (whole, grown):
        assert index.search(packed[:1], 6, where=latest).ids.tolist() == [[4]]
        assert index.search_radius(packed[:1], 0, where=latest)[0].ids.tolist() == [4]
    assert seen == [year[::-1].tolist()] * 4


COLUMNS = {
    "year": [1999, 2000, 2001],
    "name": ["a", "b", "c"],
    "price": [0.5, 1.0, 2.0],
    "sold": [True, False, True],
}


@pytest.mark.parametrize(
    "wanted",
    [
        {"year": [1999, "x"]},
        {"year": "1999"},
        {"year": None},
        {"year": b"ab"},
        {"year": {"above": 1999}},
        {"name": ["a", 1]},
        {"name": 7},
        {"price": ["0.5"]},
        {"sold": "yes"},
    ],
)
def test_values_of_another_type_than_the_column_are_refused(wanted):
    index = HammingIndex.from_codes(np.zeros((3, 2), np.uint8), payload=COLUMNS)
    with pytest.raises(InvalidInput, match=f"column '{next(iter(wanted))}'"):
        index.search(np.zeros((1, 2), np.uint8), 3, where=wanted)


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        ({"year": [1999.0, 2000.5, 2001]}, [0, 2]),
        ({"year": np.array([1999, 2001], np.int16)}, [0, 2]),
        ({"year": {10**30, -(10**30), 2000}}, [1]),
        ({"name": ["a", "z"]}, [0]),
        ({"name": []}, []),
        ({"year": []}, []),
        ({"price": [1, 0.5]}, [0, 1]),
        ({"sold": [1]}, [0, 2]),
        ({"sold": np.True_, "year": [2000, 2001]}, [2]),
    ],
)
def test_numbers_of_other_types_are_compared_by_value(wanted, rows):
    index = HammingIndex.from_codes(np.zeros((3, 2), np.uint8), payload=COLUMNS)
    assert index.search(np.zeros((1, 2), np.uint8), 3, where=wanted).ids.tolist() == [rows]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_large_whole_numbers_beside_others_are_compared_exactly(dtype):
    year = np.array([2**53, 2**53 + 1], dtype)
    index = HammingIndex.from_codes(np.zeros((2, 2), np.uint8), payload={"year": year})
    found = index.search(np.zeros((1, 2), np.uint8), 3, where={"year": [2**53 + 1, 0.5, -1]})
    assert found.ids.tolist() == [[1]]
