"""Systems, energies and solvers of a sample, against enumeration of all codes and direct solutions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq

from kinhash.errors import InvalidInput
from kinhash.paper import (
    BRE,
    KSH,
    LFH,
    SPLH,
    DenseProblem,
    ExpH,
    PairTerms,
    SparseProblem,
    draw_sample,
    from_labels,
    leading_eigenvector,
    line_slope,
    linearize,
    mean_field,
    renormalize,
    round_marginals,
    solve_linearized,
)
from kinhash.paper.inference import Background, solve_each, solve_near, solve_shared

seeds = st.integers(0, 9999)
RENORMALIZE, ROUNDING = ("row", "symmetric", "none"), ("mean", "median", "half")


class Offset(KSH):
    """KSH with a price on agreement: its linear term is no multiple of s."""

    def loss(self, r, s, n_bits):
        return super().loss(r, s, n_bits) + 0.3 * n_bits * r

    def terms(self, s, n_bits, xi=None):
        terms = super().terms(s, n_bits, xi)
        return PairTerms(terms.linear + 0.3 * n_bits, terms.quadratic)


class WeightedKin(KSH):
    """A user's energy whose curvature differs between similar and other pairs."""

    def loss(self, r, s, n_bits):
        return np.where(s > 0, 3.0, 1.0) * (r - n_bits * s) ** 2

    def terms(self, s, n_bits, xi=None):
        weight = np.where(s > 0, 3.0, 1.0)
        return PairTerms(-2 * weight * n_bits * s, weight)


PARABOLAS = [KSH(), SPLH(), BRE(), Offset()]


def all_codes(n, d):
    """Every assignment of n codes of d bits: (2^(nd), n, d) of ±1."""
    return 1.0 - 2.0 * ((np.arange(2 ** (n * d))[:, None] >> np.arange(n * d)) & 1).reshape(-1, n, d)


def random_s(rng, n, graded=False):
    S = rng.uniform(-1, 1, (n, n)) if graded else rng.choice([-1.0, 1.0], (n, n))
    S = np.triu(S, 1)
    return S + S.T + np.eye(n)


def dense(law, S, d, weights=None):
    return DenseProblem(law, S, np.ones(len(S)) if weights is None else np.asarray(weights, float), d)


def sparse(law, S, d):
    """The same as listed pairs; entries that are 0 are unknown."""
    listed = sp.csr_array(S - np.diag(np.diag(S)))
    listed.sort_indices()
    return SparseProblem(law, listed, d)


def energy_by_pairs(law, codes, S, weights):
    """E = Σ_{i<j} w_i w_j ℓ(r_ij), pairs with S = 0 left out."""
    total, (n, d) = np.zeros(codes.shape[:-2]), codes.shape[-2:]
    for i in range(n):
        for j in range(i + 1, n):
            if S[i, j] != 0:
                r = (codes[..., i, :] * codes[..., j, :]).sum(-1)
                total += weights[i] * weights[j] * law.loss(r, np.full_like(r, S[i, j]), d)
    return total


def chances(codes, q):
    """Probability of every assignment under independent bits of means q."""
    return np.prod((1 + codes * q) / 2, axis=(-2, -1))


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
    A, b = problem.system(np.arange(problem.n_entries), q)
    return np.einsum("ikl,il->ik", A, q) + b


CODES = all_codes(3, 3)


# -- fact 1: systems are gradients -----------------------------------------------------------------


