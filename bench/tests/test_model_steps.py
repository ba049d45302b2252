"""Steps of rivals: a table of waves and boosted trees, exact and registered."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from kinhash.models import Columns, Inexact, WholeMap
from kinhash_bench.model_steps import Lookup, TreesStep

X = np.array([[2.0**24 - 1, -(2.0**24), 0, 1, -4096, 2.0**23 + 1]])
COLUMNS = Columns((0,), np.zeros(6), np.ones(6), 2**24)
TABLE = np.arange(2**12, 0, -1, dtype=np.int32)


@pytest.mark.parametrize(("low", "shift", "wrap"), [(-4, 0, 1), (11, 3, 1), (-40, 1, 0), (0, 12, 0)])
def test_a_table_is_looked_up_where_python_would(low, shift, wrap):
    model = WholeMap(6, (COLUMNS, Lookup((1,), TABLE, low, shift, wrap)), np.zeros(6, np.int16))
    places = [(int(v) - low + (1 << shift >> 1)) >> shift for v in X[0]]
    places = [at % len(TABLE) if wrap else min(max(at, 0), len(TABLE) - 1) for at in places]
    assert model.run(X)[0].tolist() == TABLE[places].tolist()


def test_the_package_registers_its_steps():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    rows = project["entry-points"]["kinhash.model_steps"]
    assert rows == {each.kind: f"{each.__module__}:{each.__name__}" for each in (Lookup, TreesStep)}


def stump(**other):
    """One tree of three nodes for one bit: left where column 0 is at most its first edge."""
    arrays = {
        "edges": np.array([5, 9], np.int32),
        "edge_starts": np.array([0, 2, 2, 2, 2, 2, 2]),
        "base": np.array([100]),
        "feature": np.zeros(3, np.int32),
        "threshold": np.array([0, 0, 0], np.uint8),
        "right": np.array([2, 0, 0], np.int32),
        "value": np.array([0, -7, 8], np.int32),
        "nodes": np.array([3]),
        "trees": np.array([1]),
    }
    return WholeMap(6, (COLUMNS, TreesStep((1,), **arrays | other)), np.zeros(1, np.int16))


def test_trees_are_walked_to_their_leaves():
    rows = np.zeros((3, 6))
    rows[:, 0] = [5, 6, 10]
    assert stump().run(rows)[:, 0].tolist() == [93, 108, 108]


FORGED = {
    "edges": (np.array([9, 5], np.int32), "ascending order"),
    "edge_starts": (np.array([0, 2, 2, 2, 2, 2, 7]), "do not fit the columns"),
    "feature": (np.full(3, 6, np.int32), "a column there is none of"),
    "right": (np.array([1, 0, 0], np.int32), "out of its tree"),
    "nodes": (np.array([2]), "do not fit their nodes"),
    "trees": (np.array([2]), "do not fit their trees"),
    "base": (np.array([2**53]), "A sum of leaves can reach"),
}


@pytest.mark.parametrize("name", FORGED)
def test_trees_that_would_lead_a_walk_astray_are_refused(name):
    value, says = FORGED[name]
    with pytest.raises(Inexact, match=says):
        stump(**{name: value})
