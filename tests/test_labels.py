"""Labels in every shape users have them, and what is missing among them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from kinhash.errors import InvalidInput
from kinhash.labels import read_labels


def tag_rows(labels):
    """Tag names of every row."""
    return [set(labels.names[row.indices].tolist()) for row in labels.tags]


@pytest.mark.parametrize(
    "y",
    [
        ["cat", "dog", "cat", "ant"],
        np.array(["cat", "dog", "cat", "ant"]),
        np.array(["cat", "dog", "cat", "ant"], object),
        np.array([["cat"], ["dog"], ["cat"], ["ant"]]),
        pd.Series(["cat", "dog", "cat", "ant"]),
        pd.Series(["cat", "dog", "cat", "ant"], dtype="category"),
        pd.Series(["cat", "dog", "cat", "ant"], dtype="string"),
        pl.Series(["cat", "dog", "cat", "ant"]),
        pd.DataFrame({"label": ["cat", "dog", "cat", "ant"]}),
    ],
    ids=lambda y: type(y).__module__.partition(".")[0] + "-" + str(getattr(y, "dtype", "")),
)
def test_strings_are_classes_in_sorted_order(y):
    labels = read_labels(y, 4)
    assert labels.names.tolist() == ["ant", "cat", "dog"]
    assert labels.classes.tolist() == [1, 2, 1, 0]
    assert labels.known.all()
    assert not labels.is_tags


@pytest.mark.parametrize(
    "y",
    [
        [3.0, np.nan, -1.0],
        [3, None, -1],
        np.array([3, None, -1], object),
        np.array([3, np.nan, -1], object),
        pd.Series([3, None, -1], dtype="Int64"),
        pl.Series([3, None, -1]),
    ],
    ids=["float", "list", "object", "object-nan", "pandas", "polars"],
)
def test_none_and_nan_are_unknown_and_minus_one_is_a_class(y):
    labels = read_labels(y)
    assert labels.known.tolist() == [True, False, True]
    assert labels.names.tolist() == [-1, 3]
    assert labels.classes.tolist() == [1, -1, 0]
    assert labels.indicator().toarray().tolist() == [[0, 1], [0, 0], [1, 0]]


INDICATOR = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    "y",
    [
        INDICATOR,
        INDICATOR.astype(bool),
        INDICATOR.astype(np.float32),
        INDICATOR.tolist(),
        sp.csr_array(INDICATOR),
        sp.csc_matrix(INDICATOR),
        sp.coo_array(INDICATOR),
        pd.DataFrame(INDICATOR),
        pl.DataFrame(INDICATOR),
        [{0, 2}, set(), {1}],
        [[0, 2], [], [1]],
        [(0, 2), (), (1,)],
        np.array([{0, 2}, set(), {1}], object),
        pd.Series([{0, 2}, set(), {1}]),
        pl.Series([[0, 2], [], [1]]),
        [np.array([0, 2]), np.array([], int), np.array([1])],
    ],
    ids=lambda y: type(y).__name__,
)
def test_every_shape_of_tags_is_read_alike(y):
    labels = read_labels(y, 3)
    assert tag_rows(labels) == [{0, 2}, set(), {1}]
    assert labels.known.all()  # no tags is a statement: kin to nobody


@pytest.mark.parametrize(
    "y",
    [
        [{"a"}, None, {"b"}],
        [{"a"}, float("nan"), {"b"}],
        [["a"], None, ["b"]],
    ],
)
def test_a_missing_tag_set_is_unknown(y):
    labels = read_labels(y)
    assert labels.known.tolist() == [True, False, True]
    assert tag_rows(labels) == [{"a"}, set(), {"b"}]


@pytest.mark.parametrize("missing", [None, [np.nan, np.nan, np.nan]])
def test_a_missing_indicator_row_is_unknown_and_not_a_tag_set(missing):
    labels = read_labels([[0, 1, 0], missing, [1, 0, 0]])
    assert labels.known.tolist() == [True, False, True]
    assert tag_rows(labels) == [{1}, set(), {0}]


def test_explicit_zeros_and_duplicates_in_sparse_labels_do_not_count_twice():
    stored = sp.csr_array((np.array([1, 0, 1]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    assert read_labels(stored).tags.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (None, "requires y"),
        ([1.0, np.inf], "infinity"),
        (np.array([1 + 2j, 3]), "complex"),
        ([[0, 2], [1, 0]], "row 0, column 1"),
        ([[0.5, 0], [1, 0]], "row 0, column 0"),
        ([[np.nan, 0], [1, 0]], "some columns only"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (sp.csr_array([[2, 0], [0, 1]]), "zeros and ones"),
        (np.array([["a", "b"], ["c", "d"]]), "indicator"),
    ],
)
def test_labels_that_cannot_be_read_are_refused(y, says):
    with pytest.raises(InvalidInput, match=says):
        read_labels(y)


def test_the_number_of_labels_must_match():
    with pytest.raises(InvalidInput, match="5 rows and the labels have 3"):
        read_labels([1, 2, 3], 5)


def test_numbers_and_strings_together_have_one_fixed_order():
    one, other = read_labels(["b", 2, "a", 1]), read_labels([1, "a", 2, "b"])
    assert one.names.tolist() == other.names.tolist()


def test_alignment_finds_the_common_vocabulary():
    left, right = read_labels(["a", "c", None]).aligned(read_labels(["b", "c"]))
    assert left.names.tolist() == right.names.tolist() == ["a", "b", "c"]
    assert left.classes.tolist() == [0, 2, -1]
    assert right.classes.tolist() == [1, 2]
    left, right = read_labels([{"z"}, set()]).aligned(read_labels([{"a", "z"}]))
    assert left.tags.toarray().tolist() == [[0, 1], [0, 0]]
    assert right.tags.toarray().tolist() == [[1, 1]]
    with pytest.raises(InvalidInput, match="same kind"):
        read_labels([1, 2]).aligned(read_labels([{1}]))


def test_labels_of_blocks_join_in_one_vocabulary():
    joined = read_labels(["b", None]).followed_by(read_labels(["a", "b"]))
    assert [None if c < 0 else joined.names[c] for c in joined.classes] == ["b", None, "a", "b"]
    joined = read_labels([{"b"}, None]).followed_by(read_labels([{"a", "b"}]))
    assert tag_rows(joined) == [{"b"}, set(), {"a", "b"}]
    assert joined.known.tolist() == [True, False, True]


def test_a_selection_keeps_the_vocabulary():
    labels = read_labels(["a", "b", "c", None])[[3, 2]]
    assert labels.names.tolist() == ["a", "b", "c"]
    assert labels.classes.tolist() == [-1, 2]
    assert tag_rows(read_labels([{1}, {2, 3}])[1:]) == [{2, 3}]


@pytest.mark.parametrize("kind", ["U", "S", "O", "T", "list", "pandas", "polars", "file", "json"])
def test_empty_text_is_unknown_everywhere(kind, tmp_path):
    from kinhash.datasets import open_labels

    words = ["cat", "", "dog", ""]
    if kind in ("file", "json"):
        path = tmp_path / ("y.txt" if kind == "file" else "y.json")
        path.write_text("cat\n\ndog\n\nend\n" if kind == "file" else '["cat", "", "dog", "", "end"]')
        labels = open_labels(path)[:4]
    else:
        pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
        makers = {"list": list, "pandas": pandas.Series, "polars": polars.Series}
        make = makers.get(kind) or (lambda w: np.array(w, np.dtypes.StringDType() if kind == "T" else kind))
        labels = read_labels(make(words))
        assert len(labels.names) == 2
    assert labels.known.tolist() == [True, False, True, False]
    assert labels.classes.tolist() == [0, -1, 1, -1]


def test_empty_text_among_tags_is_no_tag(tmp_path):
    from kinhash.datasets import open_labels

    (tmp_path / "t.txt").write_text("a;;b\n\nb\n")
    read = [read_labels([{"a", "", "b"}, {""}, {"b"}]), open_labels(tmp_path / "t.txt", separator=";")]
    for labels in read:
        assert labels.names.tolist() == ["a", "b"]
        assert labels.tags.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]
        assert labels.known.all()
