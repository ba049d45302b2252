"""SCDH: the constraints on Z, exact steps, an objective that never rises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from rival_cases import classes, never_rises, signs, tags

from kinhash_bench.baselines import SCDH
from kinhash_bench.baselines.scdh import balanced_factor, similarity_times, unit_rows

pytestmark = pytest.mark.filterwarnings("ignore:.*constant on the training rows")  # a few classes


@given(n=st.integers(2, 30), d=st.integers(1, 8), rank=st.integers(0, 8), seed=st.integers(0, 99))
def test_the_factor_is_centered_orthogonal_and_the_best_there_is(n, d, rank, seed):
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(n, min(rank, d))) @ rng.normal(size=(min(rank, d), d))
    Z = balanced_factor(C, rng)
    np.testing.assert_allclose(Z.sum(axis=0), 0, atol=1e-6)
    if d < n:
        np.testing.assert_allclose(Z.T @ Z, n * np.eye(d), atol=1e-6 * n)
    # No feasible Z gains more than √n times the sum of the singular values of the centered C.
    most = np.sqrt(n) * np.linalg.svd(C - C.mean(axis=0), compute_uv=False).sum()
    assert (Z * C).sum() == pytest.approx(most, rel=1e-6, abs=1e-6)


def test_similarities_act_without_being_formed():
    _, Y = tags(n=25)
    labels = unit_rows(sp.csr_array(Y, dtype=float))
    unit = Y / np.linalg.norm(Y, axis=1, keepdims=True)
    V = np.random.default_rng(0).normal(size=(25, 3))
    np.testing.assert_allclose(similarity_times(labels, V), (2 * unit @ unit.T - 1) @ V)


@pytest.mark.parametrize("data", [classes, tags])
@pytest.mark.parametrize("settings", [{}, {"lam": 0.1, "alpha_z": 5.0}])
def test_the_objective_never_rises(data, settings):
    X, y = data()
    objective = SCDH(12, n_centers=40, random_state=0, **settings).fit(X, y).report_.facts["objective"]
    assert len(objective) == 10
    assert never_rises(objective)


def test_its_kernel_takes_plain_distances_and_its_map_is_ridge():
    X, y = classes(n=60)
    fitted = SCDH(6, n_centers=15, random_state=0).fit(X, y)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    preparation = fitted.unrounded.preparation
    distance = np.linalg.norm(unit[:, None] - preparation.similarities.centers, axis=2)
    phi = np.column_stack([np.exp(-distance / (2 * 0.4**2)), np.ones(60)])
    np.testing.assert_allclose(preparation(X), phi[:, :-1], atol=2e-3)  # near 0, square roots of float32
    P = np.linalg.solve(phi.T @ phi + 0.1 * np.eye(16), phi.T @ signs(fitted))
    np.testing.assert_allclose(fitted.decision_function(X), phi @ P, atol=2e-2)
    assert len(np.unique(np.column_stack([fitted.codes_, y]), axis=0)) == 4


def test_many_more_bits_than_classes_still_differ():
    """The authors' program collapses here to one code."""
    X, y = classes()
    fitted = SCDH(64, n_centers=40, random_state=0).fit(X, y)
    words = np.unique(signs(fitted), axis=0)
    assert len(words) == 4
    assert np.abs((words @ words.T / 64)[~np.eye(4, dtype=bool)]).max() < 0.6


def test_a_saved_model_remembers_its_kernel(tmp_path):
    from kinhash import load

    X, y = classes()
    fitted = SCDH(8, n_centers=20, random_state=0).fit(X, y)
    fitted.save(tmp_path / "m.kin")
    again = load(tmp_path / "m.kin")
    assert np.array_equal(again.decision_function(X), fitted.decision_function(X))
    assert again.model_id_ == fitted.model_id_
