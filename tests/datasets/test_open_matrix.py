"""A user's matrix reads the same from every kind of file, whole or in blocks."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from kinhash.datasets import open_matrix
from kinhash.errors import FileProblem, UnknownName


def numbers(n=23, p=4, dtype=np.float64, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, p)) * 100
    X[:, 0] = 0
    X[3] = 0
    X[0, p - 1] = 7  # the last column is not empty, so sparse text can tell their number
    return X.astype(dtype)


def save_svm(path, X):
    lines = [" ".join(f"{k + 1}:{float(v)!r}" for k, v in enumerate(row) if v) for row in X]
    path.write_text("".join(f"1 {line} # note\n" for line in lines))


def save_parquet(path, X):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(arrow.table({f"c{k}": X[:, k] for k in range(X.shape[1])}), path)


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
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_the_same_numbers_from_every_file(tmp_path, name, rows):
    X = numbers()
    WRITERS[name](tmp_path / name, X)
    matrix = open_matrix(tmp_path / name)
    assert matrix.n_columns == 4
    assert matrix.n_rows in (23, None)
    blocks = list(matrix.blocks(rows))
    assert all(1 <= block.shape[0] <= rows for block in blocks)
    stacked = np.concatenate([dense(block) for block in blocks])
    np.testing.assert_array_equal(stacked, X)
    np.testing.assert_array_equal(dense(matrix.read()), X)
    np.testing.assert_array_equal(dense(matrix.read()), X, err_msg="a file can be read again")


def dense(block):
    return block.toarray() if sp.issparse(block) else np.asarray(block)


@given(st.integers(1, 30), st.integers(1, 5), st.integers(1, 12), st.sampled_from(["f4", "i2", "u1", "?"]))
def test_npy_keeps_its_type(tmp_path_factory, n, p, rows, dtype):
    X = np.random.default_rng(n).integers(0, 2, (n, p)).astype(dtype)
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    np.save(path, X)
    for source in (path, io.BytesIO(path.read_bytes())):
        blocks = list(open_matrix(source).blocks(rows))
        assert {block.dtype for block in blocks} == {np.dtype(dtype)}
        np.testing.assert_array_equal(np.concatenate(blocks), X)


def test_npy_is_a_memory_map(tmp_path):
    np.save(tmp_path / "x.npy", numbers())
    assert isinstance(open_matrix(tmp_path / "x.npy").read(), np.memmap)


@pytest.mark.parametrize("name", ["c.npy", "a.csv", "head.csv"])
def test_pipes(tmp_path, name):
    X = numbers()
    WRITERS[name](tmp_path / name, X)
    code = (
        "import sys, numpy as np; from kinhash.datasets import open_matrix;"
        "m = open_matrix('-'); sys.stdout.write(repr((m.n_columns, float(m.read().sum()))))"
    )
    with open(tmp_path / name, "rb") as stream:
        done = subprocess.run([sys.executable, "-c", code], stdin=stream, capture_output=True, check=True)
    n_columns, total = eval(done.stdout)
    assert n_columns == 4
    assert total == pytest.approx(X.sum())


def test_a_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    X = numbers()
    text = io.StringIO()
    np.savetxt(text, X, "%.17g", ",")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(text.getvalue()))
    writer.start()
    matrix = open_matrix(tmp_path / "pipe")
    np.testing.assert_array_equal(np.concatenate(list(matrix.blocks(5))), X)
    writer.join()
    with pytest.raises(FileProblem, match="read already"):
        matrix.blocks()


def test_column_names_come_from_the_header(tmp_path):
    (tmp_path / "x.csv").write_text('"a","b c"\n1,2\n')
    assert open_matrix(tmp_path / "x.csv").column_names == ("a", "b c")
    (tmp_path / "y.csv").write_text("0,1\n5,6\n")
    assert open_matrix(tmp_path / "y.csv").read().shape == (2, 2)
    assert open_matrix(tmp_path / "y.csv", header=True).read().shape == (1, 2)


def test_an_array_of_several_is_named(tmp_path):
    np.savez(tmp_path / "x.npz", a=numbers(), b=numbers(5))
    assert open_matrix(tmp_path / "x.npz", name="b").n_rows == 5
    with pytest.raises(FileProblem, match=r"a \(23, 4\), b \(5, 4\)"):
        open_matrix(tmp_path / "x.npz")
    with pytest.raises(UnknownName):
        open_matrix(tmp_path / "x.npz", name="c")
    np.savez(tmp_path / "x.npz", features=numbers(), scale=np.ones(4), offset=np.zeros(4))
    with pytest.raises(FileProblem, match=r"scale \(4,\)"):  # the bare numbers would not be the features
        open_matrix(tmp_path / "x.npz")


def test_parquet_column_of_lists(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    X = numbers(10).astype(np.float32)
    for kind in (arrow.list_(arrow.float32()), arrow.list_(arrow.float32(), 4)):
        table = arrow.table({"id": np.arange(10), "vector": arrow.array(X.tolist(), kind)})
        pyarrow.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=3)
        matrix = open_matrix(tmp_path / "x.parquet", name="vector")
        assert (matrix.n_rows, matrix.n_columns) == (10, 4)
        blocks = list(matrix.blocks(4))
        assert blocks[0].dtype == np.float32
        np.testing.assert_array_equal(np.concatenate(blocks), X)
    table = arrow.table({"vector": [[1.0, 2.0], [3.0]]})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(FileProblem, match="length"):
        list(open_matrix(tmp_path / "x.parquet").blocks())
    pyarrow.parquet.write_table(arrow.table({"a": [1.0, None]}), tmp_path / "x.parquet")
    with pytest.raises(FileProblem, match="missing values"):
        list(open_matrix(tmp_path / "x.parquet").blocks())
    pyarrow.parquet.write_table(arrow.table({"a": [1.0], "name": ["x"]}), tmp_path / "x.parquet")
    with pytest.raises(FileProblem, match="'name' holds string"):
        open_matrix(tmp_path / "x.parquet")


def test_svmlight_counts_from_zero_or_one(tmp_path):
    (tmp_path / "x.svm").write_text("1 0:5 2:6\n\n-1 qid:3 1:7\n")
    np.testing.assert_array_equal(open_matrix(tmp_path / "x.svm").read().toarray(), [[5, 0, 6], [0, 7, 0]])
    (tmp_path / "x.svm").write_text("1 1:5 3:6\n")
    np.testing.assert_array_equal(
        open_matrix(tmp_path / "x.svm", n_columns=4).read().toarray(), [[5, 0, 6, 0]]
    )
    with pytest.raises(FileProblem, match="has 3 columns"):
        open_matrix(tmp_path / "x.svm", n_columns=2)


BAD = {
    "missing.npy": (None, "no such file"),
    "empty.npy": (b"", "empty"),
    "empty.csv": (b"", "empty"),
    "empty.npz": (b"", "empty"),
    "empty.svm": (b"", "empty"),
    "blank.csv": (b"\n\n", "empty"),
    "head.csv": (b"a,b\n", "no rows"),
    "text.npy": (b"a,b\n1,2\n", "header cannot be used"),
    "text.npz": (b"a,b\n1,2\n", "not a zip file"),
    "text.parquet": (b"a,b\n1,2\n", "could not read"),
    "zipped.csv": (b"PK\x03\x04\0\0\0\0", "not text"),
    "picture.csv": (b"\x89PNG\r\n\x1a\n\xff\xff", "could not be read"),
    "ragged.csv": (b"1,2\n3,4\n\n5\n", "line 4 has 1 column\\."),
    "wide.csv": (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 columns"),
    "word.csv": (b"1,2\n3,four\n", "line 2, column 2 holds 'four'"),
    "gap.csv": (b"1,2\n3,\n", "line 2, column 2 holds ''"),
    "mixed.csv": (b"1,x\n3,4\n", "line 1, column 2 holds 'x'.*first line holds names"),
    "broken.svm": (b"1 1:2\n1 2:3 1:4\n", "line 2 holds '1 2:3 1:4'.*sorted"),
    "matrix.xlsx": (b"PK", "extension '.xlsx'"),
    "noextension": (b"1,2\n", "says nothing about its format"),
    "x.npy.gz": (b"1,2\n", "says nothing about its format"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path, name):
    contents, words = BAD[name]
    if contents is not None:
        (tmp_path / name).write_bytes(contents)
    with pytest.raises(FileProblem, match=words) as caught:
        list(open_matrix(tmp_path / name).blocks())
    assert name in str(caught.value)


def test_folders_and_forbidden_files(tmp_path):
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(FileProblem, match="a folder"):
        open_matrix(tmp_path / "x.csv")
    np.save(tmp_path / "x.npy", numbers())
    (tmp_path / "x.npy").chmod(0)
    if not os.access(tmp_path / "x.npy", os.R_OK):  # the superuser may read everything
        with pytest.raises(FileProblem, match="not allowed"):
            open_matrix(tmp_path / "x.npy")


@pytest.mark.parametrize(
    "X", [np.zeros(3), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((2, 2, 2)), np.array([["a"]])]
)
def test_arrays_that_are_no_matrix(tmp_path, X):
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(FileProblem, match="shape"):
        open_matrix(tmp_path / "x.npy")


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.csv.gz"])
def test_every_truncation_is_noticed(tmp_path, name):
    X = numbers(5)
    path = tmp_path / name
    if name.endswith("npy"):
        np.save(path, X)
    elif name.endswith("npz"):
        np.savez_compressed(path, X=X)
    else:
        path.write_bytes(gzip.compress(b"1,2\n3,4\n" * 3))
    good = path.read_bytes()
    for length in range(len(good)):
        path.write_bytes(good[:length])
        with pytest.raises(FileProblem):
            list(open_matrix(path).blocks())


@pytest.mark.parametrize("name", ["x.csv", "x.npz", "x.svm", "x.npy"])
def test_blocks_keep_memory_bounded(tmp_path, name):
    X = np.round(np.random.default_rng(0).standard_normal((6000, 20)), 3)
    writers = {
        "x.csv": WRITERS["a.csv"],
        "x.npz": lambda path, X: np.savez(path, X=X),
        "x.svm": save_svm,
        "x.npy": np.save,
    }
    writers[name](tmp_path / name, X)
    matrix = open_matrix(tmp_path / name)
    tracemalloc.start()
    total = sum(float(block.sum()) for block in matrix.blocks(50))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == pytest.approx(X.sum())
    assert peak < X.nbytes / 3


def test_blocks_of_parquet_keep_memory_bounded(tmp_path):
    """pyarrow's memory is its own, so tracemalloc does not see it."""
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    X = np.random.default_rng(0).standard_normal((60_000, 20))
    table = arrow.table({f"c{k}": X[:, k] for k in range(20)})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=3000)
    del table
    before = arrow.total_allocated_bytes()
    held = [arrow.total_allocated_bytes() - before for _ in open_matrix(tmp_path / "x.parquet").blocks(1000)]
    assert len(held) == 60
    assert max(held) < X.nbytes / 3


