"""Many classes: a code for each, whatever their number and sizes."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash.energies import ENERGIES
from kinhash.solvers import SOLVERS
from kinhash.solvers.codewords import comfortable, spread_codewords
from kinhash.supervision import from_labels


def distances(bits):
    signs = np.where(bits, 1, -1)
    between = (bits.shape[1] - signs @ signs.T) // 2
    return between[np.triu_indices(len(bits), 1)]


@pytest.mark.parametrize(("n", "d"), [(200, 8), (256, 8), (3000, 16), (300, 64), (5, 200), (2, 1)])
def test_codewords_are_all_different_as_long_as_there_are_so_many(n, d):
    bits = spread_codewords(n, d, np.random.default_rng(0))
    assert bits.shape == (n, d)
    assert len(np.unique(bits, axis=0)) == n


def test_more_classes_than_codes_share_them_evenly():
    bits = spread_codewords(10, 2, np.random.default_rng(0))
    counts = np.unique(bits, axis=0, return_counts=True)[1]
    assert sorted(counts) == [2, 2, 3, 3]


def test_codewords_are_farther_apart_than_random_ones():
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 2, (300, 64)).astype(bool)
    assert distances(spread_codewords(300, 64, rng)).min() > distances(drawn).min() + 2


@pytest.mark.parametrize("d", [16, 24, 32])
def test_comfortable_is_the_number_of_classes_that_stay_apart(d):
    n = min(comfortable(d), 2000)
    assert d >= 2 * np.log2(n) + 8
    assert distances(spread_codewords(n, d, np.random.default_rng(0))).min() >= d / 8


def solved(y, solver, d):
    supervision = from_labels(y)
    solution = SOLVERS[solver]().solve(supervision, ENERGIES.make("ksh"), d, np.random.default_rng(0))
    solution = solution.rotated_for_itself(np.random.default_rng(0))
    return solution.group_scores(supervision) > 0


@pytest.mark.parametrize("solver", ["spectral", "coordinate"])
def test_more_classes_than_anchors_have_a_code_each(solver):
    y = np.arange(2400) % 1200
    assert len(np.unique(solved(y, solver, 64), axis=0)) == 1200


@pytest.mark.parametrize(("n_classes", "d"), [(300, 64), (120, 64), (60, 64), (40, 16)])
def test_rare_classes_have_codes_of_their_own(n_classes, d):
    sizes = np.maximum(2, 600 / np.arange(1, n_classes + 1)).astype(int)
    bits = solved(np.repeat(np.arange(n_classes), sizes), "spectral", d)
    assert len(np.unique(bits, axis=0)) == n_classes
    assert distances(bits).min() >= d // 16


def test_a_row_of_mixed_classes_has_their_mean_codeword():
    supervision = from_labels(np.arange(200))
    solution = SOLVERS["spectral"]().solve(supervision, ENERGIES.make("ksh"), 16, np.random.default_rng(0))
    chances = np.random.default_rng(1).dirichlet(np.full(200, 0.1), 5)
    expected = chances[:, solution.sample.groups] @ solution.minimum.means
    np.testing.assert_allclose(
        solution.readout.scores(2 * chances[:, solution.sample.groups] - 1), expected, atol=1e-12
    )
