"""FSSH: S L without S, exact steps, an objective that never rises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from rival_cases import classes, never_rises, one_hot, signs, tags

from kinhash_bench.baselines import FSSH
from kinhash_bench.baselines.fssh import similarity_times_labels

pytestmark = pytest.mark.filterwarnings("ignore:.*constant on the training rows")  # a few classes


@pytest.mark.parametrize("kind", ["signed", "binary"])
def test_similarities_times_labels_need_no_similarities(kind):
    _, Y = tags(n=30)
    S = 2 * (Y @ Y.T) - 1.0 if kind == "signed" else 1.0 * Y @ Y.T
    found = similarity_times_labels(sp.csr_array(Y, dtype=float), 1.0 * Y.T @ Y, kind)
    np.testing.assert_allclose(found, S @ Y)


@pytest.mark.parametrize("data", [classes, tags])
@pytest.mark.parametrize("settings", [{}, {"mu": 0.5, "theta": 50.0}, {"similarity": "binary"}])
def test_the_objective_never_rises(data, settings):
    X, y = data()
    objective = (
        FSSH(6, n_centers=20, n_rounds=8, random_state=0, **settings).fit(X, y).report_.facts["objective"]
    )
    assert len(objective) == 8
    assert never_rises(objective)


def test_the_reported_objective_and_the_map_are_those_of_the_docstring():
    X, y = classes(n=60)
    fitted = FSSH(5, mu=3.0, theta=2.0, n_centers=10, n_rounds=4, random_state=0).fit(X, y)
    B, L = signs(fitted), one_hot(y)
    Z = fitted.unrounded.preparation(X).astype(float)
    np.testing.assert_allclose(Z.std(axis=0), 1, atol=1e-4)
    P = np.linalg.solve(Z.T @ Z + np.eye(10), Z.T @ B)
    np.testing.assert_allclose(fitted.unrounded.scores(X), Z @ P, atol=1e-3)
    # Left alone with these codes, the factors cannot get below the best they could do together.
    assert fitted.report_.facts["objective"][-1] >= best_with_codes(Z, L, B, 3.0, 2.0) - 1e-6


def best_with_codes(Z, L, B, mu, theta, rounds=1500):
    """The objective less ‖S‖² after many exact steps of W and G, written with S in full."""
    S, rng = 2 * L @ L.T - 1, np.random.default_rng(0)
    G, eye = rng.normal(size=(L.shape[1], B.shape[1])), np.eye(B.shape[1])
    for _ in range(rounds):
        H = L @ G
        W = np.linalg.solve(Z.T @ Z, Z.T @ (theta * B + S @ H)) @ np.linalg.inv(theta * eye + H.T @ H)
        F = Z @ W
        G = np.linalg.solve(L.T @ L, L.T @ (mu * B + S @ F)) @ np.linalg.inv(mu * eye + F.T @ F)
    F, H = Z @ W, L @ G
    loss = ((S - F @ H.T) ** 2).sum() - (S**2).sum()
    return loss + mu * ((B - H) ** 2).sum() + theta * ((B - F) ** 2).sum()


def test_many_rounds_reach_what_exact_steps_reach():
    X, y = classes(n=60)
    settings = {"mu": 3.0, "theta": 2.0, "n_centers": 10, "n_rounds": 1500, "random_state": 0}
    fitted = FSSH(2, **settings).fit(X, y)
    Z = fitted.unrounded.preparation(X).astype(float)
    expected = best_with_codes(Z, one_hot(y), signs(fitted), 3.0, 2.0)
    assert fitted.report_.facts["objective"][-1] == pytest.approx(expected, rel=1e-4)


def test_twin_centers_do_no_harm():
    X, y = classes(n=60)
    twins, labels = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    fitted = FSSH(8, n_centers=120, random_state=0).fit(twins, labels)
    assert np.isfinite(fitted.decision_function(X)).all()
    assert fitted.score(X, y) > 0.6
