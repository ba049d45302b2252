"""Labels in every shape users have them, and what is missing among them."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from kinhash.errors import InvalidInput, KinhashWarning
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


NAN = float("nan")
BEFORE, AFTER = datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (["cat", NAN, "dog"], ["cat", "dog"]),
        (("cat", np.float32("nan"), "dog"), ["cat", "dog"]),
        (["cat", pd.NaT, "dog"], ["cat", "dog"]),
        (["cat", pd.NA, "dog"], ["cat", "dog"]),
        (["cat", np.datetime64("NaT"), "dog"], ["cat", "dog"]),
        (np.array(["cat", NAN, "dog"], object), ["cat", "dog"]),
        (np.array(["cat", NAN, "dog"], np.dtypes.StringDType(na_object=NAN)), ["cat", "dog"]),
        (np.ma.array(["cat", "?", "dog"], mask=[0, 1, 0]), ["cat", "dog"]),
        (pd.Series(["cat", None, "dog"]).tolist(), ["cat", "dog"]),
        (pd.Series(["cat", None, "dog"], dtype="string"), ["cat", "dog"]),
        (pd.Series(["cat", None, "dog"], dtype="category"), ["cat", "dog"]),
        (pd.DataFrame({"label": pd.Series(["cat", None, "dog"], dtype="string")}), ["cat", "dog"]),
        (pl.DataFrame({"label": ["cat", None, "dog"]}), ["cat", "dog"]),
        (pa.array(["cat", None, "dog"]), ["cat", "dog"]),
        (pa.chunked_array([["cat", None], ["dog"]]), ["cat", "dog"]),
        (np.array([BEFORE, "NaT", AFTER], "M8[us]"), [BEFORE, AFTER]),
        (pd.Series([BEFORE, None, AFTER]), [BEFORE, AFTER]),
        (pl.Series([BEFORE, None, AFTER]), [BEFORE, AFTER]),
        (pd.Series([False, None, True], dtype="boolean"), [False, True]),
    ],
)
def test_a_missing_value_is_unknown_in_every_container(y, names):
    labels = read_labels(y)
    assert labels.names.tolist() == names
    assert labels.classes.tolist() == [0, -1, 1]
    assert labels.known.tolist() == [True, False, True]


BIG = [2**53, 2**53 + 1, None]


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(BIG, dtype="Int64"),
        pd.DataFrame({"label": pd.Series(BIG, dtype="Int64")}),
        pl.Series(BIG),
        pa.array(BIG),
        [2**53, 2**53 + 1, NAN],
    ],
    ids=["pandas", "frame", "polars", "pyarrow", "list"],
)
def test_large_integers_beside_missing_ones_stay_different(y):
    labels = read_labels(y)
    assert labels.names.tolist() == BIG[:2]
    assert labels.classes.tolist() == [0, 1, -1]


@pytest.mark.parametrize("missing", [NAN, None, pd.NA, pd.NaT])
@pytest.mark.parametrize("row", [list, set], ids=["lists", "sets"])
def test_a_missing_tag_is_no_tag_and_missing_tags_only_are_unknown(row, missing):
    labels = read_labels([row(["a", missing]), row([missing]), missing, row([]), row(["b"])])
    assert labels.names.tolist() == ["a", "b"]
    assert tag_rows(labels) == [{"a"}, set(), set(), set(), {"b"}]
    assert labels.known.tolist() == [True, False, False, True, True]


@pytest.mark.parametrize("missing", [NAN, None, pd.NA])
def test_a_missing_row_of_a_nullable_indicator_is_unknown(missing):
    labels = read_labels(np.array([[0, 1], [missing, missing], [1, 0]], object))
    assert labels.known.tolist() == [True, False, True]
    assert tag_rows(labels) == [{1}, set(), {0}]
    assert read_labels([[0, 1], missing, [1, 0]]).known.tolist() == [True, False, True]
    frame = pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": pd.array([0, None], "Int64")})
    assert read_labels(frame).known.tolist() == [True, False]


@pytest.mark.parametrize(
    "y",
    [
        [1, "1"],
        np.array([1, "1"], object),
        pd.Series([1, "1"], dtype=object),
        [1.5, None, "a"],
        [True, "True"],
        ["a", b"a"],
        [{1}, {"1"}],
    ],
)
def test_labels_of_mixed_types_are_refused(y):
    with pytest.raises(InvalidInput, match="mix"):
        read_labels(y)


def test_a_label_between_tag_sets_is_refused():
    with pytest.raises(InvalidInput, match="Row 1"):
        read_labels([{"a"}, "b"])


@pytest.mark.parametrize(
    "y", [["a\0", "a"], np.array(["a\0", "a"], object), pl.Series(["a\0", "a"]), [{"a\0"}, {"a"}]]
)
def test_text_may_end_in_nul(y):
    labels = read_labels(y)
    assert labels.names.tolist() == ["a", "a\0"]
    assert labels.indicator().toarray().tolist() == [[0, 1], [1, 0]]
    one, other = labels.aligned(read_labels([{"b"}] if labels.is_tags else ["b"]))
    assert one.names.tolist() == other.names.tolist() == ["a", "a\0", "b"]


@pytest.mark.parametrize("y", [np.array(["cat", NAN, "dog"]), ["cat", "nan", "dog"]], ids=["array", "list"])
def test_a_class_called_nan_gives_a_warning(y):
    with pytest.warns(KinhashWarning, match="1 labels are the text 'nan'"):
        labels = read_labels(y)
    assert labels.names.tolist() == ["cat", "dog", "nan"]


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
    from kinhash.data import read_table

    words = ["cat", "", "dog", ""]
    if kind in ("file", "json"):
        path = tmp_path / ("y.txt" if kind == "file" else "y.json")
        path.write_text("cat\n\ndog\n\nend\n" if kind == "file" else '["cat", "", "dog", "", "end"]')
        labels = read_labels(read_table(path).labels())[:4]
    else:
        pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
        makers = {"list": list, "pandas": pandas.Series, "polars": polars.Series}
        make = makers.get(kind) or (lambda w: np.array(w, np.dtypes.StringDType() if kind == "T" else kind))
        labels = read_labels(make(words))
        assert len(labels.names) == 2
    assert labels.known.tolist() == [True, False, True, False]
    assert labels.classes.tolist() == [0, -1, 1, -1]


def test_empty_text_among_tags_is_no_tag(tmp_path):
    from kinhash.data import read_table

    (tmp_path / "t.txt").write_text("a;;b\n\nb\n")
    read = [read_labels([{"a", "", "b"}, {""}, {"b"}]), read_labels(read_table(tmp_path / "t.txt").tags())]
    for labels in read:
        assert labels.names.tolist() == ["a", "b"]
        assert labels.tags.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]
        assert labels.known.all()


@pytest.mark.parametrize("y", [[[], []], [(), ()], [set(), set()], np.zeros((2, 0))])
def test_rows_without_any_tag_are_known(y):
    labels = read_labels(y)
    assert labels.is_tags
    assert labels.known.all()
    assert read_labels([[], None]).known.tolist() == [True, False]
