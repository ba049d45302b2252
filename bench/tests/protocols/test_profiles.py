"""One pass says what the metrics say one by one."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash import metrics
from kinhash_bench.protocols.ranking_summary import RECALLS, precision_at_recall, ranking_profile


@pytest.mark.parametrize("exclude_self", [False, True])
def test_every_figure_is_that_of_its_metric(exclude_self):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 256, (1100, 2), np.uint8)
    y = rng.integers(0, 5, 1100)
    queries = slice(None) if exclude_self else slice(60)
    codes[y == 0] &= 15
    args = codes[queries], codes, y[queries], y
    found = ranking_profile(*args, exclude_self=exclude_self)
    own = {"exclude_self": exclude_self}
    ranking = metrics.read_ranking(*args, None, exclude_self)
    curves = [precision_at_recall(groups, RECALLS) for _, groups in metrics.query_blocks(ranking)]
    np.testing.assert_allclose(found.ranked_precision, np.nanmean(np.concatenate(curves), axis=0))
    for k, value in found.precision_at.items():
        assert value == pytest.approx(metrics.evaluate(*args, measures=f"precision@{k}", **own).value)
    assert list(found.map_at) == [1000]
    assert found.map_at[1000] == pytest.approx(metrics.evaluate(*args, measures="map@1000", **own))
    by_found = metrics.evaluate(*args, measures="map@1000/found", **own)
    assert found.map_at_found[1000] == pytest.approx(by_found)
    curve = metrics.precision_recall_curve(*args, **own)
    assert found.within_radius == pytest.approx(curve.precision[2])
    assert found.empty == pytest.approx(curve.empty[2])


def test_nothing_to_find_has_no_profile():
    codes = np.zeros((3, 1), np.uint8)
    assert ranking_profile(codes[:1], codes[1:], [0], [1, 2]) is None


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6))
def test_precision_at_recall_is_kin_over_expected_places(rows):
    """At the place where the expected number of relevant rows reaches a share of them, between places."""
    distances, kin = (np.array(one) for one in zip(*rows, strict=True))
    recalls = np.array([0.05, 0.3, 0.5, 0.77, 1.0])
    at_distance = [distances == d for d in range(3)]
    n, r = (np.array([[side[at].sum() for at in at_distance]]) for side in (np.ones_like(kin, int), kin))
    found = precision_at_recall(metrics.TieGroups.of_counts(n, r), recalls)[0]
    if not kin.any():
        assert np.isnan(found).all()
        return
    orders = [
        list(one) for one in permutations(range(len(kin))) if (np.diff(distances[list(one)]) >= 0).all()
    ]
    expected = np.append(0, np.mean([np.cumsum(kin[order]) for order in orders], axis=0))
    target = recalls * kin.sum()
    after = np.searchsorted(expected, target - 1e-12)
    rise = expected[after] - expected[after - 1]
    np.testing.assert_allclose(found, target / (after - 1 + (target - expected[after - 1]) / rise), atol=1e-9)
