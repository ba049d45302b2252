"""Passes over prepared rows, and the exponential they share, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash.encoders.fit_kernels import LOWEST, column_sums, exponential_parts, shift_and_scale


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (50, 7), (300, 33)])
def test_columns_are_summed_in_float64(shape):
    rng = np.random.default_rng(0)
    z, weights = (1000 + rng.standard_normal(shape)).astype(np.float32), rng.uniform(0, 3, shape[0])
    wide = z.astype(np.float64)
    np.testing.assert_allclose(column_sums(z, weights), [weights @ wide, weights @ wide**2], rtol=1e-13)


def test_columns_are_shifted_and_scaled_in_place():
    rng = np.random.default_rng(0)
    z, offset, factor = (rng.standard_normal(shape).astype(np.float32) for shape in ((20, 5), 5, 5))
    expected = (z - offset) * factor
    shift_and_scale(z, offset, factor)
    np.testing.assert_allclose(z, expected, rtol=1e-6, atol=1e-7)


def test_the_exponential_is_off_by_four_roundings_at_most():
    for x in np.float32([*np.linspace(float(LOWEST), 0, 500), -1e-30, -0.34657359]):
        lead, bits = exponential_parts(x)
        found = np.float64(lead) * np.float64(np.array([bits], np.int32).view(np.float32)[0])
        assert found == pytest.approx(np.exp(np.float64(x)), rel=4 * 2.0**-24), x
