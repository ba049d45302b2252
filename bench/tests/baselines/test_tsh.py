"""TSH: the bit problem is exact, its weights have the signs they should, its code step only improves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from kinhash import load
from kinhash.paper import Training, from_labels, from_pairs, from_similarity
from kinhash.plugins import Rows, Stages
from kinhash_bench.baselines.pair_bits import LOSSES, ListedPairs, bit_weights
from kinhash_bench.baselines.tsh import TSH, refined_bit, spectral_bit


def training(y, n=None, supervision=None):
    supervision = from_labels(y) if supervision is None else supervision
    X = np.zeros((len(supervision.group_of_row), 1))
    return Training(Rows(X), supervision, None, np.random.default_rng(0), Stages())


@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("graded", [False, True])
def test_the_bit_problem_is_exact(loss, graded):
    """Over all bits of seven rows, Σ a z z / 2 and the loss differ by one constant."""
    rng = np.random.default_rng(0)
    n, d = 7, 5
    i, j = np.triu_indices(n, 1)
    S = rng.uniform(-1, 1, len(i)) if graded else np.where(rng.random(len(i)) < 0.5, 1.0, -1.0)
    hamming = rng.integers(0, 4, len(i))
    pairs = ListedPairs.of(np.arange(n), i, j, S)
    a = bit_weights(loss, hamming, S, d)
    np.testing.assert_allclose(a, LOSSES[loss](hamming / d, S) - LOSSES[loss]((hamming + 1) / d, S))
    A = pairs.matrix(a)
    gaps = []
    for bits in itertools.product((-1.0, 1.0), repeat=n):
        z = np.array(bits)
        after = hamming.copy()
        pairs.add_bit(after, z > 0)
        gaps.append(LOSSES[loss](after / d, S).sum() - 0.25 * z @ (A @ z))
    assert np.ptp(gaps) < 1e-9


@pytest.mark.parametrize("loss", ["ksh", "bre", "exph"])
def test_kin_want_to_agree_and_strangers_to_differ(loss):
    hamming = np.arange(6)
    assert (bit_weights(loss, hamming, np.ones(6), 8) < 0).all()
    assert (bit_weights(loss, hamming, -np.ones(6), 8) > 0).all()


def test_strangers_far_enough_apart_have_no_say_in_the_hinge():
    assert bit_weights("hinge", np.array([4, 5]), np.full(2, -1.0), 8).tolist() == [0, 0]


def test_the_last_bit_of_ksh_is_its_greedy_residual():
    """With d·S − Σ z z as residual R of the bits so far, a is −R for the last bit, up to a factor."""
    rng = np.random.default_rng(0)
    d = 6
    B = np.where(rng.random((8, d - 1)) < 0.5, 1.0, -1.0)
    i, j = np.triu_indices(8, 1)
    S = np.where(rng.random(len(i)) < 0.5, 1.0, -1.0)
    hamming = (B[i] != B[j]).sum(axis=1)
    residual = d * S - (B @ B.T)[i, j]
    np.testing.assert_allclose(bit_weights("ksh", hamming, S, d), -4 / d**2 * residual)


@pytest.mark.parametrize("n", [12, 150])
def test_the_code_step_is_spectral_and_refinement_never_hurts(n):
    rng = np.random.default_rng(n)
    M = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.3)
    M = M + M.T
    np.fill_diagonal(M, 0)
    A = sp.csr_array(M)
    z = spectral_bit(A, rng)
    vector = np.linalg.eigh(M)[1][:, 0]
    assert abs(z @ np.where(vector > 0, 1, -1)) >= 0.97 * n
    new = refined_bit(A, z)
    assert set(np.unique(new)) <= {-1.0, 1.0}
    assert new @ M @ new <= z @ M @ z


def test_pairs_are_drawn_of_both_kinds_and_once_each():
    y = np.arange(60) % 3
    pairs = ListedPairs.draw(training(y), 5)
    assert np.array_equal(pairs.S, np.where(y[pairs.first] == y[pairs.second], 1.0, -1.0))
    assert (pairs.first < pairs.second).all()
    assert len(np.unique(pairs.first * 60 + pairs.second)) == len(pairs.S)
    A = pairs.matrix(np.arange(1.0, len(pairs.S) + 1))
    assert (A != A.T).nnz == 0
    for e in (0, 7, len(pairs.S) - 1):
        assert A[pairs.first[e], pairs.second[e]] == e + 1
    kin, strangers = (
        np.bincount(np.r_[pairs.first[s == pairs.S], pairs.second[s == pairs.S]]) for s in (1, -1)
    )
    assert kin.min() >= 3  # five draws, some twice
    assert strangers.min() >= 3


def test_pairs_of_tags_listed_pairs_and_matrices_with_few_columns():
    rng = np.random.default_rng(0)
    Y = (rng.random((50, 6)) < 0.3).astype(int)
    Y[:, 0] |= Y.sum(axis=1) == 0
    pairs = ListedPairs.draw(training(Y), 100)
    shared = Y @ Y.T > 0
    assert np.array_equal(pairs.S > 0, shared[pairs.first, pairs.second])
    assert len(pairs.S) == 50 * 49 // 2  # all of them, where there are no more
    listed = ListedPairs.draw(training(None, supervision=from_pairs([3, 1, 2], [1, 2, 7], [1, -1, 1], 9)), 1)
    assert listed.rows.tolist() == [1, 2, 3, 7]
    found = set(zip(listed.rows[listed.first], listed.rows[listed.second], listed.S, strict=True))
    assert found == {(1, 3, 1.0), (1, 2, -1.0), (2, 7, 1.0)}
    S = np.where(np.arange(20)[:, None] % 3 == np.arange(8) % 3, 0.7, -0.4)
    few = ListedPairs.draw(
        training(None, supervision=from_similarity(S, np.arange(8), len(S), np.random.default_rng(0))), 4
    )
    assert (few.first < 8).all()
    same = few.first % 3 == few.second % 3
    np.testing.assert_allclose(few.S, np.where(same, 0.7, -0.4))


def clusters(n=120, k=4, p=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y], y


@pytest.mark.parametrize("loss", list(LOSSES))
def test_every_loss_learns_and_its_model_is_stored(loss, tmp_path):
    X, y = clusters()
    fitted = TSH(8, loss=loss, n_partners=20, random_state=0).fit(X, y)
    assert fitted.score(X, y) > 0.9
    objective = fitted.report_.facts["objective"]
    assert objective[-1] < 0.7 * objective[0]
    fitted.save(tmp_path / "tsh.kin")
    assert np.array_equal(load(tmp_path / "tsh.kin").encode(X), fitted.encode(X))


def test_the_map_is_scikit_learns_svm():
    from sklearn.svm import SVC

    X, y = clusters()
    fitted = TSH(4, n_partners=20, random_state=0).fit(X, y)
    gamma = 1 / (2 * fitted.unrounded.preparation.similarities.width**2)
    bits = np.unpackbits(fitted.codes_, axis=1)[:, :4]
    for k in range(4):
        direct = SVC(C=1.0, gamma=gamma).fit(X, bits[:, k]).decision_function(X)
        np.testing.assert_allclose(fitted.decision_function(X)[:, k], direct, atol=2e-2)


def test_boosted_trees_take_its_codes():
    from sklearn.tree import DecisionTreeRegressor

    X, y = clusters()
    fitted = TSH(8, n_partners=20, map=DecisionTreeRegressor(), random_state=0).fit(X, y)
    assert np.array_equal(fitted.encode(X), fitted.codes_)
