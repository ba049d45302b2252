"""Metric learners on pairs: a covariance by hand, columns of noise turned down, codes better than ITQ's."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest

from kinhash.errors import MissingExtra
from kinhash.paper import ITQ
from kinhash_bench.baselines import BASELINES
from kinhash_bench.baselines.metric_learners import (
    MetricPairs,
    balanced_pairs,
    covariance_within,
    metric_learn,
    pair_auc,
    quadratic,
)

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
NEEDS = pytest.mark.skipif(find_spec("metric_learn") is None, reason="needs the extra metric")
METHODS = [
    pytest.param("ITML", marks=NEEDS),
    pytest.param("MMC", marks=[NEEDS, pytest.mark.slow]),  # 20 s: metric-learn projects thousands of times
    pytest.param("SDML", marks=NEEDS),
    "PairLDA",
]


def noisy(n=400, seed=0):
    """Classes in three columns; three others vary more and mean nothing."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, n)
    X = np.concatenate(
        [2 * np.eye(5)[:, :3][y] + 0.3 * rng.normal(size=(n, 3)), 3 * rng.normal(size=(n, 3))], 1
    )
    left = rng.integers(0, 300, 1500)
    right = (left + rng.integers(1, 300, 1500)) % 300
    return X, y, left, right


def test_covariance_within_components_by_hand():
    """Rows 0, 1, 2 are joined by a chain, 3 and 4 by a pair; row 5 is alone."""
    Z = np.array([[0.0, 0], [3, 0], [6, 3], [10, 10], [12, 10], [7, 7]])
    first, second = np.array([0, 1, 3, 0]), np.array([1, 2, 4, 5])
    pairs = MetricPairs(Z, np.ones(2), first, second, np.array([True, True, True, False]))
    expected = np.array([[9 + 0 + 9 + 1 + 1, 3 * 1 + 0 + 3 * 2], [9, 1 + 1 + 4]]) / (6 - 3)
    np.testing.assert_allclose(covariance_within(pairs), expected)


def test_pairs_are_drawn_half_and_half():
    S = np.array([1.0] * 10 + [-1.0] * 90 + [0.0] * 5)
    chosen = balanced_pairs(S, 40, np.random.default_rng(0))
    assert len(set(chosen)) == 40
    assert (S[chosen] > 0).sum() == 10
    assert (S[chosen] < 0).sum() == 30
    assert (S[balanced_pairs(S, 8, np.random.default_rng(0))] > 0).sum() == 4


def test_auc_counts_ties_half():
    scores, similar = np.array([3.0, 1, 1, 0]), np.array([True, True, False, False])
    assert pair_auc(scores, similar) == pytest.approx((1 + 1 + 0.5 + 1) / 4)


@pytest.mark.parametrize("name", METHODS)
def test_codes_of_unseen_rows_beat_those_without_pairs(name):
    X, y, left, right = noisy()
    verdict = np.where(y[left] == y[right], 1, -1)
    fitted = BASELINES[name](16, n_pairs=800, random_state=0).fit_pairs(X, left, right, verdict)
    plain = ITQ(16, random_state=0).fit(X)
    assert fitted.score(X[300:], y[300:]) > plain.score(X[300:], y[300:]) + 0.1


@pytest.mark.parametrize("name", METHODS)
def test_the_metric_turns_noise_down(name):
    X, y, left, right = noisy()
    Z = (X - X.mean(axis=0)) / X.std(axis=0).max()
    pairs = MetricPairs(Z, Z.var(axis=0), left, right, y[left] == y[right])[np.arange(800)]
    method = BASELINES[name]()
    M = method._metric(pairs, method.SETTINGS[-1 if name == "SDML" else 0])
    assert np.linalg.eigvalsh(M).min() > -1e-8
    similar, held = pairs.similar, pairs.differences
    assert pair_auc(-quadratic(held, M), similar) > pair_auc(-(held**2).sum(axis=1), similar) + 0.05


def test_a_random_rotation_is_another_way_to_bits():
    X, y, left, right = noisy()
    codes = [
        BASELINES["PairLDA"](16, rotation=rotation, random_state=0).fit_pairs(
            X, left, right, y[left] == y[right]
        )
        for rotation in ("itq", "random")
    ]
    assert not np.array_equal(codes[0].encode(X), codes[1].encode(X))
    assert codes[0].report_.facts["quantization_error"][-1] < codes[1].report_.facts["quantization_error"][-1]


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "metric_learn", None)
    with pytest.raises(MissingExtra, match=r"kinhash-bench\[metric\]"):
        metric_learn("ITML")