@pytest.mark.parametrize("law", [*PARABOLAS, WeightedKin()], ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("build", [dense, sparse])
@pytest.mark.parametrize("graded", [False, True])
def test_systems_are_the_gradient_of_the_expected_energy(law, build, graded):
    rng = np.random.default_rng(4)
    S, q = random_s(rng, 3, graded), rng.uniform(-1, 1, (3, 3))
    problem = build(law, S, 3)
    energies = energy_by_pairs(law, CODES, S, np.ones(3))

    def expected(q):
        return float(chances(CODES, q) @ energies)

    assert problem.energy(q) == pytest.approx(expected(q), abs=1e-9)
    np.testing.assert_allclose(argument(problem, q), -gradient(expected, q), atol=1e-7)


@pytest.mark.parametrize("law", PARABOLAS, ids=lambda law: type(law).__name__)
def test_an_entry_of_weight_w_is_w_rows_of_one_code(law):
    rng = np.random.default_rng(5)
    S, q, w = random_s(rng, 3), rng.uniform(-1, 1, (3, 3)), np.array([1.0, 2.0, 3.5])
    problem = dense(law, S, 3, w)
    energies = energy_by_pairs(law, CODES, S, w)

    def expected(q):
        return float(chances(CODES, q) @ energies)

    apart = [problem.energy(x) - expected(x) for x in (q, -0.3 * q)]
    assert apart[0] == pytest.approx(apart[1], abs=1e-9)  # the same up to a constant
    np.testing.assert_allclose(w[:, None] * argument(problem, q), -gradient(expected, q), atol=1e-7)


@pytest.mark.parametrize("build", [dense, sparse])
def test_lfh_is_the_gradient_of_its_bound_at_fixed_xi(build):
    rng = np.random.default_rng(6)
    S, q, law = random_s(rng, 3), rng.uniform(-1, 1, (3, 3)), LFH()
    r = np.einsum("cik,cjk->cij", CODES, CODES)
    fixed = law.terms(S, 3, np.sqrt(np.einsum("c,cij->ij", chances(CODES, q), r**2)))

    def bound(q):
        values = fixed.linear * r + fixed.quadratic * r**2
        return float(chances(CODES, q) @ values[:, *np.triu_indices(3, 1)].sum(axis=1))

    np.testing.assert_allclose(argument(build(law, S, 3), q), -gradient(bound, q), atol=1e-7)


@pytest.mark.parametrize("law", [LFH(), ExpH()], ids=repr)
def test_bounds_lie_above_the_expected_loss_and_touch_it_at_certain_bits(law):
    rng = np.random.default_rng(7)
    for _ in range(10):
        S, q, B = random_s(rng, 3), rng.uniform(-1, 1, (3, 3)), rng.choice([-1.0, 1.0], (3, 3))
        energies = energy_by_pairs(law, CODES, S, np.ones(3))
        for problem in (dense(law, S, 3), sparse(law, S, 3)):
            assert problem.energy(q) >= chances(CODES, q) @ energies - 1e-9
            assert problem.energy(B) == pytest.approx(
                energy_by_pairs(law, B[None], S, np.ones(3))[0], abs=1e-9
            )


def test_an_entry_does_not_meet_itself():
    rng = np.random.default_rng(10)
    S = random_s(rng, 5)
    for law in (*PARABOLAS, LFH(), ExpH()):
        for build in (dense, sparse):
            problem, q = build(law, S, 4), rng.uniform(-1, 1, (5, 4))
            A, b = problem.system(np.arange(5), q)
            assert (np.einsum("ikk->ik", A) == 0).all()
            if law.tangent is None:
                q[2] = rng.uniform(-1, 1, 4)
                again = problem.system(np.array([2]), q)
                np.testing.assert_allclose(again[0][0], A[2], atol=1e-12)
                np.testing.assert_allclose(again[1][0], b[2], atol=1e-12)


def test_without_a_quadratic_term_the_bits_decouple():
    rng = np.random.default_rng(3)
    S, q = random_s(rng, 6), rng.uniform(-1, 1, (6, 4))
    A, b = dense(SPLH(), S, 4).system(np.arange(6), q)
    assert (A == 0).all()
    np.testing.assert_allclose(b, (S - np.eye(6)) @ q)


def test_a_background_is_more_rows_with_fixed_bits():
    rng = np.random.default_rng(12)
    S, q = random_s(rng, 7), rng.uniform(-1, 1, (7, 4))
    outside = Background(q[3:], lambda entry: S[entry, 3:], q[3:].T @ q[3:], S[:3, 3:] @ q[3:])
    for law in (*PARABOLAS, LFH(), LFH(printed=True), ExpH()):
        whole = dense(law, S, 4).system(np.arange(3), q)
        part = DenseProblem(law, S[:3, :3], np.ones(3), 4, outside).system(np.arange(3), q[:3])
        np.testing.assert_allclose(part[0], whole[0], atol=1e-12)
        np.testing.assert_allclose(part[1], whole[1], atol=1e-12)


# -- facts 2 to 4: the line and the systems ----------------------------------------------------------


def by_quadrature(c):
    return 1.5 / c**3 * quad(lambda x: x / (1 + np.exp(-x)), -c, c, epsabs=1e-13, epsrel=1e-13)[0]


def symmetric(rng, d, scale=1.0):
    A = scale * rng.normal(size=(d, d))
    A = A + A.T
    np.fill_diagonal(A, 0.0)
    return A


def test_the_slope_of_the_line_and_its_limit():
    assert line_slope(2) == line_slope(np.float32(2)) == pytest.approx(0.2109006, abs=5e-8)
    for c in (0.05, 0.2, 0.5, 1.0, 2.5):
        assert line_slope(c) == pytest.approx(by_quadrature(c), abs=5e-11)
    limit = brentq(lambda c: 2 * by_quadrature(c) * c - 1, 2, 3, xtol=1e-12)
    assert limit == pytest.approx(2.5996819, abs=5e-8)


@pytest.mark.parametrize("clip", [0, -1, 2.5997, np.inf, np.nan, "2", None, True])
def test_clips_beyond_the_limit_are_refused_with_its_number(clip):
    with pytest.raises(InvalidInput, match=r"clip is .* below 2\.5997"):
        line_slope(clip)


@given(seed=seeds, d=st.integers(1, 9), clip=st.floats(0.01, 2.5996), size=st.sampled_from([1e-9, 1.0, 1e9]))
def test_systems_are_positive_definite_and_answers_stay_within_the_clip(seed, d, clip, size):
    rng = np.random.default_rng(seed)
    A, b = symmetric(rng, d, size), size * rng.normal(size=(3, d)) * rng.choice([0.01, 1, 100])
    slope = line_slope(clip)
    for row in b:
        lam = (np.abs(A).sum(axis=1) + np.abs(row)).max() / clip
        assert np.linalg.eigvalsh(lam * np.eye(d) - 2 * slope * A).min() > 0
    direct = solve_each(np.repeat(A[None], 3, axis=0), b, clip, slope)
    assert np.abs(direct).max() <= clip * (1 + 1e-9)
    shared = solve_shared(A, b, clip, slope, np.linalg.eigh(A))
    np.testing.assert_allclose(shared, direct, atol=1e-7 * clip)


@given(seed=seeds, d=st.integers(1, 12), heavy=st.booleans(), rows=st.integers(1, 6))
def test_solving_near_a_shared_matrix_equals_solving_each(seed, d, heavy, rows):
    """A_i = A + f_i offdiag(own own'): conjugate gradients, or single solves where a row outweighs the rest."""
    rng = np.random.default_rng(seed)
    others = rng.uniform(-1, 1, (5 if heavy else 60, d))
    own, b = rng.uniform(-1, 1, (rows, d)), rng.normal(size=(rows, d)) * 10
    factor = rng.uniform(0.5, 20 if heavy else 1, rows)
    A = -(others.T @ others)
    np.fill_diagonal(A, 0.0)
    stacked = A + factor[:, None, None] * own[:, :, None] * own[:, None]
    stacked[:, np.arange(d), np.arange(d)] = 0.0
    slope = line_slope(2.0)
    near = solve_near(A, own, factor, b, 2.0, slope)
    np.testing.assert_allclose(near, solve_each(stacked, b, 2.0, slope), atol=1e-7)


def test_singular_matrices_and_rows_without_a_pull_are_no_special_case():
    rng, slope = np.random.default_rng(3), line_slope(2.0)
    q = np.repeat(rng.uniform(-1, 1, (6, 1)), 5, axis=1)
    q[:, 0] = 0
    A = -(q.T @ q)
    np.fill_diagonal(A, 0.0)
    assert np.linalg.matrix_rank(A) < 5
    b = rng.normal(size=(2, 5))
    shared = solve_shared(A, b, 2.0, slope, np.linalg.eigh(A))
    np.testing.assert_allclose(shared, solve_each(np.repeat(A[None], 2, axis=0), b, 2.0, slope), atol=1e-9)
    zero = np.zeros((1, 3))
    assert (solve_each(np.zeros((1, 3, 3)), zero, 2.0, slope) == 0).all()
    for how in RENORMALIZE:
        assert (renormalize(zero, 2.0, how) == 0).all()


def test_renormalization_and_its_degenerate_cases():
    v = np.array([[0.1, 0.3, 0.2], [0.5, 0.5, 0.5], [-0.2, -0.2, -0.2], [0.0, 0.0, 0.0]])
    row = renormalize(v, 2.0, "row")
    np.testing.assert_allclose(row[0], [-2, 2, 0], atol=1e-12)
    assert row[1:].tolist() == [[2, 2, 2], [-2, -2, -2], [0, 0, 0]]
    np.testing.assert_allclose(renormalize(v, 2.0, "symmetric")[0], [2 / 3, 2, 4 / 3])
    assert (renormalize(v, 2.0, "none") == v).all()
    flip = np.array([1, -1, 1])
    flipped = renormalize(v[:1] * flip, 2.0, "symmetric")
    np.testing.assert_allclose(flipped, renormalize(v[:1], 2.0, "symmetric") * flip)


# -- minimizing --------------------------------------------------------------------------------------


def plain_mean_field(law, S, q, order, n_sweeps):
    """Each bit to the sign-and-size that the difference of expected energies asks for, by enumeration."""
    n, d = q.shape
    codes = all_codes(n, d)
    energies = energy_by_pairs(law, codes, S, np.ones(n))
    for sweep in range(n_sweeps):
        for i in order[sweep]:
            for k in range(d):
                ends = []
                for value in (1.0, -1.0):
                    fixed = q.copy()
                    fixed[i, k] = value
                    ends.append(chances(codes, fixed) @ energies)
                q[i, k] = np.tanh(0.5 * (ends[1] - ends[0]))
    return q


@pytest.mark.parametrize("law", [KSH(), BRE(), SPLH()], ids=repr)
def test_mean_field_is_that_of_enumeration(law):
    rng = np.random.default_rng(0)
    S, start = random_s(rng, 3), rng.uniform(-1, 1, (3, 3))
    found = mean_field(dense(law, S, 3), np.random.default_rng(1), 3, start=start)
    draws = np.random.default_rng(1)
    order = [draws.permutation(3) for _ in range(3)]
    np.testing.assert_allclose(found.means, plain_mean_field(law, S, start.copy(), order, 3), atol=1e-9)


def divergence(problem, q):
    phi = np.clip((1 + q) / 2, 1e-300, 1)
    rest = np.clip((1 - q) / 2, 1e-300, 1)
    return problem.energy(q) + (problem.weights[:, None] * (phi * np.log(phi) + rest * np.log(rest))).sum()


@given(seed=seeds, law=st.sampled_from([*PARABOLAS, LFH()]), n=st.integers(2, 6), d=st.integers(1, 4))
def test_in_sequence_the_divergence_never_rises(seed, law, n, d):
    rng = np.random.default_rng(seed)
    S = random_s(rng, n)
    for problem in (dense(law, S, d, rng.integers(1, 4, n)), sparse(law, S, d)):
        q = rng.uniform(-1, 1, (n, d))
        for _ in range(4):
            before, q = divergence(problem, q), mean_field(problem, rng, 1, start=q).means
            assert divergence(problem, q) <= before + 1e-9 * (1 + abs(before))


def test_in_parallel_the_divergence_may_rise():
    """The paper's contrast: rows that all move at once keep missing each other."""
    problem = dense(KSH(), random_s(np.random.default_rng(0), 5), 3)
    q = np.random.default_rng(1).uniform(-1, 1, (5, 3))
    rises = []
    for _ in range(6):
        before, q = divergence(problem, q), mean_field(problem, None, 1, parallel=True, start=q).means
        rises.append(divergence(problem, q) - before)
    assert max(rises) > 1


@given(
    seed=seeds,
    law=st.sampled_from([*PARABOLAS, LFH(), ExpH()]),
    d=st.integers(1, 9),
    how=st.sampled_from(RENORMALIZE),
)
def test_linearized_means_stay_inside_the_clip(seed, law, d, how):
    rng = np.random.default_rng(seed)
    clip = rng.uniform(0.2, 2.59)
    problem = dense(law, random_s(rng, 6), d)
    for at_once in (False, True):
        found = linearize(problem, np.random.default_rng(seed), 2, clip, how, at_once=at_once)
        assert (np.abs(found.means) <= np.tanh(clip / 2) * (1 + 1e-9)).all()
        assert len(found.energies) == 2
        assert np.isfinite(found.energies).all()


@given(seed=seeds, d=st.integers(1, 10))
def test_scaling_an_energy_changes_nothing(seed, d):
    class Scaled(KSH):
        def loss(self, r, s, n_bits):
            return 1024 * super().loss(r, s, n_bits)

        def terms(self, s, n_bits, xi=None):
            terms = super().terms(s, n_bits, xi)
            return PairTerms(1024 * terms.linear, 1024 * terms.quadratic)

    S = random_s(np.random.default_rng(seed), 8)
    plain, scaled = (
        linearize(dense(law, S, d), np.random.default_rng(seed), 2).means for law in (KSH(), Scaled())
    )
    assert np.array_equal(plain, scaled)


def test_lfh_with_its_bound_fixed_is_ksh():
    """λ(ξ) = −1/(4d) makes LFH's parabola KSH's divided by d."""

    class Fixed(LFH):
        def terms(self, s, n_bits, xi=None):
            return PairTerms(super().terms(s, n_bits, xi).linear, np.full(np.shape(s), 1 / (4 * n_bits)))

    S = random_s(np.random.default_rng(2), 9)
    for d in (2, 4, 7):
        ksh, lfh = (
            linearize(dense(law, S, d), np.random.default_rng(0), 3).means for law in (KSH(), Fixed())
        )
        np.testing.assert_allclose(lfh, ksh, atol=1e-9)


# -- an eigenvector for all bits ---------------------------------------------------------------------


def classes_s(counts):
    y = np.repeat(np.arange(len(counts)), counts)
    return y, np.where(y[:, None] == y, 1.0, -1.0)


@pytest.mark.parametrize("counts", [(3, 5, 9), (2, 3, 4, 7), (1, 1, 6)])
def test_groups_and_rows_have_one_top_eigenvector(counts):
    y, S = classes_s(counts)
    values, vectors = np.linalg.eigh(S - np.eye(len(y)))
    top = vectors[:, -1] / vectors[np.abs(vectors[:, -1]).argmax(), -1]
    entries, value = leading_eigenvector(S - np.eye(len(y)), np.ones(len(y)), np.random.default_rng(0))
    assert value == pytest.approx(values[-1])
    np.testing.assert_allclose(entries, top, atol=1e-9)
    root, K = np.sqrt(counts), np.where(np.eye(len(counts)) > 0, 1.0, -1.0)
    reduced, value = leading_eigenvector(
        K * root[:, None] * root - np.eye(len(counts)), np.array(counts, float), np.random.default_rng(0)
    )
    assert value == pytest.approx(values[-1])
    np.testing.assert_allclose(reduced[y], top, atol=1e-9)


def test_the_literal_choice_differs_for_ten_balanced_classes():
    for classes, differs in ((4, False), (10, True)):
        _, S = classes_s([6] * classes)
        values = np.linalg.eigvalsh(S - np.eye(len(S)))
        for which, expected in (("largest", values[-1]), ("literal", values[0] if differs else values[-1])):
            rng = np.random.default_rng(0)
            assert leading_eigenvector(S - np.eye(len(S)), np.ones(len(S)), rng, which)[1] == pytest.approx(
                expected
            )


def test_tied_eigenvalues_give_the_projection_of_the_seeded_vector():
    _, S = classes_s([4] * 3)
    matrix = S - np.eye(12)
    entries, value = leading_eigenvector(matrix, np.ones(12), np.random.default_rng(5))
    np.testing.assert_allclose(matrix @ entries, value * entries, atol=1e-9)
    assert entries[np.abs(entries).argmax()] == 1.0
    again, _ = leading_eigenvector(matrix + 1e-13, np.ones(12), np.random.default_rng(5))
    np.testing.assert_allclose(again, entries, atol=1e-6)


# -- the sample, its readout, and bits ---------------------------------------------------------------


def test_a_sample_has_every_class_and_counts_rows_by_weight():
    y = np.repeat(np.arange(5), [40, 30, 20, 9, 1])
    supervision = from_labels(y)
    everyone = draw_sample(supervision, 10, np.random.default_rng(0))
    assert sorted(everyone.groups.tolist()) == [0, 1, 2, 3, 4]
    assert dict(zip(everyone.groups.tolist(), everyone.weights.tolist(), strict=True))[3] == 9
    rows = draw_sample(supervision, 10, np.random.default_rng(0), merge=False)
    assert len(rows.rows) == len(set(rows.rows.tolist())) == 10
    assert (rows.weights == 1).all()
    weights = np.zeros(100)
    weights[:7] = 2
    assert set(draw_sample(supervision, 10, np.random.default_rng(0), row_weights=weights).rows) == set(
        range(7)
    )
    fixed = draw_sample(supervision, 10, np.random.default_rng(0), merge=False, anchors=[3, 99])
    assert fixed.rows.tolist() == [3, 99]
    for wrong, says in (([3, 3], "distinct"), ([1, 100], "out of range"), (["a", "b"], "text")):
        with pytest.raises(InvalidInput, match=says):
            draw_sample(supervision, 10, np.random.default_rng(0), anchors=wrong)


@pytest.mark.parametrize("law", [KSH(), BRE(), LFH(), ExpH()], ids=repr)
def test_a_row_outside_solves_the_system_of_a_row_that_meets_the_whole_sample(law):
    y = np.arange(60) % 6
    supervision = from_labels(y)
    found = solve_linearized(supervision, law, 5, np.random.default_rng(0), n_anchors=20, n_sweeps=2)
    groups, q = found.sample.groups, found.means
    S = np.ones((21, 21))
    S[:20, :20] = supervision.similarity(groups, groups)
    S[20, :20] = S[:20, 20] = supervision.similarity(np.array([2]), groups)[0]
    problem, slope, v = dense(law, S, 5), line_slope(2.0), np.zeros((1, 5))
    for _ in range(3 if law.tangent else 1):
        A, b = problem.system(np.array([20]), np.concatenate([q, np.tanh(v / 2)]))
        v = renormalize(solve_each(A, b, 2.0, slope), 2.0, "row")
    np.testing.assert_allclose(found.group_scores(supervision)[2], v[0], atol=1e-8)


@given(seed=st.integers(0, 999), groups=st.integers(1, 8))
def test_rounding_groups_is_rounding_their_rows(seed, groups):
    rng = np.random.default_rng(seed)
    phi, counts = rng.uniform(size=(groups, 3)), rng.integers(1, 5, groups)
    rows = np.repeat(np.arange(groups), counts)
    for how in ROUNDING:
        bits, threshold = round_marginals(phi, counts.astype(float), how)
        each, same = round_marginals(phi[rows], np.ones(len(rows)), how)
        np.testing.assert_allclose(threshold, same, atol=1e-12)
        far = np.abs(phi - threshold) > 1e-9
        assert (bits[rows] == each)[far[rows]].all()


def test_each_rounding_by_its_definition():
    phi = np.array([[0.1, 0.7], [0.2, 0.8], [0.6, 0.9]])
    for how, expected in (("mean", [0.3, 0.8]), ("median", [0.2, 0.8]), ("half", [0.5, 0.5])):
        bits, threshold = round_marginals(phi, np.ones(3), how)
        assert threshold == pytest.approx(expected)
        assert (bits == (phi > threshold)).all()
