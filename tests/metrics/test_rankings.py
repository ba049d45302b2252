"""Every score equals its mean, its best and its worst over all orders of the ties."""

from __future__ import annotations

import subprocess
import sys
from itertools import permutations

import metric_oracles as oracle
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import average_precision_score, ndcg_score

from kinhash.codes import Codes
from kinhash.errors import CodesMismatch, InvalidInput, KinhashWarning, UnknownName
from kinhash.metrics import (
    MeanScore,
    TieGroups,
    bootstrap_interval,
    evaluate,
    precision_recall_curve,
    rankings,
    tie_groups,
)

ZERO = np.zeros((1, 1), np.uint8)
TIES = ("expected", "optimistic", "pessimistic", "index")
few_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6)

ORACLES = {
    "map": oracle.ap,
    "map@2": lambda g: oracle.ap(g, 2),
    "map@3/found": lambda g: oracle.ap_found(g, 3),
    "first_ten": lambda g: oracle.precision(g, 10),
    "precision@2": lambda g: oracle.precision(g, 2),
    "recall@2": lambda g: oracle.recall(g, 2),
    "ndcg": oracle.ndcg,
    "ndcg@2": lambda g: oracle.ndcg(g, 2),
    "ndcg@2/exp": lambda g: oracle.ndcg(g, 2, True),
}


def over_all_orders(score, distances, grades):
    """Mean, best and worst over all orders of the ties, and the score of the stable order."""
    scores = [score(np.asarray(grades)[order]) for order in oracle.all_orders(distances)]
    stable = np.asarray(grades)[np.argsort(distances, kind="stable")]
    return dict(zip(TIES, [np.mean(scores), max(scores), min(scores), score(stable)], strict=True))


def at(name, top):
    return name if top is None else f"{name}@{top}"


def same(a, b):
    assert a == pytest.approx(b, abs=1e-12, nan_ok=True)


@given(few_rows)
def test_every_measure_by_codes_and_by_scores(rows):
    distances, grades = zip(*rows, strict=True)
    expected = {name: over_all_orders(score, distances, grades) for name, score in ORACLES.items()}
    for ties in TIES:
        by_codes = evaluate(
            ZERO, oracle.ladder(distances), [grades], None, list(ORACLES), ties=ties, no_kin="zero"
        )
        by_scores = evaluate(
            -np.array([distances]), None, [grades], None, list(ORACLES), ties=ties, no_kin="zero"
        )
        for name in ORACLES:
            for found in (by_codes[name], by_scores[name]):
                same(found.per_query[0], expected[name][ties])
                same(found.worst[0], expected[name]["pessimistic"])
                same(found.best[0], expected[name]["optimistic"])


@settings(max_examples=2)
@given(st.lists(st.booleans(), min_size=8, max_size=8), st.none() | st.integers(1, 8))
def test_average_precision_of_eight_tied_rows(kin, top):
    expected = over_all_orders(lambda g: oracle.ap(g, top), [3] * 8, kin)
    for ties in TIES:
        same(
            evaluate(
                ZERO, oracle.ladder([3] * 8), [kin], measures=at("map", top), ties=ties, no_kin="zero"
            ).per_query[0],
            expected[ties],
        )


@given(few_rows)
def test_several_measures_at_once(rows):
    distances, grades = zip(*rows, strict=True)
    args, options = (ZERO, oracle.ladder(distances), [grades]), {"no_kin": "zero"}
    found = evaluate(*args, None, ["map", "recall@1"], **options)
    assert list(found) == ["map", "recall@1"]
    assert isinstance(found["map"], MeanScore)


@pytest.mark.parametrize(
    "name", ["mp", "map@", "map@0", "recall", "precision@10/exp", "map/exp", "ndcg@3/found", ""]
)
def test_a_measure_that_is_none(name):
    with pytest.raises(InvalidInput):
        evaluate(ZERO, ZERO, [1], [1], name)


