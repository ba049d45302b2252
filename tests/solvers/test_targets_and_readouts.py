"""Targets by their definitions, sums over anchors, and rows outside the sample."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from small_problems import Offset, dense, random_targets

from kinhash._internal.numerics import fit_rotation
from kinhash.energies.bre import BRE
from kinhash.energies.exph import ExpH
from kinhash.energies.ksh import KSH
from kinhash.energies.lfh import LFH
from kinhash.energies.splh import SPLH
from kinhash.errors import InvalidInput, UnknownName
from kinhash.solvers.coordinate import Coordinate
from kinhash.solvers.linear_systems import renormalize, solve_each
from kinhash.solvers.linearized import Linearized
from kinhash.solvers.mean_field import MeanField
from kinhash.solvers.readout import PolishReadout, SolveReadout, VaryingReadout, pull_sums
from kinhash.solvers.sample import TARGETS, AnchorSums, Targets, draw_sample
from kinhash.solvers.sigmoid_line import line_slope
from kinhash.solvers.spectral import Spectral
from kinhash.supervision import from_labels

seeds = st.integers(0, 9999)


@given(seed=seeds, m=st.integers(2, 7))
def test_targets_follow_their_definitions(seed, m):
    """METHODS 3.3 c: T = S − ρ_i − ρ_j."""
    rng = np.random.default_rng(seed)
    S, w = random_targets(rng, m), rng.uniform(0.2, 3, m)
    share = w / w.sum()
    made = {kind: Targets.of(kind, S, w).rows(S) for kind in TARGETS}
    np.testing.assert_allclose(made["given"], S)
    grand = share @ S @ share
    np.testing.assert_allclose(made["mean"], S - grand, atol=1e-12)
    kin = ((1 + S) / 2) @ share  # share of kin
    balanced = np.where(S > 0, (1 - kin)[:, None] + (1 - kin), -kin[:, None] - kin)
    np.testing.assert_allclose(made["balanced"], balanced, atol=1e-12)
    centering = np.eye(m) - np.outer(np.ones(m), share)
    np.testing.assert_allclose(made["centered"], centering @ S @ centering.T, atol=1e-12)
    for kind in ("mean", "balanced", "centered"):
        assert share @ made[kind] @ share == pytest.approx(0, abs=1e-12)


@given(seed=seeds, kind=st.sampled_from(sorted(TARGETS)))
def test_sums_over_anchors_equal_the_dense_product(seed, kind):
    rng = np.random.default_rng(seed)
    S, w, V = random_targets(rng, 5, graded=True), rng.uniform(0.2, 3, 5), rng.normal(size=(5, 3))
    rows = rng.uniform(-1, 1, (4, 5))
    targets = Targets.of(kind, S, w)
    sums = AnchorSums.of(targets, V)
    expected = targets.rows(rows) @ V
    matrix, constant = sums.folded()
    np.testing.assert_allclose(rows @ matrix - constant, expected, atol=1e-12)


def test_an_unknown_kind_of_targets_is_suggested_away():
    with pytest.raises(UnknownName, match="Did you mean 'centered'"):
        Targets.of("centerd", np.eye(2), np.ones(2))


@given(
    seed=seeds, law=st.sampled_from([KSH(), BRE(), SPLH(), Offset()]), kind=st.sampled_from(sorted(TARGETS))
)
def test_pulls_of_new_rows_are_those_of_one_more_entry(seed, law, kind):
    """b_x = −2 Σ_j w_j linear(T_xj) q_j, from similarities alone."""
    rng = np.random.default_rng(seed)
    S, w, q = random_targets(rng, 5), rng.uniform(0.5, 2, 5), rng.uniform(-1, 1, (5, 3))
    targets = Targets.of(kind, S, w)
    row = rng.choice([-1.0, 1.0], (1, 5))
    matrix, constant = pull_sums(law, targets, q, w).folded()
    linear = law.terms(targets.rows(row), 3).linear
    np.testing.assert_allclose(row @ matrix - constant, -2 * (linear * w) @ q, atol=1e-12)


def one_more_entry(law, T, w, q, row, d, own=0.0):
    """System of a new row (targets ``row``, means ``own``) that meets the whole sample."""
    bigger = np.zeros((len(T) + 1, len(T) + 1))
    bigger[:-1, :-1], bigger[-1, :-1], bigger[:-1, -1] = T, row, row
    problem = dense(law, bigger, d, np.append(w, 1.0))
    return problem.system(np.array([len(T)]), np.vstack([q, np.zeros(d) + own]))


def solved(solver, law, S, w, d, rng):
    """The minimum of a sample with targets as given, and the readout for everybody else."""
    targets = Targets.of("given", S, w)
    problem = dense(law, targets.rows(S), d, w)
    minimum = solver.minimize(problem, rng)
    return minimum, solver.readout(problem, targets, minimum)


@pytest.mark.parametrize("law", [KSH(), Offset(), LFH(), ExpH()], ids=repr)
def test_outside_rows_are_solved_as_if_they_met_the_whole_sample(law):
    rng = np.random.default_rng(1)
    d, m = 3, 6
    S, w = random_targets(rng, m), rng.integers(1, 4, m).astype(float)
    minimum, readout = solved(Linearized(n_sweeps=2), law, S, w, d, rng)
    assert isinstance(readout, SolveReadout if law.tangent is None else VaryingReadout)
    row = rng.choice([-1.0, 1.0], (1, m))
    scores = readout.scores(row)
    own = np.zeros(d)
    # Where the curvature depends on the row's own means, a few rounds; else one says it all.
    for _ in range(1 if law.tangent is None else 3):
        system = one_more_entry(law, S, w, minimum.means, row[0], d, own)
        v = renormalize(solve_each(system.A, system.b, 2.0, line_slope(2.0)), 2.0, "row")
        own = np.tanh(v[0] / 2)
    np.testing.assert_allclose(scores, v, atol=1e-9)
    assert np.isfinite(scores).all()
    phi = readout.marginals(scores)
    assert ((phi > 0) & (phi < 1)).all()


def test_polished_rows_end_where_no_flip_helps_them():
    rng = np.random.default_rng(2)
    d, m = 4, 7
    S, w = random_targets(rng, m), rng.integers(1, 4, m).astype(float)
    minimum, readout = solved(Coordinate(), KSH(), S, w, d, rng)
    assert isinstance(readout, PolishReadout)
    B = minimum.means
    for row in rng.choice([-1.0, 1.0], (5, m)):
        code = np.where(readout.scores(row[None])[0] > 0, 1.0, -1.0)

        def loss(code, row=row):
            return w @ KSH().loss(B @ code, row, d)

        for k in range(d):
            flipped = code.copy()
            flipped[k] *= -1
            assert loss(code) <= loss(flipped) + 1e-9


@pytest.mark.parametrize("rotation", ["codes", "predictions"])
def test_a_spectral_row_outside_the_sample_equals_the_same_row_inside(rotation):
    rng = np.random.default_rng(3)
    y = [set(rng.integers(0, 5, 2).tolist()) for _ in range(30)]
    supervision = from_labels(y)
    solution = Spectral(targets="balanced", rotation=rotation).solve(supervision, KSH(), 4, rng)
    scores = solution.group_scores(supervision)
    inside = solution.minimum.means
    if rotation == "predictions":  # scores have unit size, since an encoder will turn them
        inside = inside / np.sqrt((inside**2).mean())
        assert solution.embedding is not None
    np.testing.assert_allclose(scores[solution.sample.groups], inside, atol=1e-8)


def test_turned_scores_are_relaxed_codes_times_the_weights():
    rng = np.random.default_rng(3)
    supervision = from_labels([set(rng.integers(0, 6, 2).tolist()) for _ in range(40)])
    solution = Spectral().solve(supervision, KSH(), 4, np.random.default_rng(0))
    weights = rng.normal(size=(solution.embedding.entries.shape[1], 4))
    similarity = supervision.similarity(np.arange(3), solution.sample.groups)
    found = solution.turned(weights).readout.scores(similarity)
    size = np.sqrt(((solution.embedding.entries @ weights) ** 2).mean())
    np.testing.assert_allclose(found, solution.embedding.of(similarity) @ weights / size, atol=1e-9)


def test_a_sample_is_turned_for_itself_by_as_many_rounds_as_the_solver_says():
    rng = np.random.default_rng(3)
    supervision = from_labels([set(rng.integers(0, 6, 2).tolist()) for _ in range(40)])
    for n_rounds in (0, 3):
        solution = Spectral(n_rounds=n_rounds).solve(supervision, KSH(), 4, np.random.default_rng(0))
        entries, weights = solution.embedding.entries, solution.sample.weights
        rotation = fit_rotation(entries, 4, np.random.default_rng(1), n_rounds, weights)
        similarity = supervision.similarity(solution.sample.groups, solution.sample.groups)
        found = solution.rotated_for_itself(np.random.default_rng(1)).readout.scores(similarity)
        expected = solution.turned(rotation).readout.scores(similarity)
        np.testing.assert_allclose(found, expected, atol=1e-9)


# -- facts 5, 6, 7, 9, 12 through the front door ----------------------------------------------------


def learn(y, law, solver, d, seed=0, **settings):
    """Scores of all rows, with targets as given; settings the solver does not have are left out."""
    supervision = from_labels(y)
    settings = {"targets": "given", **settings}
    known = solver.get_params()
    solver = clone(solver).set_params(**{name: settings[name] for name in settings if name in known})
    solution = solver.solve(supervision, law, d, np.random.default_rng(seed))
    scores = solution.group_scores(supervision)
    return scores[supervision.group_of_row], solution


@given(seed=seeds, d=st.sampled_from([1, 2, 4, 8]))
def test_fact_5_bre_is_ksh_bit_for_bit_when_d_is_a_power_of_two(seed, d):
    y = np.random.default_rng(seed).integers(0, 4, 25)
    for solver in (Linearized(n_sweeps=3), Coordinate(), Spectral()):
        ksh, _ = learn(y, KSH(), solver, d, seed, merge=False)
        bre, _ = learn(y, BRE(), solver, d, seed, merge=False)
        if isinstance(solver, Coordinate):  # its scores are fields, in the energy's own units
            assert np.array_equal(ksh > 0, bre > 0)
        else:
            assert np.array_equal(ksh, bre)


@given(seed=seeds, d=st.sampled_from([3, 5, 6, 7]))
def test_fact_5_bre_is_ksh_up_to_rounding_for_any_d(seed, d):
    y = np.random.default_rng(seed).integers(0, 4, 25)
    ksh, _ = learn(y, KSH(), Linearized(n_sweeps=2), d, seed, merge=False)
    bre, _ = learn(y, BRE(), Linearized(n_sweeps=2), d, seed, merge=False)
    np.testing.assert_allclose(bre, ksh, atol=1e-6)


SOLVERS = [Linearized(n_sweeps=2), Coordinate(), Spectral(), MeanField(n_sweeps=3)]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("merge", [True, False])
def test_fact_6_names_of_classes_do_not_matter(solver, merge):
    rng = np.random.default_rng(5)
    y = rng.integers(0, 4, 40)
    renamed = np.array(["d", "b", "z", "a"])[y]
    plain, _ = learn(y, KSH(), solver, 4, merge=merge, n_anchors=15)
    other, _ = learn(renamed, KSH(), solver, 4, merge=merge, n_anchors=15)
    assert np.array_equal(plain, other)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
def test_fact_6_permuting_rows_with_the_same_anchors_permutes_codes(solver):
    rng = np.random.default_rng(6)
    y = [set(rng.integers(0, 5, 2).tolist()) for _ in range(40)]
    anchors = rng.permutation(40)[:12]
    order = rng.permutation(40)
    place = np.argsort(order)
    for merge in (True, False):
        before, _ = learn(y, KSH(), solver, 4, merge=merge, anchors=anchors)
        after, _ = learn([y[i] for i in order], KSH(), solver, 4, merge=merge, anchors=place[anchors])
        np.testing.assert_allclose(after, before[order], atol=1e-9)


@pytest.mark.parametrize("law", [KSH(), LFH(), ExpH()], ids=repr)
@pytest.mark.parametrize(
    "solver", [Linearized(n_sweeps=2), Coordinate(), MeanField(n_sweeps=2)], ids=lambda s: type(s).__name__
)
def test_fact_7_equal_supervision_gives_equal_codes(law, solver):
    rng = np.random.default_rng(7)
    y = [frozenset(rng.integers(0, 4, 2).tolist()) for _ in range(50)]
    scores, _ = learn(y, law, solver, 4, merge=False, n_anchors=10)
    for tags in set(y):
        mine = scores[[row == tags for row in y]]
        assert (mine == mine[0]).all()


def test_fact_12_more_anchors_than_rows_and_more_bits_than_rows():
    y = [0, 1, 0, 1, 2]
    for solver in SOLVERS:
        for d in (1, 9):
            scores, solution = learn(y, KSH(), solver, d, merge=False, n_anchors=1000)
            assert len(solution.sample.rows) == 5
            assert scores.shape == (5, d)
            assert np.isfinite(scores).all()


# -- the sample -------------------------------------------------------------------------------------


def test_merged_anchors_count_their_rows():
    supervision = from_labels([2, 2, 0, 1, 0, 2])
    sample = draw_sample(supervision, 100, np.random.default_rng(0))
    assert sample.groups.tolist() == [2, 0, 1]  # first appearance, not the name
    assert sample.weights.tolist() == [3, 2, 1]
    weighted = draw_sample(
        supervision, 100, np.random.default_rng(0), row_weights=np.array([1, 1, 5, 0, 0, 0.5])
    )
    assert weighted.groups.tolist() == [2, 0]
    assert weighted.weights.tolist() == [2.5, 5]


def test_unknown_and_weightless_rows_are_never_drawn():
    supervision = from_labels([0, None, 1, 0, 1, None, 0, 1])
    weights = np.array([1, 1, 0, 1, 1, 1, 1, 1.0])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        sample = draw_sample(supervision, 3, rng, merge=False, row_weights=weights)
        assert set(sample.rows) <= {0, 3, 4, 6, 7}
        assert len(sample.rows) == 3


def test_given_anchors_are_used_as_they_are():
    supervision = from_labels([0, 1, 0, 1, None])
    sample = draw_sample(supervision, 2, np.random.default_rng(0), merge=False, anchors=np.array([3, 0, 4]))
    assert sample.rows.tolist() == [3, 0]  # nothing is known about row 4


@pytest.mark.parametrize("anchors", [[0, 9], [-1, 2], [0.5, 1.5], [], [1, 1], [0], [[0, 1]]])
def test_anchors_that_are_no_rows_are_refused(anchors):
    with pytest.raises(InvalidInput, match="anchors"):
        draw_sample(from_labels([0, 1, 0, 1]), 2, np.random.default_rng(0), anchors=np.asarray(anchors))


def test_nothing_known_is_an_error():
    with pytest.raises(InvalidInput, match="Nothing is known"):
        draw_sample(from_labels([0, 1]), 2, np.random.default_rng(0), row_weights=np.zeros(2))


def test_anchors_of_ones_own_count_by_their_weights():
    """An anchor of weight 3 is three rows, one of weight 0 is none."""
    from kinhash.solvers.sample import draw_sample

    labels = from_labels(np.array([0, 0, 1, 1, 2, 2]))
    weights = np.array([3.0, 1.0, 2.0, 0.0, 1.0, 5.0])
    rng = np.random.default_rng(0)
    sample = draw_sample(labels, 10, rng, anchors=np.array([0, 2, 3, 4]), row_weights=weights)
    assert sample.weights.tolist() == [3.0, 2.0, 1.0]
    assert sample.rows.tolist() == [0, 2, 4]
