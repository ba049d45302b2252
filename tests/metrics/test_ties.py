"""Every metric equals its mean, its best and its worst over all orders of the ties."""

from __future__ import annotations

import metric_oracles as oracle
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash.metrics import (
    average_precision,
    average_precision_from_scores,
    mean_average_precision,
    ndcg,
    precision_at_k,
    recall_at_k,
)

ZERO = np.zeros((1, 1), np.uint8)
TIES = ("expected", "optimistic", "pessimistic", "index")
few_rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=6)


def summarize(score, distances, grades):
    """Mean, best and worst over all orders, and the score of the stable order."""
    scores = [score(np.asarray(grades)[order]) for order in oracle.all_orders(distances)]
    stable = np.asarray(grades)[np.argsort(distances, kind="stable")]
    return dict(zip(TIES, [np.mean(scores), max(scores), min(scores), score(stable)], strict=True))


def same(a, b):
    assert a == pytest.approx(b, abs=1e-12, nan_ok=True)


@given(few_rows, st.none() | st.integers(1, 8))
def test_average_precision(rows, top):
    distances, grades = zip(*rows, strict=True)
    expected = summarize(lambda g: oracle.ap(g, top), distances, grades)
    for ties in TIES:
        codes = oracle.ladder(distances)
        same(average_precision(ZERO, codes, [grades], ties=ties, top=top)[0], expected[ties])
        scores = -np.array([distances])
        same(average_precision_from_scores(scores, [grades], ties=ties, top=top)[0], expected[ties])


@settings(max_examples=2)
@given(st.lists(st.booleans(), min_size=8, max_size=8), st.none() | st.integers(1, 8))
def test_average_precision_of_eight_tied_rows(kin, top):
    expected = summarize(lambda g: oracle.ap(g, top), [3] * 8, kin)
    for ties in TIES:
        same(average_precision(ZERO, oracle.ladder([3] * 8), [kin], ties=ties, top=top)[0], expected[ties])


@given(few_rows, st.integers(1, 8))
def test_precision_and_recall_at_k(rows, k):
    distances, grades = zip(*rows, strict=True)
    for metric, definition in ((precision_at_k, oracle.precision), (recall_at_k, oracle.recall)):
        expected = summarize(lambda g, f=definition: f(g, k), distances, grades)
        for ties in TIES:
            args = ZERO, oracle.ladder(distances), [grades]
            score = metric(*args, k=k, ties=ties, no_kin="zero")
            same(score.per_query[0], expected[ties])
            same(score.worst[0], expected["pessimistic"])
            same(score.best[0], expected["optimistic"])


@given(few_rows, st.none() | st.integers(1, 8), st.sampled_from(["linear", "exponential"]))
def test_ndcg(rows, top, gain):
    distances, grades = zip(*rows, strict=True)
    expected = summarize(lambda g: oracle.ndcg(g, top, gain == "exponential"), distances, grades)
    for ties in TIES:
        args = ZERO, oracle.ladder(distances), [grades]
        score = ndcg(*args, top=top, gain=gain, ties=ties, no_kin="zero")
        same(score.per_query[0], expected[ties])


@given(st.integers(0, 2**32), st.sampled_from([None, 1, 5, 30]))
def test_the_band_contains_the_expectation_and_every_order(seed, top):
    rng = np.random.default_rng(seed)
    codes, y = rng.integers(0, 8, (60, 1)).astype(np.uint8), rng.integers(0, 4, 60)
    queries, query_y = codes[:9], y[:9]
    details = mean_average_precision(queries, codes, query_y, y, n_bits=8, top=top)
    assert (details.worst <= details.per_query + 1e-12).all()
    assert (details.per_query <= details.best + 1e-12).all()
    assert details.band[0] <= details.value <= details.band[1]
    for _ in range(5):
        order = rng.permutation(60)
        score = average_precision(queries, codes[order], query_y, y[order], ties="index", top=top)
        assert (details.worst <= score + 1e-12).all()
        assert (score <= details.best + 1e-12).all()


@given(st.integers(0, 2**32))
def test_the_order_of_the_database_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    codes, tags = rng.integers(0, 4, (80, 2)).astype(np.uint8), rng.random((80, 5)) < 0.3
    order = rng.permutation(80)
    for ties in ("expected", "optimistic", "pessimistic"):
        one = average_precision(codes[:7], codes, tags[:7], tags, ties=ties)
        other = average_precision(codes[:7], codes[order], tags[:7], tags[order], ties=ties)
        np.testing.assert_array_equal(one, other)
    one = ndcg(codes[:7], codes, tags[:7], tags).per_query
    np.testing.assert_allclose(
        one, ndcg(codes[:7], codes[order], tags[:7], tags[order]).per_query, rtol=1e-14
    )
