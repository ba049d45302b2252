"""The line through the sigmoid and the systems it leads to (METHODS section 4, facts 2 to 4)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq

from kinhash._internal.numerics import sigmoid
from kinhash.errors import InvalidInput, UnknownName
from kinhash.solvers import sigmoid_line
from kinhash.solvers.linear_systems import (
    RENORMALIZE,
    renormalize,
    solve_each,
    solve_near,
    solve_shared,
)
from kinhash.solvers.row_bounds import row_bounds
from kinhash.solvers.sigmoid_line import MAX_CLIP, line_slope

seeds = st.integers(0, 9999)


def symmetric(rng, d, scale=1.0):
    A = scale * rng.normal(size=(d, d))
    A = A + A.T
    np.fill_diagonal(A, 0.0)
    return A


def by_quadrature(c):
    return 1.5 / c**3 * quad(lambda x: x / (1 + np.exp(-x)), -c, c, epsabs=1e-13, epsrel=1e-13)[0]


def test_fact_2_the_slope_at_two():
    assert line_slope(2) == pytest.approx(0.2109006, abs=5e-8)


@pytest.mark.parametrize("c", [0.05, 0.15, 0.199999, 0.2, 0.5, 1.0, 2.0, 2.5])
def test_fact_2_closed_form_and_series_equal_quadrature(c):
    assert line_slope(c) == pytest.approx(by_quadrature(c), abs=5e-11)


def test_fact_2_the_limit_is_where_two_c1_c_is_one():
    root = brentq(lambda c: 2 * by_quadrature(c) * c - 1, 2, 3, xtol=1e-12)
    assert root == pytest.approx(2.5996819, abs=5e-8)
    assert pytest.approx(root, abs=5e-8) == MAX_CLIP


@pytest.mark.parametrize("clip", [0, -1, 2.5997, 3, np.inf, np.nan, "2", None, True])
def test_fact_3_clips_beyond_the_limit_are_refused_with_its_number(clip):
    with pytest.raises(InvalidInput, match=r"clip is .* below 2\.5997"):
        line_slope(clip)


def test_numpy_numbers_are_clips():
    assert line_slope(np.float32(2)) == line_slope(np.int64(2)) == line_slope(2.0)


@given(seed=seeds, d=st.integers(1, 9), clip=st.floats(0.01, 2.5996), size=st.sampled_from([1e-9, 1.0, 1e9]))
def test_fact_3_systems_are_positive_definite_and_answers_stay_within_the_clip(seed, d, clip, size):
    rng = np.random.default_rng(seed)
    A, b = symmetric(rng, d, size), size * rng.normal(size=(3, d)) * rng.choice([0.01, 1, 100])
    slope = line_slope(clip)
    for row in b:
        lam = (np.abs(A).sum(axis=1) + np.abs(row)).max() / clip
        assert np.linalg.eigvalsh(lam * np.eye(d) - 2 * slope * A).min() > 0
    v = solve_each(np.repeat(A[None], 3, axis=0), b, clip, slope)
    assert np.abs(v).max() <= clip * (1 + 1e-9)


@given(seed=seeds, d=st.integers(1, 9), clip=st.floats(0.1, 2.59))
def test_fact_4_the_eigen_route_equals_the_direct_solve(seed, d, clip):
    rng = np.random.default_rng(seed)
    A, b, slope = symmetric(rng, d), rng.normal(size=(4, d)), line_slope(clip)
    direct = solve_each(np.repeat(A[None], 4, axis=0), b, clip, slope)
    np.testing.assert_allclose(solve_shared(A, b, clip, slope), direct, atol=1e-9)


@pytest.mark.parametrize("d", [3, 5])
def test_fact_4_singular_matrices_are_no_special_case(d):
    """Repeated bits make A singular, and it is never inverted."""
    rng = np.random.default_rng(d)
    q = np.repeat(rng.uniform(-1, 1, (6, 1)), d, axis=1)
    q[:, 0] = 0
    A = -(q.T @ q)
    np.fill_diagonal(A, 0.0)
    assert np.linalg.matrix_rank(A) < d
    b, slope = rng.normal(size=(2, d)), line_slope(2.0)
    shared = solve_shared(A, b, 2.0, slope)
    assert np.isfinite(shared).all()
    np.testing.assert_allclose(shared, solve_each(np.repeat(A[None], 2, axis=0), b, 2.0, slope), atol=1e-9)


@given(seed=seeds, d=st.integers(1, 12), heavy=st.booleans(), rows=st.integers(1, 6))
def test_solving_near_a_shared_matrix_equals_solving_each(seed, d, heavy, rows):
    """A_i = A + f_i offdiag(own own'): refinement, or single solves where one row outweighs the rest."""
    rng = np.random.default_rng(seed)
    others = rng.uniform(-1, 1, (5 if heavy else 60, d))
    own, b = rng.uniform(-1, 1, (rows, d)), rng.normal(size=(rows, d)) * 10
    factor = rng.uniform(0.5, 20 if heavy else 1, rows)
    A = -(others.T @ others)
    np.fill_diagonal(A, 0.0)
    stacked = np.empty((rows, d, d))
    for i in range(rows):
        stacked[i] = A + factor[i] * np.outer(own[i], own[i])
        np.fill_diagonal(stacked[i], 0.0)
    slope = line_slope(2.0)
    near = solve_near(A, own, factor, b, 2.0, slope)
    np.testing.assert_allclose(near, solve_each(stacked, b, 2.0, slope), atol=1e-7)


@given(seed=seeds, d=st.integers(1, 6))
def test_the_bounds_kernel_equals_its_plain_twin(seed, d):
    rng = np.random.default_rng(seed)
    A, own, factor, size = (
        symmetric(rng, d),
        rng.normal(size=(4, d)),
        rng.normal(size=4),
        rng.uniform(size=(4, d)),
    )
    plain = []
    for i in range(4):
        full = A + factor[i] * np.outer(own[i], own[i])
        np.fill_diagonal(full, 0.0)
        plain.append((np.abs(full).sum(axis=1) + size[i]).max())
    np.testing.assert_allclose(row_bounds(A, own, factor, size), plain, rtol=1e-12)


def test_a_row_without_any_pull_stays_undecided():
    zero = np.zeros((1, 3))
    assert (solve_each(np.zeros((1, 3, 3)), zero, 2.0, line_slope(2.0)) == 0).all()
    assert (solve_shared(np.zeros((3, 3)), zero, 2.0, line_slope(2.0)) == 0).all()
    for how in RENORMALIZE:
        assert (sigmoid(renormalize(zero, 2.0, how)) == 0.5).all()


def test_fact_12_renormalization_and_its_degenerate_cases():
    v = np.array([[0.1, 0.3, 0.2], [0.5, 0.5, 0.5], [-0.2, -0.2, -0.2], [0.0, 0.0, 0.0]])
    row = renormalize(v, 2.0, "row")
    np.testing.assert_allclose(row[0], [-2, 2, 0], atol=1e-12)
    assert row[1:].tolist() == [[2, 2, 2], [-2, -2, -2], [0, 0, 0]]
    np.testing.assert_allclose(renormalize(v, 2.0, "symmetric")[0], [2 / 3, 2, 4 / 3])
    assert (renormalize(v, 2.0, "none") == v).all()
    one_bit = renormalize(np.array([[0.3], [-1e-5], [0.0]]), 2.0, "row")
    assert one_bit.ravel().tolist() == [2, -2, 0]
    with pytest.raises(UnknownName, match="Did you mean 'symmetric'"):
        renormalize(v, 2.0, "symetric")


def test_symmetric_scaling_respects_flips_and_min_max_does_not():
    v, flip = np.array([[0.1, 0.3, 0.2]]), np.array([1, -1, 1])
    symmetric_ = renormalize(v, 2.0, "symmetric")
    np.testing.assert_allclose(renormalize(v * flip, 2.0, "symmetric"), symmetric_ * flip)
    assert not np.allclose(renormalize(v * flip, 2.0, "row"), renormalize(v, 2.0, "row") * flip)


def test_the_sigmoid_does_not_overflow():
    with np.errstate(all="raise"):
        assert sigmoid(np.array([-1e300, 0.0, 1e300])).tolist() == [0.0, 0.5, 1.0]


def test_the_module_names_its_limit():
    assert sigmoid_line.__all__ == ["MAX_CLIP", "line_slope"]


def test_a_system_that_is_no_numbers_does_not_stop_the_others():
    """With λ unknown, I − 2c₁A could be singular for one row, and no row would get an answer."""
    slope = 0.25
    A = np.array([[0.0, 2.0], [2.0, 0.0]])
    b = np.array([[np.nan, 0.1], [0.3, -0.2]])
    both = solve_each(np.stack([A, A]), b, 2.0, slope)
    np.testing.assert_array_equal(both[1:], solve_each(A[None], b[1:], 2.0, slope))
