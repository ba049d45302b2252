"""SPLH: each direction is the best for its form, violated pairs weigh more, units do not matter."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash_bench.baselines.splh import SPLH, raise_violated, sequential_directions


def clusters(n=150, k=4, p=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y] + 20, y


def test_every_direction_is_the_best_for_its_form():
    """By hand: S and the deflated rows themselves, instead of their covariance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)) * np.array([3, 2, 1, 1, 1])
    labeled, S = X[:20].copy(), np.sign(rng.normal(size=(20, 20)))
    S = np.triu(S, 1) + np.triu(S, 1).T
    W = sequential_directions(X.T @ X / 80, labeled, S, 4, 0.2)
    for w in W.T:
        form = X.T @ X / 80 + 0.2 * labeled.T @ S @ labeled / 20
        assert w @ w == pytest.approx(1)
        assert w @ form @ w == pytest.approx(np.linalg.eigvalsh(form)[-1])
        T = np.outer(labeled @ w, labeled @ w)
        S = S - T * (S * T < 0)
        X = X - np.outer(X @ w, w)


def test_only_pairs_on_the_wrong_sides_grow():
    S = np.array([[0.0, 1.0, -1.0], [1.0, 0.0, -1.0], [-1.0, -1.0, 0.0]])
    raised = raise_violated(S, np.array([2.0, -1.0, 3.0]))
    assert raised[0, 1] == 1 + 2  # kin on different sides
    assert raised[0, 2] == -1 - 6  # strangers on one side
    assert raised[1, 2] == -1  # strangers on different sides are as they should be
    np.testing.assert_array_equal(raised, raised.T)


def test_bits_do_not_depend_on_the_unit_or_the_origin_of_the_features():
    X, y = clusters()
    plain = SPLH(6, random_state=0).fit(X, y)
    moved = SPLH(6, random_state=0).fit(1e4 * X - 7e5, y)
    assert (plain.encode(X).packed == moved.encode(1e4 * X - 7e5).packed).mean() > 0.99


def test_labels_are_heard():
    X, y = clusters(p=12)
    X = np.column_stack([X, 30 * np.random.default_rng(1).normal(size=(150, 4))])  # variance without meaning
    deaf, hears = (SPLH(4, eta=eta, random_state=0).fit(X, y).score(X, y) for eta in (0.0, 5.0))
    assert hears > deaf + 0.1


def test_pairs_are_enough():
    X, y = clusters()
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 150, (2, 2000))
    left, right = left[left != right], right[left != right]
    fitted = SPLH(4, random_state=0).fit_pairs(X, left, right, y[left] == y[right])
    assert fitted.score(X, y) > 0.5  # chance is .25