@given(st.integers(0, 2**32), st.sampled_from([None, 1, 5, 30]))
def test_the_band_contains_the_expectation_and_every_order(seed, top):
    rng = np.random.default_rng(seed)
    codes, y = rng.integers(0, 8, (60, 1)).astype(np.uint8), rng.integers(0, 4, 60)
    found = evaluate(codes[:9], codes, y[:9], y, measures=at("map", top), n_bits=8)
    assert (found.worst <= found.per_query + 1e-12).all()
    assert (found.per_query <= found.best + 1e-12).all()
    assert found.band[0] <= found.value <= found.band[1]
    for _ in range(3):
        order = rng.permutation(60)
        score = evaluate(
            codes[:9], codes[order], y[:9], y[order], measures=at("map", top), ties="index"
        ).per_query
        assert (found.worst <= score + 1e-12).all()
        assert (score <= found.best + 1e-12).all()


@given(st.integers(0, 2**32))
def test_the_order_of_the_database_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    codes, tags = rng.integers(0, 4, (80, 2)).astype(np.uint8), rng.random((80, 5)) < 0.3
    order = rng.permutation(80)
    for ties in ("expected", "optimistic", "pessimistic"):
        for name in ("map", "ndcg"):
            one = evaluate(codes[:7], codes, tags[:7], tags, name, ties=ties).per_query
            other = evaluate(codes[:7], codes[order], tags[:7], tags[order], name, ties=ties).per_query
            np.testing.assert_allclose(one, other, rtol=1e-14)


@given(st.integers(0, 2**32), st.integers(1, 65))
def test_equals_scikit_learn_without_ties(seed, n):
    rng = np.random.default_rng(seed)
    query = rng.integers(0, 2, 64)
    rows = [np.where(np.arange(64) < d, 1 - query, query) for d in rng.permutation(65)[:n]]
    kin = rng.random(n) < 0.4
    kin[rng.integers(n)] = True
    distance = (query ^ np.array(rows)).sum(axis=1).astype(float)
    found = evaluate(Codes.from_bits(query[None]), Codes.from_bits(np.array(rows)), [kin]).per_query[0]
    assert found == pytest.approx(average_precision_score(kin, -distance), abs=1e-12)


@given(st.integers(0, 2**32), st.sampled_from([None, 3, 10]))
def test_ndcg_equals_scikit_learn_which_averages_ties_too(seed, top):
    rng = np.random.default_rng(seed)
    codes, tags = rng.integers(0, 4, (30, 1)).astype(np.uint8), rng.random((30, 6)) < 0.4
    shared = tags[:5].astype(int) @ tags.T.astype(int)
    name = at("ndcg", top)
    mine = evaluate(codes[:5], codes, tags[:5], tags, name, no_kin="zero")
    theirs = ndcg_score(shared, -distances(codes[:5], codes), k=top)
    assert mine == pytest.approx(theirs, abs=1e-12)
    assert evaluate(codes[:5], codes, shared, None, name, no_kin="zero") == pytest.approx(theirs, abs=1e-12)


@given(st.integers(1, 2000), st.integers(1, 2000))
def test_constant_codes_give_chance(n_kin, n_strangers):
    """All rows tie: the closed form equals the sum place by place, and lies just above the share of kin."""
    n = n_kin + n_strangers
    t = np.arange(1, n + 1)
    by_place = (n_kin / n * (1 + (t - 1) * (n_kin - 1) / (n - 1)) / t).sum() / n_kin
    y = np.repeat([1, 0], [n_kin, n_strangers])
    score = evaluate(np.zeros((1, 2), np.uint8), np.zeros((n, 2), np.uint8), [1], y).per_query[0]
    assert score == pytest.approx(by_place, abs=1e-12)


def test_the_digits_of_a_far_group_survive():
    """One kin among the last five of ten million rows that tie: a difference of harmonic numbers fails."""
    n, r = np.array([[10_000_000, 5]]), np.array([[0, 5]])
    exact = sum((t / (10_000_000 + t)) for t in range(1, 6)) / 5
    assert TieGroups.of_counts(n, r).average_precision()[0] == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("n", [1, 3, 500])
