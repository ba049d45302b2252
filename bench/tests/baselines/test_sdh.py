"""SDH: the bit step against its twin, an objective that never rises."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rival_cases import classes, never_rises, one_hot, signs, tags

from kinhash.errors import InvalidInput
from kinhash_bench.baselines import SDH
from kinhash_bench.baselines.bit_step import settle_bits

pytestmark = pytest.mark.filterwarnings("ignore:.*constant on the training rows")  # a few classes


def plain_settle_bits(B, L, W, Q, sweeps):
    """Columns in turn, as the paper has it; a zero keeps its bit. Twin of settle_bits and settle_rows."""
    B = B.copy()
    for _ in range(sweeps):
        before = B.copy()
        for k in range(B.shape[1]):
            rest = np.delete(np.arange(B.shape[1]), k)
            score = Q[:, k] - B[:, rest] @ W[rest] @ W[k]
            B[:, k] = np.where(score == 0, B[:, k], np.sign(score))
        if np.array_equal(B, before):
            break
    return B


@given(n=st.integers(1, 12), d=st.integers(1, 6), c=st.integers(1, 5), seed=st.integers(0, 99))
def test_the_bit_step_is_the_papers(n, d, c, seed):
    rng = np.random.default_rng(seed)
    B, W = np.sign(rng.normal(size=(n, d))), rng.integers(-3, 4, (d, c)) / 4
    L, extra = one_hot_rows(rng, n, c), rng.integers(-3, 4, (n, d)) / 8
    Q = L @ W.T + extra
    for sweeps in (1, 10):
        found = settle_bits(B, Q, W @ W.T, sweeps)
        assert np.array_equal(found, plain_settle_bits(B, L, W, Q, sweeps))

    def objective(B):
        return ((L - B @ W) ** 2).sum() - 2 * (extra * B).sum()

    assert objective(settle_bits(B, Q, W @ W.T, 1)) <= objective(B) + 1e-9


def one_hot_rows(rng, n, c):
    L = np.zeros((n, c))
    L[np.arange(n), rng.integers(0, c, n)] = 1
    return L


def test_one_flip_more_never_helps_after_the_bit_step():
    rng = np.random.default_rng(0)
    W, L = rng.normal(size=(5, 3)), one_hot_rows(rng, 4, 3)
    B = settle_bits(np.ones((4, 5)), L @ W.T, W @ W.T, 50)

    def loss(b, row):
        return ((L[row] - b @ W) ** 2).sum()

    for row, k in product(range(4), range(5)):
        flipped = B[row].copy()
        flipped[k] *= -1
        assert loss(B[row], row) <= loss(flipped, row) + 1e-12


@pytest.mark.parametrize("data", [classes, tags])
@pytest.mark.parametrize("nu", [1e-5, 1.0])
def test_the_objective_never_rises(data, nu):
    X, y = data()
    fitted = SDH(12, nu=nu, n_centers=30, random_state=0).fit(X, y)
    objective = fitted.report_.facts["objective"]
    assert len(objective) >= 2
    assert never_rises(objective)


def test_the_reported_objective_is_the_one_in_the_docstring():
    X, y = classes(n=60)
    fitted = SDH(6, nu=0.3, lam=2.0, lam_map=0.5, n_centers=20, random_state=0).fit(X, y)
    B, L = signs(fitted), one_hot(y)
    phi = np.column_stack([fitted.unrounded.preparation(X), np.ones(60)]).astype(float)
    W = np.linalg.solve(B.T @ B + 2 * np.eye(6), B.T @ L)
    P = np.linalg.solve(phi.T @ phi + 0.5 * np.eye(21), phi.T @ B)
    expected = ((L - B @ W) ** 2).sum() + 2 * (W**2).sum()
    expected += 0.3 * (((B - phi @ P) ** 2).sum() + 0.5 * (P**2).sum())
    assert fitted.report_.facts["objective"][-1] == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(fitted.decision_function(X), phi @ P, atol=1e-3)


def test_a_small_nu_leaves_few_codes_per_class():
    X, y = classes()
    codes = SDH(16, n_centers=30, random_state=0).fit(X, y).codes_
    assert 4 <= len(np.unique(np.column_stack([codes, y]), axis=0)) <= 12  # of 120 rows


def test_weights_count_rows():
    X, y = classes(n=60)
    twice = np.where(np.arange(60) < 30, 2.0, 1.0)
    step = SDH(8, n_centers=20, random_state=0)
    fitted = step.fit(X, y, sample_weight=twice)
    doubled = np.concatenate([np.arange(30), np.arange(60)])
    B, L = signs(fitted)[doubled], one_hot(y)[doubled]
    phi = np.column_stack([fitted.unrounded.preparation(X[doubled]), np.ones(90)]).astype(float)
    unit = 60 / 90  # weights have the mean 1
    P = np.linalg.solve(unit * phi.T @ phi + 0.01 * np.eye(21), unit * phi.T @ B)
    np.testing.assert_allclose(fitted.decision_function(X[doubled]), phi @ P, atol=5e-3)
    W = np.linalg.solve(unit * B.T @ B + np.eye(8), unit * B.T @ L)
    expected = unit * ((L - B @ W) ** 2).sum() + (W**2).sum()
    expected += 1e-5 * (unit * ((B - phi @ P) ** 2).sum() + 0.01 * (P**2).sum())
    assert fitted.report_.facts["objective"][-1] == pytest.approx(expected, rel=1e-4)


def test_codes_and_map_are_chosen_apart():
    from sklearn.neighbors import KNeighborsRegressor

    X, y = classes()
    own = SDH(8, n_centers=30, random_state=0).fit(X, y)
    for chosen in ("linear", "rbf", KNeighborsRegressor(3)):
        other = SDH(8, n_centers=30, map=chosen, random_state=0).fit(X, y)
        assert np.array_equal(other.codes_, own.codes_)
        assert not np.allclose(other.decision_function(X), own.decision_function(X))


def test_what_cannot_be_used_is_refused():
    X, y = classes()
    with pytest.raises(InvalidInput, match="pairs"):
        SDH(8).fit_pairs(X, [0, 1], [2, 3], [1, -1])
    for bad in ({"nu": -1.0}, {"lam": 0.0}, {"n_sweeps": 0}, {"map": "own "}, {"alpha": "aut"}):
        with pytest.raises(InvalidInput, match=next(iter(bad))):
            SDH(8, **bad).fit(X, y)
