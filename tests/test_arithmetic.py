"""Arithmetic that is the same everywhere: against wider numbers, against loops in Python, and its bounds."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash import _elementary
from kinhash._arithmetic import FAST, FIXED, PART, UNIT, AffineError, doubtful_rows
from kinhash._loops import in_doubt, lengths, slope_errors

seeds = st.integers(0, 9999)
DIGESTS = ["e5334da880c8", "d4e861687e7b", "5fc4de90b918", "df7cd4701f49"]
wide = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="long double is no wider than double")


def units_off(function, reference, x):
    """Largest error in units of the last place."""
    truth = reference(x.astype(np.longdouble))
    off = np.abs(function(x) - truth) / np.spacing(np.abs(truth).astype(np.float64))
    return float(off.max())


@wide
def test_functions_are_right_to_the_last_digits():
    rng = np.random.default_rng(0)
    near, far = rng.normal(size=20_000), rng.uniform(-700, 700, 20_000)
    for x in (near, near * 1e-6, far):
        assert units_off(_elementary.exp, np.exp, x) < 2
        assert units_off(_elementary.expm1, np.expm1, x) < 4
    for x in (near, near * 1e-6, 30 * near):
        assert units_off(_elementary.tanh, np.tanh, x) < 4
    for x in (np.exp(far), rng.uniform(1e-4, 1, 20_000), 1 + 1e-3 * near):
        assert units_off(_elementary.log, np.log, x) < 2.5
    for x in (near, 1e5 * near):
        assert np.abs(_elementary.cos(x) - np.cos(x.astype(np.longdouble))).max() < 1e-15


def test_functions_keep_their_digits():
    """Models in files were fitted and are read with these digits: sums of them, bit for bit."""
    x = np.concatenate([np.linspace(-40, 40, 4001), np.linspace(-745, 709, 4001)])
    found = [f(x) for f in (_elementary.exp, _elementary.expm1, _elementary.tanh)]
    found.append(_elementary.log(np.abs(x) + 1e-4))
    digests = [hashlib.sha256(array.tobytes()).hexdigest()[:12] for array in found]
    assert digests == DIGESTS


def test_functions_take_any_shape_and_order():
    x = np.asfortranarray(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))
    for function in (_elementary.exp, _elementary.tanh):
        assert function(x).shape == (3, 4)
        assert function(x)[2, 1] == function(x[2:, 1])[0] == function(np.array(x[2, 1]))[()]
    assert np.isnan(_elementary.exp(np.array([np.nan]))[0])


def test_functions_at_their_ends():
    far = np.array([-np.inf, -746.0, -0.0, 0.0])
    np.testing.assert_array_equal(_elementary.exp(far), [0, 0, 1, 1])
    np.testing.assert_array_equal(
        _elementary.tanh(np.array([-np.inf, -40, 0, 40, np.inf])), [-1, -1, 0, 1, 1]
    )
    assert _elementary.log(np.array([1.0]))[0] == 0
    assert np.isfinite(_elementary.exp(np.array([np.inf, 1e300]))).all()
    assert (np.abs(_elementary.cos(np.array([1e30, -1e18, 1e9]))) <= 1).all()


@given(seed=seeds, n=st.integers(1, 9), columns=st.integers(1, 5))
def test_a_product_adds_its_terms_from_the_first_to_the_last(seed, n, columns):
    """`add_product` against the plainest loop."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(3, n)), rng.normal(size=(n, columns)).astype(np.float32)
    expected = np.zeros((3, columns))
    for i, j in np.ndindex(expected.shape):
        for k in range(n):
            expected[i, j] += float(a[i, k]) * float(b[k, j])
    assert np.array_equal(FIXED.product(a, b), expected)
    assert np.array_equal(FIXED.sums(a), [reduce(add, row.tolist(), 0.0) for row in a])


def test_no_multiplication_is_fused_with_an_addition():
    """Fused, the second term would leave its own rounding error behind."""
    rng = np.random.default_rng(0)
    for n in (2, 6):  # by the loop over four terms, and by the loop over what is left
        x, y = rng.normal(size=(2, 100))
        left, right = np.zeros((100, n)), np.zeros((n, 100))
        left[:, -2], left[:, -1], right[-2], right[-1] = -1.0, x, x * y, y
        assert (np.diag(FIXED.product(left, right)) == 0).all()
    assert any(Fraction(p) * Fraction(q) != Fraction(p * q) for p, q in zip(x, y, strict=True))


