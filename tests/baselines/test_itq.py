"""ITQ: an error that never rises, a rotation that is one, and the plain algorithm as its twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rival_cases import classes, never_rises

from kinhash.baselines import ITQ
from kinhash.baselines.itq import itq_rotation


def plain_itq(V, R, rounds):
    """Gong and Lazebnik's loop, written down as they print it."""
    for _ in range(rounds):
        B = np.where(V @ R >= 0, 1.0, -1.0)
        left, _, right = np.linalg.svd(B.T @ V)
        R = right.T @ left.T
    return R


@given(n=st.integers(3, 40), r=st.integers(1, 6), more=st.integers(0, 3), seed=st.integers(0, 99))
def test_the_error_never_rises_and_the_rotation_stays_one(n, r, more, seed):
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(n, r)) * rng.uniform(0.1, 10, r)
    weights = rng.uniform(0.1, 3, n)
    R, errors = itq_rotation(V, r + more, rng, 20, weights)
    assert never_rises(errors, 1e-12)
    np.testing.assert_allclose(R @ R.T, np.eye(r), atol=1e-9)


def test_the_rotation_is_that_of_the_plain_loop():
    rng = np.random.default_rng(0)
    V = rng.normal(size=(60, 4))
    left, _, right = np.linalg.svd(np.random.default_rng(5).standard_normal((4, 4)))
    found, _ = itq_rotation(V, 4, np.random.default_rng(5), 9)
    np.testing.assert_allclose(found, plain_itq(V, left @ right, 9), atol=1e-9)


def test_principal_directions_alone_carry_the_bits():
    """Bits are signs of an orthogonal turn of the top principal components of the centered columns."""
    X, _ = classes(p=8)
    X = X * np.array([9, 5, 3, 1, 1, 1, 1, 1.0])
    fitted = ITQ(3, random_state=0).fit(X)
    centered = X - X.mean(axis=0)
    top = np.linalg.svd(centered, full_matrices=False)[2][:3].T
    margins = fitted.fitted_.unrounded.scores(X)
    turn = np.linalg.lstsq(centered @ top, margins, rcond=None)[0]
    np.testing.assert_allclose(centered @ top @ turn, margins, atol=1e-4)
    np.testing.assert_allclose(turn.T @ turn, np.eye(3) * (turn**2).sum() / 3, atol=1e-4)


def test_the_report_has_the_errors():
    X, y = classes()
    fitted = ITQ(6, n_rounds=7, random_state=0).fit(X, y)
    errors = fitted.report_.facts["quantization_error"]
    assert len(errors) == 8  # before every round, and at the end
    assert never_rises(errors, 1e-9)
    assert errors[-1] < errors[0]


def test_rounds_are_checked():
    from kinhash.errors import InvalidInput

    with pytest.raises(InvalidInput, match="n_rounds"):
        ITQ(8, n_rounds=0).fit(classes()[0])
