"""Systems and energies of a sample, against enumeration of all codes (METHODS section 4, fact 1)."""

from __future__ import annotations

import numpy as np
import pytest
from small_problems import Offset, all_codes, chances, dense, energy_by_pairs, random_targets, sparse

from kinhash.energies import Energy, PairTerms
from kinhash.energies.bre import BRE
from kinhash.energies.exph import ExpH
from kinhash.energies.ksh import KSH
from kinhash.energies.lfh import LFH
from kinhash.energies.splh import SPLH
from kinhash.solvers.problem import Background, pair_moments

PARABOLAS = [KSH(), SPLH(), BRE(), Offset()]
CODES = all_codes(3, 3)


class WeightedKin(Energy):
    """A user's energy whose curvature differs between kin and strangers."""

    def loss(self, r, s, n_bits):
        return np.where(s > 0, 3.0, 1.0) * (r - n_bits * s) ** 2

    def terms(self, s, n_bits, xi=None):
        weight = np.where(s > 0, 3.0, 1.0)
        return PairTerms(-2 * weight * n_bits * s, weight)


def gradient(value, q, step=1e-5):
    """∂value/∂φ by central differences; q = 2φ − 1."""
    out = np.empty_like(q)
    for place in np.ndindex(q.shape):
        up, down = q.copy(), q.copy()
        up[place] += 2 * step
        down[place] -= 2 * step
        out[place] = (value(up) - value(down)) / (2 * step)
    return out


def argument(problem, q):
    """A_i q_i + b_i of every entry."""
    system = problem.system(np.arange(problem.n_entries), q)
    return np.einsum("ikl,il->ik", system.A, q) + system.b


@pytest.mark.parametrize("energy", [*PARABOLAS, WeightedKin()], ids=repr)
@pytest.mark.parametrize("build", [dense, sparse])
@pytest.mark.parametrize("graded", [False, True])
def test_fact_1_systems_are_the_gradient_of_the_expected_energy(energy, build, graded):
    rng = np.random.default_rng(4)
    T, q = random_targets(rng, 3, graded), rng.uniform(-1, 1, (3, 3))
    problem = build(energy, T, 3)
    energies = energy_by_pairs(problem, CODES, T, np.ones(3))

    def expected(q):
        return float(chances(CODES, q) @ energies)

    assert problem.energy(q) == pytest.approx(expected(q), abs=1e-9)
    np.testing.assert_allclose(argument(problem, q), -gradient(expected, q), atol=1e-7)


@pytest.mark.parametrize("energy", PARABOLAS, ids=repr)
@pytest.mark.parametrize("curvature", [1.0, 2.0])
def test_fact_1_with_weights_curvature_and_a_field(energy, curvature):
    """An entry of weight w is w rows that share one code, so its gradient is w times its system."""
    rng = np.random.default_rng(5)
    T, q, w = random_targets(rng, 3), rng.uniform(-1, 1, (3, 3)), np.array([1.0, 2.0, 3.5])
    field = rng.normal(size=(3, 3))
    problem = dense(energy, T, 3, w, curvature=curvature, field=field)
    energies = energy_by_pairs(problem, CODES, T, w) - 0.5 * (w[:, None] * field * CODES).sum((-2, -1))

    def expected(q):
        return float(chances(CODES, q) @ energies)

    def same_up_to_a_constant(q):
        return problem.energy(q) - expected(q)

    assert same_up_to_a_constant(q) == pytest.approx(same_up_to_a_constant(-0.3 * q), abs=1e-9)
    np.testing.assert_allclose(w[:, None] * argument(problem, q), -gradient(expected, q), atol=1e-7)


@pytest.mark.parametrize("build", [dense, sparse])
def test_fact_1_lfh_is_the_gradient_of_its_bound_at_fixed_xi(build):
    rng = np.random.default_rng(6)
    T, q, law = random_targets(rng, 3), rng.uniform(-1, 1, (3, 3)), LFH()
    problem = build(law, T, 3)
    _, second = pair_moments(q, q, 3)
    fixed = law.terms(T, 3, np.sqrt(second))

    def bound(q):
        total = 0.0
        for i, j in ((0, 1), (0, 2), (1, 2)):
            r = (CODES[:, i] * CODES[:, j]).sum(-1)
            total += chances(CODES, q) @ (fixed.linear[i, j] * r + fixed.quadratic[i, j] * r**2)
        return float(total)

    np.testing.assert_allclose(argument(problem, q), -gradient(bound, q), atol=1e-7)


