"""Rows held out inside a fit are apart from those that candidates are fitted on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tuning_data import classes, training

from kinhash.tuning.splits import ENOUGH_ROWS, MOST_ROWS, validation_split


@given(
    n=st.integers(2, 700), n_unknown=st.integers(0, 300), n_weightless=st.integers(0, 300), seed=st.integers()
)
def test_parts_are_disjoint_and_hold_known_rows_only(n, n_unknown, n_weightless, seed):
    X, y = classes(n=n, p=1)
    labels = [None if i < n_unknown else int(c) for i, c in enumerate(y)]
    weights = np.where(np.arange(n) >= n - n_weightless, 0.0, 1.5)
    split = validation_split(training(X, labels, weights), np.random.default_rng(abs(seed)))
    known = np.arange(n_unknown, n - n_weightless)
    if len(known) < ENOUGH_ROWS:
        assert split is None
        return
    assert len(split.held) == len(known) // 5
    assert sorted([*split.part, *split.held]) == known.tolist()


@pytest.mark.parametrize("n", [249, 250])
def test_too_few_rows_are_not_split(n):
    split = validation_split(training(*classes(n=n)), np.random.default_rng(0))
    assert (split is None) == (n < 250)


def test_at_most_8000_rows_are_drawn_from_all_over():
    split = validation_split(training(*classes(n=30_000, p=1)), np.random.default_rng(0))
    rows = np.concatenate([split.part, split.held])
    assert len(np.unique(rows)) == len(rows) == MOST_ROWS == 8000
    for some in (split.part, split.held):  # neither is a piece of the matrix
        assert some.min() < 300
        assert some.max() > 29_700
    assert (np.diff(split.part) < 0).any()  # the first rows of the part are a draw, too


def test_classes_of_few_rows_keep_a_row_and_their_weight():
    y = np.repeat(np.arange(200), 2)
    given = training(np.zeros((400, 2)), y)
    split = validation_split(given, np.random.default_rng(0))
    assert len(split.held) == 80
    assert sorted(np.concatenate([split.part, split.held])) == list(range(400))
    assert np.array_equal(np.bincount(y[split.part], split.weights, 200), np.full(200, 2.0))