@pytest.mark.parametrize("N", [0, 1, 62, 63, 64, 65, 500, 10**6, 10**9])
def test_harmonic_step_to_machine_precision(N, n):
    from fractions import Fraction

    exact = sum(Fraction(1, N + t) for t in range(1, n + 1)) / n
    groups = TieGroups(*(np.array([[one]]) for one in (N, n, 0, 1)))
    assert groups.average_precision()[0] == pytest.approx(float(exact), rel=3e-15)


def test_gains_far_down_are_discounted_place_by_place(monkeypatch):
    """Discounts are summed in chunks, so that memory stays bounded: one gain among the last rows that tie."""
    monkeypatch.setattr(tie_groups, "CHUNK", 7)
    for n_before, n_tied in ((0, 1), (6, 2), (30, 5)):
        grades = np.array([[[n_before, 0], [n_tied - 1, 1]]])
        expected = np.mean(1 / np.log2(1 + np.arange(n_before + 1, n_before + n_tied + 1)))
        assert TieGroups.of_grades(grades).ndcg(np.array([0.0, 1.0]))[0] == pytest.approx(expected, rel=1e-14)


# -- labels ---------------------------------------------------------------------------------------


def pair(rng, n=50, q=12, width=3):
    codes = rng.integers(0, 256, (n + q, width)).astype(np.uint8)
    return codes[:q], codes[q:]


def distances(queries, codes):
    return (np.unpackbits(queries, axis=1)[:, None] != np.unpackbits(codes, axis=1)[None]).sum(axis=2)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.sampled_from([3, 65, 1200]))
def test_all_kinds_of_labels_agree(seed, n_tags):
    rng = np.random.default_rng(seed)
    queries, codes = pair(rng)
    tags = rng.random((62, n_tags)) < 2 / n_tags
    mine, theirs = tags[:12], tags[12:]
    kin = (mine.astype(int) @ theirs.T.astype(int)) > 0
    names = np.array([f"tag {i}" for i in range(n_tags)])
    for ties in ("expected", "index"):
        expected = evaluate(queries, codes, kin, ties=ties, no_kin="zero").per_query
        for a, b in (
            (mine, theirs),
            (sp.csr_array(mine), sp.csr_matrix(theirs)),
            ([set(names[row]) for row in mine], [set(names[row]) for row in theirs]),
            (sp.csr_array(kin), None),
            (kin.astype(float), None),
            (lambda rows: kin[rows], None),
            (lambda rows: sp.csr_array(kin[rows]), None),
        ):
            np.testing.assert_array_equal(
                evaluate(queries, codes, a, b, ties=ties, no_kin="zero").per_query, expected
            )


def test_classes_by_any_name():
    rng = np.random.default_rng(1)
    queries, codes = pair(rng)
    y = rng.integers(-1, 4, 62)
    expected = evaluate(queries, codes, y[:12, None] == y[12:]).per_query
    for names in (y, y.astype(str), y.astype(float), np.eye(5)[y], y[:, None]):
        np.testing.assert_array_equal(evaluate(queries, codes, names[:12], names[12:]).per_query, expected)
    codes = np.array([[0], [1]], np.uint8)
    assert evaluate(codes[:1], codes, ["dog"], ["cat", "dog"]).per_query[0] == 0.5


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
    scores = evaluate(mapped, codes, *labels, ties=ties, exclude_self=True).per_query
    for i in range(25):
        rest = np.arange(25) != i
        alone = evaluate(mapped[[i]], codes[rest], kin[[i]][:, rest], ties=ties, no_kin="zero").per_query
        np.testing.assert_allclose(scores[i], alone[0], rtol=1e-13)


