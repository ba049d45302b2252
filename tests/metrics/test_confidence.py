from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kinhash.errors import InvalidInput
from kinhash.metrics import bootstrap_interval, paired_test


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


def test_exact_paired_test_agrees_with_scipy():
    rng = np.random.default_rng(4)
    for n in (2, 5, 10):
        a = rng.random(n)
        b = a + rng.normal(0.1, 0.2, n)
        theirs = stats.permutation_test(
            (b - a,), np.mean, permutation_type="samples", n_resamples=np.inf
        ).pvalue
        assert paired_test(a, b).p_value == pytest.approx(theirs, abs=1e-12)


def test_one_query_proves_nothing():
    assert paired_test([0.1], [0.9]).p_value == 1


def test_random_paired_test_agrees_with_the_normal_law():
    rng = np.random.default_rng(5)
    a = rng.random(800)
    b = a + rng.normal(0.01, 0.1, 800)
    result = paired_test(a, b)
    assert result.p_value == pytest.approx(stats.ttest_rel(b, a).pvalue, abs=0.01)
    assert result.difference.value == pytest.approx((b - a).mean())
    assert result.n_better + result.n_worse == 800
    assert result.difference.low < result.difference.value < result.difference.high


def test_no_difference_and_a_sure_one():
    same = paired_test(np.full(50, 0.4), np.full(50, 0.4))
    assert same.p_value == 1
    assert same.n_equal == 50
    sure = paired_test(np.zeros(200), np.linspace(0.1, 0.2, 200))
    assert sure.p_value == pytest.approx(1 / 10_001)
    assert "better on 200 queries" in str(sure)


def test_queries_without_a_score_are_left_out_in_pairs():
    result = paired_test([0.1, np.nan, 0.3, 0.2], [0.2, 0.5, np.nan, 0.1])
    assert result.difference.n_queries == 2


def test_bad_input():
    with pytest.raises(InvalidInput, match="2 scores were compared with 3"):
        paired_test([1, 2], [1, 2, 3])
    with pytest.raises(InvalidInput, match="No query"):
        bootstrap_interval([np.nan])
    with pytest.raises(InvalidInput, match="No query"):
        paired_test([], [])
    with pytest.raises(InvalidInput, match="shape"):
        bootstrap_interval(np.zeros((2, 2)))
    with pytest.raises(InvalidInput, match="level"):
        bootstrap_interval([0.5], level=1)
    with pytest.raises(InvalidInput, match="n_resamples"):
        bootstrap_interval([0.5], n_resamples=0)
