"""Solvers against enumeration: what each promises about the energy, and where it ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import Offset, all_codes, dense, energy_by_pairs, random_targets, sparse

from kinhash._internal.numerics import fit_rotation
from kinhash.energies.bre import BRE
from kinhash.energies.exph import ExpH
from kinhash.energies.ksh import KSH
from kinhash.energies.lfh import LFH
from kinhash.energies.splh import SPLH
from kinhash.errors import InvalidInput, UnknownName
from kinhash.models.kernels import settle_rows
from kinhash.solvers.columns import Columns, leading_eigenvector
from kinhash.solvers.coordinate import Coordinate, Polished, _sweep_by_loss
from kinhash.solvers.linearized import Linearized
from kinhash.solvers.mean_field import MeanField
from kinhash.solvers.spectral import Spectral, spectral_basis
from kinhash.supervision import from_labels

seeds = st.integers(0, 9999)
ALL = [KSH(), BRE(), SPLH(), LFH(), ExpH(), Offset()]


def no_flip_lowers(problem, bits):
    """Whether no single bit could be turned to lower the energy."""
    now = problem.energy(bits)
    for place in np.ndindex(bits.shape):
        flipped = bits.copy()
        flipped[place] *= -1
        if problem.energy(flipped) < now - 1e-9 * (1 + abs(now)):
            return False
    return True


# -- coordinate descent: fact 10 -----------------------------------------------------------------


@given(seed=seeds, d=st.integers(1, 5), n=st.integers(2, 7), law=st.sampled_from(ALL), graded=st.booleans())
def test_fact_10_coordinate_descent_never_raises_the_energy_and_ends_where_no_flip_helps(
    seed, d, n, law, graded
):
    rng = np.random.default_rng(seed)
    T = random_targets(rng, n, graded)
    weights = rng.integers(1, 4, n) if graded else None
    unknown = np.triu(rng.uniform(size=(n, n)) < 0.3)
    for problem in (
        dense(law, T, d, weights, curvature=rng.choice([1.0, 2.0])),
        dense(law, T, d, field=rng.normal(size=(n, d))),
        sparse(law, np.where(unknown | unknown.T, 0.0, T), d),
    ):
        found = Coordinate(n_sweeps=100).minimize(problem, rng)
        energies = np.array(found.energies)
        assert (np.diff(energies) <= 1e-9 * (1 + np.abs(energies[:-1]))).all()
        assert set(np.unique(found.means)) <= {-1.0, 1.0}
        assert energies[-1] == pytest.approx(problem.energy(found.means))
        assert no_flip_lowers(problem, found.means)


@given(seed=seeds, law=st.sampled_from([KSH(), BRE()]))
def test_the_kernels_do_what_the_plain_sweep_does(seed, law):
    """The quick kernels keep sums up to date; their twin compares losses with and without each flip."""
    rng = np.random.default_rng(seed)
    T = random_targets(rng, 6, graded=True)
    for problem in (dense(law, T, 4, rng.uniform(0.5, 2, 6)), sparse(law, T, 4)):
        start = rng.uniform(-1, 1, (6, 4))
        quick = Coordinate(n_sweeps=1).minimize(problem, rng, start).means
        plain = np.where(start > 0, 1.0, -1.0)
        _sweep_by_loss(problem, plain)
        assert np.array_equal(quick, plain)


@given(seed=seeds)
def test_rows_outside_the_sample_end_where_no_flip_helps(seed):
    """`settle_rows` minimizes −b·B + ½ bend·B offdiag(G) B for each row by itself."""
    rng = np.random.default_rng(seed)
    others = rng.choice([-1.0, 1.0], (5, 4))
    b, G = rng.normal(size=(3, 4)) * 4, others.T @ others
    B = np.where(b > 0, 1.0, -1.0)
    start = B.copy()
    settle_rows(B, b, G, 0.7, 100)
    off = G - np.diag(np.diag(G))

    def cost(row, i):
        return -b[i] @ row + 0.35 * row @ off @ row

    for i in range(3):
        assert cost(B[i], i) <= cost(start[i], i) + 1e-12
        for k in range(4):
            flipped = B[i].copy()
            flipped[k] *= -1
            assert cost(B[i], i) <= cost(flipped, i) + 1e-9


def test_coordinate_descent_finds_the_best_codes_of_two_classes():
    T = np.where(np.subtract.outer([0, 0, 1, 1], [0, 0, 1, 1]) == 0, 1.0, -1.0)
    problem = dense(KSH(), T, 2)
    codes = all_codes(4, 2)
    best = energy_by_pairs(problem, codes, T, np.ones(4)).min()
    found = [
        Coordinate(n_sweeps=50).minimize(problem, np.random.default_rng(seed)).energies[-1]
        for seed in range(8)
    ]
    assert min(found) == pytest.approx(best)


@given(seed=seeds)
def test_polishing_any_start_ends_no_higher_than_its_rounding(seed):
    rng = np.random.default_rng(seed)
    problem = dense(KSH(), random_targets(rng, 6), 3)
    for first in (Linearized(n_sweeps=2), MeanField(n_sweeps=2), Spectral(n_rounds=5, rotation="codes")):
        begin = first.minimize(problem, np.random.default_rng(seed))
        polished = Polished(first=first, n_sweeps=50).minimize(problem, np.random.default_rng(seed))
        rounded = problem.energy(np.where(begin.means > 0, 1.0, -1.0))
        assert polished.energies[-1] <= rounded + 1e-9
        assert no_flip_lowers(problem, polished.means)


def test_a_polished_solver_refuses_what_its_first_one_cannot_decide():
    for first, says in (
        (Linearized(targets="given"), "targets"),
        (Spectral(balance=False), "balance"),
        (MeanField(order="paralell"), "parallel"),
        ("linearized", "first"),
    ):
        with pytest.raises(InvalidInput, match=says):
            Polished(first=first).check()
    Polished(first=Linearized(n_sweeps=3, clip=1.5)).check()
    with pytest.raises(InvalidInput, match="ksh or bre"):
        Polished(first=Spectral()).solve(from_labels([0, 1, 0]), LFH(), 2, np.random.default_rng(0))


# -- mean field ------------------------------------------------------------------------------------


@given(
    seed=seeds,
    law=st.sampled_from([KSH(), BRE(), SPLH(), LFH(), Offset()]),
    n=st.integers(2, 6),
    d=st.integers(1, 4),
)
def test_in_sequence_the_divergence_never_rises(seed, law, n, d):
    rng = np.random.default_rng(seed)
    T = random_targets(rng, n)
    for problem in (dense(law, T, d, rng.integers(1, 4, n)), sparse(law, T, d)):
        divergences = MeanField(n_sweeps=6).minimize(problem, rng).divergences
        assert (np.diff(divergences) <= 1e-9 * (1 + np.abs(divergences[:-1]))).all()


def test_in_parallel_the_divergence_may_rise():
    """The paper's contrast: rows that all move at once keep missing each other."""
    problem = dense(KSH(), random_targets(np.random.default_rng(0), 5), 3)
    start = np.random.default_rng(1).uniform(-1, 1, (5, 3))
    rng = np.random.default_rng(2)
    at_once = MeanField(n_sweeps=6, order="parallel").minimize(problem, rng, start)
    assert np.diff(at_once.divergences).max() > 1.0
    in_turn = MeanField(n_sweeps=6).minimize(problem, rng, start)
    assert in_turn.divergences[-1] < at_once.divergences[-1]