@given(seed=seeds, d=st.integers(1, 7))
def test_systems_are_solved_by_elimination_in_order(seed, d):
    """`eliminate` against the same steps in Python."""
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(3, d, d)) + 2 * d * np.eye(d), rng.normal(size=(3, d))
    np.testing.assert_allclose(FIXED.solve(A, b), FAST.solve(A, b), rtol=1e-12, atol=1e-14)
    for i in range(3):
        M, x = A[i].tolist(), b[i].tolist()
        for k in range(d):
            for l in range(k + 1, d):
                factor = M[l][k] / M[k][k]
                for j in range(k + 1, d):
                    M[l][j] -= factor * M[k][j]
                x[l] -= factor * x[k]
        for k in reversed(range(d)):
            for j in range(k + 1, d):
                x[k] -= M[k][j] * x[j]
            x[k] /= M[k][k]
        assert FIXED.solve(A, b)[i].tolist() == x


@pytest.mark.parametrize("n", [1, 10, 64, 300, 2000])
@pytest.mark.parametrize("order", ["mixed", "rising", "alike"])
def test_errors_of_products_stay_within_their_bound(n, order):
    """Also where all positive terms come first, and where every term is the same number."""
    rng = np.random.default_rng(n)
    z, W = rng.normal(size=(200, n)).astype(np.float32), rng.normal(size=(n, 8)).astype(np.float32)
    if order == "rising":
        z, W = np.sort(z, axis=1), np.abs(W)
    if order == "alike":
        z, W = np.repeat(z[:, :1], n, axis=1), np.repeat(W[:1], n, axis=0)
        z[:, n // 2 :] *= -1
    c = rng.normal(size=8).astype(np.float32)
    bound = AffineError.of(W, c)(z)
    for rows in (slice(None), slice(3, 4), slice(5, 12)):
        off = np.abs((FAST.product(z[rows], W) + c) - (FIXED.product(z[rows], W) + c))
        assert (off <= bound[rows]).all()
    longest = np.linalg.norm(z, axis=1).max() * np.linalg.norm(W, axis=0).max()
    assert bound.max() < 3.1 * np.sqrt(n + 2) * UNIT * (longest + np.abs(c).max())


@given(seed=seeds, n=st.integers(1, 3 * PART), k=st.integers(1, 5))
def test_a_long_sum_is_made_of_parts(seed, n, k):
    """The parts are sums by BLAS, and are added one after the other."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(k, n)).astype(np.float32), rng.normal(size=(n, 4)).astype(np.float32)
    parts = [a[:, start : start + PART] @ b[start : start + PART] for start in range(0, n, PART)]
    assert np.array_equal(FAST.product(a, b), reduce(add, parts))
    assert FAST.product(a.astype(np.float64), b).dtype == np.float64


def test_long_sums_in_parts_have_smaller_bounds():
    """Four parts of equal lengths: half the roundings in each, and half the length."""
    W = np.ones((4 * PART, 3), np.float32)
    whole, parts = AffineError.of(W[:PART] * 2, np.zeros(3)).own, AffineError.of(W, np.zeros(3)).own
    assert parts < 0.75 * whole


@given(seed=seeds, k=st.integers(0, 4), t=st.integers(1, 9))
def test_errors_of_probabilities_by_their_slope(seed, k, t):
    rng = np.random.default_rng(seed)
    p, moved = rng.random((k, t)).astype(np.float32), rng.random((k, 1))
    wide = p.astype(np.float64)
    np.testing.assert_allclose(slope_errors(p, moved, 0.5, 0.1), wide * (1 - wide) * moved + 0.5 * p + 0.1)


def test_rows_in_doubt_have_a_score_within_its_bound():
    scores = np.array([[1, -2], [0.5, 3], [-0.25, 9], [np.nan, 5], [0, 7]], np.float32)
    bound = np.array([[0.5], [0.5], [0.5], [0.0], [0.0]])
    assert doubtful_rows(scores, bound).tolist() == [1, 2, 3, 4]
    assert doubtful_rows(scores, np.broadcast_to(bound, scores.shape)).tolist() == [1, 2, 3, 4]
    assert doubtful_rows(scores, np.full((5, 2), -1.0)).tolist() == [3]
    assert in_doubt(scores, bound).tolist() == [False, True, True, True, True]
    with pytest.raises(ValueError, match=r"bounds of shape \(4, 1\) for scores of shape \(5, 2\)"):
        doubtful_rows(scores, bound[:4])


def test_lengths_of_rows():
    z = np.random.default_rng(0).normal(size=(7, 33)).astype(np.float32)
    np.testing.assert_allclose(lengths(z)[:, 0], np.linalg.norm(z.astype(np.float64), axis=1), rtol=1e-6)
