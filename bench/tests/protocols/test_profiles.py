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
    ranking = metrics.read_ranking(*args, None, exclude_self)
    curves = [groups.precision_at_recall(RECALLS) for _, groups in metrics.query_blocks(ranking)]
    np.testing.assert_allclose(found.ranked_precision, np.nanmean(np.concatenate(curves), axis=0))
    for k, value in found.precision_at.items():
        assert value == pytest.approx(metrics.precision_at_k(*args, k=k, **own).value)
    assert list(found.map_at) == [1000]
    assert found.map_at[1000] == pytest.approx(metrics.mean_average_precision(*args, top=1000, **own))
    by_found = metrics.mean_average_precision(*args, top=1000, divide_by="found", **own)
    assert found.map_at_found[1000] == pytest.approx(by_found)
    curve = metrics.precision_recall_curve(*args, **own)
    assert found.within_radius == pytest.approx(curve.precision[2])
    assert found.empty == pytest.approx(curve.empty[2])


def test_nothing_to_find_has_no_profile():
    codes = np.zeros((3, 1), np.uint8)
    assert ranking_profile(codes[:1], codes[1:], [0], [1, 2]) is None