@pytest.mark.parametrize("law", [LFH(), ExpH()], ids=repr)
def test_bounds_lie_above_the_expected_loss(law):
    rng = np.random.default_rng(7)
    for _ in range(10):
        T, q = random_targets(rng, 3), rng.uniform(-1, 1, (3, 3))
        problem = dense(law, T, 3)
        expected = chances(CODES, q) @ energy_by_pairs(problem, CODES, T, np.ones(3))
        assert problem.energy(q) >= expected - 1e-9


@pytest.mark.parametrize("law", [KSH(), LFH(), ExpH()], ids=repr)
def test_at_certain_bits_the_energy_is_that_of_the_codes(law):
    rng = np.random.default_rng(8)
    T, B = random_targets(rng, 3), rng.choice([-1.0, 1.0], (3, 3))
    for problem in (dense(law, T, 3), sparse(law, T, 3)):
        expected = energy_by_pairs(problem, B[None], T, np.ones(3))[0]
        assert problem.energy(B) == pytest.approx(expected, abs=1e-9)


def test_moments_of_inner_products_by_enumeration():
    rng = np.random.default_rng(9)
    q = rng.uniform(-1, 1, (2, 4))
    codes = all_codes(2, 4)
    r = (codes[:, 0] * codes[:, 1]).sum(-1)
    first, second = pair_moments(q[:1], q[1:], 4)
    assert first[0, 0] == pytest.approx(chances(codes, q) @ r)
    assert second[0, 0] == pytest.approx(chances(codes, q) @ r**2)


def test_the_diagonal_of_a_is_zero_and_own_bits_have_no_say():
    rng = np.random.default_rng(10)
    T = random_targets(rng, 5)
    for law in (*PARABOLAS, LFH(), ExpH()):
        for build in (dense, sparse):
            problem, q = build(law, T, 4), rng.uniform(-1, 1, (5, 4))
            system = problem.system(np.arange(5), q)
            assert (np.einsum("ikk->ik", system.A) == 0).all()
            moved = q.copy()
            moved[2] = rng.uniform(-1, 1, 4)
            if law.tangent is None:
                changed = problem.system(np.array([2]), moved)
                np.testing.assert_allclose(changed.A[0], system.A[2], atol=1e-12)
                np.testing.assert_allclose(changed.b[0], system.b[2], atol=1e-12)


def test_the_shared_matrix_and_each_rows_own_term_make_the_system():
    rng = np.random.default_rng(11)
    T, q, w = random_targets(rng, 6), rng.uniform(-1, 1, (6, 3)), rng.uniform(0.5, 3, 6)
    problem = dense(KSH(), T, 3, w)
    A, factor = problem.shared(q)
    everyone = np.arange(6)
    system = problem.system(everyone, q)
    for i in range(6):
        own = factor * w[i] * np.outer(q[i], q[i])
        np.testing.assert_allclose(system.A[i], A + own - np.diag(np.diag(own)), atol=1e-12)
    np.testing.assert_allclose(problem.pull(everyone, q), system.b)
    assert dense(LFH(), T, 3).shared(q) is None
    assert dense(WeightedKin(), T, 3).shared(q) is None


def test_a_background_is_more_rows_with_fixed_bits():
    """METHODS 3.1 A4: sums over all n rows, those outside the sample counted with the bits they have."""
    rng = np.random.default_rng(12)
    T, q = random_targets(rng, 7), rng.uniform(-1, 1, (7, 4))
    outside = Background(q[3:], lambda entry: T[entry, 3:], q[3:].T @ q[3:], T[:3, 3:] @ q[3:])
    for law in (*PARABOLAS, LFH(), LFH(printed=True), ExpH()):
        whole = dense(law, T, 4).system(np.arange(3), q)
        part = dense(law, T[:3, :3], 4, background=outside).system(np.arange(3), q[:3])
        np.testing.assert_allclose(part.A, whole.A, atol=1e-12)
        np.testing.assert_allclose(part.b, whole.b, atol=1e-12)


def test_unknown_pairs_have_no_say():
    """METHODS 2.8: A and b of a row run over its listed partners only."""
    rng = np.random.default_rng(13)
    T = random_targets(rng, 5)
    T[0, 1] = T[1, 0] = T[2, 4] = T[4, 2] = 0.0
    q = rng.uniform(-1, 1, (5, 3))
    for law in (KSH(), LFH()):
        problem = sparse(law, T, 3)
        for i in range(5):
            listed = [j for j in range(5) if j != i and T[i, j] != 0]
            few = np.array([i, *listed])
            alone = dense(law, T[np.ix_(few, few)], 3).system(np.array([0]), q[few])
            mine = problem.system(np.array([i]), q)
            np.testing.assert_allclose(mine.A, alone.A, atol=1e-12)
            np.testing.assert_allclose(mine.b, alone.b, atol=1e-12)
            assert problem.partners(i)[0].tolist() == listed
