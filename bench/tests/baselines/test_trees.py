"""Boosted trees as arrays: the scores are scikit-learn's, and a file cannot lead a walk astray."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from kinhash.models import WholeMap
from kinhash.paper import Preparation
from kinhash_bench.baselines.trees import Steps, Trees, TreesMap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 6)).astype(np.float32)
X[:, 2] = np.round(X[:, 2])  # few distinct values
STEPS = Steps.of(X, RNG)
PREPARATION = Preparation(np.zeros(6), np.ones(6))


def boosted(bit, depth=4):
    return HistGradientBoostingClassifier(max_iter=20, max_depth=depth, random_state=0).fit(STEPS(X), bit)


def some_map():
    bits = [Trees.of(boosted(X[:, 0] * X[:, 1] > 0)), Trees.constant(-1.0), Trees.of(boosted(X[:, 2] > 0, 1))]
    return TreesMap(PREPARATION, STEPS, bits)


@pytest.mark.parametrize("depth", [1, 4, None])
def test_scores_are_those_of_scikit_learn_to_the_last_digit(depth):
    fitted = boosted((X[:, 0] * X[:, 1] > 0) ^ (X[:, 2] > 1), depth)
    new = STEPS((RNG.normal(size=(300, 6)) * 3).astype(np.float32))
    assert np.array_equal(Trees.of(fitted).scores(new), fitted.decision_function(new))


def test_steps_are_counts_of_edges_below():
    steps = STEPS(X)
    for j in range(6):
        edges = STEPS.edges[STEPS.starts[j] : STEPS.starts[j + 1]]
        assert len(edges) <= 255
        assert np.array_equal(steps[:, j], (edges[None] < X[:, j, None]).sum(axis=1))


def test_a_constant_needs_no_tree():
    assert (Trees.constant(-1.0).scores(STEPS(X)) == -1).all()


def test_whole_numbers_walk_the_same_trees():
    first = some_map()
    model = first.whole()
    assert [step.kind for step in model.steps_] == ["columns", "trees"]
    rows = (RNG.normal(size=(500, 6)) * 3).astype(np.float32).astype(np.float64)
    agree = np.isclose(model.scores(rows), first.scores(rows), atol=1e-6)
    assert agree.mean() > 0.95  # others are within 2⁻¹³ of an edge
    assert np.array_equal(model.run(rows), model.run_with(np, rows))
    again = WholeMap.from_arrays(model.arrays())
    assert np.array_equal(again.run(rows), model.run(rows))


def test_bits_without_any_tree_are_rounded_too():
    still = TreesMap(PREPARATION, STEPS, [Trees.constant(-1.0), Trees.constant(2.0)])
    assert still.whole().scores(X[:2].astype(np.float64)).tolist() == [[-1.0, 2.0]] * 2


def of_today(name, value):
    arrays = {key: array.copy() for key, array in some_map().whole().arrays().items()}
    arrays[f"1.{name}"] = value(arrays[f"1.{name}"])
    return WholeMap.from_arrays(arrays)


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("right", put(0, 10_000)),  # out of the tree
        ("right", put(0, 1)),  # back to the left branch
        ("right", put(0, -3)),
        ("right", put(-1, 2)),  # a leaf at the end that claims branches
        ("feature", put(0, 6)),
        ("feature", put(0, -1)),
        ("nodes", put(0, 0)),
        ("nodes", put(0, 1)),
        ("trees", put(0, 3)),
        ("trees", put(0, -1)),
        ("value", lambda array: array[:-1]),
        ("value", lambda array: array.astype(np.float32)),
        ("edges", lambda array: array[::-1].copy()),
        ("edge_starts", put(1, 2**40)),
        ("edge_starts", put(-1, 7)),
        ("edge_starts", lambda array: array[:-1]),
        ("base", lambda array: array[:-1]),
    ],
)
def test_arrays_that_would_lead_a_walk_astray_are_refused(name, change):
    with pytest.raises(ValueError, match=r"tree|right|feature|nodes|value|edge|base|shape"):
        of_today(name, change)
