"""Rows of the training set: kept in memory or read again, they are the same."""

from __future__ import annotations

import numpy as np

from kinhash.paper import Preparation, prepare_rows
from kinhash.plugins import Rows
from kinhash_bench.baselines.row_sets import PreparedRows


def test_prepared_rows_are_the_same_kept_or_read_again(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 5))
    first = Preparation.first_guess(X)
    kept = PreparedRows(Rows(X), first, 1)
    monkeypatch.setattr("kinhash_bench.baselines.row_sets.MOST_BYTES", 0)
    again = PreparedRows(Rows(X), first, 1)
    assert kept._kept is not None
    assert again._kept is None
    assert np.array_equal(kept.read(slice(3, 9)), again.read(slice(3, 9)))
    assert np.array_equal(prepare_rows(Rows(X), first), kept.read(slice(0, 50)))