@given(
    st.integers(0, 2**32),
    st.sampled_from(TIES),
    st.none() | st.integers(1, 40),
    st.booleans(),
    st.sampled_from([np.float32, np.int16]),
)
def test_scores_equal_codes(seed, ties, top, exclude_self, dtype):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (30, 1)).astype(np.uint8)
    y = rng.integers(0, 3, 30).astype(object)
    y[rng.random(30) < 0.1] = None
    options = {"measures": at("map", top), "ties": ties, "exclude_self": exclude_self}
    expected = evaluate(codes, codes, y, y, **options).per_query
    scores = (-distances(codes, codes)).astype(dtype)
    for given_scores in (scores, scores.tolist(), lambda rows: scores[rows]):
        found = evaluate(given_scores, None, y, y, **options).per_query
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_unknown_rows_are_left_out_and_counted():
    rng = np.random.default_rng(3)
    queries, codes = pair(rng)
    y = rng.integers(0, 3, 62).astype(object)
    y[[1, 5]] = None
    y[[20, 30, 61]] = np.nan
    mine, theirs = y[:12], y[12:]
    known = np.array([value == value and value is not None for value in theirs])
    for ties in ("expected", "index"):
        found = evaluate(queries, codes, mine, theirs, ties=ties)
        assert (found.n_unknown_queries, found.n_unknown_rows) == (2, 3)
        assert np.flatnonzero(np.isnan(found.per_query)).tolist() == [1, 5]
        rest = [i for i in range(12) if i not in (1, 5)]
        expected = evaluate(queries[rest], codes[known], mine[rest], theirs[known], ties=ties).per_query
        np.testing.assert_array_equal(found.per_query[rest], expected)
        assert found.value == pytest.approx(expected.mean(), abs=1e-15)


def test_unknown_rows_and_excluding_oneself():
    y = np.array([0, None, 0, 1, 1, None], object)
    codes = np.arange(6, dtype=np.uint8)[:, None]
    rest = [0, 2, 3, 4]
    expected = evaluate(codes[rest], codes[rest], y[rest], y[rest], exclude_self=True, ties="index").per_query
    score = evaluate(codes, codes, y, y, exclude_self=True, ties="index").per_query
    assert np.isnan(score[[1, 5]]).all()
    np.testing.assert_array_equal(score[rest], expected)
    # A query whose own row is unknown in the database has nothing to leave out.
    score = evaluate(codes, codes, [0] * 6, y, exclude_self=True).per_query
    assert score[1] == evaluate(codes[1:2], codes[rest], [0], y[rest]).per_query[0]


def test_untagged_rows_are_relevant_to_nobody():
    codes = np.zeros((3, 1), np.uint8)
    tags = [set(), set(), {"a"}]
    found = evaluate(codes, codes, tags, tags)
    assert np.isnan(found.per_query[:2]).all()
    assert found.n_without_kin == 2
    assert found.value == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert evaluate(codes, codes, tags, tags, no_kin="zero") == pytest.approx(found.value / 3)
    assert "2 without similar rows left out" in str(found)


@pytest.mark.parametrize("ties", TIES)
def test_empty_sides(ties):
    codes, nothing, y = np.zeros((4, 1), np.uint8), np.zeros((0, 1), np.uint8), [0, 0, 1, 1]
    for a, b, mine, theirs in ((nothing, codes, [], y), (codes, nothing, y, []), (nothing, nothing, [], [])):
        with pytest.warns(KinhashWarning, match="No query has a similar row"):
            found = evaluate(a, b, mine, theirs, ties=ties)
        assert np.isnan(found.value)
        assert found.n_without_kin == len(a) == len(found.per_query)
    how = {"ties": ties, "no_kin": "zero"}
    assert evaluate(codes, nothing, y, [], **how) == 0
    assert np.isnan(evaluate(codes, codes, np.zeros((4, 4)), **how).per_query).all()
    assert np.isnan(evaluate(codes[:1], codes[:1], [1], [1], exclude_self=True, **how).per_query[0])


