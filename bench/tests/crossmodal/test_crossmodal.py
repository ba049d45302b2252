"""Cross-modal rivals: codes of one view find the other, gradients and objectives are what they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad

from kinhash.errors import InvalidInput
from kinhash.metrics import evaluate
from kinhash_bench.crossmodal import CROSS_MODAL, SCM, CrossModal
from kinhash_bench.crossmodal.base import gaussian_features, ridge
from kinhash_bench.crossmodal.seph import divergence

N_TRAIN = 400


def two_views(n=600, t=6, seed=0):
    """Tags, and two views that are different noisy mixtures of them."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, t)) < 0.25).astype(np.int8)
    Y[np.arange(n), rng.integers(0, t, n)] = 1
    views = [Y @ rng.normal(size=(t, p)) * 2 + rng.normal(size=(n, p)) + 5 for p in (12, 20)]
    return *views, Y


def quick(name):
    return CROSS_MODAL[name](16, random_state=0)


@pytest.mark.parametrize("name", list(CROSS_MODAL))
def test_either_view_finds_the_other_beyond_chance(name):
    X, T, Y = two_views()
    train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
    method = quick(name).fit(X[train], T[train], Y[train])
    asked = method.encode(X[test]), method.encode(T[test], view=1)
    database = method.encode(X[train]), method.encode(T[train], view=1)
    chance = ((Y[test] @ Y[train].T) > 0).mean()
    for query, other in ((asked[0], database[1]), (asked[1], database[0])):
        found = np.nanmean(evaluate(query, other, Y[test], Y[train]).per_query)
        assert found > chance + (0.1 if name == "CCA-ITQ" else 0.2)
    if method.codes_ is not None:
        assert len(method.codes_) == N_TRAIN
        assert np.nanmean(evaluate(asked[0], method.codes_, Y[test], Y[train]).per_query) > chance + 0.2


@pytest.mark.parametrize("name", list(CROSS_MODAL))
def test_same_seed_same_codes_and_the_unit_of_features_does_not_matter(name):
    X, T, Y = two_views(200)
    first = quick(name).fit(X, T, Y).encode(T, view=1)
    np.testing.assert_array_equal(first, quick(name).fit(X, T, Y).encode(T, view=1))
    if name not in ("DCH", "SePH_km"):  # whose penalty is in units, and whose k-means follows last digits
        scaled = quick(name).fit(X * 4, T / 4, Y).encode(T / 4, view=1)
        assert (np.asarray(scaled) == np.asarray(first)).mean() > 0.99


def test_the_first_direction_of_scm_by_hand():
    """One column per view: the bit is the sign of a column, and of the other if their labels agree."""
    x = np.array([[-2.0], [-1], [1], [2]])
    y = [0, 0, 1, 1]
    method = SCM(1).fit(x, -x, y)
    bits = np.asarray(method.encode(x))[:, 0] > 0
    assert bits.tolist() in ([False, False, True, True], [True, True, False, False])
    np.testing.assert_array_equal(method.encode(x), method.encode(-x, view=1))


def test_the_gradient_of_seph():
    rng = np.random.default_rng(0)
    P = np.abs(rng.normal(size=(7, 7)))
    P = P + P.T
    P[0, 3] = P[3, 0] = 0
    np.fill_diagonal(P, 0)
    P /= P.sum()
    start = rng.normal(size=7 * 3)
    value = lambda h: divergence(h.reshape(7, 3), P, 0.01)  # noqa: E731
    assert check_grad(lambda h: value(h)[0], lambda h: value(h)[1].ravel(), start) < 1e-5


def test_gaussian_features_are_centered_and_have_the_stated_width():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) + 7
    Z = gaussian_features(X, X[:5])(X)
    away = ((X[:, None] - X[:5]) ** 2).sum(axis=2)
    expected = np.exp(-away / (2 * away.mean()))
    np.testing.assert_allclose(Z, expected - expected.mean(axis=0), atol=1e-10)


def test_ridge_survives_columns_that_are_copies():
    X = np.ones((5, 2))
    np.testing.assert_allclose(X @ ridge(X, np.ones((5, 1)), 0.0), 1, atol=1e-3)


def test_views_of_different_length_are_refused():
    with pytest.raises(InvalidInput, match=r"\(4, 2\) and \(3, 2\)"):
        SCM(4).fit(np.ones((4, 2)), np.ones((3, 2)), [0, 1, 0, 1])


@pytest.mark.parametrize("name", list(CROSS_MODAL))
def test_every_row_has_its_card(name):
    assert issubclass(CROSS_MODAL[name], CrossModal)
    assert CROSS_MODAL[name].card.source
