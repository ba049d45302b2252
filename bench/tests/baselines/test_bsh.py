"""BSH: the bound never falls, its update is the best of its kind, packed moments behave as matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from kinhash.paper import curvature
from kinhash_bench.baselines.bsh import (
    BSH,
    Partners,
    Posterior,
    condition,
    lower_bound,
    pack,
    sweep,
    unpack,
)


def setting(m=25, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    group = np.arange(m) % k
    S = np.where(group[:, None] == group, 1.0, -1.0)
    np.fill_diagonal(S, 0)
    return Posterior.start(m, d, rng), S, rng


@pytest.mark.parametrize("slope", [0.5, 1.0])
@pytest.mark.parametrize("known", [1.0, 0.3])
def test_the_bound_never_falls(slope, known):
    state, S, rng = setting()
    keep = np.triu(rng.random(S.shape) < known)
    S = S * (keep | keep.T)
    dense, listed = Partners(S), Partners(sp.csr_array(S))
    before = -np.inf
    for _ in range(12):
        sweep(state, dense, slope)
        bound = lower_bound(state, dense, slope)
        assert bound >= before - 1e-8 * abs(bound)
        assert lower_bound(state, listed, slope) == pytest.approx(bound)
        before = bound


def test_listed_pairs_and_a_full_matrix_are_one_problem():
    state, S, _ = setting()
    other = Posterior(state.means.copy(), state.moments.copy(), state.log_dets.copy(), state.precision.copy())
    sweep(state, Partners(S), 0.5)
    sweep(other, Partners(sp.csr_array(S)), 0.5)
    np.testing.assert_allclose(state.means, other.means)
    np.testing.assert_allclose(state.precision, other.precision)


def test_an_update_cannot_be_bettered():
    """Nudging one row's mean after its update lowers the bound, at fixed ξ: the update is a maximum."""
    state, S, rng = setting(m=10)
    for _ in range(60):
        sweep(state, Partners(S), 0.5)  # converged: ξ and everything else have settled
    best = lower_bound(state, Partners(S), 0.5)
    d = 4
    for i in range(10):
        covariance = unpack(state.moments[i], d) - np.outer(state.means[i], state.means[i])
        nudged = Posterior(
            state.means.copy(), state.moments.copy(), state.log_dets.copy(), state.precision.copy()
        )
        nudged.means[i] += 0.1 * rng.normal(size=d)
        nudged.moments[i] = pack(covariance + np.outer(nudged.means[i], nudged.means[i]))
        assert lower_bound(nudged, Partners(S), 0.5) < best


def test_the_bound_lies_below_the_likelihood_and_touches_it():
    for xi in (1e-12, 0.3, 2.0, 9.0):
        x = np.linspace(-10, 10, 201)
        bound = np.log(expit(xi)) + (x - xi) / 2 + curvature(np.array(xi)) * (x * x - xi * xi)
        assert (bound <= np.log(expit(x)) + 1e-12).all()
        at = np.log(expit(xi))
        assert at == pytest.approx(-np.logaddexp(xi / 2, -xi / 2) + xi / 2)


def test_packed_matrices_keep_their_inner_products():
    rng = np.random.default_rng(0)
    a, b = (m + m.T for m in rng.normal(size=(2, 5, 5)))
    assert pack(a) @ pack(b) == pytest.approx(np.trace(a @ b))
    np.testing.assert_allclose(unpack(pack(a), 5), a)


def test_rows_outside_the_sample_are_solved_as_those_inside():
    state, S, _ = setting(m=12)
    for _ in range(80):
        sweep(state, Partners(S), 0.5)
    rest = Posterior(state.means[1:], state.moments[1:], state.log_dets[1:], state.precision)
    np.testing.assert_allclose(condition(rest, S[:1, 1:], 0.5)[0], state.means[0], atol=2e-3)


def clusters(n=150, k=4, p=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y], y


def test_it_tells_classes_apart_and_reports_its_bound():
    X, y = clusters()
    fitted = BSH(12, n_anchors=60, random_state=0).fit(X, y)
    assert fitted.score(X, y) > 0.85
    assert (np.diff(fitted.report_.facts["bound"]) >= 0).all()
    assert fitted.report_.facts["precision"].shape == (12,)


def test_pairs_are_enough():
    X, y = clusters()
    rng = np.random.default_rng(1)
    left, right = rng.integers(0, 150, (2, 3000))
    left, right = left[left != right], right[left != right]
    fitted = BSH(12, random_state=0).fit_pairs(X, left, right, y[left] == y[right])
    assert fitted.score(X, y) > 0.8