# -- counting -------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(1, 300), st.integers(1, 4))
def test_every_pair_is_counted_once(seed, n_bits, top_grade):
    rng = np.random.default_rng(seed)
    bits = (rng.random((41, n_bits)) < rng.choice([0.02, 0.5])).astype(np.uint8)
    grades = rng.integers(0, 5, (4, 37)).astype(np.uint8)
    codes = Codes.from_bits(bits)
    ranking = rankings.read_ranking(codes[:4], codes[4:], grades, None, None, False)
    ((rows, groups),) = rankings.query_blocks(ranking, top_grade)
    assert rows == slice(0, 4)
    for q in range(4):
        distance = (bits[q] ^ bits[4:]).sum(axis=1, dtype=np.int64)
        keys = distance * (top_grade + 1) + np.minimum(grades[q], top_grade)
        expected = np.bincount(keys, minlength=(n_bits + 1) * (top_grade + 1))
        np.testing.assert_array_equal(groups.grades[q].ravel(), expected)


def test_threads_and_blocks_do_not_change_a_digit(monkeypatch):
    rng = np.random.default_rng(2)
    codes, tags = rng.integers(0, 256, (5000, 9)).astype(np.uint8), rng.random((5000, 130)) < 0.02
    args = codes[:33], codes, tags[:33], tags
    one = [evaluate(*args, n_jobs=1, ties=ties).per_query for ties in ("expected", "index")]
    monkeypatch.setattr(rankings, "BLOCK_PAIRS", 777)
    monkeypatch.setattr(rankings, "TABLE_BYTES", 1 << 15)
    for n_jobs in (1, 2, 64):
        other = [evaluate(*args, n_jobs=n_jobs, ties=ties).per_query for ties in ("expected", "index")]
        np.testing.assert_array_equal(one, other)


def test_read_only_and_strided_inputs(tmp_path):
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
    expected = evaluate(codes, codes, y, y).per_query
    for a in (frozen[0], disk, wide[:, 3:11], np.asfortranarray(codes)):
        for labels in ((frozen[1], frozen[1]), (kin, None), (frozen[2], None), (kin.T.T, None)):
            np.testing.assert_array_equal(evaluate(a, a, *labels).per_query, expected)


# -- a radius -------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(0, 16))
def test_the_curve_by_brute_force(seed, radius):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (40, 2)).astype(np.uint8)
    queries, kin = rng.integers(0, 256, (9, 2)).astype(np.uint8), rng.random((9, 40)) < 0.1
    kin[0, 0] = True
    near = distances(queries, codes) <= radius
    rows, found, able = near.sum(axis=1), (near & kin).sum(axis=1), kin.any(axis=1)
    curve = precision_recall_curve(queries, codes, kin)
    assert len(curve.radius) == 17
    assert curve.n_without_kin == (~able).sum()
    assert curve.precision[radius] == pytest.approx((found / np.maximum(rows, 1))[able].mean())
    assert curve.recall[radius] == pytest.approx((found[able] / kin[able].sum(axis=1)).mean())
    assert curve.empty[radius] == pytest.approx((rows[able] == 0).mean())
    assert curve.rows[radius] == pytest.approx(rows.mean())
    pooled = found.sum() / rows.sum() if rows.sum() else np.nan
    assert curve.pooled_precision[radius] == pytest.approx(pooled, nan_ok=True)
    assert curve.recall[-1] == 1


# -- how sure is a mean ----------------------------------------------------------------------------