def test_the_divergence_is_that_of_enumeration():
    """KL(q ‖ exp(−E)/Z) + ln Z over all codes."""
    rng = np.random.default_rng(1)
    T = random_targets(rng, 3)
    problem = dense(KSH(), T, 2)
    found = MeanField(n_sweeps=3).minimize(problem, rng)
    codes = all_codes(3, 2)
    chance = np.prod((1 + codes * found.means) / 2, axis=(1, 2))
    energies = energy_by_pairs(problem, codes, T, np.ones(3))
    safe = np.where(chance > 0, chance, 1.0)
    assert found.divergences[-1] == pytest.approx(chance @ energies + (chance * np.log(safe)).sum(), abs=1e-9)


def test_an_unknown_way_is_refused_by_every_solver():
    with pytest.raises(UnknownName, match="parallel"):
        MeanField(order="paralell").check()
    with pytest.raises(UnknownName, match="at_once"):
        Linearized(blocks="atonce").check()
    with pytest.raises(UnknownName, match="lanczos"):
        Columns(method="lancsoz").check()
    with pytest.raises(UnknownName, match="literal"):
        Columns(which="litteral").check()
    with pytest.raises(UnknownName, match="predictions"):
        Spectral(rotation="prediction").check()


# -- linearized --------------------------------------------------------------------------------------


@given(
    seed=seeds,
    law=st.sampled_from(ALL),
    d=st.integers(1, 9),
    how=st.sampled_from(["row", "symmetric", "none"]),
)
def test_linearized_means_stay_inside_the_clip(seed, law, d, how):
    rng = np.random.default_rng(seed)
    clip = rng.uniform(0.2, 2.59)
    problem = dense(law, random_targets(rng, 6), d)
    for blocks in ("sequential", "at_once"):
        found = Linearized(n_sweeps=2, clip=clip, renormalize=how, blocks=blocks).minimize(
            problem, np.random.default_rng(seed)
        )
        assert (np.abs(found.means) <= np.tanh(clip / 2) * (1 + 1e-9)).all()
        assert len(found.energies) == 2
        assert np.isfinite(found.energies).all()


