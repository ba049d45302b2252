"""What a person sees in the answers, against every order of the ties written out."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from kinhash import Codes, metrics
from kinhash.labels import read_labels
from kinhash.metrics import AnswerSheet, answers, scores_by_label
from kinhash.metrics.rivals import expected_jaccard, label_bytes, shared_label

MAP, FIRST_TEN, LOOKS, UNLABELED = (
    "mAP",
    "first ten relevant",
    "nearest look-alikes found",
    "unlabeled in first ten",
)
SAME_TAGS, JACCARD, NDCG = "first ten with same tags", "Jaccard of first ten", "nDCG of first ten"
TAGS = [{"a"}, {"a", "b"}, {"b", "c"}, {"c"}, {"a", "b"}, {"a", "c"}, {"b"}]


def jaccard(left, right):
    return len(left & right) / len(left | right)


def orders(scores):
    """All orders of rows by falling score, one for each order of the ties."""
    groups = [np.flatnonzero(scores == value) for value in np.unique(scores)[::-1]]
    for parts in product(*(permutations(group) for group in groups)):
        yield [row for part in parts for row in part]


def by_hand(scores, mine, theirs, k):
    """Means over all orders of p10, exact match, Jaccard and nDCG of the first ``k``."""
    gains = np.array([jaccard(mine, other) for other in theirs])
    best = (np.sort(gains)[::-1][:k] / np.log2(np.arange(2, 2 + min(k, len(gains))))).sum()
    found = []
    for order in orders(scores):
        first = gains[order[:k]]
        ndcg = (first / np.log2(np.arange(2, 2 + len(first)))).sum() / best
        found.append([(first > 0).sum() / k, (first == 1).sum() / k, first.sum() / k, ndcg])
    return np.mean(found, axis=0)


@pytest.mark.parametrize("k", [2, 3, 10])
def test_ties_count_as_the_mean_over_their_orders(k, monkeypatch):
    monkeypatch.setattr(answers, "TEN", k)
    monkeypatch.setattr(answers, "BLOCK_NUMBERS", 10)  # several blocks of queries
    scores = np.array([[2, 2, 2, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 1], [0, 3, 1, 1, 2, 0, 1]])
    mine = [{"a", "b"}, {"c"}, {"a"}]
    found = AnswerSheet(read_labels(mine), read_labels(TAGS)).of_scores(lambda rows: scores[rows])
    for i, query in enumerate(mine):
        expected = by_hand(scores[i], query, TAGS, k)
        assert [found[name][i] for name in (FIRST_TEN, SAME_TAGS, JACCARD, NDCG)] == pytest.approx(expected)
    oracle = metrics.evaluate(scores, None, read_labels(mine), read_labels(TAGS)).per_query
    np.testing.assert_allclose(found[MAP], oracle)


def test_codes_are_ranked_by_their_distance():
    rng = np.random.default_rng(0)
    codes, new = (Codes.from_bits(rng.integers(0, 2, (n, 6))) for n in (7, 3))
    distances = np.array([[new[i].distances(codes[j])[0] for j in range(7)] for i in range(3)])
    np.testing.assert_array_equal(metrics.hamming_scores(new, codes)(np.array([2, 0])), -distances[[2, 0]])
    sheet = AnswerSheet(read_labels([{"a"}, {"b"}, {"c"}]), read_labels(TAGS))
    for name, values in sheet.of_codes(new, codes).items():
        np.testing.assert_array_equal(values, sheet.of_scores(lambda rows: -distances[rows])[name])


def test_unlabeled_rows_take_places_and_are_not_judged(monkeypatch):
    """Figures are those of the labeled rows among the answers, over all orders of the ties."""
    monkeypatch.setattr(answers, "TEN", 3)
    y = [0, None, 1, 0, None, 0]
    scores = np.array([[2, 2, 2, 1, 1, 1], [0, 1, 0, 0, 1, 0]])
    sheet = AnswerSheet(read_labels([0, 1]), read_labels(y))
    found = sheet.of_scores(lambda rows: scores[rows])
    for i, query in enumerate([0, 1]):
        firsts = [[y[row] for row in order[:3]] for order in orders(scores[i])]
        unknown = np.mean([first.count(None) for first in firsts])
        relevant = np.mean([first.count(query) for first in firsts])
        assert found[UNLABELED][i] == pytest.approx(unknown / 3)
        assert found[FIRST_TEN][i] == pytest.approx(relevant / (3 - unknown))
    known = [row for row in range(6) if y[row] is not None]
    alone = metrics.evaluate(scores[:, known], None, [0, 1], [y[row] for row in known]).per_query
    np.testing.assert_allclose(found[MAP], alone)


def test_classes_have_precision_alone_and_the_own_row_is_left_out():
    y = read_labels([0, 0, 1, 1, 1])
    scores = np.eye(5)
    found = AnswerSheet(y, y, own=np.arange(5)).of_scores(lambda rows: scores[rows])
    assert set(found) == {MAP, FIRST_TEN}
    assert found[FIRST_TEN] == pytest.approx(
        [0.1, 0.1, 0.2, 0.2, 0.2]
    )  # of ten places, as precision at 10 has it


def test_queries_without_a_relevant_row_are_nan():
    found = AnswerSheet(read_labels([{"z"}, {"a"}]), read_labels(TAGS)).of_random_order()
    assert all(np.isnan(values[0]) and not np.isnan(values[1]) for values in found.values())


def test_a_random_order_has_the_share_of_relevant_rows():
    rng = np.random.default_rng(0)
    y = read_labels(rng.integers(0, 3, 60))
    found = AnswerSheet(y[np.arange(5)], y).of_random_order()[FIRST_TEN]
    assert found == pytest.approx([(y.classes == y.classes[i]).mean() for i in range(5)])


@pytest.mark.parametrize("own", [False, True])
def test_the_nearest_relevant_rows_are_found_by_their_definition(own):
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, 2, 300), rng.normal(size=(300, 4)) + 3
    scores, mean = rng.integers(0, 9, (20, 300)), X.mean(axis=0)
    near = np.zeros((20, 300), bool)
    for i in range(20):
        cosines = (X - mean) @ (X[i] - mean) / np.linalg.norm(X - mean, axis=1)
        able = (y == y[i]) & (np.arange(300) != i if own else True)
        near[i, np.argsort(np.where(able, -cosines, np.inf), kind="stable")[:10]] = True
    itself = np.where(np.eye(20, 300), -np.inf, scores) if own else scores
    oracle = metrics.evaluate(itself, None, near, None, "recall@100").per_query
    sheet = AnswerSheet(
        read_labels(y[:20]), read_labels(y), np.arange(20) if own else None, features=(X[:20], X)
    )
    np.testing.assert_allclose(sheet.of_scores(lambda rows: scores[rows])[LOOKS], oracle)


def test_a_row_finds_itself_as_often_as_it_is_first_among_its_ties():
    database = Codes.from_bits([[0, 0], [0, 0], [1, 1], [0, 1]])
    new = Codes.from_bits([[0, 0], [1, 1], [1, 1]])
    assert metrics.self_retrieval(new, database, np.array([1, 2, 3])).tolist() == [1 / 2, 1, 0]


def test_classifier_rankings_are_the_probabilities_by_hand():
    """Every tag set of a query is drawn with its probability."""
    names = np.array(["a", "b", "c"], object)
    labels = read_labels([{"a"}, {"a", "b"}, {"b", "c"}, {"a", "b", "c"}])
    chances = np.array([[0.7, 0.2, 0.1]], np.float32)
    shared, met, union = np.zeros((3, 4))
    for drawn in product([0, 1], repeat=3):
        p = np.prod(np.where(drawn, chances[0], 1 - chances[0]))
        mine = set(names[np.flatnonzero(drawn)])
        for j, row in enumerate(labels.indicator().toarray()):
            theirs = set(names[np.flatnonzero(row)])
            shared[j] += p * bool(mine & theirs)
            met[j] += p * len(mine & theirs)
            union[j] += p * len(mine | theirs)
    rows = np.arange(1)
    np.testing.assert_allclose(1 - np.exp(-shared_label(chances, labels)(rows)[0]), shared, rtol=1e-5)
    np.testing.assert_allclose(expected_jaccard(chances, labels)(rows)[0], met / union, rtol=1e-5)
    classes = read_labels([0, 2, 1])
    np.testing.assert_array_equal(shared_label(chances, classes)(rows)[0], chances[0, [0, 2, 1]])


def test_bytes_of_the_true_labels():
    assert label_bytes(read_labels([0, 1, None])) == 1
    assert label_bytes(read_labels(np.arange(300))) == 2
    assert label_bytes(read_labels([{"a"}, {"a", "b"}])) == 2


def test_levels_above_count_rows_below_the_same_node():
    leaf, node = read_labels([0, 1, 2, 3]), read_labels([0, 0, 1, 1])
    sheet = AnswerSheet(leaf, leaf, above=[AnswerSheet(node, node)])
    found = sheet.of_scores(lambda rows: np.eye(4)[rows])
    assert found[f"{FIRST_TEN}, 1 level up"].tolist() == [0.2] * 4


@given(st.integers(0, 2**32), st.integers(1, 9))
def test_top_k_takes_the_first_of_equal_scores(seed, k):
    scores = np.random.default_rng(seed).integers(0, 3, (4, 7))
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(metrics.top_k(scores, k), expected)


def test_mixture_is_the_share_of_mapped_rows_over_their_fair_share():
    scores, mapped = np.array([[3, 2, 2, 1], [1, 1, 1, 1]]), np.array([True, False, True, False])
    found = metrics.mixture(lambda rows: scores[rows], 2, mapped, k=2)
    assert found == pytest.approx([(1 + 1 / 2) / 2 / 0.5, 1])


def test_scores_of_labels_are_means_over_the_queries_that_carry_them():
    scores = np.array([1.0, 0.2, np.nan, 0.6, 0.5])
    found = scores_by_label(scores, None, read_labels(["a", "b", "c", "b", None]))
    assert [(one.label, one.queries, one.other) for one in found] == [("b", 2, None), ("a", 1, None)]
    assert found[0].score == pytest.approx(0.4)
    tags = read_labels([{"a", "b"}, {"b"}, {"c"}, {"a"}, set()])
    by_tag = {one.label: one for one in scores_by_label(scores, 1 - scores, tags)}
    assert by_tag.keys() == {"a", "b"}
    assert (by_tag["a"].score, by_tag["b"].other) == pytest.approx((0.8, 0.4))


# -- look-alikes ----------------------------------------------------------------------------------


def test_some_queries_are_spread_over_all():
    assert metrics.some_queries(20).tolist() == list(range(20))
    chosen = metrics.some_queries(60_000)
    assert (len(chosen), chosen[0], chosen[-1]) == (500, 0, 59_999)
    assert np.diff(chosen).max() <= 121


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_unit_rows_of_any_scale(scale):
    X = scale * np.array([[3.0, 4.0], [0.0, 0.0]])
    for unit in (metrics.unit_rows(X), metrics.unit_rows(sp.csr_array(X)).toarray()):
        np.testing.assert_allclose(unit, [[0.6, 0.8], [0, 0]], rtol=1e-6)
    np.testing.assert_allclose(metrics.unit_rows(X, mean=X[0])[1], [-0.6, -0.8], rtol=1e-6)


# -- pairs ----------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(2, 30))
def test_order_of_pairs_by_brute_force(seed, m):
    rng = np.random.default_rng(seed)
    near, grades = rng.integers(0, 5, m), rng.integers(0, 3, m)
    pairs = [(a, b) for a in range(m) for b in range(m) if grades[a] > grades[b]]
    found = answers.order_of_pairs(near, grades)
    if not pairs:
        assert np.isnan(found).all()
        return
    assert found.mean() == pytest.approx(np.mean([(np.sign(near[a] - near[b]) + 1) / 2 for a, b in pairs]))
    same = grades > 0
    if same.any() and not same.all():
        assert answers.order_of_pairs(near, same).mean() == pytest.approx(roc_auc_score(same, near))


def test_the_spread_of_a_roc_curve_is_that_of_delong():
    rng = np.random.default_rng(0)
    same = rng.random(300) < 0.3
    near = rng.normal(size=300) + same
    values = answers.order_of_pairs(near, same)
    wins = (near[same][:, None] > near[~same]).astype(float)
    delong = wins.mean(axis=1).var() / same.sum() + wins.mean(axis=0).var() / (~same).sum()
    assert values.var() / 300 == pytest.approx(delong)


def test_ranks_and_wins():
    rng = np.random.default_rng(0)
    near, grades = rng.integers(0, 9, (2, 50))
    assert answers.rank_products(near, grades).mean() == pytest.approx(spearmanr(near, grades).statistic)
    assert answers.wins([3, 2, 1], [1, 2, 3]).tolist() == [1, 0.5, 0]
