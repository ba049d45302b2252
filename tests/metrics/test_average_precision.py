from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.codes import Codes
from kinhash.metrics import average_precision, mean_average_precision


def ap_of_order(relevant, top=None):
    """Average precision of one finished order, from the definition."""
    relevant = np.asarray(relevant, bool)
    places = np.flatnonzero(relevant) + 1
    if len(places) == 0:
        return np.nan
    top = len(relevant) if top is None else top
    precisions = np.arange(1, len(places) + 1) / places
    return precisions[places <= top].sum() / min(len(places), top)


def all_orders(distances, relevant, top=None):
    """AP of every order of the rows that respects the distances."""
    out = []
    for order in permutations(range(len(distances))):
        order = list(order)
        if (np.diff(np.asarray(distances)[order]) >= 0).all():
            out.append(ap_of_order(np.asarray(relevant)[order], top))
    return np.array(out)


def ladder(distances):
    """Codes of 8 bits at these distances from the zero code."""
    return np.array([[(0xFF00 >> d) & 0xFF] for d in distances], np.uint8)


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), min_size=1, max_size=6), st.integers(1, 7))
def test_expected_ap_is_the_mean_over_all_tie_orders(rows, top):
    distances, relevant = [d for d, _ in rows], [r for _, r in rows]
    for cut in (None, top):
        orders = all_orders(distances, relevant, cut)
        args = np.zeros((1, 1), np.uint8), ladder(distances), [relevant], None
        score = {ties: average_precision(*args, ties=ties, top=cut)[0] for ties in
                 ("expected", "optimistic", "pessimistic", "index")}  # fmt: skip
        assert score["expected"] == pytest.approx(orders.mean(), abs=1e-12, nan_ok=True)
        assert score["optimistic"] == pytest.approx(orders.max(), abs=1e-12, nan_ok=True)
        assert score["pessimistic"] == pytest.approx(orders.min(), abs=1e-12, nan_ok=True)
        stable = np.asarray(relevant)[np.argsort(distances, kind="stable")]
        assert score["index"] == pytest.approx(ap_of_order(stable, cut), abs=1e-12, nan_ok=True)


def test_a_constant_bit_on_ten_classes_of_a_hundred():
    y = np.repeat(np.arange(10), 100)
    codes = Codes(np.zeros((1000, 1), np.uint8), n_bits=1)
    assert mean_average_precision(codes, codes, y, y) == pytest.approx(0.1058, abs=5e-5)