@given(seed=seeds, d=st.integers(1, 10))
def test_fact_5_scaling_an_energy_changes_nothing(seed, d):
    class Scaled(KSH):
        def loss(self, r, s, n_bits):
            return 1024 * super().loss(r, s, n_bits)

        def terms(self, s, n_bits, xi=None):
            from kinhash.energies import PairTerms

            terms = super().terms(s, n_bits, xi)
            return PairTerms(1024 * terms.linear, 1024 * terms.quadratic)

    rng = np.random.default_rng(seed)
    T = random_targets(rng, 8)
    for solver in (Linearized(n_sweeps=2), Coordinate(n_sweeps=5), Spectral(n_rounds=5, rotation="codes")):
        plain = solver.minimize(dense(KSH(), T, d), np.random.default_rng(seed)).means
        scaled = solver.minimize(dense(Scaled(), T, d), np.random.default_rng(seed)).means
        assert np.array_equal(plain, scaled)


def test_fact_9_lfh_with_its_bound_fixed_is_ksh():
    """λ(ξ) = −1/(4d) makes LFH's parabola KSH's divided by d."""

    class Fixed(LFH):
        def terms(self, s, n_bits, xi=None):
            from kinhash.energies import PairTerms

            return PairTerms(super().terms(s, n_bits, xi).linear, np.full(np.shape(s), 1 / (4 * n_bits)))

    rng = np.random.default_rng(2)
    T = random_targets(rng, 9)
    for d in (2, 4, 7):
        ksh = Linearized(n_sweeps=3).minimize(dense(KSH(), T, d), np.random.default_rng(0)).means
        lfh = Linearized(n_sweeps=3).minimize(dense(Fixed(), T, d), np.random.default_rng(0)).means
        np.testing.assert_allclose(lfh, ksh, atol=1e-9)


def test_fact_9_one_bit_of_ksh_and_splh_have_one_energy_up_to_a_constant():
    rng = np.random.default_rng(3)
    T = random_targets(rng, 4)
    codes = all_codes(4, 1)
    ksh = energy_by_pairs(dense(KSH(), T, 1), codes, T, np.ones(4))
    splh = energy_by_pairs(dense(SPLH(), T, 1), codes, T, np.ones(4))
    assert np.ptp(ksh - splh) < 1e-12


# -- columns: fact 9 -----------------------------------------------------------------------------------


def rows_of_classes(counts):
    y = np.repeat(np.arange(len(counts)), counts)
    return y, np.where(y[:, None] == y, 1.0, -1.0)


@pytest.mark.parametrize("counts", [(3, 5, 9), (2, 3, 4, 7), (1, 1, 6)])
def test_fact_9_reduced_lanczos_and_dense_find_the_top_eigenvector(counts):
    y, S = rows_of_classes(counts)
    values, vectors = np.linalg.eigh(S - np.eye(len(y)))
    top = vectors[:, -1] / vectors[np.abs(vectors[:, -1]).argmax(), -1]
    groups = np.where(np.eye(len(counts)) > 0, 1.0, -1.0)
    reduced = Columns().eigenvector(dense(SPLH(), groups, 1, counts), np.random.default_rng(0))
    assert reduced.value == pytest.approx(values[-1])
    np.testing.assert_allclose(reduced.entries[y], top, atol=1e-9)
    for method in ("dense", "lanczos"):
        full = Columns(method=method).eigenvector(dense(SPLH(), S, 1), np.random.default_rng(0))
        assert full.value == pytest.approx(values[-1])
        np.testing.assert_allclose(full.entries, top, atol=1e-6)
    listed = Columns(method="lanczos").eigenvector(sparse(SPLH(), S, 1), np.random.default_rng(0))
    np.testing.assert_allclose(listed.entries, top, atol=1e-6)


def test_fact_9_the_literal_choice_differs_for_ten_balanced_classes():
    for classes, differs in ((4, False), (10, True)):
        _, S = rows_of_classes([6] * classes)
        problem = dense(SPLH(), S, 1)
        largest = Columns().eigenvector(problem, np.random.default_rng(0))
        literal = Columns(which="literal").eigenvector(problem, np.random.default_rng(0))
        eigenvalues = np.linalg.eigvalsh(S - np.eye(len(S)))
        assert largest.value == pytest.approx(eigenvalues[-1])
        assert literal.value == pytest.approx(eigenvalues[0] if differs else eigenvalues[-1])


