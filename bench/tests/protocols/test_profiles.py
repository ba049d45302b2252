"""One pass says what the metrics say one by one."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash import metrics
from kinhash_bench.protocols.ranking_summary import RECALLS, ranking_profile


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
    curve = metrics.precision_at_recall(*args, recall=RECALLS, **own)
    np.testing.assert_allclose(found.ranked_precision, curve.precision)
    for k, value in found.precision_at.items():
        assert value == pytest.approx(metrics.precision_at_k(*args, k=k, **own).value)
    assert list(found.map_at) == [1000]
    assert found.map_at[1000] == pytest.approx(metrics.mean_average_precision(*args, top=1000, **own))
    by_found = metrics.mean_average_precision(*args, top=1000, divide_by="found", **own)
    assert found.map_at_found[1000] == pytest.approx(by_found)
    near = metrics.precision_within_radius(*args, radius=2, **own)
    assert found.within_radius == pytest.approx(near.value)
    assert found.empty == pytest.approx(near.n_empty / len(args[0]))


def test_nothing_to_find_has_no_profile():
    codes = np.zeros((3, 1), np.uint8)
    assert ranking_profile(codes[:1], codes[1:], [0], [1, 2]) is None
