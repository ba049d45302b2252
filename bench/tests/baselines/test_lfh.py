"""LFH: steps that never lower the likelihood, gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rival_cases import classes, tags

from kinhash.paper import from_labels, from_pairs
from kinhash_bench.baselines import LFH
from kinhash_bench.baselines.lfh import Block, columns_step, row_step

pytestmark = pytest.mark.filterwarnings("ignore:.*constant on the training rows")  # a few classes


def objective(U, S, precision, pairs):
    """Σ over the listed pairs, both ways, of sΘ − log(1 + e^Θ), less the prior; S = 0 is unknown."""
    i, j = pairs
    theta, s = 0.5 * (U[i] * U[j]).sum(axis=1), (S[i, j] + 1) / 2
    each = np.where(S[i, j] == 0, 0.0, s * theta - np.logaddexp(0, theta))
    return 2 * each.sum() - precision / 2 * (U**2).sum()


def problem(n, d, m, seed, pairs=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    supervision = from_labels(y)
    if pairs:
        left, right = np.triu_indices(n, 1)
        some = rng.random(len(left)) < 0.5
        some[np.flatnonzero(y[left] == y[right])[:1]] = some[np.flatnonzero(y[left] != y[right])[:1]] = True
        verdict = np.where(y[left] == y[right], 1, -1)
        supervision = from_pairs(left[some], right[some], verdict[some], n)
    everyone = np.arange(supervision.n_groups)
    S = supervision.similarity(everyone, everyone)
    group = supervision.group_of_row
    S = np.where((group[:, None] >= 0) & (group >= 0), S[group][:, group], 0.0)
    known = np.flatnonzero(group >= 0)
    columns = np.sort(rng.choice(known, min(m, len(known)), replace=False))
    return (rng.normal(size=(n, d)) * 2).astype(np.float32), Block.of(supervision, columns), S


@given(
    n=st.integers(6, 25),
    d=st.integers(1, 6),
    m=st.integers(1, 4),
    pairs=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_step_never_lowers_the_sampled_objective_and_reports_its_gain(n, d, m, pairs, seed):
    U, block, S = problem(n, d, m, seed, pairs)
    rest = np.setdiff1d(np.arange(n), block.columns)
    listed = tuple(np.array([(i, j) for i in rest for j in block.columns]).T)
    before = objective(U.astype(float), S, 0.3, listed)
    old = U.copy()
    gain = columns_step(U, block, 0.3)
    after = objective(U.astype(float), S, 0.3, listed)
    assert after >= before - 1e-4 * abs(before)
    assert gain * n * len(block.columns) == pytest.approx(after - before, abs=1e-3 * (1 + abs(before)))
    assert np.array_equal(U[block.columns], old[block.columns])


@given(n=st.integers(6, 20), d=st.integers(1, 5), seed=st.integers(0, 99))
def test_a_full_sweep_never_lowers_the_full_objective(n, d, seed):
    U, block, S = problem(n, d, n, seed)
    listed = np.triu_indices(n, 1)
    moments = U.astype(float).T @ U
    for place in range(n):
        before = objective(U.astype(float), S, 0.3, listed)
        moments = row_step(U, block, place, moments, 0.3)
        assert objective(U.astype(float), S, 0.3, listed) >= before - 1e-4 * (1 + abs(before))
    np.testing.assert_allclose(moments, U.astype(float).T @ U, rtol=1e-4, atol=1e-3)


def test_the_step_of_the_other_rows_is_the_papers():
    U, block, S = problem(12, 3, 4, 2)
    rest, old = np.setdiff1d(np.arange(12), block.columns), U.astype(float)
    anchors = old[block.columns]
    s, theta = (S[:, block.columns] + 1) / 2, 0.5 * old @ anchors.T
    gradient = (s - 1 / (1 + np.exp(-theta))) @ anchors - 0.3 * old
    H = -anchors.T @ anchors / 8 - 0.3 * np.eye(3)
    columns_step(U, block, 0.3)
    np.testing.assert_allclose(U[rest], (old - gradient @ np.linalg.inv(H))[rest], atol=1e-4)


def test_the_row_step_is_newton_with_the_gradient_of_finite_differences():
    U, block, S = problem(10, 3, 10, 4)
    U = (U / 2).astype(np.float32)
    i, precision, listed = int(block.columns[2]), 0.3, np.triu_indices(10, 1)
    numeric = np.empty(3)
    for k in range(3):
        up, down = U.astype(float), U.astype(float)
        up[i, k] += 1e-5
        down[i, k] -= 1e-5
        numeric[k] = (objective(up, S, precision, listed) - objective(down, S, precision, listed)) / 2e-5
    others = np.delete(U, i, axis=0).astype(float)
    bound = others.T @ others / 8 + precision * np.eye(3)
    expected = U[i] + np.linalg.solve(bound, numeric)
    row_step(U, block, 2, U.astype(float).T @ U, precision)
    np.testing.assert_allclose(U[i], expected, atol=1e-3)


@pytest.mark.parametrize("data", [classes, tags])
def test_every_round_gains(data):
    X, y = data()
    gains = LFH(8, random_state=0).fit(X, y).report_.facts["gains"]
    assert len(gains) == 50
    assert min(gains) > -1e-5


def test_signs_of_the_factors_are_the_codes_and_ridge_onto_them_is_the_map():
    X, y = classes(n=80)
    fitted = LFH(4, n_rounds=3, random_state=0).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    margins = fitted.unrounded.scores(X).astype(float)
    W = np.linalg.lstsq(Z, margins, rcond=None)[0]
    np.testing.assert_allclose(Z @ W, margins, atol=1e-3)  # no intercept
    assert ((margins > 0) == (np.unpackbits(fitted.codes_, axis=1)[:, :4] > 0)).mean() > 0.7


def test_the_sample_may_move_too_and_pairs_do():
    X, y = classes()
    still, moving = (LFH(8, move_sample=flag, random_state=0).fit(X, y) for flag in (False, True))
    assert not np.array_equal(still.codes_, moving.codes_)
    left, right = np.triu_indices(120, 1)
    paired = LFH(8, n_columns=40, random_state=0).fit_pairs(X, left, right, y[left] == y[right])
    assert paired.score(X, y) > 0.6