def test_tied_eigenvalues_give_the_projection_of_the_seeded_vector():
    _, S = rows_of_classes([4] * 3)
    matrix = S - np.eye(12)
    found = leading_eigenvector(matrix, np.ones(12), np.random.default_rng(5))
    np.testing.assert_allclose(matrix @ found.entries, found.value * found.entries, atol=1e-9)
    assert found.entries[np.abs(found.entries).argmax()] == 1.0
    turned = leading_eigenvector(matrix + 1e-13, np.ones(12), np.random.default_rng(5))
    np.testing.assert_allclose(turned.entries, found.entries, atol=1e-6)


def test_columns_refuse_energies_with_a_quadratic_term():
    for law in (KSH(), LFH()):
        with pytest.raises(InvalidInput, match="splh"):
            Columns().refuse(law, 1)
        with pytest.raises(InvalidInput, match="splh"):
            Columns().solve(from_labels([0, 1, 0]), law, 1, np.random.default_rng(0))


# -- spectral ------------------------------------------------------------------------------------------


@given(seed=seeds, n=st.integers(3, 9), d=st.integers(1, 4))
def test_the_relaxed_problem_is_solved_exactly(seed, n, d):
    """No real B of the kept rank has a smaller ‖B Bᵀ − d T‖ than the best of rank d."""
    rng = np.random.default_rng(seed)
    T = random_targets(rng, n, graded=True)
    basis = spectral_basis(dense(KSH(), T, d))
    values = np.linalg.eigvalsh(T)[::-1]
    kept = basis.embedding.shape[1]
    expected = np.sqrt(((d * values[kept:]) ** 2).sum())
    assert np.linalg.norm(basis.embedding @ basis.embedding.T - d * T) == pytest.approx(expected, abs=1e-8)
    np.testing.assert_allclose(T @ basis.readout, basis.embedding, atol=1e-8)  # rows inside = rows outside


def test_weighted_entries_are_repeated_rows():
    rng = np.random.default_rng(0)
    T, counts = random_targets(rng, 4, graded=True), np.array([1, 2, 3, 1])
    rows = np.repeat(np.arange(4), counts)
    grouped = spectral_basis(dense(KSH(), T, 2, counts))
    apart = spectral_basis(dense(KSH(), T[np.ix_(rows, rows)], 2))
    inner = grouped.embedding @ grouped.embedding.T
    np.testing.assert_allclose(inner[np.ix_(rows, rows)], apart.embedding @ apart.embedding.T, atol=1e-8)


@pytest.mark.parametrize(("classes", "d"), [(100, 32), (200, 64), (250, 64)])
def test_many_balanced_classes_whose_eigenvalues_are_all_equal(classes, d):
    T = 2 * np.eye(classes) - 1
    T -= T.mean()
    basis = spectral_basis(dense(KSH(), T, d, np.full(classes, 1 / classes)))
    kept = basis.embedding.shape[1]
    assert kept >= d
    np.testing.assert_allclose(basis.embedding.T @ basis.embedding, 2 * d * np.eye(kept), atol=1e-8)
    np.testing.assert_allclose(T @ basis.readout, basis.embedding, atol=1e-8)


@given(seed=seeds, r=st.integers(1, 6), d=st.integers(1, 6))
def test_rotations_are_orthonormal_and_round_better_with_every_round(seed, r, d):
    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(40, r))

    def loss(rotation):
        scores = codes @ rotation
        return ((np.sign(scores) - scores) ** 2).sum()

    losses = []
    for rounds in (1, 3, 10):
        rotation = fit_rotation(codes, d, np.random.default_rng(seed), rounds)
        product = rotation @ rotation.T if r <= d else rotation.T @ rotation
        np.testing.assert_allclose(product, np.eye(min(r, d)), atol=1e-9)
        losses.append(loss(rotation))
    if r <= d:  # with r > d the rotation chooses directions, and the norm it keeps may change
        assert (np.diff(losses) <= 1e-9).all()


def test_spectral_codes_of_listed_pairs_equal_the_dense_ones():
    rng = np.random.default_rng(4)
    T = random_targets(rng, 8)
    np.fill_diagonal(T, 0.0)
    listed = spectral_basis(sparse(KSH(), T, 3))
    full = spectral_basis(dense(KSH(), T, 3))
    np.testing.assert_allclose(listed.embedding, full.embedding, atol=1e-9)


def test_spectral_refuses_what_it_cannot_solve():
    rng = np.random.default_rng(0)
    for law in (LFH(), ExpH(), SPLH(), Offset()):
        with pytest.raises(InvalidInput, match="ksh or bre"):
            Spectral().minimize(dense(law, np.eye(3), 2), rng)
    with pytest.raises(InvalidInput, match="positive eigenvalue"):
        Spectral().minimize(dense(KSH(), -np.ones((3, 3)), 2), rng)
