"""Labels from every kind of file."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

from kinhash.datasets import open_labels
from kinhash.errors import FileProblem, InvalidInput, KinhashWarning, UnknownName


def classes(labels):
    return [labels.names[k] if known else None for k, known in zip(labels.classes, labels.known, strict=True)]


def tags(labels):
    rows = [labels.names[row.indices].tolist() for row in (labels.tags[[k]] for k in range(len(labels)))]
    return [set(row) if known else None for row, known in zip(rows, labels.known, strict=True)]


CLASSES = {
    "a.txt": ("sky\nsea\n\nsky\n", ["sky", "sea", None, "sky"]),
    "numbers.txt": ("3\n-1\n3.0\n", [3, -1, 3]),
    "padded.txt": ("07\n7\n", ["07", "7"]),
    "named.txt": ("label\n3\n4\n", [3, 4]),
    "half.txt": ("0.5\n1\n", ["0.5", "1"]),
    "a.csv": ('sky\n"sea, deep"\n', ["sky", "sea, deep"]),
    "a.json": ('["sky", null, "sea"]', ["sky", None, "sea"]),
    "b.json": ("[3, 4, null]", [3, 4, None]),
    "a.svm": ("1 1:3\n-1 1:2\nnan 1:4\n", [1, -1, None]),
    "windows.csv": ("\ufeff1\r\n2\r\n", [1, 2]),
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes(tmp_path, name):
    text, expected = CLASSES[name]
    (tmp_path / name).write_text(text, newline="")
    assert classes(open_labels(tmp_path / name)) == expected


MISSING_WORDS = ["nan", "NaN", "NaT", "NA", "<NA>", "N/A", "n/a", "#N/A", "null", "NULL", "None"]


@pytest.mark.parametrize("word", MISSING_WORDS)
def test_a_word_for_a_missing_value_in_text_is_unknown_and_counted(tmp_path, word):
    (tmp_path / "y.txt").write_text(f"{word}\nsky\n{word}\nsea\n")
    (tmp_path / "n.txt").write_text(f"{word}\n3\n4\n")
    (tmp_path / "y.csv").write_text(f"id,kind\n1,sky\n2,{word}\n")
    (tmp_path / "t.txt").write_text(f"a;{word}\n{word}\n\nb\n")
    with pytest.warns(KinhashWarning, match=r"y\.txt: .*\(2 times\) is read as an unknown label"):
        assert classes(open_labels(tmp_path / "y.txt")) == [None, "sky", None, "sea"]
    with pytest.warns(KinhashWarning, match="unknown"):
        assert classes(open_labels(tmp_path / "n.txt")) == [None, 3, 4]
    with pytest.warns(KinhashWarning, match="unknown"):
        assert classes(open_labels(tmp_path / "y.csv", column="kind")) == ["sky", None]
    with pytest.warns(KinhashWarning, match="unknown"):  # among tags it is one: "null" tags questions on SQL
        assert tags(open_labels(tmp_path / "t.txt", separator=";")) == [{"a", word}, None, set(), {"b"}]


def test_in_json_only_null_is_unknown(tmp_path):
    (tmp_path / "y.json").write_text('["NA", null, "sky", NaN]')
    assert classes(open_labels(tmp_path / "y.json")) == ["NA", None, "sky", None]


def test_a_list_of_missing_tags_in_parquet_is_unknown(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"tags": [["a", None], [None], None, []]}), tmp_path / "y.parquet")
    assert tags(open_labels(tmp_path / "y.parquet", column="tags")) == [{"a"}, None, None, set()]


def test_one_column_of_many(tmp_path):
    (tmp_path / "x.csv").write_text('id,kind,tags\n1,cat,"a;b"\n2,dog,\n3,,c\n')
    assert classes(open_labels(tmp_path / "x.csv", column="kind")) == ["cat", "dog", None]
    assert classes(open_labels(tmp_path / "x.csv", column="id")) == [1, 2, 3]
    assert tags(open_labels(tmp_path / "x.csv", column="tags", separator=";")) == [{"a", "b"}, set(), {"c"}]
    with pytest.raises(UnknownName, match="'kind'"):
        open_labels(tmp_path / "x.csv", column="kid")
    with pytest.raises(FileProblem, match="3 columns"):
        open_labels(tmp_path / "x.csv")


TAGS = {
    "a.txt": ("sky sea\n\nsea\n", " ", [{"sky", "sea"}, set(), {"sea"}]),
    "a.csv": ("sky, sea\nsea\n", ",", [{"sky", "sea"}, {"sea"}]),
    "b.csv": ("sky|sea\nsea\n", "|", [{"sky", "sea"}, {"sea"}]),
    "a.json": ('[["sky", "sea"], [], null]', None, [{"sky", "sea"}, set(), None]),
    "a.svm": ("1,2 1:3\n 1:2\n", None, [{1, 2}, set()]),
}


@pytest.mark.parametrize("name", TAGS)
def test_tags(tmp_path, name):
    text, separator, expected = TAGS[name]
    (tmp_path / name).write_text(text)
    assert tags(open_labels(tmp_path / name, separator=separator)) == expected


def test_arrays(tmp_path):
    np.save(tmp_path / "c.npy", np.array(["b", "a"]))
    assert classes(open_labels(tmp_path / "c.npy")) == ["b", "a"]
    Y = np.random.default_rng(0).integers(0, 2, (6, 3))
    np.save(tmp_path / "i.npy", Y)
    np.savez(tmp_path / "i.npz", Y)
    sp.save_npz(tmp_path / "s.npz", sp.csr_array(Y))
    for name in ("i.npy", "i.npz", "s.npz"):
        np.testing.assert_array_equal(open_labels(tmp_path / name).tags.toarray(), Y)
    np.savez(tmp_path / "two.npz", a=np.array([1, 2]), b=np.array([3, 3]))
    assert classes(open_labels(tmp_path / "two.npz", column="b")) == [3, 3]
    with pytest.raises(FileProblem, match="a, b"):
        open_labels(tmp_path / "two.npz")
    np.savez(tmp_path / "named.npz", X=np.eye(2), y=np.array([3, 4]))
    assert classes(open_labels(tmp_path / "named.npz")) == [3, 4]


BAD = {
    "missing.txt": (None, "no such file"),
    "missing": (None, "no such file"),
    "empty.txt": (b"", "empty"),
    "empty.json": (b"[]", "no labels"),
    "object.json": (b'{"a": 1}', "holds a dict"),
    "mixed.json": (b'[["a"], "b"]', "entry 1"),
    "nested.json": (b'[[["a"]]]', "entry 0"),
    "cut.json": (b'["a", "b', "could not be read"),
    "ragged.csv": (b"a,b\n1,2\n3\n", "row 3 has 1 columns"),
    "binary.txt": (b"PK\0\0\0", "not text"),
    "latin.txt": (b"caf\xe9\n", "could not be read"),
    "text.npy": (b"1\n2\n", "header cannot be used"),
    "x.xls": (b"1\n", "extension"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path, name):
    contents, words = BAD[name]
    if contents is not None:
        (tmp_path / name).write_bytes(contents)
    with pytest.raises(FileProblem, match=words) as caught:
        open_labels(tmp_path / name)
    assert name in str(caught.value)


def test_an_indicator_of_other_numbers_names_the_file(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[0, 2], [1, 0]]))
    with pytest.raises(FileProblem, match=r"x\.npy.*row 0, column 1"):
        open_labels(tmp_path / "x.npy")


def test_an_empty_separator_is_refused(tmp_path):
    (tmp_path / "x.txt").write_text(json.dumps("a"))
    with pytest.raises(InvalidInput, match="separator"):
        open_labels(tmp_path / "x.txt", separator="")
