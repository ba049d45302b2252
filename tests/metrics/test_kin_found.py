"""mAP@K divided by the kin found, against every order of the ties; and how it differs from ours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metric_oracles import all_orders, ladder

from kinhash.errors import UnknownName
from kinhash.metrics import (
    average_precision,
    average_precision_from_order,
    average_precision_from_scores,
    mean_average_precision,
)


def by_kin_found(grades, top):
    """From the definition: mean precision at the kin among the first places, 0 without any."""
    kin = np.asarray(grades) > 0
    if not kin.any():
        return np.nan
    places = np.flatnonzero(kin[:top]) + 1
    return (np.arange(1, len(places) + 1) / places).mean() if len(places) else 0.0


@given(
    distances=st.lists(st.integers(0, 3), min_size=1, max_size=6),
    data=st.data(),
    top=st.one_of(st.none(), st.integers(1, 7)),
)
def test_expected_best_and_worst_are_those_over_all_orders(distances, data, top):
    kin = np.array(data.draw(st.lists(st.booleans(), min_size=len(distances), max_size=len(distances))))
    every = [by_kin_found(kin[order], top) for order in all_orders(distances)]
    given_codes = ladder([0]), ladder(distances), kin[None].astype(int)
    relevance = {"top": top, "divide_by": "found"}
    stable = np.argsort(distances, kind="stable")
    for ties, wanted in {
        "expected": np.mean(every),
        "optimistic": np.max(every),
        "pessimistic": np.min(every),
        "index": by_kin_found(kin[stable], top),
    }.items():
        mine = average_precision(*given_codes, ties=ties, **relevance)
        floats = average_precision_from_scores(
            -np.array([distances]), kin[None].astype(int), ties=ties, **relevance
        )
        np.testing.assert_allclose([mine[0], floats[0]], wanted, atol=1e-12)


def test_lists_of_neighbors_are_divided_alike():
    kin = np.array([[1, 0, 1, 1, 0]])
    lists = np.array([[0, 1, 2]])
    assert average_precision_from_order(lists, kin, divide_by="found") == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision_from_order(lists, kin) == pytest.approx((1 + 2 / 3) / 3)


def test_the_two_definitions_part_where_kin_are_not_found():
    """One kin in front and nothing behind it: HashNet's is 1, ours says what is missing."""
    codes = np.arange(10, dtype=np.uint8)[:, None]
    relevance = np.zeros((1, 10), int)
    relevance[0, [0, 7, 8, 9]] = 1
    lists = np.arange(10)[None, :5]
    assert average_precision_from_order(lists, relevance, top=5, divide_by="found") == 1.0
    assert average_precision_from_order(lists, relevance, top=5) == 0.25
    full = (codes[:1], codes, relevance)
    assert mean_average_precision(*full, divide_by="found") == pytest.approx(mean_average_precision(*full))


def test_finding_more_may_score_less_and_the_band_knows():
    """One kin nearest, then a group of a kin and a stranger cut in half: hiding the kin scores more."""
    relevance = np.array([[1, 0, 1]])
    at = {"n_bits": 8, "top": 2, "divide_by": "found"}
    score = mean_average_precision(ladder([0]), ladder([0, 1, 1]), relevance, **at)
    assert score.band == pytest.approx((1.0, 1.0))
    score = mean_average_precision(
        ladder([0]), ladder([0, 1, 2, 2]), np.array([[1, 0, 0, 1]]), **at | {"top": 3}
    )
    assert score.band == pytest.approx(((1 + 2 / 3) / 2, 1.0))
    assert "by kin found" in str(score)


def test_names_of_divisors_are_checked():
    with pytest.raises(UnknownName, match="divide_by"):
        mean_average_precision(ladder([0]), ladder([0]), np.array([[1]]), divide_by="all")
