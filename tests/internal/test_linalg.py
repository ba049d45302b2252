from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.plugins import fit_rotation, jittered_cholesky

seeds = st.integers(0, 10**6)


@given(seeds, st.integers(1, 8), st.integers(1, 12), st.sampled_from([0.0, 1e-9, 0.1]))
def test_a_factor_of_the_least_raised_matrix(seed, rank, size, alpha):
    """Of a singular Gram matrix, too: the first jitter that works, and no smaller one does."""
    X = np.random.default_rng(seed).normal(size=(rank, size))
    gram, jitters = X.T @ X, (0.0, 1e-12, 1e-10, 1e-8, 1e-6)
    scale = np.trace(gram) / size
    lower = jittered_cholesky(gram, alpha, jitters, smallest_pivot=1e-7)
    assert (np.triu(lower, 1) == 0).all()
    added = np.diag(lower @ lower.T - gram).mean() - alpha
    nearest = min(jitters, key=lambda jitter: abs(added - jitter * scale))
    np.testing.assert_allclose(
        lower @ lower.T, gram + (alpha + nearest * scale) * np.eye(size), atol=1e-13 * (1 + scale * size)
    )
    assert np.diag(lower).min() > 1e-7 * np.sqrt(scale)


def test_a_matrix_that_no_jitter_helps():
    with pytest.raises(np.linalg.LinAlgError):
        jittered_cholesky(np.diag([1.0, -1.0]), 0.0, (0.0, 1e-6))


@given(seeds, st.integers(1, 5), st.integers(1, 7), st.booleans(), st.integers(0, 4))
def test_every_round_of_a_rotation_loses_less_by_rounding(seed, r, d, weighted, n_rounds):
    rng = np.random.default_rng(seed)
    codes, weights = rng.normal(size=(20, r)), rng.random(20) if weighted else None
    seen: list = []
    found = fit_rotation(codes, d, np.random.default_rng(1), n_rounds, weights, watch=seen.append)
    assert len(seen) == n_rounds
    if r <= d:
        np.testing.assert_allclose(found @ found.T, np.eye(r), atol=1e-12)
        losses = [np.average(((1 - np.abs(turned)) ** 2).sum(axis=1), weights=weights) for turned in seen]
        assert (np.diff(losses) <= 1e-12).all()
