"""Paths in a tree, and tables of parents: levels against paths compared one by one."""

from __future__ import annotations

import re

import numpy as np
import pytest

from kinhash.errors import InvalidInput
from kinhash.labels import labels_of_levels, one_level_warning, read_labels, read_paths

PATHS = ["a/x/1", "a/x/2", "a/y", None, "b", "b/z/1", "a/x/1"]
PARENTS = {"1": "x", "2": "x", "x": "a", "y": "a", "z": "b"}


def test_a_table_of_parents_is_the_same_tree_and_keeps_the_names():
    by_parents, levels, _ = read_paths(["1", "2", "y", None], None, PARENTS)
    by_paths, same, _ = read_paths(["a/x/1", "a/x/2", "a/y", None], None)
    assert by_parents.names.tolist() == ["1", "2", "y"]
    np.testing.assert_array_equal(levels[by_parents.classes[:3]], same[by_paths.classes[:3]])


@pytest.mark.parametrize("several", [False, True])
def test_levels_are_the_beginnings_of_paths(several):
    given = [path if path is None or not several else {path} for path in PATHS]
    levels = labels_of_levels(given, None)
    assert len(levels) == 3
    known = [k for k, path in enumerate(PATHS) if path is not None]
    for up, labels in enumerate(levels):
        carried = labels.indicator().toarray()
        for i in known:
            for j in known:
                depth = 3 - up
                padded = [[*PATHS[k].split("/"), "", ""][:depth] for k in (i, j)]
                assert bool((carried[i] & carried[j]).any()) == (padded[0] == padded[1])
        assert not labels.known[3]


def test_labels_that_were_read_already_are_read_again():
    for given in (PATHS, [None if path is None else {path, "b/z/1"} for path in PATHS]):
        (first, levels, _), (again, same, _) = read_paths(given, None), read_paths(read_labels(given), None)
        assert first.names.tolist() == again.names.tolist()
        np.testing.assert_array_equal(first.indicator().toarray(), again.indicator().toarray())
        np.testing.assert_array_equal(levels, same)


@pytest.mark.parametrize("root", ["a", "b"])
def test_a_name_that_is_its_own_parent_is_a_root(root):
    """The table of COCO has person → person."""
    plain, levels, _ = read_paths(["1", "2", "y", "b", None], None, PARENTS)
    again, same, _ = read_paths(["1", "2", "y", "b", None], None, {**PARENTS, root: root})
    assert again.names.tolist() == plain.names.tolist()
    np.testing.assert_array_equal(same, levels)


def test_a_circle_is_named_by_its_members():
    with pytest.raises(InvalidInput, match="'b' is above itself in kinship: b → c → b") as caught:
        read_paths(["a", "z"], None, {"a": "b", "b": "c", "c": "b"})
    assert "its own parent" in str(caught.value)
    long = {f"n{k}": f"n{(k + 1) % 900}" for k in range(900)}
    with pytest.raises(InvalidInput, match="n0 → n1 → n2 → n3 → n4 → … → n0"):
        read_paths(["n0", "z"], None, long)


@pytest.mark.parametrize(
    ("y", "kinship", "says"),
    [
        (["a/b", "/"], "tree", r"Row 1 of the labels.*is '/', which is not a path: it holds no name; 1 of 2"),
        (
            ["a/b", "/a/b/", "a//b"],
            "tree",
            "is not a path: it begins with a slash and ends with a slash; 2 of 3",
        ),
        ([{"a/b", "a//b"}], "tree", r"'a//b', which is not a path: it has a doubled slash.*write doubled"),
        ([("a", ""), ("a", "b")], "tree", "Row 0.*is not a path: a name in it is empty"),
        ([1, 2], "tree", "it is neither text nor a tuple; 2 of 2 paths .*a table of parents"),
        ([None, None], "tree", "No row has a path"),
        (["a", "b"], {"a": "b", "b": "a"}, "is above itself"),
        (["a", "b"], {"c": "d"}, "names the parent of none"),
    ],
)
def test_what_is_no_tree_is_refused(y, kinship, says):
    with pytest.raises(InvalidInput, match=says):
        read_paths(y, None, None if kinship == "tree" else kinship)


def test_an_empty_tuple_is_an_unknown_path():
    plain = read_paths([("a", "b"), None, ""], None)[0]
    found = read_paths([("a", "b"), (), ""], None)[0]
    assert found.known.tolist() == plain.known.tolist() == [True, False, False]
    found = read_paths([["a/b", "c"], ["a/b", None, ()], [()], [None], set(), {""}], None)[0]
    assert found.known.tolist() == [True, True, False, False, True, True]
    assert found.indicator().sum(axis=1).tolist() == [4, 2, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("y", "kinship", "says"),
    [
        (
            ["a>b", "a>c", "d"],
            "tree",
            r"separator of levels is '/'.*2 of 3 labels hold '>'\. Write '/' instead",
        ),
        (["a\\b", "c\\d"], "tree", r"2 of 2 labels hold '\\'\."),
        (["cat", "dog"], "tree", "No path has two levels.*the first label is 'cat'"),
        ([{"cat"}, {"cat", "dog"}], "tree", "No path has two levels"),
        ([("cat",), ("dog",), None], "tree", "No path has two levels"),
        (["cat", "dog"], {"cat": "cat"}, "No label has a parent but itself"),
    ],
)
def test_a_tree_without_branches_is_doubtful(y, kinship, says):
    parents = None if kinship == "tree" else kinship
    labels, _, weights = read_paths(y, None, parents)
    assert len(weights) == 1
    assert re.search(says, one_level_warning(labels, parents))


def test_names_with_slashes_stay_apart_in_a_table_of_parents():
    labels, _, _ = read_paths([{"a/b"}, {"a b"}], None, {"a/b": "top", "a b": "top"})
    assert len(labels.names) == 3
