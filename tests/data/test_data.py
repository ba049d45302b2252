"""`read_table`: the same columns from every kind of file, in every role, and what is missing in them."""

from __future__ import annotations

import io
import json
import os
import threading
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from kinhash.data import read_table, split_column
from kinhash.errors import FileProblem, InvalidInput, KinhashError, KinhashWarning, UnknownName


def numbers(n=23, p=4, dtype=np.float64, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, p)) * 100
    X[:, 0] = 0
    X[3] = 0
    X[0, p - 1] = 7  # the last column is not empty, so sparse text can tell their number
    return X.astype(dtype)


def dense(block):
    return block.toarray() if sp.issparse(block) else np.asarray(block)


def save_svm(path, X):
    lines = [" ".join(f"{k + 1}:{float(v)!r}" for k, v in enumerate(row) if v) for row in X]
    path.write_text("".join(f"1 {line} # note\n" for line in lines))


def save_parquet(path, X):
    arrow = pytest.importorskip("pyarrow")
    columns = {f"c{k}": X[:, k] for k in range(X.shape[1])}
    if path.name.startswith("lists"):
        columns = {"v": list(X)}
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table(columns), path)


def save_jsonl(path, X):
    rows = ({"v": row} for row in X.tolist()) if path.name.startswith("lists") else X.tolist()
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


WRITERS = {
    "c.npy": np.save,
    "f.npy": lambda path, X: np.save(path, np.asfortranarray(X)),
    "one.npz": lambda path, X: np.savez(path, X=X, y=np.arange(len(X))),
    "packed.npz": lambda path, X: np.savez_compressed(path, X=np.asfortranarray(X)),
    "sparse.npz": lambda path, X: sp.save_npz(path, sp.csr_array(X)),
    "a.csv": lambda path, X: np.savetxt(path, X, delimiter=",", fmt="%.17g"),
    "head.csv": lambda path, X: np.savetxt(path, X, "%.17g", ",", header="a,b,c,d", comments=""),
    "a.tsv": lambda path, X: np.savetxt(path, X, "%.17g", "\t"),
    "a.txt": lambda path, X: np.savetxt(path, X, "%.17g", " "),
    "semi.csv": lambda path, X: np.savetxt(path, X, "%.17g", ";", newline="\r\n"),
    "a.csv.gz": lambda path, X: np.savetxt(path, X, "%.17g", ","),
    "a.svm": save_svm,
    "a.parquet": save_parquet,
    "lists.parquet": save_parquet,
    "a.jsonl": save_jsonl,
    "lists.jsonl": save_jsonl,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_the_same_features_from_every_file(tmp_path, name, rows):
    X = numbers()
    WRITERS[name](tmp_path / name, X)
    matrix = read_table(tmp_path / name).features()
    assert matrix.n_columns == 4
    assert matrix.n_rows in (23, None)
    blocks = list(matrix.blocks(rows))
    assert all(1 <= block.shape[0] <= rows for block in blocks)
    np.testing.assert_array_equal(np.concatenate([dense(block) for block in blocks]), X)
    np.testing.assert_array_equal(dense(matrix.read()), X, err_msg="a file can be read again")


@given(st.integers(1, 30), st.integers(1, 5), st.integers(1, 12), st.sampled_from(["f4", "i2", "u1", "?"]))
def test_npy_keeps_its_type(tmp_path_factory, n, p, rows, dtype):
    X = np.random.default_rng(n).integers(0, 2, (n, p)).astype(dtype)
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    np.save(path, X)
    assert isinstance(read_table(path).features().read(), np.memmap)
    for source in (path, io.BytesIO(path.read_bytes())):
        blocks = list(read_table(source).features().blocks(rows))
        assert {block.dtype for block in blocks} == {np.dtype(dtype)}
        np.testing.assert_array_equal(np.concatenate(blocks), X)


def test_a_named_pipe_is_read_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    X = numbers()
    text = io.StringIO()
    np.savetxt(text, X, "%.17g", ",", header="a,b,c,d", comments="")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(text.getvalue()))
    writer.start()
    matrix = read_table(tmp_path / "pipe", ["b", "c"]).features()
    np.testing.assert_array_equal(np.concatenate(list(matrix.blocks(5))), X[:, 1:3])
    writer.join()
    with pytest.raises(FileProblem, match="read already"):
        matrix.blocks()