def test_interval_agrees_with_scipy():
    scores = np.random.default_rng(0).beta(2, 3, 400)
    mine = bootstrap_interval(np.append(scores, np.nan))
    theirs = stats.bootstrap(
        (scores,), np.mean, method="percentile", n_resamples=10_000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert mine.n_queries == 400
    assert mine.value == pytest.approx(scores.mean())
    width = theirs.high - theirs.low
    assert abs(mine.low - theirs.low) < 0.05 * width
    assert abs(mine.high - theirs.high) < 0.05 * width
    assert mine == bootstrap_interval(scores)  # same seed, same interval


def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(200):
        interval = bootstrap_interval(rng.random(50), level=0.9, n_resamples=400, random_state=rng)
        inside += interval.low <= 0.5 <= interval.high
    assert 0.82 <= inside / 200 <= 0.96


def test_scores_that_have_no_interval():
    for scores, how, match in (
        ([np.nan], {}, "No query"),
        (np.zeros((2, 2)), {}, "shape"),
        ([0.5], {"level": 1}, "level"),
        ([0.5], {"n_resamples": 0}, "n_resamples"),
    ):
        with pytest.raises(InvalidInput, match=match):
            bootstrap_interval(scores, **how)


# -- what does not belong together -------------------------------------------------------------------

CODES, Y = np.zeros((4, 1), np.uint8), [0, 0, 1, 1]
ALL = [evaluate, precision_recall_curve]


@pytest.mark.parametrize("metric", ALL)
def test_what_does_not_belong_together(metric):
    with pytest.raises(CodesMismatch, match="8 bits were compared with codes of 16"):
        metric(CODES, np.zeros((4, 2), np.uint8), Y, Y)
    with pytest.raises(CodesMismatch, match="model"):
        metric(Codes(CODES, 8, model_id="a" * 20), Codes(CODES, 8, model_id="b" * 20), Y, Y)
    with pytest.raises(InvalidInput, match="3 labels came with 4 queries"):
        metric(CODES, CODES, Y[:3], Y)
    with pytest.raises(InvalidInput, match="5 labels came with 4 database rows"):
        metric(CODES, CODES, Y, [*Y, 1])
    with pytest.raises(InvalidInput, match="classes and the other has tags"):
        metric(CODES, CODES, Y, [{1}, {2}, {3}, set()])
    with pytest.raises(InvalidInput, match="packed rows"):
        metric(CODES.astype(float), CODES, Y, Y)
    with pytest.raises(CodesMismatch, match="8 bits, not 3"):
        metric(Codes(CODES, 8), CODES, Y, Y, n_bits=3)
    with pytest.raises(InvalidInput, match="exclude_self"):
        metric(CODES[:2], CODES, Y[:2], Y, exclude_self=True)


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    ("relevance", "match"),
    [
        (Y, "shape"),
        (np.zeros((4, 3)), "shape"),
        (np.full((4, 4), 0.5), "not grades"),
        (np.full((4, 4), -1), "not grades"),
        (np.full((4, 4), np.nan), "not grades"),
        (np.full((4, 4), 256), "not grades"),
        (np.full((4, 4), "kin"), "not grades"),
        (lambda rows: np.zeros((len(rows), 3)), "block of shape"),
    ],
)
def test_relevance_that_is_none(metric, relevance, match):
    with pytest.raises(InvalidInput, match=match):
        metric(CODES, CODES, relevance)


@pytest.mark.parametrize(
    ("scores", "labels", "match"),
    [
        ([[1.0, np.nan]], ([1], [1, 0]), "NaN"),
        (lambda rows: np.zeros((1, 3)), ([1], [1, 0]), "shape"),
        (lambda rows: np.zeros((1, 3)), (lambda rows: np.zeros((1, 3)), None), "how many"),
        ([["a", "b"]], ([1], [1, 0]), "no number"),
        ([[1.0, 2.0]], ([1, 1], [1, 0]), "2 labels came with 1 queries"),
        ([[1.0, 2.0]], ([1], [1]), "1 labels came with 2 database rows"),
        ([1.0, 2.0], ([1], [1, 0]), "shape"),
    ],
)
def test_bad_scores(scores, labels, match):
    scores = scores if callable(scores) else np.array(scores)
    with pytest.raises(InvalidInput, match=match):
        evaluate(scores, None, *labels)


def test_unknown_words():
    with pytest.raises(UnknownName, match="expected"):
        evaluate(CODES, CODES, Y, Y, ties="expcted")
    with pytest.raises(UnknownName, match="skip, zero"):
        evaluate(CODES, CODES, Y, Y, no_kin="drop")


def test_scores_do_not_import_scikit_learn():
    code = "import kinhash.metrics, sys; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_all_orders_of_the_oracle():
    """Four rows, two of which tie twice: two times two orders of the 24."""
    assert len(list(oracle.all_orders([1, 0, 1, 0]))) == 4
    assert len(list(permutations(range(4)))) == 24
