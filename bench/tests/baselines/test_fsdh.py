"""FSDH: an objective that never rises, and codes that are signs of class means."""

from __future__ import annotations

import numpy as np
import pytest
from rival_cases import classes, never_rises, one_hot, signs, tags

from kinhash_bench.baselines import FSDH

pytestmark = pytest.mark.filterwarnings("ignore:.*constant on the training rows")  # a few classes


@pytest.mark.parametrize("data", [classes, tags])
@pytest.mark.parametrize("nu", [1e-5, 1.0])
def test_the_objective_never_rises(data, nu):
    X, y = data()
    assert never_rises(FSDH(12, nu=nu, n_centers=30, random_state=0).fit(X, y).report_.facts["objective"])


def test_the_reported_objective_is_the_one_in_the_docstring():
    X, y = classes(n=60)
    fitted = FSDH(6, nu=0.3, lam=2.0, lam_map=0.5, n_centers=20, random_state=0).fit(X, y)
    B, L = signs(fitted), one_hot(y)
    phi = np.column_stack([fitted.unrounded.preparation(X), np.ones(60)]).astype(float)
    W = np.linalg.solve(L.T @ L + 2 * np.eye(4), L.T @ B)
    P = np.linalg.solve(phi.T @ phi + 0.5 * np.eye(21), phi.T @ B)
    expected = ((B - L @ W) ** 2).sum() + 2 * (W**2).sum()
    expected += 0.3 * (((B - phi @ P) ** 2).sum() + 0.5 * (P**2).sum())
    assert fitted.report_.facts["objective"][-1] == pytest.approx(expected, rel=1e-5)


def test_one_label_per_row_fixes_the_codes_at_the_first_random_class_means():
    X, y = classes()
    fitted = FSDH(16, nu=0.0, n_centers=30, random_state=7).fit(X, y)
    rng = np.random.default_rng(7)
    rng.choice(np.arange(120), 30, replace=False)  # the centers are drawn first
    start = np.where(rng.standard_normal((120, 16)) > 0, 1.0, -1.0)
    B = signs(fitted)
    for c in range(4):
        total = start[y == c].sum(axis=0)
        decided = total != 0
        assert (B[y == c][:, decided] == np.sign(total[decided])).all()
