"""Marginals to bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.errors import UnknownName
from kinhash.solvers.rounding import ROUNDING, round_marginals


@given(seed=st.integers(0, 999), groups=st.integers(1, 8))
def test_weights_stand_for_rows(seed, groups):
    """Rounding groups that count for several rows is rounding those rows."""
    rng = np.random.default_rng(seed)
    phi, counts = rng.uniform(size=(groups, 3)), rng.integers(1, 5, groups)
    rows = np.repeat(np.arange(groups), counts)
    for how in ROUNDING:
        grouped = round_marginals(phi, counts.astype(float), how)
        one_by_one = round_marginals(phi[rows], np.ones(len(rows)), how)
        np.testing.assert_allclose(grouped.threshold, one_by_one.threshold, atol=1e-12)
        far = np.abs(phi - grouped.threshold) > 1e-9
        assert (grouped.bits[rows] == one_by_one.bits)[far[rows]].all()


def test_each_rounding_by_its_definition():
    phi = np.array([[0.1, 0.7], [0.2, 0.8], [0.6, 0.9]])
    assert round_marginals(phi, np.ones(3), "mean").threshold == pytest.approx([0.3, 0.8])
    assert round_marginals(phi, np.ones(3), "median").threshold == pytest.approx([0.2, 0.8])
    assert round_marginals(phi, np.ones(3), "half").threshold == pytest.approx([0.5, 0.5])
    assert round_marginals(phi, np.ones(3), "half").bits.tolist() == [
        [False, True],
        [False, True],
        [True, True],
    ]
    assert round_marginals(phi, np.array([0.0, 0.0, 2.0]), "mean").threshold == pytest.approx([0.6, 0.9])


def test_an_unknown_rounding_is_suggested_away():
    with pytest.raises(UnknownName, match="Did you mean 'median'"):
        round_marginals(np.ones((2, 2)), np.ones(2), "medain")
