"""Energies against their own losses, term by term."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from kinhash.errors import InvalidInput, UnknownName
from kinhash.paper import BRE, ENERGIES, KSH, LFH, SPLH, Energy, ExpH, PairTerms
from kinhash.testing import check_energy


def inner_products(d):
    return np.arange(-d, d + 1, 2.0)


def codes_of(d):
    """All codes of d bits as ±1 rows."""
    return 1.0 - 2.0 * ((np.arange(2**d)[:, None] >> np.arange(d)) & 1)


@given(d=st.integers(1, 12), s=st.floats(-1, 1))
def test_losses_by_definition(d, s):
    r = inner_products(d)
    similarity = np.full_like(r, s)
    np.testing.assert_allclose(KSH().loss(r, similarity, d), (r - d * s) ** 2 / 4)
    hamming = (d - r) / 2
    np.testing.assert_allclose(BRE().loss(r, similarity, d), ((1 - s) / 2 - hamming / d) ** 2)
    np.testing.assert_allclose(SPLH().loss(r, similarity, d), -s * r / 2)
    np.testing.assert_allclose(ExpH().loss(r, similarity, d), np.exp(-s * r / (2 * d)))


@given(d=st.integers(1, 12), kin=st.booleans(), alpha=st.sampled_from([0.5, 1.0]))
def test_lfh_is_the_negative_log_likelihood(d, kin, alpha):
    r = inner_products(d)
    s = 1.0 if kin else -1.0
    chance = 1 / (1 + np.exp(-alpha * r))
    expected = -np.log(chance if kin else 1 - chance)
    np.testing.assert_allclose(LFH(alpha).loss(r, np.full_like(r, s), d), expected, atol=1e-9)


def test_bre_is_ksh_divided_by_d_squared():
    r, s = inner_products(7), np.linspace(-1, 1, 8)
    np.testing.assert_allclose(BRE().loss(r, s, 7) * 49, KSH().loss(r, s, 7), atol=1e-12)


@given(xi=st.floats(0.01, 30))
def test_lfhs_bound_is_the_tightest_at_xi(xi):
    """λ(ξ) = −tanh(ξ/2)/(4ξ): the largest coefficient whose parabola stays below log σ and touches at ±ξ."""
    terms = LFH().terms(np.ones(1), 8, np.array([xi]))
    x = np.linspace(-30, 30, 2001)
    log_sigma = -np.logaddexp(0, -x)
    bound = x / 2 - terms.quadratic[0] * x**2
    gap = log_sigma - bound
    touch = -np.logaddexp(0, -xi) - (xi / 2 - terms.quadratic[0] * xi**2)
    assert (gap >= touch - 1e-9).all()
    assert -terms.quadratic[0] == pytest.approx(-np.tanh(xi / 2) / (4 * xi))


def test_lfhs_bound_has_its_limit_at_zero():
    at = LFH().terms(np.ones(4), 8, np.array([0.0, 1e-9, 9.9e-5, 1.01e-4])).quadratic
    np.testing.assert_allclose(at, 0.125, rtol=1e-8)


@given(d=st.integers(1, 10), s=st.sampled_from([-1.0, -0.3, 0.5, 1.0]), data=st.data())
def test_exphs_curvature_is_the_smallest_that_stays_above(d, s, data):
    """METHODS 2.6: the largest of (ℓ(r) − ℓ(ξ) − ℓ′(ξ)(r − ξ))/(r − ξ)² over the possible r."""
    xi = data.draw(st.floats(-d, d))
    beta, r = 1 / (2 * d), inner_products(d)
    r = r[np.abs(r - xi) > 1e-3]
    if not len(r):
        return
    at, slope = np.exp(-beta * s * xi), -beta * s * np.exp(-beta * s * xi)
    needed = ((np.exp(-beta * s * r) - at - slope * (r - xi)) / (r - xi) ** 2).max()
    terms = ExpH().terms(np.array([s]), d, np.array([xi]))
    far = -d * np.sign(s)
    if abs(far - xi) > 1e-3:  # the end of the range where the loss is largest is among the candidates
        assert terms.quadratic[0] == pytest.approx(needed, rel=1e-4)
    assert terms.linear[0] + 2 * terms.quadratic[0] * xi == pytest.approx(slope, rel=1e-9)


def test_exphs_second_order_expansion_would_be_no_bound():
    d, xi = 8, 8.0
    r = inner_products(d)
    at, beta = np.exp(-xi / (2 * d)), 1 / (2 * d)
    expansion = at * (1 - beta * (r - xi) + beta**2 * (r - xi) ** 2 / 2)
    assert (np.exp(-beta * r) - expansion).max() == pytest.approx(0.13, abs=0.01)


def test_one_quadratic_for_all_pairs_is_recognized():
    class Weighted(Energy):
        """Kin count three times as much as strangers."""

        def loss(self, r, s, n_bits):
            return np.where(s > 0, 3.0, 1.0) * (r - n_bits * s) ** 2

        def terms(self, s, n_bits, xi=None):
            weight = np.where(s > 0, 3.0, 1.0)
            return PairTerms(-2 * weight * n_bits * s, weight)

    class Bent(Energy):
        """Affine in no way: linear goes with s³."""

        def loss(self, r, s, n_bits):
            return r**2 - s**3 * r

        def terms(self, s, n_bits, xi=None):
            return PairTerms(-(s**3), 1.0)

    assert KSH().shared_quadratic(5) == 0.25
    assert BRE().shared_quadratic(5) == 0.01
    assert SPLH().shared_quadratic(5) == 0.0
    assert LFH().shared_quadratic(5) is None
    assert Weighted().shared_quadratic(5) is None
    assert Bent().shared_quadratic(5) is None
    check_energy(Weighted())
    check_energy(Bent())


def test_names_lead_to_energies_and_typos_to_suggestions():
    assert isinstance(ENERGIES.make("lfh", alpha=0.5), LFH)
    own = KSH()
    assert ENERGIES.make(own) is own
    with pytest.raises(UnknownName, match="Did you mean 'ksh'"):
        ENERGIES["khs"]
    with pytest.raises(InvalidInput, match="alpha"):
        LFH(0)
    assert repr(LFH(0.5)).startswith("LFH(alpha=0.5")


def test_the_contract_check_notices_broken_energies():
    class WrongSlope(KSH):
        def terms(self, s, n_bits, xi=None):
            return PairTerms(-n_bits * s, 0.25)

    class Below(LFH):
        def terms(self, s, n_bits, xi=None):
            found = super().terms(s, n_bits, xi)
            return PairTerms(found.linear, 0.5 * found.quadratic)

    class NotFinite(KSH):
        def loss(self, r, s, n_bits):
            return super().loss(r, s, n_bits) / 0.0

    for broken, says in ((WrongSlope(), "constant"), (Below(), "dips"), ("ksh", "subclass")):
        with pytest.raises(AssertionError, match=says):
            check_energy(broken)
    with pytest.raises((AssertionError, ZeroDivisionError)), np.errstate(all="ignore"):
        check_energy(NotFinite())


def test_best_line_tangent_by_optimization():
    """ξ = √E[r²] makes LFH's expected bound smallest, which is why inference puts it there."""
    rng = np.random.default_rng(0)
    d = 6
    q = rng.uniform(-1, 1, (2, d))
    codes = codes_of(d)
    chance = np.prod((1 + codes * (q[0] * q[1])) / 2, axis=1)  # agreements are independent too
    r = codes.sum(axis=1)

    def bound(xi):
        terms = LFH().terms(np.ones(1), d, np.array([xi]))
        constant = LFH().loss(np.array([xi]), np.ones(1), d)[0] - (
            terms.linear[0] * xi + terms.quadratic[0] * xi**2
        )
        return constant + terms.linear[0] * (chance @ r) + terms.quadratic[0] * (chance @ r**2)

    best = minimize_scalar(bound, bounds=(0.01, d), method="bounded", options={"xatol": 1e-8}).x
    assert best == pytest.approx(np.sqrt(chance @ r**2), abs=1e-3)
