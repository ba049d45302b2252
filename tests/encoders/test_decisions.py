"""Rows within rounding error of zero: who is in doubt, who decides, and that the answer is right."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from kinhash import EnergyHasher
from kinhash._arithmetic import FAST, FIXED
from kinhash.encoders import Fitted, Map
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.features import RBF
from kinhash.encoders.linear import LinearMap
from kinhash.encoders.mapped_codes import mapped_codes
from kinhash.encoders.preparation import ColumnsAndRBF, Preparation, UnitRBF
from kinhash.encoders.ridge import Ridge
from kinhash.rows import Rows

X, y = load_digits(return_X_y=True)


def nearly_orthogonal(seed, n=40, p=12):
    """float32 rows z and weights w (p, 1) whose product is what rounding the last entry left over."""
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=(n, p)).astype(np.float32), rng.normal(size=(p, 1)).astype(np.float32)
    z[:, -1] = -(z[:, :-1].astype(np.float64) @ w[:-1].astype(np.float64))[:, 0] / float(w[-1, 0])
    return z, w


def exact_signs(z, w):
    terms = [
        [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(row, w[:, 0], strict=True)] for row in z
    ]
    return np.array([sum(row) > 0 for row in terms])


def plain(w):
    return LinearMap(Preparation(np.zeros(len(w)), np.ones(len(w))), w, np.zeros(w.shape[1], np.float32))


@given(seed=st.integers(0, 9999))
def test_rows_beside_the_boundary_get_the_sign_of_the_exact_sum(seed):
    z, w = nearly_orthogonal(seed)
    scores, again = plain(w).decide(z.astype(np.float64))
    assert np.array_equal(scores[:, 0] > 0, exact_signs(z, w))
    assert again == len(z)


def test_float32_alone_would_get_some_of_them_wrong():
    z, w = nearly_orthogonal(0, n=400)
    assert ((z @ w)[:, 0] > 0).tolist() != exact_signs(z, w).tolist()


def test_a_row_exactly_on_the_boundary_has_the_bit_0_in_any_batch():
    w = np.array([[0.1], [0.3], [0.7]], np.float32)
    z = np.array([[0.3, -0.1, 0.0], [0.7, 0.0, -0.1], [0.0, 0.0, 0.0]], np.float32).astype(np.float64)
    z = np.repeat(z, 30, axis=0)
    for rows in (z, z[:1], z[::-1], z[40:47]):
        scores, again = plain(w).decide(rows)
        assert not (scores > 0).any()
        assert again == len(rows)


def test_rows_far_from_zero_are_decided_once():
    z = np.ones((5, 3))
    assert plain(np.ones((3, 2), np.float32)).decide(z)[1] == 0


@pytest.mark.filterwarnings("ignore:.*encountered in matmul:RuntimeWarning")
def test_a_score_that_is_no_number_is_in_doubt():
    """Infinities that cancel in float32 do not in float64."""
    w = np.array([[3e38], [-3e38]], np.float32)
    scores, again = plain(w).decide(np.array([[10.0, 9.0]]))
    assert again == 1
    assert scores[0, 0] > 0


def test_bounds_that_turn_out_too_small_are_not_trusted():
    """A BLAS that rounds more than float32 does: every row of the block is computed in the fixed order."""

    @dataclass(frozen=True)
    class Coarse(Map):
        inner: LinearMap
        kind = "coarse"

        def evaluate(self, block, by):
            scores, bound = self.inner.evaluate(block, by)
            return (scores + 100 * bound if by is FAST else scores), bound

    z, w = nearly_orthogonal(1)
    block = np.concatenate([z[:1] + 1e-6, z + 1e-5 * np.sign(w.T)]).astype(np.float64)
    inner = plain(w)
    start = inner.evaluate(block, FIXED)[0] + 100 * inner.evaluate(block, FAST)[1]
    crossing = -start[0, 0] / float(np.abs(w[:, 0]).sum())
    block[0] += crossing * np.sign(w[:, 0])  # the first row's coarse score is about zero
    scores, again = Coarse(inner).decide(block)
    assert again == len(block)
    assert np.array_equal(scores > 0, inner.evaluate(block, FIXED)[0] > 0)


@pytest.mark.parametrize(
    "encoder",
    [
        "ridge",
        Ridge(features=RBF(n_centers=50)),
        "expected",
        ExpectedLabels(features="rbf"),
        ExpectedLabels(features="both"),
    ],
    ids=["ridge", "ridge, rbf", "expected", "expected, rbf", "expected, both"],
)
def test_fast_scores_are_within_their_bounds_and_few_rows_are_in_doubt(encoder):
    found = EnergyHasher(32, random_state=0, encoder=encoder).fit(X[:800], y[:800]).fitted_.map
    fast, bound = found.evaluate(X, FAST)
    fixed, _ = found.evaluate(X, FIXED)
    assert (np.abs(fast - fixed) <= 0.25 * bound).all()
    assert found.decide(X)[1] < 0.1 * len(X)


def test_how_many_rows_were_decided_again_is_logged(caplog):
    fitted = EnergyHasher(16, encoder="ridge", alike=0, random_state=0).fit(X[:300], y[:300])
    linear = fitted.fitted_.map
    weights, intercept = linear.weights.copy(), linear.intercept.copy()
    weights[:, 3], intercept[3] = 0, 0  # a bit that is zero for everybody
    fitted.adopt(Fitted(replace(linear, weights=weights, intercept=intercept)))
    with caplog.at_level(logging.DEBUG, logger="kinhash"):
        fitted.encode(X[:290])
    assert "290 of 290 rows lay within rounding error of zero" in caplog.text


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("n", [0, 1, 255, 1500])
def test_rows_in_doubt_all_over_a_call_are_decided_together(n, n_jobs, monkeypatch, caplog):
    """Also over several stretches of rows, of which none holds more scores than are kept."""
    monkeypatch.setattr("kinhash.encoders.mapped_codes.MOST_SCORES", 600)
    z, w = nearly_orthogonal(3, n=max(n, 1))
    far = np.random.default_rng(0).random(len(z)) < 0.7
    z[far] += np.sign(w.T)  # no doubt about these
    with caplog.at_level(logging.DEBUG, logger="kinhash"):
        found = mapped_codes(plain(w), Rows(z[:n].astype(np.float64)), n_jobs)
    assert np.array_equal(found[:, 0] > 0, exact_signs(z[:n], w))
    assert found.shape == (n, 1)
    assert f"{int((~far[:n]).sum())} of {n} rows" in caplog.text


def test_bounds_that_turn_out_too_small_are_not_trusted_anywhere_in_a_call():
    """One fast score farther off than it should be: all rows are computed in the fixed order."""
    z, w = nearly_orthogonal(5, n=700)
    z[1:] += 1e-5 * np.sign(w.T)

    @dataclass(frozen=True)
    class Coarse(Map):
        inner: LinearMap
        n_bits = 1
        kind = "coarse"

        def evaluate(self, block, by):
            scores, bound = self.inner.evaluate(block, by)
            return (scores - 0.9 * bound if by is FAST else scores), bound

    found = mapped_codes(Coarse(plain(w)), Rows(z.astype(np.float64)), 1)
    assert np.array_equal(found[:, 0] > 0, exact_signs(z, w))


@pytest.mark.parametrize("kind", [UnitRBF, ColumnsAndRBF])
@given(seed=st.integers(0, 999), p=st.integers(1, 300), width=st.sampled_from([0.3, 0.4, 2.0]))
def test_fast_similarities_are_within_their_bounds(kind, seed, p, width):
    """Of rows that look like the centres, and of others; columns of any spread."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(20, p))
    rows = np.concatenate(
        [centers[:5] + 0.01 * rng.normal(size=(5, p)), rng.normal(size=(5, p)), np.zeros((1, p))]
    )
    own = p if kind is ColumnsAndRBF else 0
    mean, scale = rng.random(own + 20), rng.uniform(0.01, 2, own + 20)
    preparation = Preparation(mean, scale, kind.of(centers, width))
    fast, error = preparation.evaluate(rows, FAST)
    fixed, _ = preparation.evaluate(rows, FIXED)
    assert (np.abs(fast - fixed.astype(np.float64)) <= error).all()
    np.testing.assert_array_equal(fast[:, :own], Preparation(mean[:own], scale[:own])(rows[:, :own]))
    alone = Preparation(mean[own:], scale[own:], UnitRBF.of(centers, width))
    np.testing.assert_array_equal(fast[:, own:], alone.evaluate(rows, FAST)[0])
    np.testing.assert_array_equal(error, alone.evaluate(rows, FAST)[1])


@pytest.mark.parametrize(
    "encoder", ["ridge", "expected", ExpectedLabels(features="rbf"), ExpectedLabels(features="both")], ids=str
)
@pytest.mark.parametrize("alike", [0, 0.5])
def test_rows_of_float32_get_the_scores_of_the_same_numbers_in_float64(encoder, alike):
    found = EnergyHasher(16, random_state=0, encoder=encoder, alike=alike).fit(X[:300], y[:300]).fitted_.map
    rows = (X[300:600] * 1.1).astype(np.float32)
    kin = getattr(found, "parts", (found,))[0]
    assert found.takes_float32 == (kin.preparation.rbf is None)
    if found.takes_float32:
        for by in (FAST, FIXED):
            narrow, wide = found.evaluate(rows, by), found.evaluate(rows.astype(np.float64), by)
            assert np.array_equal(narrow[0], wide[0])
            assert np.array_equal(narrow[1], wide[1])
