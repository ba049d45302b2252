"""Against other people's evaluators, known values, and every kind of label."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from kinhash.codes import Codes
from kinhash.metrics import MeanScore, average_precision, mean_average_precision


def without_ties(rng, n):
    """A query and codes of 64 bits whose distances to it are all different (n <= 65)."""
    query = rng.integers(0, 2, 64)
    rows = [np.where(np.arange(64) < d, 1 - query, query) for d in rng.permutation(65)[:n]]
    return Codes.from_bits(query[None]), Codes.from_bits(np.array(rows))


@given(st.integers(0, 2**32), st.integers(1, 65))
def test_equals_scikit_learn_without_ties(seed, n):
    rng = np.random.default_rng(seed)
    query, codes = without_ties(rng, n)
    kin = rng.random(n) < 0.4
    kin[rng.integers(n)] = True
    distance = (query.bits() ^ codes.bits()).sum(axis=1).astype(float)
    assert average_precision(query, codes, [kin])[0] == pytest.approx(
        average_precision_score(kin, -distance), abs=1e-12
    )


def test_equals_ranx_without_ties():
    ranx = pytest.importorskip("ranx")
    rng = np.random.default_rng(5)
    mine, judged, found = [], {}, {}
    for q in range(20):
        query, codes = without_ties(rng, 65)
        kin = rng.random(65) < 0.3
        kin[0] = True
        distance = (query.bits() ^ codes.bits()).sum(axis=1)
        judged[f"q{q}"] = {f"d{i}": 1 for i in np.flatnonzero(kin)}
        found[f"q{q}"] = {f"d{i}": float(100 - d) for i, d in enumerate(distance)}
        mine.append([average_precision(query, codes, [kin], ties=t)[0] for t in ("expected", "index")])
    theirs = ranx.evaluate(ranx.Qrels(judged), ranx.Run(found), "map")
    np.testing.assert_allclose(np.mean(mine, axis=0), theirs, rtol=1e-12)


def test_a_constant_bit_on_ten_classes_of_a_hundred():
    y = np.repeat(np.arange(10), 100)
    codes = Codes(np.zeros((1000, 1), np.uint8), n_bits=1)
    assert mean_average_precision(codes, codes, y, y) == pytest.approx(0.1058, abs=5e-5)


@given(st.integers(1, 2000), st.integers(1, 2000))
def test_constant_codes_give_chance(n_kin, n_strangers):
    """All rows tie: the closed form equals the sum place by place, and lies just above the share of kin."""
    n = n_kin + n_strangers
    t = np.arange(1, n + 1)
    by_place = (n_kin / n * (1 + (t - 1) * (n_kin - 1) / (n - 1)) / t).sum() / n_kin
    y = np.repeat([1, 0], [n_kin, n_strangers])
    score = average_precision(np.zeros((1, 2), np.uint8), np.zeros((n, 2), np.uint8), [1], y)[0]
    assert score == pytest.approx(by_place, abs=1e-12)
    assert n_kin / n - 1e-12 <= score <= n_kin / n + (1 + np.log(n)) / n


def pair(rng, n=50, q=12, width=3):
    codes = rng.integers(0, 256, (n + q, width)).astype(np.uint8)
    return codes[:q], codes[q:]


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from([3, 64, 65, 200, 1200]))
def test_all_kinds_of_labels_agree(seed, n_tags):
    rng = np.random.default_rng(seed)
    queries, codes = pair(rng)
    tags = rng.random((62, n_tags)) < 2 / n_tags
    mine, theirs = tags[:12], tags[12:]
    kin = (mine.astype(int) @ theirs.T.astype(int)) > 0
    expected = average_precision(queries, codes, kin)
    names = np.array([f"tag {i}" for i in range(n_tags)])
    for a, b in (
        (mine, theirs),
        (sp.csr_array(mine), sp.csr_matrix(theirs)),
        ([set(names[row]) for row in mine], [set(names[row]) for row in theirs]),
        (sp.csr_array(kin), None),
        (kin.astype(float), None),
        (lambda rows: kin[rows], None),
        (lambda rows: sp.csr_array(kin[rows]), None),
    ):
        for ties in ("expected", "index"):
            reference = expected if ties == "expected" else average_precision(queries, codes, kin, ties=ties)
            np.testing.assert_array_equal(average_precision(queries, codes, a, b, ties=ties), reference)


def test_classes_by_any_name():
    rng = np.random.default_rng(1)
    queries, codes = pair(rng)
    y = rng.integers(-1, 4, 62)
    expected = average_precision(queries, codes, y[:12, None] == y[12:])
    for names in (y, y.astype(str), y.astype(float), np.eye(5)[y], y[:, None]):
        np.testing.assert_array_equal(average_precision(queries, codes, names[:12], names[12:]), expected)


def test_classes_are_compared_by_name_across_sides():
    codes = np.array([[0], [1]], np.uint8)
    assert average_precision(codes[:1], codes, ["dog"], ["cat", "dog"])[0] == 0.5


@given(
    st.integers(0, 2**32),
    st.sampled_from(["classes", "tags", "matrix"]),
    st.sampled_from(["expected", "index"]),
)
def test_excluding_oneself_equals_removing_the_row(seed, kind, ties):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, (25, 1)).astype(np.uint8)
    mapped = rng.integers(0, 6, (25, 1)).astype(np.uint8)  # queries need not have the codes of their rows
    y = rng.integers(0, 3, 25) if kind == "classes" else (rng.random((25, 4)) < 0.3).astype(int)
    kin = y[:, None] == y if kind == "classes" else y @ y.T > 0
    labels = (kin, None) if kind == "matrix" else (y, y)
    scores = average_precision(mapped, codes, *labels, ties=ties, exclude_self=True)
    for i in range(25):
        rest = np.arange(25) != i
        alone = average_precision(mapped[i : i + 1], codes[rest], kin[i : i + 1, rest], ties=ties)
        np.testing.assert_allclose(scores[i], alone[0], rtol=1e-13)


def test_unknown_rows_are_left_out_and_counted():
    rng = np.random.default_rng(3)
    queries, codes = pair(rng)
    y = rng.integers(0, 3, 62).astype(object)
    y[[1, 5]] = None
    y[[20, 30, 61]] = np.nan
    mine, theirs = y[:12], y[12:]
    known = np.array([value == value and value is not None for value in theirs])
    for ties in ("expected", "index"):
        details = mean_average_precision(queries, codes, mine, theirs, ties=ties)
        assert isinstance(details, MeanScore)
        assert (details.n_unknown_queries, details.n_unknown_rows) == (2, 3)
        assert np.flatnonzero(np.isnan(details.per_query)).tolist() == [1, 5]
        rest = [i for i in range(12) if i not in (1, 5)]
        expected = average_precision(queries[rest], codes[known], mine[rest], theirs[known], ties=ties)
        np.testing.assert_array_equal(details.per_query[rest], expected)
        assert details.value == pytest.approx(expected.mean(), abs=1e-15)


def test_unknown_rows_and_excluding_oneself():
    y = np.array([0, None, 0, 1, 1, None], object)
    codes = np.arange(6, dtype=np.uint8)[:, None]
    rest = [0, 2, 3, 4]
    expected = average_precision(codes[rest], codes[rest], y[rest], y[rest], exclude_self=True, ties="index")
    for ties in ("index", "expected"):
        score = average_precision(codes, codes, y, y, exclude_self=True, ties=ties)
        assert np.isnan(score[[1, 5]]).all()
        if ties == "index":
            np.testing.assert_array_equal(score[rest], expected)
    # A query whose own row is unknown in the database has nothing to leave out.
    score = average_precision(codes, codes, [0] * 6, y, exclude_self=True)
    assert score[1] == average_precision(codes[1:2], codes[rest], [0], y[rest])[0]


def test_untagged_rows_are_kin_to_nobody():
    codes = np.zeros((3, 1), np.uint8)
    tags = [set(), set(), {"a"}]
    details = mean_average_precision(codes, codes, tags, tags)
    assert np.isnan(details.per_query[:2]).all()
    assert details.n_without_kin == 2
    assert details.value == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert mean_average_precision(codes, codes, tags, tags, no_kin="zero") == pytest.approx(details.value / 3)
    assert "2 without similar rows left out" in str(details)
    assert float(details) == details.value


def test_threads_and_blocks_do_not_change_a_digit(monkeypatch):
    rng = np.random.default_rng(2)
    codes, tags = rng.integers(0, 256, (5000, 9)).astype(np.uint8), rng.random((5000, 130)) < 0.02
    args = codes[:33], codes, tags[:33], tags
    one = [average_precision(*args, n_jobs=1, ties=ties) for ties in ("expected", "index")]
    monkeypatch.setattr("kinhash.metrics.distance_histogram.DATABASE_ROWS", 777)
    monkeypatch.setattr("kinhash.metrics.distance_histogram.TABLE_BYTES", 1 << 15)
    for n_jobs in (1, 2, 5, 64):
        other = [average_precision(*args, n_jobs=n_jobs, ties=ties) for ties in ("expected", "index")]
        np.testing.assert_array_equal(one, other)


def test_the_digits_of_a_far_group_survive():
    """One kin among the last five of ten million rows that tie: a difference of harmonic numbers fails."""
    from kinhash.metrics import TieGroups

    n, r = np.array([[10_000_000, 5]]), np.array([[0, 5]])
    exact = sum((t / (10_000_000 + t)) for t in range(1, 6)) / 5
    assert TieGroups.of_counts(n, r).average_precision()[0] == pytest.approx(exact, rel=1e-13)


def test_read_only_and_strided_inputs_give_the_same_and_compile_nothing_new(tmp_path):
    from kinhash.metrics.kernels import tally

    rng = np.random.default_rng(6)
    codes, y = rng.integers(0, 256, (40, 8)).astype(np.uint8), rng.integers(0, 3, 40)
    kin = y[:, None] == y
    np.save(tmp_path / "codes.npy", codes)
    disk = np.load(tmp_path / "codes.npy", mmap_mode="r")
    wide = np.zeros((40, 19), np.uint8)
    wide[:, 3:11] = codes
    frozen = [array.copy() for array in (codes, y, kin)]
    for array in frozen:
        array.setflags(write=False)
    for ties in ("expected", "index"):
        expected = average_precision(codes, codes, y, y, ties=ties)
        known = len(tally.signatures)
        for a in (frozen[0], disk, wide[:, 3:11], np.asfortranarray(codes)):
            for labels in ((y, y), (frozen[1], frozen[1]), (kin, None), (frozen[2], None), (kin.T.T, None)):
                np.testing.assert_array_equal(average_precision(a, a, *labels, ties=ties), expected)
        assert len(tally.signatures) == known


@pytest.mark.slow
def test_ten_million_codes_in_bounded_memory():
    import tracemalloc

    n = 10_000_000
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 256, (n, 8), np.uint8), rng.integers(0, 10, n, dtype=np.int8)
    expected = [average_precision_of_sorted(codes, y, q) for q in range(2)]
    tags = sp.csr_array((np.ones(n, np.int8), y.astype(np.int32), np.arange(n + 1)), shape=(n, 10))
    average_precision(codes[:2], codes[:99], tags[:2], tags[:99])  # compiled
    tracemalloc.start()
    for ties, places, most in (("expected", 4, 100e6), ("index", 12, 40 * n)):
        tracemalloc.reset_peak()
        score = average_precision(codes[:2], codes, tags[:2], tags, ties=ties)
        np.testing.assert_allclose(score, expected, atol=10.0**-places)
        assert tracemalloc.get_traced_memory()[1] < most
    tracemalloc.stop()


def average_precision_of_sorted(codes, y, query):
    distance = np.bitwise_count(codes ^ codes[query]).sum(axis=1, dtype=np.uint8)
    places = np.flatnonzero((y == y[query])[np.argsort(distance, kind="stable")]) + 1
    return np.mean(np.arange(1, len(places) + 1) / places)
