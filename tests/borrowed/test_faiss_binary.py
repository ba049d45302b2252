"""What FAISS documents of `IndexBinaryFlat`, asked of `HammingIndex` and of the installed FAISS.

FAISS promises no order among equal distances, and we do: (distance, id). Distances must be the same
everywhere, ids up to ties at the last distance. Where FAISS fills missing answers with -1, ours are shorter.
"""

from __future__ import annotations

import numpy as np
import pytest

from kinhash import HammingIndex
from kinhash.errors import InvalidInput


@pytest.fixture(scope="module", autouse=True)
def _faiss():
    """Imported when a test runs: it brings a BLAS that other tests should not get by collecting."""
    global faiss
    faiss = pytest.importorskip("faiss")


# bits, rows, queries; few bits have many ties, and 24, 40 and 1000 bits are no multiple of a machine word
SHAPES = [
    (8, 300, 20),
    (16, 500, 20),
    (24, 200, 5),
    (40, 333, 7),
    (64, 1000, 30),
    (128, 400, 10),
    (256, 300, 10),
]
SHAPES += [(512, 150, 5), (1000, 120, 5), (1024, 100, 3), (64, 1, 3)]


def codes_of(n_bits, n_rows, seed):
    return np.random.default_rng([seed, n_bits, n_rows]).integers(0, 256, (n_rows, n_bits // 8), np.uint8)


@pytest.fixture(params=SHAPES, ids=lambda shape: f"{shape[0]} bits, {shape[1]} rows")
def both(request):
    """(theirs, ours, codes, queries); some queries are rows, and some rows come twice."""
    n_bits, n_rows, n_queries = request.param
    codes, queries = codes_of(n_bits, n_rows, 0), codes_of(n_bits, n_queries, 1)
    codes[n_rows // 2 :: 7] = codes[: len(codes[n_rows // 2 :: 7])]
    queries[0] = codes[-1]
    return flat(codes), HammingIndex.from_codes(codes), codes, queries


def flat(codes):
    index = faiss.IndexBinaryFlat(codes.shape[1] * 8)
    index.add(codes)
    return index


def distances_between(queries, codes):
    return np.bitwise_count(queries[:, None] ^ codes[None]).sum(axis=2, dtype=np.int64)


def assert_same(theirs, ours, count=None):
    """Equal distances, and equal ids but for ties at the last distance; ours in the order (distance, id)."""
    their_distances, their_ids = theirs
    assert np.array_equal(their_distances, ours.distances[:, :count])
    for row in range(len(their_ids)):
        ids, distances = ours.ids[row][:count], ours.distances[row][:count].astype(int)
        assert np.array_equal(np.lexsort((ids, distances)), np.arange(len(ids)))
        inside = distances < distances[-1] if len(distances) else slice(0)
        assert set(their_ids[row][inside]) == set(ids[inside])


@pytest.mark.parametrize("k", [1, 2, 10, 50])
def test_nearest_neighbors(both, k):
    theirs, ours, codes, queries = both
    k = min(k, len(codes))
    assert_same(theirs.search(queries, k), ours.search(queries, k))


def test_distances_are_those_of_the_rows_returned(both):
    theirs, ours, codes, queries = both
    k, true = min(20, len(codes)), distances_between(queries, codes)
    found = ours.search(queries, k)
    for distances, ids in (theirs.search(queries, k), (found.distances, found.ids)):
        assert np.array_equal(np.take_along_axis(true, ids, axis=1), distances)


def test_a_row_finds_itself_first(both):
    theirs, ours, codes, _ = both
    assert not theirs.search(codes, 1)[0].any()
    found = ours.search(codes, 1)
    assert not found.distances.any()
    assert (found.ids[:, 0] <= np.arange(len(codes))).all()  # of equal rows, the one with the smallest id


def test_more_neighbors_than_rows(both):
    theirs, ours, codes, queries = both
    n = len(codes)
    distances, ids = theirs.search(queries, n + 5)
    assert (ids[:, n:] == -1).all()
    found = ours.search(queries, n + 5)
    assert found.ids.shape == (len(queries), n + 5)
    assert (found.counts == n).all()
    assert (found.ids[:, n:] == -1).all()
    assert_same((distances[:, :n], ids[:, :n]), found, n)
    assert np.array_equal(np.sort(found.ids[:, :n], axis=1), np.tile(np.arange(n), (len(queries), 1)))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4, 0.5, 1.0])
def test_range_search(both, share):
    """FAISS returns distances strictly below its radius; ours includes it."""
    theirs, ours, codes, queries = both
    radius = int(share * codes.shape[1] * 8)
    limits, distances, ids = theirs.range_search(queries, radius + 1)
    found = ours.search_radius(queries, radius)
    for row in range(len(queries)):
        part = slice(int(limits[row]), int(limits[row + 1]))
        order = np.lexsort((ids[part], distances[part]))
        assert np.array_equal(found[row].ids, ids[part][order])
        assert np.array_equal(found[row].distances, distances[part][order])


def test_range_search_below_every_distance_is_empty():
    codes = np.full((10, 8), 255, np.uint8)
    queries = np.zeros((2, 8), np.uint8)
    assert flat(codes).range_search(queries, 64)[0].tolist() == [0, 0, 0]
    assert [len(found.ids) for found in HammingIndex.from_codes(codes).search_radius(queries, 63)] == [0, 0]


def test_reconstruct(both):
    theirs, ours, codes, _ = both
    rows = ours.codes().packed
    for number in (0, len(codes) // 2, len(codes) - 1):
        assert np.array_equal(theirs.reconstruct(number), rows[number])
    assert np.array_equal(theirs.reconstruct_n(0, len(codes)), rows)


def test_adding_in_parts_is_adding_at_once(both):
    theirs, _, codes, queries = both
    ours = HammingIndex(codes.shape[1] * 8)
    for part in np.array_split(codes, min(len(codes), 9)):
        ours.add(part)
    assert ours.stats().n_rows == theirs.ntotal
    k = min(10, len(codes))
    assert_same(theirs.search(queries, k), ours.search(queries, k))


def test_remove_ids(both):
    """FAISS moves the rows behind a removed one up; ours keep their ids."""
    theirs, ours, codes, queries = both
    if len(codes) < 2:
        pytest.skip("one row")
    gone = np.arange(0, len(codes), 3)
    kept = np.setdiff1d(np.arange(len(codes)), gone)
    assert theirs.remove_ids(gone.astype(np.int64)) == len(gone)
    ours.remove(gone)
    assert theirs.ntotal == ours.stats().n_rows == len(kept)
    k = min(10, len(kept))
    distances, places = theirs.search(queries, k)
    assert_same((distances, kept[places]), ours.search(queries, k))


def test_ids_that_are_not_there():
    """FAISS passes over them; we refuse, and change nothing."""
    codes = codes_of(64, 20, 2)
    theirs, ours = flat(codes), HammingIndex.from_codes(codes)
    assert theirs.remove_ids(np.array([99], np.int64)) == 0
    with pytest.raises(InvalidInput, match="no row with the id 99"):
        ours.remove([3, 99])
    assert ours.stats().n_rows == 20


def test_ids_of_the_user(both):
    _, _, codes, queries = both
    ids = np.random.default_rng(3).permutation(10 * len(codes))[: len(codes)].astype(np.int64)
    theirs = faiss.IndexBinaryIDMap(faiss.IndexBinaryFlat(codes.shape[1] * 8))
    theirs.add_with_ids(codes, ids)
    k = min(10, len(codes))
    assert_same(theirs.search(queries, k), HammingIndex.from_codes(codes, ids=ids).search(queries, k))


def inverted(codes):
    """FAISS's binary index with inverted lists, which can be merged; with one list, its search is exact."""
    index = faiss.IndexBinaryIVF(faiss.IndexBinaryFlat(codes.shape[1] * 8), codes.shape[1] * 8, 1)
    index.train(codes)
    index.add(codes)
    return index


def test_merge(both):
    """`merge_from` moves rows over and numbers them on; so does adding the codes of another index."""
    _, _, codes, queries = both
    half = len(codes) // 2
    if not half:
        pytest.skip("one row")
    theirs, other = inverted(codes[:half]), inverted(codes[half:])
    theirs.merge_from(other, half)
    assert (theirs.ntotal, other.ntotal) == (len(codes), 0)
    ours = HammingIndex.from_codes(codes[:half])
    ours.add(HammingIndex.from_codes(codes[half:]).codes().packed)
    k = min(10, len(codes))
    assert_same(theirs.search(queries, k), ours.search(queries, k))


@pytest.mark.parametrize("chosen", ["some", "every third", "one", "none", "all"])
def test_search_with_a_selector(both, chosen):
    theirs, ours, codes, queries = both
    n = len(codes)
    allowed = {
        "some": np.flatnonzero(np.random.default_rng(4).random(n) < 0.5),
        "every third": np.arange(0, n, 3),
        "one": np.array([n // 2]),
        "none": np.array([], np.int64),
        "all": np.arange(n),
    }[chosen].astype(np.int64)
    parameters = faiss.SearchParameters(sel=faiss.IDSelectorBatch(allowed))
    k = 10
    distances, ids = theirs.search(queries, k, params=parameters)
    count = min(k, len(allowed))
    assert (ids[:, count:] == -1).all()
    mask = np.isin(np.arange(n), allowed)
    for where in (mask, allowed):
        found = ours.search(queries, k, where=where)
        assert (found.counts == count).all()
        assert_same((distances[:, :count], ids[:, :count]), found, count)


def test_empty_index_and_no_queries():
    codes, nothing = codes_of(64, 5, 5), np.empty((0, 8), np.uint8)
    theirs, ours = faiss.IndexBinaryFlat(64), HammingIndex(64)
    assert (theirs.search(codes, 3)[1] == -1).all()
    assert (ours.search(codes, 3).ids == -1).all()
    assert theirs.range_search(codes, 65)[0].tolist() == [0] * 6
    assert [len(found.ids) for found in ours.search_radius(codes, 64)] == [0] * 5
    theirs.add(codes)
    ours.add(codes)
    assert theirs.search(nothing, 3)[1].shape == ours.search(nothing, 3).ids.shape == (0, 3)


def test_reset_and_use_again():
    first, second, queries = codes_of(64, 50, 6), codes_of(64, 70, 7), codes_of(64, 5, 8)
    theirs, ours = flat(first), HammingIndex.from_codes(first)
    theirs.reset()
    ours.remove(ours.ids)
    assert theirs.ntotal == ours.stats().n_rows == 0
    theirs.add(second)
    ours.add(second, ids=np.arange(70))  # without ids, numbers that were used are not used again
    assert_same(theirs.search(queries, 10), ours.search(queries, 10))


def test_files(both, tmp_path):
    theirs, ours, codes, queries = both
    faiss.write_index_binary(theirs, str(tmp_path / "theirs"))
    ours.save(tmp_path / "ours.kin")
    again, k = faiss.read_index_binary(str(tmp_path / "theirs")), min(10, len(codes))
    for mmap in (False, True):
        mine = HammingIndex.load(tmp_path / "ours.kin", mmap=mmap)
        assert_same(again.search(queries, k), mine.search(queries, k))


def test_codes_of_another_length_are_refused_by_both():
    codes = codes_of(64, 5, 9)
    theirs, ours = flat(codes), HammingIndex.from_codes(codes)
    with pytest.raises(AssertionError):
        theirs.search(codes[:, :7], 1)
    with pytest.raises(InvalidInput):
        ours.search(codes[:, :7], 1)
    with pytest.raises(InvalidInput):
        ours.add(codes[:, :7])
