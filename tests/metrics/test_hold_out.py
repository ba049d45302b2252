"""Held-out rows and pairs: disjoint from what is learned from, and nothing rare is lost."""

from __future__ import annotations

import numpy as np

from kinhash.metrics import Pairs, hold_out_pairs, hold_out_rows
from kinhash.metrics.hold_out import folds, stratified_rows
from kinhash.supervision import read_labels


def test_the_last_row_of_a_class_is_never_held_out() -> None:

    from kinhash.supervision import read_labels

    labels = read_labels(
        [*range(15), *range(5), None, None]
    )  # ten classes have one row, two rows are unknown
    for seed in range(20):
        train, held_out = hold_out_rows(labels, 100, 0.9, np.random.default_rng(seed))
        assert sorted([*train, *held_out]) == list(range(22))
        assert set(labels.classes[train]) >= set(range(15))
        assert labels.known[held_out].all()
        assert len(held_out) == 5


def test_pairs_held_out_are_not_learned_from_under_another_number() -> None:
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 12, 2000), rng.integers(12, 24, 2000)
    flip = rng.random(2000) < 0.5
    pairs = Pairs(np.where(flip, i, j), np.where(flip, j, i), np.where((i + j) % 2, 1, -1))
    learned, held_out = hold_out_pairs(pairs, 0.02, rng)
    assert held_out is not None
    assert len(learned) + len(held_out) == 2000

    def names(some: Pairs) -> set[tuple[int, int]]:
        return set(zip(np.minimum(some.left, some.right), np.maximum(some.left, some.right), strict=True))

    assert not names(learned) & names(held_out)


def test_a_sample_keeps_the_shares_of_classes() -> None:
    y = np.repeat([0, 1, 2], [700, 200, 100])
    rows = stratified_rows(read_labels(y), 100, np.random.default_rng(0))
    assert len(np.unique(rows)) == 100
    assert np.bincount(y[rows]).tolist() == [70, 20, 10]
    for fold in folds(100, 5):
        assert np.bincount(y[rows[fold.held_out]]).tolist() == [14, 4, 2]
        assert np.array_equal(np.sort(np.concatenate(fold)), np.arange(100))


def test_a_sample_keeps_the_shares_of_rare_tags() -> None:
    rng = np.random.default_rng(0)
    tags = np.zeros((1000, 3), np.int8)
    tags[:, 0] = rng.random(1000) < 0.9
    tags[rng.permutation(1000)[:100], 1] = 1
    labels = read_labels(tags)
    rows = stratified_rows(labels, 100, rng)
    assert tags[rows, 1].sum() == 10
    assert [int(tags[rows[fold.held_out], 1].sum()) for fold in folds(100, 5)] == [2] * 5