def test_a_file_longer_than_its_header_says_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", numbers(5))
    with open(tmp_path / "x.npy", "ab") as stream:
        stream.write(b"12345678")
    with pytest.raises(FileProblem, match="promises 160 bytes of data and 168 are there"):
        open_matrix(tmp_path / "x.npy")
    with pytest.raises(FileProblem, match="more came"):
        list(open_matrix(io.BytesIO((tmp_path / "x.npy").read_bytes())).blocks())


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_lines_are_counted_across_blocks(tmp_path, rows):
    (tmp_path / "x.csv").write_text("a,b\n\n1,2\n\n\n3,4\n5,six\n")
    with pytest.raises(FileProblem, match="line 7, column 2 holds 'six'"):
        list(open_matrix(tmp_path / "x.csv").blocks(rows))


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.parquet"])
def test_columns_by_name(tmp_path, name):
    table = {"id": ["p,q", "r", "s"], "b": [1.0, 2.0, 3.0], "kind": ["x", "y", "z"], "a": [4.0, 5.0, 6.0]}
    if name == "x.parquet":
        arrow = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        pyarrow.parquet.write_table(arrow.table(table), tmp_path / name)
    else:
        mark = "," if name == "x.csv" else "\t"
        rows = [list(table), *zip(*table.values(), strict=True)]
        lines = [mark.join(f'"{cell}"' if "," in str(cell) else str(cell) for cell in row) for row in rows]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    matrix = open_matrix(tmp_path / name, columns=["a", "b"])
    assert matrix.column_names == ("a", "b")
    np.testing.assert_array_equal(matrix.read(), [[4, 1], [5, 2], [6, 3]])
    np.testing.assert_array_equal(
        open_matrix(tmp_path / name, without=["id", "kind"]).read(), [[1, 4], [2, 5], [3, 6]]
    )
    with pytest.raises(UnknownName, match="'kind'"):
        open_matrix(tmp_path / name, without=["kid"])
    with pytest.raises(FileProblem, match=r"kind|column 3 holds"):
        list(open_matrix(tmp_path / name, without=["id"]).blocks())


