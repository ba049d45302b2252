"""Soft counts of distances, and their slopes, against sums over triangles."""

import numpy as np
import pytest

from kinhash_bench.baselines.histograms import count_softly, slopes_of_distances


@pytest.fixture
def batch():
    rng = np.random.default_rng(0)
    distance = rng.uniform(0, 6, (9, 9))
    return (distance + distance.T) / 2, rng.random((9, 9)) < 0.4, rng.normal(size=(2, 9, 7))


def _triangles(distance, kin, n_bins):
    nearness = np.maximum(0, 1 - np.abs(distance[:, :, None] - np.arange(n_bins + 1)))
    nearness[np.arange(len(distance)), np.arange(len(distance))] = 0
    return np.stack([(nearness * side[:, :, None]).sum(axis=1) for side in (kin, ~kin)])


def test_count_softly_is_a_sum_of_triangles(batch):
    distance, kin, _ = batch
    np.testing.assert_allclose(count_softly(distance, kin, 6), _triangles(distance, kin, 6), atol=1e-12)


def test_slopes_of_distances_are_those_of_the_counts(batch):
    distance, kin, pulls = batch
    step, slopes = 1e-6, slopes_of_distances(distance, kin, np.diff(pulls, axis=2))
    for i, j in [(0, 1), (3, 7), (8, 2)]:
        moved = distance.copy()
        moved[i, j] += step
        rise = _triangles(moved, kin, 6) - _triangles(distance, kin, 6)
        assert slopes[i, j] == pytest.approx((pulls * rise).sum() / step, abs=1e-5)
    assert not slopes.diagonal().any()
