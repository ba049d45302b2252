"""FSSH: S L without S, exact steps, an objective that never rises."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from rival_cases import classes, never_rises, one_hot, signs, tags

from kinhash.baselines import FSSH
from kinhash.baselines.fssh import similarity_times_labels

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
    objective = FSSH(6, n_centers=20, n_rounds=8, random_state=0, **settings).fit(X, y).report_["objective"]
    assert len(objective) == 8
    assert never_rises(objective)


def test_the_reported_objective_and_the_map_are_those_of_the_docstring():
    X, y = classes(n=60)
    fitted = FSSH(5, mu=3.0, theta=2.0, n_centers=10, n_rounds=4, random_state=0).fit(X, y)
    B, L = signs(fitted), one_hot(y)
    Z = fitted._map.preparation(X).astype(float)
    np.testing.assert_allclose(Z.std(axis=0), 1, atol=1e-4)
    P = np.linalg.solve(Z.T @ Z + np.eye(10), Z.T @ B)
    np.testing.assert_allclose(fitted.decision_function(X), Z @ P, atol=1e-3)
    # With B fixed, alternating G and W must not get below what was reported by more than it may still fall.
    S = 2 * L @ L.T - 1
    W = np.zeros((10, 5))
    G = np.random.default_rng(0).normal(size=(4, 5))
    for _ in range(2000):
        W = np.linalg.solve(Z.T @ Z, 2 * Z.T @ B + Z.T @ S @ L @ G) @ np.linalg.inv(
            2 * np.eye(5) + G.T @ L.T @ L @ G
        )
        G = np.linalg.solve(L.T @ L, 3 * L.T @ B + L.T @ S @ Z @ W) @ np.linalg.inv(
            3 * np.eye(5) + W.T @ Z.T @ Z @ W
        )
    F, H = Z @ W, L @ G
    best = ((S - F @ H.T) ** 2).sum() + 3 * ((B - H) ** 2).sum() + 2 * ((B - F) ** 2).sum() - (S**2).sum()
    assert fitted.report_["objective"][-1] >= best - 1e-3 * abs(best)


def test_twin_centres_do_no_harm():
    X, y = classes(n=60)
    twins, labels = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    fitted = FSSH(8, n_centers=120, random_state=0).fit(twins, labels)
    assert np.isfinite(fitted.decision_function(X)).all()
    assert fitted.score(X, y) > 0.6
