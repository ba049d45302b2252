"""Scores of labels: means of classes, the ridge of tags against a dense solve, digests, and additions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash.errors import InvalidInput
from kinhash.labels import read_labels
from kinhash.learn.table import LabelTable


def tag_sets(n, t, seed):
    rng = np.random.default_rng(seed)
    return [set(rng.choice(t, rng.integers(0, min(4, t) + 1), replace=False).tolist()) for _ in range(n)]


@given(n=st.integers(5, 60), t=st.integers(2, 12), seed=st.integers(0, 500))
@settings(max_examples=30)
def test_scores_of_tags_are_a_ridge_regression(n, t, seed):
    sets = tag_sets(n, t, seed)
    if not any(sets):
        return
    labels = read_labels(sets)
    scores = np.random.default_rng(seed).normal(size=(n, 6)) * 3
    table = LabelTable.fit(labels, scores, np.arange(n))
    Y = np.hstack([labels.indicator().toarray(), np.ones((n, 1))]).astype(float)
    penalty = np.diag([10.0] * len(labels.names) + [0.0])
    found = Y @ np.linalg.solve(Y.T @ Y + penalty, Y.T @ scores)
    wanted = found * np.sqrt((scores**2).mean() / (found**2).mean())
    np.testing.assert_allclose(table.of(labels), wanted, atol=1e-3 * np.abs(wanted).max())


@given(
    n=st.integers(4, 60),
    k=st.integers(2, 8),
    size=st.sampled_from([1e-12, 1.0, 1e9]),
    seed=st.integers(0, 99),
)
@settings(max_examples=30)
def test_scores_of_classes_are_the_means_of_their_rows(n, k, size, seed):
    rng = np.random.default_rng(seed)
    y, scores = rng.integers(0, k, n), rng.normal(size=(n, 6)) * size
    labels = read_labels(y)
    found = LabelTable.fit(labels, scores, np.arange(n)).of(labels)
    typical = np.sqrt((scores**2).mean())
    for c in np.unique(y):
        mean = scores[y == c].mean(axis=0)
        wanted = mean * typical / np.sqrt((mean**2).mean())
        np.testing.assert_allclose(found[y == c], np.tile(wanted, ((y == c).sum(), 1)), atol=1e-4 * typical)


@pytest.fixture
def table():
    labels = read_labels(["a", "b", None, "b", "c"])
    return LabelTable.fit(labels, np.random.default_rng(0).normal(size=(4, 6)), np.array([0, 1, 3, 4]))


def test_labels_are_found_by_name_whatever_stands_beside_them(table):
    scores = table.of(read_labels(["c", "a"]))
    np.testing.assert_array_equal(scores, table.of(read_labels(["a", "b", "c", "a"]))[[2, 0]])
    assert not table.of(read_labels(["c", None]), unknown_ok=True)[1].any()
    with pytest.raises(InvalidInput, match="1 of 2 labels are unknown"):
        table.of(read_labels(["c", None]))
    with pytest.raises(InvalidInput, match="does not know 1 of the labels, 'z' among them"):
        table.of(read_labels(["c", "z"]))
    with pytest.raises(InvalidInput, match="y holds tags, and the model was fitted on classes"):
        table.of(read_labels([{"c"}]))


@pytest.mark.parametrize(
    ("labels", "others", "equal"),
    [
        ([1, 2], [1.0, 2.0], True),
        ([1, 2], ["1", "2"], False),
        ([b"1", b"2"], ["1", "2"], False),
        ([0.5, 2], [0.5, 2.0], True),
        ([0, 1], [False, True], False),
    ],
)
def test_what_counts_as_the_same_name(labels, others, equal):
    table = LabelTable.fit(read_labels(labels), np.random.default_rng(0).normal(size=(2, 6)), np.arange(2))
    if equal:
        table.places(read_labels(others))
        return
    with pytest.raises(InvalidInput, match="does not know"):
        table.places(read_labels(others))


def test_arrays_make_the_round_trip(table):
    again = LabelTable.from_arrays(table.arrays(), 6)
    for name, array in table.arrays().items():
        np.testing.assert_array_equal(array, again.arrays()[name])
    for name, wrong in (
        ("digests", table.digests[[0, 0, 1]]),
        ("scores", table.scores[:2]),
        ("offset", table.offset[:3]),
        ("facts", np.array([5000, 0, 0, 0], np.int32)),
        ("facts", np.array([3, 2, 0, 0], np.int32)),
        ("facts", np.array([3, 0, 9, 0], np.int32)),
        ("facts", np.array([3, 0, 0, 5], np.int32)),
    ):
        with pytest.raises(ValueError):
            LabelTable.from_arrays({**table.arrays(), name: wrong}, 6)


def test_more_labels_from_rows_and_from_another_table(table):
    scores = np.random.default_rng(1).normal(size=(4, 6))
    more = table.with_classes(read_labels(["d", "d", "a", None]), scores)
    np.testing.assert_array_equal(more.of(read_labels(["a", "b"])), table.of(read_labels(["a", "b"])))
    mean = scores[:2].mean(axis=0)
    found = more.of(read_labels(["d"]))[0]
    assert found @ mean / np.linalg.norm(found) / np.linalg.norm(mean) == pytest.approx(1, abs=1e-3)
    both = table.with_labels_of(more)
    np.testing.assert_array_equal(both.of(read_labels(["a", "d"])), more.of(read_labels(["a", "d"])))
    for wrong in ([1, 2, 3, 4], [{"a"}] * 4):
        with pytest.raises(InvalidInput):
            table.with_classes(read_labels(wrong), scores)
