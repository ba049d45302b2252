"""Sigmoids and their losses in one pass, against the formulas in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.encoders.fit_kernels import sigmoids_and_losses
from kinhash.encoders.label_models import _sigmoid_parts


@given(rows=st.integers(0, 200), columns=st.integers(1, 9), size=st.floats(0, 500), seed=st.integers(0, 999))
def test_sigmoids_and_losses_are_those_of_the_formulas(rows, columns, size, seed):
    z = (np.random.default_rng(seed).standard_normal((rows, columns)) * size).astype(np.float32)
    wide = z.astype(np.float64)
    chances, kept = 1 / (1 + np.exp(-wide.clip(-700))), z.copy()
    losses = sigmoids_and_losses(kept)
    np.testing.assert_allclose(kept, chances, rtol=2e-6, atol=1e-36)
    np.testing.assert_allclose(losses, np.logaddexp(0, wide).sum(axis=0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("value", [-1e30, -200.0, -0.0, 0.0, 200.0, 1e30])
def test_extreme_scores_stay_finite(value):
    z = np.full((3, 2), value, np.float32)
    losses = sigmoids_and_losses(z)
    assert np.isfinite(losses).all()
    assert ((z >= 0) & (z <= 1)).all()


def test_scores_that_are_no_numbers_are_no_losses():
    """A step that went too far is then seen to have."""
    losses = sigmoids_and_losses(np.array([[np.nan, 1.0], [0.0, 2.0]], np.float32))
    assert np.isnan(losses[0])
    assert np.isfinite(losses[1])


def test_rows_of_weight_one_count_as_without_weights():
    z = np.random.default_rng(0).standard_normal((300, 7)).astype(np.float32)
    plain, weighted = _sigmoid_parts(z.copy(), None), _sigmoid_parts(z.copy(), np.ones(300, np.float32))
    np.testing.assert_allclose(plain[0], weighted[0], rtol=1e-6)
    np.testing.assert_allclose(plain[1], weighted[1], rtol=1e-6)
    twice = _sigmoid_parts(z.copy(), np.full(300, 2, np.float32))
    np.testing.assert_allclose(twice[0], 2 * plain[0], rtol=1e-6)
