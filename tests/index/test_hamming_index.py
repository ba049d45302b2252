"""The index as a user meets it, against brute force, order included."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash.codes import Codes
from kinhash.errors import CodesMismatch, InvalidInput
from kinhash.index import HammingIndex, Neighbors

from .oracle import brute_force, brute_force_radius, cases, random_codes

# Widths of up to four words here, all of 1 ... 1024 in test_any_length: each width is compiled once.
SHARE = 300  # of the 100,000 generated cases; the rest under `make test-slow`


def make_ids(rng, kind, n_rows):
    numbers = rng.choice(10 * n_rows + 10, n_rows, replace=False) - 5
    if kind == "numbers":
        return numbers.tolist()
    return [f"{number}é" for number in numbers.tolist()] if kind == "strings" else list(range(n_rows))


def same(found: Neighbors, truth):
    ids, distances = truth
    assert [row.ids.tolist() for row in found] == ids
    assert [row.distances.tolist() for row in found] == distances


def check_case(case, kind, k, radius, passing):
    rng, packed, queries, n_bits = case
    ids = make_ids(rng, kind, len(packed))
    index = HammingIndex.from_codes(packed, n_bits, ids=None if kind == "none" else ids)
    same(index.search(queries, k), brute_force(packed, ids, queries, k))
    same(index.search_radius(queries, radius), brute_force_radius(packed, ids, queries, radius))
    mask = rng.random(len(packed)) < passing
    wanted = [i for i, ok in zip(ids, mask.tolist(), strict=True) if ok]
    truth = brute_force(packed[mask], wanted, queries, k)
    same(index.search(queries, k, where=wanted), truth)
    by_id = np.argsort(np.array(ids, object)) if len(ids) else np.empty(0, int)
    same(index.search(queries, k, where=mask[by_id]), truth)
    same(
        index.search_radius(queries, radius, where=wanted),
        brute_force_radius(packed[mask], wanted, queries, radius),
    )


arguments = {
    "case": cases(),
    "kind": st.sampled_from(["none", "numbers", "strings"]),
    "k": st.one_of(st.integers(0, 20), st.integers(0, 400)),
    "radius": st.integers(0, 210),
    "passing": st.sampled_from([0.0, 0.02, 0.5, 1.0]),
}


@settings(max_examples=SHARE)
@given(**arguments)
def test_equals_brute_force(case, kind, k, radius, passing):
    check_case(case, kind, k, radius, passing)


@pytest.mark.slow
@settings(max_examples=100_000, deadline=None)
@given(**arguments)
def test_equals_brute_force_on_all_generated_cases(case, kind, k, radius, passing):
    check_case(case, kind, k, radius, passing)


LENGTHS = [1, 2, 31, 64, 100, 320, 513, 1023, 1024]


@pytest.mark.parametrize("n_bits", LENGTHS)
def test_any_length(n_bits):
    """Nine lengths by default."""
    check_length(n_bits)


@pytest.mark.slow
def test_every_length():
    for n_bits in range(1, 1025):
        check_length(n_bits)


def check_length(n_bits):
    rng = np.random.default_rng(n_bits)
    packed = random_codes(rng, 150, n_bits, 40, 0.05)
    queries = random_codes(rng, 5, n_bits, 40, 0.05)
    index = HammingIndex.from_codes(packed, n_bits)
    same(index.search(queries, 20), brute_force(packed, list(range(150)), queries, 20))


# ---- metamorphic -----------------------------------------------------------------------------


@given(case=cases(n_bits=st.sampled_from([8, 64, 128])), k=st.integers(0, 50))
def test_one_mask_on_all_codes_changes_nothing(case, k):
    rng, packed, queries, n_bits = case
    mask = random_codes(rng, 1, n_bits)
    plain = HammingIndex.from_codes(packed, n_bits).search(queries, k)
    masked = HammingIndex.from_codes(packed ^ mask, n_bits).search(queries ^ mask, k)
    np.testing.assert_array_equal(plain.ids, masked.ids)
    np.testing.assert_array_equal(plain.distances, masked.distances)


@given(case=cases(n_bits=st.sampled_from([8, 64, 128])), k=st.integers(0, 50))
def test_order_of_rows_does_not_matter(case, k):
    rng, packed, queries, n_bits = case
    order = rng.permutation(len(packed))
    plain = HammingIndex.from_codes(packed, n_bits).search(queries, k)
    moved = HammingIndex.from_codes(packed[order], n_bits, ids=order).search(queries, k)
    np.testing.assert_array_equal(plain.ids, moved.ids)
    np.testing.assert_array_equal(plain.distances, moved.distances)


@given(case=cases(n_bits=st.sampled_from([8, 64, 128])), k=st.integers(0, 50))
def test_a_doubled_database_doubles_every_answer(case, k):
    _, packed, queries, n_bits = case
    plain = HammingIndex.from_codes(packed, n_bits).search(queries, k)
    twice = HammingIndex.from_codes(np.repeat(packed, 2, axis=0), n_bits).search(queries, 2 * k)
    np.testing.assert_array_equal(twice.distances, np.repeat(plain.distances, 2, axis=1))
    np.testing.assert_array_equal(
        np.sort(twice.ids // 2, axis=1), np.sort(np.repeat(plain.ids, 2, axis=1), axis=1)
    )


@given(case=cases(n_bits=st.sampled_from([64, 128])), k=st.integers(1, 50))
def test_a_batch_is_its_queries(case, k):
    _, packed, queries, n_bits = case
    index = HammingIndex.from_codes(packed, n_bits)
    batch = index.search(queries, k)
    for i in range(len(queries)):
        alone = index.search(queries[i : i + 1], k)
        np.testing.assert_array_equal(alone.ids[0], batch.ids[i])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_the_answer(monkeypatch, threads):
    rng = np.random.default_rng(7)
    packed = random_codes(rng, 150_000, 64, 5_000, 0.02)
    queries = random_codes(rng, 230, 64)
    index = HammingIndex.from_codes(packed)
    monkeypatch.setattr("kinhash.index.threads.n_threads", lambda: 1)
    one, one_radius = index.search(queries, 10), index.search_radius(queries, 18)
    monkeypatch.setattr("kinhash.index.threads.n_threads", lambda: threads)
    many, many_radius = index.search(queries, 10), index.search_radius(queries, 18)
    np.testing.assert_array_equal(one.ids, many.ids)
    np.testing.assert_array_equal(one.distances, many.distances)
    np.testing.assert_array_equal(one_radius.ids, many_radius.ids)
    np.testing.assert_array_equal(one_radius.splits, many_radius.splits)


def test_many_queries_by_radius():
    """More queries than one call of the kernel numbers."""
    rng = np.random.default_rng(8)
    packed, queries = random_codes(rng, 500, 16), random_codes(rng, 5000, 16)
    found = HammingIndex.from_codes(packed).search_radius(queries, 2)
    same(found, brute_force_radius(packed, list(range(500)), queries, 2))


def test_large_k_for_many_queries():
    """More notes than the kernel keeps at a time."""
    rng = np.random.default_rng(13)
    packed, queries = random_codes(rng, 60_000, 64, 40_000), random_codes(rng, 110, 64)
    index = HammingIndex.from_codes(packed)
    found = index.search(queries, 50_000)
    for i in (0, 1, 37, 38, 109):
        distances = np.bitwise_count(packed ^ queries[i]).sum(axis=1)
        order = np.argsort(distances, kind="stable")[:50_000]
        np.testing.assert_array_equal(found.ids[i], order)
        np.testing.assert_array_equal(found.distances[i], distances[order])


def test_hashing_equals_scanning_on_many_codes():
    """Tables are used after `prepare_radius` up to the radius where they win, and change nothing."""
    rng = np.random.default_rng(9)
    packed = random_codes(rng, 120_000, 64)
    queries = packed[:40].copy()
    queries[:, 3] ^= 0b1001
    scanned = [HammingIndex.from_codes(packed).search_radius(queries, r) for r in range(8)]
    index = HammingIndex.from_codes(packed)
    index.prepare_radius()
    assert index.stats().table_bytes > 0
    assert index._state.segments[0].hashing.tables.largest_radius >= 2
    for r in range(8):
        found = index.search_radius(queries, r)
        np.testing.assert_array_equal(found.ids, scanned[r].ids)
        np.testing.assert_array_equal(found.distances, scanned[r].distances)
        np.testing.assert_array_equal(found.splits, scanned[r].splits)


def test_tables_come_by_themselves_when_scanning_has_paid_for_them():
    rng = np.random.default_rng(10)
    index = HammingIndex.from_codes(random_codes(rng, 60_000, 64))
    queries = random_codes(rng, 3000, 64)
    index.search_radius(queries[:1], 2)
    assert index.stats().table_bytes == 0
    index.search_radius(queries, 2)
    assert index.stats().table_bytes > 0


# ---- the edges -------------------------------------------------------------------------------


def test_empty_index_and_no_queries():
    index = HammingIndex(12)
    queries = np.zeros((3, 2), np.uint8)
    assert index.search(queries, 5).ids.shape == (3, 0)
    assert [len(row.ids) for row in index.search_radius(queries, 12)] == [0, 0, 0]
    assert len(index) == 0
    assert index.ids.tolist() == []
    index.add(queries)
    assert index.search(queries[:0], 2).ids.shape == (0, 2)
    assert index.search(queries, 0).ids.shape == (3, 0)
    assert index.search(queries, 99).ids.shape == (3, 3)
    assert len(index.search_radius(queries[:0], 2)) == 0


def test_scores():
    index = HammingIndex.from_codes(np.array([[0], [255], [15]], np.uint8))
    found = index.search(np.array([[0]], np.uint8), 3)
    assert found.scores.tolist() == [[1.0, 0.0, -1.0]]
    assert found[0].scores.tolist() == [1.0, 0.0, -1.0]
    assert index.search_radius(np.array([[0]], np.uint8), 4)[0].scores.tolist() == [1.0, 0.0]
    with pytest.raises(IndexError):
        found[1]


@pytest.mark.parametrize("n_bits", [0, 1025, 1.5, True, "64"])
def test_bad_lengths(n_bits):
    with pytest.raises(InvalidInput, match="1 to 1024"):
        HammingIndex(n_bits)


@pytest.mark.parametrize("k", [-1, 1.5, None, True, "3"])
def test_bad_k(k):
    with pytest.raises(InvalidInput, match="k is"):
        HammingIndex.from_codes(np.zeros((2, 1), np.uint8)).search(np.zeros((1, 1), np.uint8), k)


def test_other_codes_are_refused():
    codes = Codes(np.zeros((2, 2), np.uint8), 12, model_id="a" * 32)
    index = HammingIndex.from_codes(codes)
    assert index.model_id == "a" * 32
    for other in (
        Codes(np.zeros((1, 2), np.uint8), 12, model_id="b" * 32),
        Codes(np.zeros((1, 2), np.uint8), 13),
        np.zeros((1, 3), np.uint8),
        np.full((1, 2), 255, np.uint8),  # ones in the padding
        np.zeros((1, 2)),
        np.zeros(2, np.uint8),
    ):
        with pytest.raises(InvalidInput):
            index.search(other, 1)
        with pytest.raises(InvalidInput):
            index.add(other)
    with pytest.raises(CodesMismatch, match="model"):
        index.search(Codes(np.zeros((1, 2), np.uint8), 12, model_id="b" * 32), 1)
    assert len(index) == 2
    plain = index.search(np.zeros((1, 2), np.uint8), 1)  # plain bytes carry no id
    assert plain.ids.tolist() == [[0]]


def test_any_memory():
    """Read-only, strided, Fortran, unaligned codes give the same answers, and none is written to."""
    rng = np.random.default_rng(3)
    packed = random_codes(rng, 300, 128)
    queries = packed[:5].copy()
    truth = HammingIndex.from_codes(packed).search(queries, 4).ids
    raw = np.zeros(packed.nbytes + 3, np.uint8)
    unaligned = raw[3:].reshape(packed.shape)
    unaligned[:] = packed
    frozen = packed.copy()
    frozen.flags.writeable = False
    wide = np.zeros((300, 40), np.uint8)
    wide[:, 3:35:2] = packed
    for codes in (unaligned, frozen, wide[:, 3:35:2], np.asfortranarray(packed)):
        index = HammingIndex.from_codes(codes)
        np.testing.assert_array_equal(index.search(codes[:5], 4).ids, truth)
    packed[0] = 0  # ours to change again
    np.testing.assert_array_equal(frozen[1:], packed[1:])


def test_codes_come_back():
    rng = np.random.default_rng(4)
    packed = random_codes(rng, 200, 20, 30)
    ids = [f"row {i:04d}" for i in range(200)]
    index = HammingIndex.from_codes(packed, 20, ids=ids, model_id="m")
    codes = index.codes()
    np.testing.assert_array_equal(codes.packed, packed)
    assert codes.ids.tolist() == ids
    assert codes.model_id == "m"
    stats = index.stats()
    assert (stats.n_rows, stats.n_codes) == (200, len(np.unique(packed, axis=0)))
    assert stats.longest_list == np.unique(packed, axis=0, return_counts=True)[1].max()


def test_copies_and_pickles_answer_alike():
    rng = np.random.default_rng(12)
    packed = random_codes(rng, 400, 130, 90)
    index = HammingIndex.from_codes(
        packed, 130, ids=[f"r{i}" for i in range(400)], payload={"a": np.arange(400)}
    )
    index.add(packed[:3], ["x", "y", "z"], {"a": [1, 2, 3]})
    for twin in (pickle.loads(pickle.dumps(index)), copy.deepcopy(index)):
        assert twin.search(packed[:9], 30).ids.tolist() == index.search(packed[:9], 30).ids.tolist()
        twin.remove(["x"])
        assert len(index) == 403
    assert len(pickle.loads(pickle.dumps(HammingIndex(9)))) == 0


# ---- margins and vectors ---------------------------------------------------------------------


@given(case=cases(n_bits=st.sampled_from([5, 64, 100])), k=st.integers(0, 60))
def test_margins(case, k):
    rng, packed, queries, n_bits = case
    margins = rng.normal(size=(len(queries), n_bits))
    index = HammingIndex.from_codes(packed, n_bits)
    found = index.search(None, k, margins=margins)
    bits = np.unpackbits(packed, axis=1, count=n_bits)
    for i, margin in enumerate(margins):
        truth = np.where(bits != (margin > 0), np.abs(margin), 0).sum(axis=1)
        order = np.lexsort((np.arange(len(packed)), np.round(truth, 9)))[: min(k, len(packed))]
        np.testing.assert_allclose(found.distances[i], truth[order], atol=1e-9)
        np.testing.assert_allclose(truth[found.ids[i]], found.distances[i], atol=1e-9)
        assert (np.diff(found.distances[i]) >= 0).all()
        tied = np.diff(found.distances[i]) == 0
        assert (np.diff(found.ids[i])[tied] > 0).all()
        np.testing.assert_allclose(
            found.scores[i], 1 - 2 * found.distances[i] / np.abs(margin).sum(), atol=1e-9
        )


def test_equal_margins_are_plain_search():
    rng = np.random.default_rng(5)
    packed, queries = random_codes(rng, 500, 64, 50, 0.1), random_codes(rng, 7, 64)
    index = HammingIndex.from_codes(packed)
    signs = np.where(np.unpackbits(queries, axis=1), 1.0, -1.0)
    np.testing.assert_array_equal(index.search(None, 30, margins=signs).ids, index.search(queries, 30).ids)
    np.testing.assert_array_equal(index.search(queries, 30, margins=signs).ids, index.search(queries, 30).ids)


@pytest.mark.parametrize(
    "margins", [np.zeros((1, 7)), np.zeros(8), np.full((1, 8), np.nan), np.zeros((2, 8))]
)
def test_bad_margins(margins):
    index = HammingIndex.from_codes(np.zeros((3, 1), np.uint8))
    with pytest.raises(InvalidInput, match="argins"):
        index.search(np.zeros((1, 1), np.uint8), 1, margins=margins)


def test_reranking_from_vectors():
    rng = np.random.default_rng(6)
    rows, asked = rng.normal(size=(400, 16)), rng.normal(size=(5, 16))
    index = HammingIndex.from_codes(np.packbits(rows > 0, axis=1))
    queries = np.packbits(asked > 0, axis=1)
    found = index.search(queries, 6, vectors=(asked, rows), shortlist=400)
    distances = np.sqrt(((asked[:, None] - rows[None]) ** 2).sum(-1))
    np.testing.assert_array_equal(found.ids, np.argsort(distances, axis=1)[:, :6])
    np.testing.assert_allclose(found.distances, np.sort(distances, axis=1)[:, :6])
    np.testing.assert_allclose(found.scores, -found.distances)
    short = index.search(queries, 6, vectors=(asked, lambda ids: rows[ids]))
    last = index.search(queries, 60).distances[:, -1]
    listed = [set(near.ids) for i in range(5) for near in index.search_radius(queries[i : i + 1], last[i])]
    assert all(set(short.ids[i]) <= listed[i] for i in range(5))
    for wrong in ((asked[:2], rows), (asked, rows[:10]), (asked, rows[:, :3])):
        with pytest.raises(InvalidInput):
            index.search(queries, 6, vectors=wrong)


# ---- filters ---------------------------------------------------------------------------------


def test_payload_filters():
    rng = np.random.default_rng(11)
    packed, queries = random_codes(rng, 300, 32, 20, 0.1), random_codes(rng, 6, 32)
    ids = rng.permutation(300)
    year = rng.integers(1990, 2020, 300)
    language = rng.choice(["de", "en", "fr"], 300)
    index = HammingIndex.from_codes(packed, ids=ids, payload={"year": year, "language": language})

    def truth(mask):
        return brute_force(packed[mask], ids[mask].tolist(), queries, 25)

    same(index.search(queries, 25, where={"language": "en"}), truth(language == "en"))
    both = (language != "fr") & (year == 2001)
    same(index.search(queries, 25, where={"language": ["de", "en"], "year": 2001}), truth(both))
    same(index.search(queries, 25, where=lambda p: p["year"] > 2010), truth(year > 2010))
    same(index.search(queries, 25, where={"language": "xx"}), truth(np.zeros(300, bool)))
    same(index.search(queries, 25, where=[]), truth(np.zeros(300, bool)))
    same(index.search(queries, 25, where=[*ids[:7].tolist(), 12345]), truth(np.arange(300) < 7))
    for wrong in ({"yaer": 1}, np.ones(299, bool), lambda p: p["year"], ["a"], np.zeros((2, 2))):
        with pytest.raises(InvalidInput):
            index.search(queries, 1, where=wrong)


@pytest.mark.parametrize(
    "payload", [{"a": [1, 2]}, {"a": [None, 1, 2]}, {"a": np.zeros((3, 1))}, {"a": [1j, 2, 3]}]
)
def test_bad_payload(payload):
    with pytest.raises(InvalidInput, match="payload column"):
        HammingIndex.from_codes(np.zeros((3, 1), np.uint8), payload=payload)


# ---- readers and a writer --------------------------------------------------------------------


def test_each_search_answers_from_one_committed_state():
    """The writer moves all rows between two codes at once; no reader may see some here and some there."""
    here, there = np.zeros((50, 8), np.uint8), np.full((50, 8), 255, np.uint8)
    index = HammingIndex.from_codes(here)
    stop = threading.Event()
    mixed = []

    def read():
        while not stop.is_set():
            distances = set(index.search(here[:1], 50).distances[0].tolist())
            if distances not in ({0}, {64}):
                mixed.append(distances)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(200):
        index.upsert(there if turn % 2 == 0 else here, np.arange(50))
    stop.set()
    for reader in readers:
        reader.join()
    assert not mixed
    assert len(index) == 50
