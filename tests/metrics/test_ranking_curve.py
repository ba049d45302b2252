"""Precision at recall along the ranking, against the mean over every order of the ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_oracles import all_orders, ladder

from kinhash.errors import InvalidInput
from kinhash.metrics import precision_at_recall

RECALLS = np.array([0.05, 0.1, 0.3, 0.5, 0.77, 1.0])


def by_orders(distances, kin):
    """Expected kin at every place, by all orders; the place where it reaches a share, between places."""
    found = np.mean([np.cumsum(kin[order]) for order in all_orders(distances)], axis=0)
    found = np.append(0, found)
    target = RECALLS * kin.sum()
    after = np.searchsorted(found, target - 1e-12)  # the first place where it is reached
    rise = found[after] - found[after - 1]
    return target / (after - 1 + (target - found[after - 1]) / rise)


@given(distances=st.lists(st.integers(0, 3), min_size=1, max_size=6), data=st.data())
def test_precision_is_kin_over_places_where_the_expected_recall_is_reached(distances, data):
    kin = np.array(data.draw(st.lists(st.booleans(), min_size=len(distances), max_size=len(distances))))
    curve = precision_at_recall(ladder([0]), ladder(distances), kin[None].astype(int), recall=RECALLS)
    if not kin.any():
        assert np.isnan(curve.precision).all()
        assert curve.n_without_kin == 1
        return
    np.testing.assert_allclose(curve.precision, by_orders(distances, kin), atol=1e-9)


def test_far_kin_do_not_make_the_curve_climb():
    """Codes at distance 3 of every query: a radius of 0 to 2 finds nothing, the ranking has no such gap."""
    relevance = np.array([[1, 1, 0, 0]])
    curve = precision_at_recall(ladder([0]), ladder([3, 3, 4, 5]), relevance)
    np.testing.assert_allclose(curve.precision, 1.0)
    assert curve.recall[0] == 0


def test_recall_zero_is_the_share_of_the_nearest_rows():
    relevance = np.array([[1, 0, 0, 1], [0, 0, 0, 1]])
    codes = ladder([0, 0]), ladder([1, 1, 1, 2])
    curve = precision_at_recall(*codes, relevance, recall=[0.0])
    np.testing.assert_allclose(curve.per_query[:, 0], [1 / 3, 0])


def test_recalls_are_shares():
    with pytest.raises(InvalidInput, match="recall"):
        precision_at_recall(ladder([0]), ladder([0]), np.array([[1]]), recall=[2.0])