def test_reading_in_blocks_needs_the_memory_of_blocks(tmp_path):
    text = "".join(f"{k},{k + 1},{k + 2}\n" for k in range(200_000))
    (tmp_path / "x.csv").write_text(text)
    tracemalloc.start()
    total = sum(len(block) for block in read_table(tmp_path / "x.csv").features().blocks(1000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 200_000
    assert peak < 3_000_000


def test_columns_are_named_after_a_colon(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert split_column("x.csv") == ("x.csv", None)
    assert split_column("x.csv:a, b") == ("x.csv", ("a", "b"))
    assert split_column("x.csv.gz:a:b") == ("x.csv.gz:a:b", None)
    assert split_column('x.csv:"a,b"') == ("x.csv", ("a,b",))
    (tmp_path / "odd:name.txt").write_text("x\n")
    assert split_column("odd:name.txt") == ("odd:name.txt", None)
    (tmp_path / "x.csv").write_text("a,b,kind\n1,2,cat\n3,4,dog\n")
    for spec, columns in (("x.csv:b,a", ["b", "a"]), ("x.csv:-kind", ["a", "b"]), ("x.csv:b", ["b"])):
        matrix = read_table(spec).features()
        assert list(matrix.column_names) == columns
        np.testing.assert_array_equal(matrix.read()[0], [{"a": 1, "b": 2}[name] for name in columns])
    assert read_table("x.csv").features(without=["kind"]).column_names == ("a", "b")
    assert read_table("x.csv:kind").labels() == ["cat", "dog"]
    with pytest.raises(UnknownName, match="Did you mean 'kind'"):
        read_table("x.csv:kinds").labels()
    with pytest.raises(FileProblem, match=r"columns a, b, kind.*Name it: x\.csv:a"):
        read_table("x.csv").labels()
    with pytest.raises(FileProblem, match="no column is left"):
        read_table("x.csv:-a,-b,-kind").features()
    np.savez("x.npz", a=numbers(), b=numbers(5))
    assert read_table("x.npz:b").features().n_rows == 5
    with pytest.raises(FileProblem, match=r"a \(23, 4\), b \(5, 4\)"):
        read_table("x.npz").features()
    np.save("x.npy", numbers())
    for role in ("features", "labels", "ids"):
        with pytest.raises(FileProblem, match="no names of columns"):
            getattr(read_table("x.npy:foo"), role)()


# ---- labels, tags, ids -------------------------------------------------------------------------


def both_texts(tmp_path, lines):
    """The same column in a .txt, and in a .csv beside another."""
    (tmp_path / "y.txt").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "y.csv").write_text("n,y\n" + "".join(f'{k},"{line}"\n' for k, line in enumerate(lines)))
    return tmp_path / "y.txt", f"{tmp_path / 'y.csv'}:y"


def test_labels_in_text(tmp_path):
    for lines, found in (
        (["cat", "", "dog"], ["cat", None, "dog"]),
        (["1", "2.0", "-3"], [1, 2, -3]),
        (["01", "2"], ["01", "2"]),
        (["1.5", "2"], ["1.5", "2"]),
        (["2", "1_000"], ["2", "1_000"]),
    ):
        for spec in both_texts(tmp_path, lines):
            assert list(read_table(spec).labels(len(lines))) == found
    (tmp_path / "head.txt").write_text("kind\n1\n2\n")
    assert list(read_table(tmp_path / "head.txt").labels()) == [1, 2], "a word above numbers is a heading"


WORDS = ["nan", "NaN", "NA", "<NA>", "N/A", "#N/A", "null", "NULL", "None"]


@pytest.mark.parametrize("word", WORDS)
def test_what_programs_write_for_a_missing_value_is_missing_in_every_role(tmp_path, word):
    specs = both_texts(tmp_path, ["b", word, "a"])
    for spec in specs:
        with pytest.warns(KinhashWarning, match=r"\(1 times\) is read as an unknown label"):
            assert list(read_table(spec).labels()) == ["b", None, "a"]
        with pytest.warns(KinhashWarning, match="is read as an unknown label"):
            assert read_table(spec).tags() == [{"b"}, None, {"a"}]
        assert read_table(spec).ids().tolist() == ["b", word, "a"], "ids are names, whatever they are"
        assert read_table(spec).texts() == ["b", word, "a"]
    both_texts(tmp_path, ["1", word, "2"])
    with pytest.raises(FileProblem, match=r"row 1 has no value in the column 'y'"):
        read_table(tmp_path / "y.csv").payload()
    with pytest.raises(FileProblem):
        read_table(f"{tmp_path / 'y.csv'}:y").features().read() if word not in ("nan", "NaN") else _nan()


def _nan():
    raise FileProblem("numbers may be NaN in a file of features; commands say in which row")


def test_labels_with_types(tmp_path):
    (tmp_path / "y.json").write_text('["NA", null, "b"]')
    assert read_table(tmp_path / "y.json").labels() == ["NA", None, "b"]
    (tmp_path / "y.jsonl").write_text('"NA"\nnull\n\n3\n')
    assert read_table(tmp_path / "y.jsonl").labels() == ["NA", None, 3]
    (tmp_path / "rows.jsonl").write_text('{"y": 1, "t": ["a"]}\n{"t": []}\n')
    assert read_table(f"{tmp_path / 'rows.jsonl'}:y").labels() == [1, None]
    assert read_table(f"{tmp_path / 'rows.jsonl'}:t").tags() == [{"a"}, set()]
    np.save(tmp_path / "y.npy", np.array([[1], [2]]))
    assert read_table(tmp_path / "y.npy").labels().tolist() == [1, 2]
    (tmp_path / "y.svm").write_text("1 1:3\n-1 1:2\n")
    assert read_table(tmp_path / "y.svm").labels() == [1, -1]
    (tmp_path / "t.svm").write_text("1,2 1:3\n 1:2\n")
    assert read_table(tmp_path / "t.svm").tags() == [{1, 2}, set()]


def test_tags(tmp_path):
    for spec in both_texts(tmp_path, ["a; b", "", "b"]):
        assert read_table(spec).tags(3) == [{"a", "b"}, set(), {"b"}], "an empty field is a row without tags"
    np.save(tmp_path / "t.npy", np.eye(3, dtype=int))
    assert read_table(tmp_path / "t.npy").tags().tolist() == np.eye(3).tolist()
    sp.save_npz(tmp_path / "t.npz", sp.csr_array(np.eye(3)))
    assert read_table(tmp_path / "t.npz").tags().toarray().tolist() == np.eye(3).tolist()
    for mark in ",|\t":
        (tmp_path / "t.txt").write_text(f"a{mark}b\nb{mark}c\n")
        with pytest.raises(InvalidInput, match=r"No row of .*t\.txt has two tags parted by ';'"):
            read_table(tmp_path / "t.txt").tags()
    for wrong in (["t.npy", "labels"], ["y.npy", "tags"]):
        np.save(tmp_path / "y.npy", np.arange(3))
        with pytest.raises(FileProblem, match="Pass "):
            getattr(read_table(tmp_path / wrong[0]), wrong[1])()


def test_ids(tmp_path):
    for lines, kind, found in (
        (["1", "-17", "0"], None, [1, -17, 0]),
        (["1.0", "1e1", "007"], None, ["1.0", "1e1", "007"]),
        (["1.0", "1e1", "+7"], "number", [1, 10, 7]),
        ([" lead", "lead"], None, [" lead", "lead"]),
        (["1", "2"], "text", ["1", "2"]),
        (["9007199254740993"], None, [9007199254740993]),
    ):
        for spec in both_texts(tmp_path, lines):
            assert read_table(spec).ids(kind).tolist() == found
    for lines, kind in ((["1.5"], "number"), (["007"], "number"), (["a", ""], None)):
        with pytest.raises(KinhashError):
            read_table(both_texts(tmp_path, [*lines, "z"])[0]).ids(kind, 3)
    np.save(tmp_path / "i.npy", np.array([1.0, np.nan]))
    with pytest.raises(FileProblem, match="row 1 has none"):
        read_table(tmp_path / "i.npy").ids()


# ---- payload, links ----------------------------------------------------------------------------


def test_payload_keeps_types(tmp_path):
    (tmp_path / "p.csv").write_text("kind,year,score,public,zip\nb,1,1.5,true,01\n,2,2,FALSE,2\n")
    found = read_table(tmp_path / "p.csv").payload()
    assert {name: column.dtype.kind for name, column in found.items()} == {
        "kind": "O", "year": "i", "score": "f", "public": "b", "zip": "O"
    }  # fmt: skip
    assert found["kind"].tolist() == ["b", ""]
    assert list(read_table(f"{tmp_path / 'p.csv'}:year,kind").payload()) == ["year", "kind"]
    assert read_table(tmp_path / "p.csv").payload(texts=["year"])["year"].tolist() == ["1", "2"]
    (tmp_path / "p.jsonl").write_text(
        '{"tags": ["a"], "v": [0.5], "n": 1}\n{"tags": [], "v": [1.5], "n": 2}\n'
    )
    found = read_table(tmp_path / "p.jsonl").payload()
    assert set(found) == {"tags", "n"}, "embeddings are no payload unless they are named"
    assert found["tags"].tolist() == [["a"], []]


def test_links(tmp_path):
    (tmp_path / "p.csv").write_text("left,right,verdict,weight\n0,1,1,2\n1,2,-0.5,0\n")
    found = read_table(tmp_path / "p.csv").links(2, 3, ("verdict", "weight"))
    assert found.rows.tolist() == [[0, 1], [1, 2]]
    assert (found.verdicts.tolist(), found.weights.tolist()) == ([1, -0.5], [2, 0])
    (tmp_path / "c.txt").write_text("0 1\n2 1\n")
    assert read_table(tmp_path / "c.txt").links(2, 3).rows.tolist() == [[0, 1], [2, 1]]
    with pytest.raises(InvalidInput, match=r"Line 3 of .* holds 1, 2, no row of the features; so do 1 of 2"):
        read_table(f"{tmp_path / 'p.csv'}:left,right").links(2, 2)


# ---- damage ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.csv", "1,2\n3\n", "line 2 has 1 column"),
        ("x.csv", "1,2\n3,x\n", "line 2, column 2 holds 'x'"),
        ("x.csv", "1,2\n3,1_0\n", "line 2"),
        ("x.csv", 'a,b\n1,"2\n3,4\n', "line 3, column 2 holds"),
        ("x.csv", "a,b\n", "no rows"),
        ("x.csv", "a,a\n1,2\n", "two columns have one name"),
        ("x.csv", "", "the file is empty"),
        ("x.svm", "1 1:1_0\n", "line 1 holds"),
        ("x.svm", "1 1:1\n\n1 2:a\n", "line 3 holds"),
        ("x.jsonl", '{"a": 1}\n{"a": \n', "line 2 is no JSON"),
        ("x.jsonl", '{"a": 1}\n[2]\n', "something else"),
        ("x.npy", "1,2,3", "its header cannot be used"),
        ("x.npz", "1,2,3", "could not be read"),
        ("x.foo", "1", "says nothing about its format"),
        ("x.npy.gz", "1", "says nothing about its format"),
    ],
)
def test_a_damaged_file_is_named_with_its_line(tmp_path, name, content, says):
    (tmp_path / name).write_text(content)
    with pytest.raises(FileProblem) as caught:
        read_table(f"{tmp_path / name}:a" if says.startswith("two") else tmp_path / name).features().read()
    assert says in str(caught.value)
    assert name in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    for path, says in (
        (tmp_path / "none.csv", "no such file"),
        (tmp_path, "a folder"),
        (f"{tmp_path}/n.csv:a", "n.csv: "),
    ):
        with pytest.raises(FileProblem, match=says):
            read_table(path)