def test_a_quote_that_is_not_closed_does_not_swallow_rows(tmp_path):
    (tmp_path / "x.csv").write_text('name,a\n"p,1\nq,2\n"r",3\ns,4\n')
    with pytest.raises(FileProblem, match="a quote is opened in one line"):
        list(open_matrix(tmp_path / "x.csv", without=["name"]).blocks())
    (tmp_path / "x.csv").write_text('a,name\n1,p\n2,"q\n')
    assert open_matrix(tmp_path / "x.csv", columns=["a"]).read().tolist() == [[1], [2]]


def test_columns_need_names(tmp_path):
    np.save(tmp_path / "x.npy", numbers())
    with pytest.raises(FileProblem, match="no column names"):
        open_matrix(tmp_path / "x.npy", columns=["a"])
    (tmp_path / "x.csv").write_text('a,"b,c"\n1,2\n')
    assert open_matrix(tmp_path / "x.csv").column_names == ("a", "b,c")
    with pytest.raises(FileProblem, match="no column is left"):
        open_matrix(tmp_path / "x.csv", columns=["a"], without=["a"])


@pytest.mark.parametrize(
    ("name", "text"), [("x.svm", "1 1:1_0\n"), ("x.svm", "1 1_0:1\n"), ("x.csv", "a,b\n1_0,2\n")]
)
def test_numbers_have_no_underscores(tmp_path, name, text):
    """Python reads 1_0 as 10, and no data file means it."""
    (tmp_path / name).write_text(text)
    with pytest.raises(FileProblem, match="1_0"):
        list(open_matrix(tmp_path / name).blocks())
    if name == "x.csv":
        with pytest.raises(FileProblem, match="1_0"):
            list(open_matrix(tmp_path / name, columns=["a"]).blocks())
