"""CCA-ITQ: the rank limit, and correlations against the textbook."""

from __future__ import annotations

import numpy as np
import pytest
from rival_cases import classes, never_rises, tags

from kinhash.errors import InvalidInput
from kinhash_bench.baselines import CCAITQ
from kinhash_bench.baselines.ccaitq import canonical_directions


@pytest.mark.parametrize("k", [2, 3, 5])
def test_classes_have_one_direction_less_than_their_number(k):
    X, y = classes(k=k)
    r = CCAITQ(16, random_state=0).fit(X, y).report_.facts["correlations"]
    assert (r[: k - 1] > 0.05).all()
    assert (r[k - 1 :] < 1e-2).all()


@pytest.mark.filterwarnings("ignore:.*constant on the training rows")
def test_margins_have_no_more_rank_than_there_are_directions():
    X, y = classes(k=3)
    margins = CCAITQ(16, random_state=0).fit(X, y).decision_function(X).astype(float)
    singular = np.linalg.svd(margins, compute_uv=False)
    assert (singular[2:] < 1e-2 * singular[0]).all()


def test_directions_solve_the_generalized_eigenproblem():
    """Twin: Cxy Cyy⁻¹ Cyx a = r² Cxx a, by a general solver."""
    from scipy.linalg import eigh

    X, Y = tags()
    X, Y, n = X - X.mean(axis=0), Y - Y.mean(axis=0), len(X) - 1
    Cxx, Cxy, Cyy = X.T @ X / n, X.T @ Y / n, Y.T @ Y / n
    A, r = canonical_directions(Cxx, Cxy, Cyy, 1e-4)
    raised_x, raised_y = Cxx + 1e-4 * np.eye(8), Cyy + 1e-4 * np.eye(6)
    values, vectors = eigh(Cxy @ np.linalg.solve(raised_y, Cxy.T), raised_x)
    np.testing.assert_allclose(r**2, values[::-1][:6], atol=1e-9)
    assert ((r >= 0) & (r <= 1)).all()
    np.testing.assert_allclose(np.abs(A), np.abs(vectors[:, ::-1][:, :6]), atol=1e-6)


def test_correlations_of_a_fit_are_those_of_scikit_learn():
    from sklearn.cross_decomposition import CCA

    X, Y = tags(n=300)
    r = CCAITQ(4, reg=1e-9, random_state=0).fit(X, Y).report_.facts["correlations"]
    a, b = CCA(4, max_iter=5000, tol=1e-10).fit_transform(X, Y)
    np.testing.assert_allclose(r, [np.corrcoef(a[:, i], b[:, i])[0, 1] for i in range(4)], atol=1e-4)


def test_the_rotation_never_loses():
    X, y = classes()
    assert never_rises(CCAITQ(8, random_state=0).fit(X, y).report_.facts["quantization_error"], 1e-9)


def test_rows_of_unknown_class_are_left_out():
    X, y = classes()
    known = np.where(np.arange(120) < 90, y.astype(float), np.nan)
    some = CCAITQ(8, random_state=0).fit(X, known).report_.facts["correlations"]
    np.testing.assert_allclose(
        some, CCAITQ(8, random_state=0).fit(X[:90], y[:90]).report_.facts["correlations"], atol=1e-5
    )


def test_pairs_are_refused():
    X, _ = classes()
    with pytest.raises(InvalidInput, match=r"pairs.*classes or tags"):
        CCAITQ(8).fit_pairs(X, [0, 1], [2, 3], [1, -1])
