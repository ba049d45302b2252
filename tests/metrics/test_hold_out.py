"""Held-out rows and pairs: disjoint from what is learned from, and nothing rare is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kinhash.metrics import hold_out_examples, hold_out_rows
from kinhash.metrics.hold_out import folds, stratified_rows
from kinhash.supervision import PairExamples, from_kin, from_pairs, from_triplets, read_labels


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


def some_examples(kind: str, rng: np.random.Generator) -> Any:
    """Examples among 1,000 rows, in two hundred connected components."""
    block = rng.integers(0, 200, 4000) * 5
    a, b, c = (block + rng.integers(0, 5, 4000) for _ in range(3))
    keep = (a != b) & (b != c) & (a != c)
    a, b, c = a[keep], b[keep], c[keep]
    if kind == "triplets":
        return from_triplets(a, b, c, 1000).examples[0]
    return (from_kin(a, b, 1000) if kind == "clicks" else from_pairs(a, b, (a + b) % 2 == 0, 1000)).examples[
        0
    ]


@pytest.mark.filterwarnings("ignore:.*contradict")
@pytest.mark.parametrize("kind", ["pairs", "clicks", "triplets"])
def test_held_out_pairs_name_rows_that_no_other_names(kind: str) -> None:
    rng = np.random.default_rng(0)
    examples = some_examples(kind, rng)
    split = hold_out_examples(examples, 1000, rng)
    assert split is not None
    learn, held_out = split
    assert len(learn.ends) + len(held_out.ends) == len(examples.ends)
    assert 0.05 < len(held_out.ends) / len(examples.ends) < 0.2
    assert not set(learn.ends.ravel()) & set(held_out.ends.ravel())


def test_where_all_pairs_hang_together_one_end_may_be_known() -> None:
    rng = np.random.default_rng(1)
    i, j = rng.integers(0, 200, (2, 3000))
    examples = from_pairs(i[i != j], j[i != j], (i[i != j] + j[i != j]) % 2 == 0, 200).examples[0]
    split = hold_out_examples(examples, 200, rng)
    assert split is not None
    learn, held_out = split
    known = np.isin(held_out.ends, learn.ends)
    assert (~known).any(axis=1).all()
    pairs = {frozenset(pair) for pair in learn.ends.tolist()}
    assert not any(frozenset(pair) in pairs for pair in held_out.ends.tolist())


def test_too_few_pairs_are_all_learned_from() -> None:
    few = PairExamples(np.arange(10), np.arange(10, 20), np.tile([1.0, -1.0], 5))
    assert hold_out_examples(few, 20, np.random.default_rng(0)) is None


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
