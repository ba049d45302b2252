"""Labels in a tree: similarities and levels against paths compared one by one."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

import kinhash
from kinhash import EnergyHasher
from kinhash.errors import InvalidInput, KinhashWarning
from kinhash.supervision import from_labels, labels_of_levels, read_labels, read_paths

PATHS = ["a/x/1", "a/x/2", "a/y", None, "b", "b/z/1", "a/x/1"]
PARENTS = {"1": "x", "2": "x", "x": "a", "y": "a", "z": "b"}


def shared(one, other, depth=3):
    """Share of levels in common, short paths padded; a level counts by the share of paths that reach it."""
    padded = [(path.split("/") + [""] * depth)[:depth] for path in (one, other)]
    different = {path for path in PATHS if path is not None}
    weights = [sum(path.count("/") >= k for path in different) for k in range(depth)]
    return np.average([padded[0][: k + 1] == padded[1][: k + 1] for k in range(depth)], weights=weights)


def test_similarities_are_shares_of_common_levels():
    found = from_labels(PATHS, kinship="tree")
    group = found.group_of_row
    for i, one in enumerate(PATHS):
        for j, other in enumerate(PATHS):
            if one is not None and other is not None:
                s = found.similarity(group[[i]], group[[j]])[0, 0]
                assert s == pytest.approx(2 * shared(one, other) - 1)
    assert group[3] == -1


@pytest.mark.parametrize("several", [False, True])
def test_one_deeper_path_leaves_the_other_similarities_nearly_as_they_were(several):
    paths = [f"{branch}/{branch}{leaf}" for branch in "abcdefgh" for leaf in range(8)]
    given = [{path} for path in paths] if several else paths
    deep = {"x/y/z/u/v"} if several else "x/y/z/u/v"
    before, after = from_labels(given, kinship="tree"), from_labels([*given, deep], kinship="tree")
    i, j = np.triu_indices(len(paths))
    groups = [found.group_of_row for found in (before, after)]
    S = [found.pairwise(group[i], group[j]) for found, group in zip((before, after), groups, strict=True)]
    assert np.abs(S[0] - S[1]).max() < 0.05


def test_the_product_and_pairs_are_those_of_the_matrix():
    found = from_labels(PATHS, kinship="tree")
    everyone = np.arange(found.n_groups)
    values = np.random.default_rng(0).normal(size=(found.n_groups, 3))
    S = found.similarity(everyone, everyone)
    np.testing.assert_allclose(found.product(everyone, everyone, values), S @ values)
    np.testing.assert_allclose(found.pairwise(everyone, everyone[::-1]), S[everyone, everyone[::-1]])


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
        from_labels(["a", "z"], kinship={"a": "b", "b": "c", "c": "b"})
    assert "its own parent" in str(caught.value)
    long = {f"n{k}": f"n{(k + 1) % 900}" for k in range(900)}
    with pytest.raises(InvalidInput, match="n0 → n1 → n2 → n3 → n4 → … → n0"):
        from_labels(["n0", "z"], kinship=long)


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
        from_labels(y, kinship=kinship)


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
    with pytest.warns(KinhashWarning, match=says) as caught:
        from_labels(y, kinship=kinship)
    assert len(caught) == 1


def warned(y, **kinship):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        EnergyHasher(16, random_state=0, **kinship).fit(data(len(y))[0], y)
    return " ".join(str(one.message) for one in caught)


def test_rows_that_share_branches_alone_are_similar():
    """Each row has a leaf of its own: nothing is wrong with leaves that share codes."""
    paths = [f"half {k % 6 // 3}/kind {k % 6}/item {k}" for k in range(120)]
    assert "share" not in warned(paths, kinship="tree")
    table = {f"item {k}": f"kind {k % 6}" for k in range(120)}
    assert "share" not in warned(list(table), kinship=table)
    assert "No two rows share a class or a branch" in warned([f"a{k}/b" for k in range(120)], kinship="tree")
    near = np.where(np.arange(120)[:, None] % 6 == np.arange(120) % 6, 0.5, -1.0)
    np.fill_diagonal(near, 1.0)
    assert "No two rows share" not in warned(np.arange(120), kinship=near)


def test_leaves_that_share_codes_are_told_of_as_leaves():
    paths = [f"half {k % 60 // 30}/kind {k % 60 // 10}/item {k % 60}" for k in range(120)]
    said = warned(paths, kinship="tree")
    assert "leaves of the tree share their code with another leaf" in said
    assert "alike=0" not in said
    assert "classes share their code" in warned([path.split("/")[-1] for path in paths], alike=0.9)


def data(n=300):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 6
    return (rng.normal(size=(n, 8)) + 3 * np.eye(8)[y]).astype(np.float32), y


def branch_gain(hasher, X, y):
    """By how much rows of the same half are nearer than others, different classes alone."""
    codes = hasher.encode(X).repeated()
    i, j = np.triu_indices(len(X), 1)
    apart = np.bitwise_count(codes[i] ^ codes[j]).sum(axis=1).astype(int)
    cousins, strangers = (y[i] != y[j]) & (y[i] // 3 == y[j] // 3), y[i] // 3 != y[j] // 3
    return apart[strangers].mean() - apart[cousins].mean()


@pytest.mark.parametrize("form", ["paths", "parents", "tags"])
def test_a_fit_learns_the_branches_and_gives_learned_codes_again(form, tmp_path):
    X, y = data()
    names = [f"k{k}" for k in y]
    parents = {f"k{k}": f"half {k // 3}" for k in range(6)}
    given, kinship = names, parents
    if form == "paths":
        given, kinship = [f"{parents[name]}/{name}" for name in names], "tree"
    elif form == "tags":
        given = [{name} for name in names]
    hasher = EnergyHasher(32, alike=0, kinship=kinship, random_state=0).fit(X, given)
    plain = EnergyHasher(32, alike=0, random_state=0).fit(X, names)
    assert branch_gain(hasher, X, y) > branch_gain(plain, X, y) + 3
    again = hasher.learned_codes(given[:20], X[:20])
    np.testing.assert_array_equal(again.packed, hasher.codes_.packed[:20])
    hasher.save(tmp_path / "tree.kin")
    loaded = kinhash.load(tmp_path / "tree.kin")
    assert loaded.kinship == "tree"  # of a table, too: a model file names no label
    paths = [{f"{parents[name]}/{name}"} for name in names] if form == "tags" else given
    np.testing.assert_array_equal(loaded.learned_codes(paths[:20], X[:20]).packed, again.packed)


def uneven(n=240):
    """Rows of eight leaves, every other one on the third level, the others on the second."""
    rng, leaf = np.random.default_rng(0), np.arange(n) % 8
    X = (rng.normal(size=(n, 12)) + 3 * np.eye(12)[leaf]).astype(np.float32)
    return X, [f"t{k // 4}/m{k // 2}" + f"/l{k}" * (k % 2) for k in leaf]


@pytest.mark.parametrize(
    "form", ["tags", "tags of parents", "text", "tuples", "blanks", "classes of parents"]
)
def test_learned_codes_do_not_depend_on_the_depth_of_the_other_rows(form, tmp_path):
    X, paths = uneven()
    steps = [path.split("/") for path in paths]
    parents = {below: above for path in steps for above, below in pairwise(path)}
    y = {
        "tags": [{path} for path in paths],
        "tags of parents": [{path[-1]} for path in steps],
        "text": paths,
        "tuples": [tuple(path) for path in steps],
        "blanks": [" / ".join(path) for path in steps],
        "classes of parents": [path[-1] for path in steps],
    }[form]
    hasher = EnergyHasher(16, kinship=parents if "parents" in form else "tree", random_state=0).fit(X, y)
    shallow = [k for k, path in enumerate(steps) if len(path) == 2]
    some = [y[k] for k in shallow]
    np.testing.assert_array_equal(
        hasher.learned_codes(some, X[shallow]).packed, hasher.codes_.packed[shallow]
    )
    hasher.save(tmp_path / "model.kin")
    loaded = kinhash.load(tmp_path / "model.kin")
    if form == "tags of parents":
        with pytest.raises(InvalidInput, match="a file keeps no parents: name tags by paths"):
            loaded.learned_codes(some, X[shallow])
        some = [{paths[k]} for k in shallow]
    np.testing.assert_array_equal(
        loaded.learned_codes(some, X[shallow]).packed, hasher.codes_.packed[shallow]
    )


def test_a_view_of_shallow_rows_agrees_with_the_first_view():
    X, paths = uneven(480)
    y = [{path} for path in paths]
    hasher = EnergyHasher(16, alike=0, kinship="tree", random_state=0).fit(X, y)
    shallow = [k for k, path in enumerate(paths) if path.count("/") == 1]
    hasher.add_view("other", X[shallow], [y[k] for k in shallow])
    differ = np.bitwise_count(
        hasher.encode(X[shallow], view="other").packed ^ hasher.encode(X[shallow]).packed
    )
    assert differ.sum() / (16 * len(shallow)) < 0.05


def test_names_with_slashes_stay_apart_in_a_table_of_parents():
    labels, _, _ = read_paths([{"a/b"}, {"a b"}], None, {"a/b": "top", "a b": "top"})
    assert len(labels.names) == 3
