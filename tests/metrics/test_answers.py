"""What a person sees in the answers, against every order of the ties written out."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from kinhash import BitLayout, Codes
from kinhash.metrics import average_precision_from_scores, near_kin_from_scores
from kinhash.metrics.answers import AnswerSheet, hamming_scores, self_retrieval
from kinhash.metrics.label_model import expected_jaccard, label_bytes, shared_label
from kinhash.supervision import read_labels

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
    monkeypatch.setattr("kinhash.metrics.answers.FIRST", k)
    monkeypatch.setattr("kinhash.metrics.answers.BLOCK_NUMBERS", 10)  # several blocks of queries
    scores = np.array([[2, 2, 2, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 1], [0, 3, 1, 1, 2, 0, 1]])
    mine = [{"a", "b"}, {"c"}, {"a"}]
    found = AnswerSheet(read_labels(mine), read_labels(TAGS)).of_scores(lambda rows: scores[rows])
    for i, query in enumerate(mine):
        expected = by_hand(scores[i], query, TAGS, k)
        assert [found[name][i] for name in ("p10", "exact", "Jaccard", "nDCG")] == pytest.approx(expected)
    oracle = average_precision_from_scores(scores, read_labels(mine), read_labels(TAGS))
    np.testing.assert_allclose(found["mAP"], oracle)


def test_codes_are_ranked_by_their_weighted_distance():
    rng = np.random.default_rng(0)
    codes = Codes.from_bits(rng.integers(0, 2, (7, 6)), fields=BitLayout(alike=3, kin_weight=3))
    new = Codes.from_bits(rng.integers(0, 2, (3, 6)), fields=codes.fields)
    distances = np.array([[new[i].distances(codes[j])[0] for j in range(7)] for i in range(3)])
    np.testing.assert_array_equal(hamming_scores(new, codes)(np.array([2, 0])), -distances[[2, 0]])
    sheet = AnswerSheet(read_labels([{"a"}, {"b"}, {"c"}]), read_labels(TAGS))
    for name, values in sheet.of_codes(new, codes).items():
        np.testing.assert_array_equal(values, sheet.of_scores(lambda rows: -distances[rows])[name])


def test_classes_have_precision_alone_and_the_own_row_is_left_out():
    y = read_labels([0, 0, 1, 1, 1])
    scores = np.eye(5)
    found = AnswerSheet(y, y, own=np.arange(5)).of_scores(lambda rows: scores[rows])
    assert set(found) == {"mAP", "p10"}
    assert found["p10"] == pytest.approx(
        [0.1, 0.1, 0.2, 0.2, 0.2]
    )  # of ten places, as precision at 10 has it


def test_queries_without_a_relevant_row_are_nan():
    found = AnswerSheet(read_labels([{"z"}, {"a"}]), read_labels(TAGS)).of_random_order()
    assert all(np.isnan(values[0]) and not np.isnan(values[1]) for values in found.values())


def test_a_random_order_has_the_share_of_relevant_rows():
    rng = np.random.default_rng(0)
    y = read_labels(rng.integers(0, 3, 60))
    found = AnswerSheet(y[np.arange(5)], y).of_random_order()["p10"]
    assert found == pytest.approx([(y.classes == y.classes[i]).mean() for i in range(5)])


def test_the_nearest_rows_are_those_of_near_kin():
    rng = np.random.default_rng(0)
    y, X = rng.integers(0, 2, 300), rng.normal(size=(300, 4))
    scores = rng.integers(0, 9, (20, 280))
    sheet = AnswerSheet(read_labels(y[:20]), read_labels(y[20:]), features=(X[:20], X[20:]))
    oracle = near_kin_from_scores(scores, y[:20], y[20:], X[:20], X[20:])
    assert sheet.of_scores(lambda rows: scores[rows])["near"].mean() == pytest.approx(oracle.recall)


def test_a_row_finds_itself_as_often_as_it_is_first_among_its_ties():
    database = Codes.from_bits([[0, 0], [0, 0], [1, 1], [0, 1]])
    new = Codes.from_bits([[0, 0], [1, 1], [1, 1]])
    assert self_retrieval(new, database, np.array([1, 2, 3])) == pytest.approx((1 / 2 + 1 + 0) / 3)


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
