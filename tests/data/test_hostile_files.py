"""Files made to do harm: deep nesting, pickles, lying headers, exploding entities."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from kinhash.data import read_table
from kinhash.errors import FileProblem, NotEnoughMemory


@pytest.mark.parametrize("depth", [2000, 200_000])
def test_deep_json_is_refused(tmp_path, depth):
    (tmp_path / "deep.json").write_text("[" * depth + "]" * depth)
    with pytest.raises(FileProblem):
        read_table(tmp_path / "deep.json").labels()


@pytest.mark.parametrize(
    "shape", ["(1000000000000, 3)", "(3, 1000000000000)", "(-1, 3)", "(3,", "(2**9, 3)", "(True, 3)"]
)
def test_a_header_is_not_believed(tmp_path, shape):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(72)
    (tmp_path / "x.npy").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("X.npy", data)
    for source in (tmp_path / "x.npy", tmp_path / "x.npz", io.BytesIO(data)):
        with pytest.raises(FileProblem):
            list(read_table(source).features().blocks())


def test_pickled_objects_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{"a"}, {"b"}], object), allow_pickle=True)
    with pytest.raises(FileProblem, match="its header claims object"):
        read_table(tmp_path / "x.npy").labels()


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.svm", "x.tsv.gz"])
def test_a_line_without_end_is_refused_before_it_is_read(tmp_path, name):
    """Half a megabyte of gzip holds a line of 512 MB."""
    line = {"csv": b"1,", "tsv": b"1\t", "svm": b"1 1:1 # "}[name.split(".")[1]]
    text = line + b"1" * 80_000_000
    (tmp_path / name).write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    tracemalloc.start()
    try:
        with pytest.raises(FileProblem, match="a line of more than"):
            next(iter(read_table(tmp_path / name).features().blocks()))
        assert tracemalloc.get_traced_memory()[1] < 150_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["y.txt", "y.txt.gz", "y.csv"])
def test_a_label_without_end_is_refused(tmp_path, name):
    text = b"cat\n" + b"d" * 40_000_000
    (tmp_path / name).write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
    with pytest.raises(FileProblem, match="a line of more than"):
        read_table(tmp_path / name).labels()


def test_an_archive_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    """A megabyte of deflated zeros is a gigabyte of array, and true: only the budget refuses it."""
    np.savez_compressed(tmp_path / "x.npz", np.zeros((1000, 1000)))
    read_table(tmp_path / "x.npz").tags()
    monkeypatch.setattr("kinhash._internal.blocks.available_memory", lambda: 7_000_000)
    with pytest.raises(NotEnoughMemory, match=r"x\.npz"):
        read_table(tmp_path / "x.npz").tags()


def test_an_archive_that_claims_more_than_it_holds_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "x.npz", np.zeros((100, 100)))
    good = (tmp_path / "x.npz").read_bytes()
    size = (100 * 100 * 8 + 128).to_bytes(4, "little")
    assert good.count(size) == 2  # beside the array, and in the directory at the end
    (tmp_path / "x.npz").write_bytes(good.replace(size, b"\xff\xff\xff\x7f"))
    for read in (lambda path: read_table(path).labels(), lambda path: read_table(path).features()):
        with pytest.raises(FileProblem, match="claims more than it can hold"):
            read(tmp_path / "x.npz")


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_that_would_inflate_without_bounds_is_refused(tmp_path, kind):
    content = io.BytesIO()
    np.save(content, np.random.default_rng(0).random((30, 3)))
    with zipfile.ZipFile(tmp_path / "x.npz", "w", kind) as archive:
        archive.writestr("X.npy", content.getvalue())
    for read in (lambda path: read_table(path).labels(), lambda path: read_table(path).features()):
        with pytest.raises(FileProblem, match="compressed in an unusual way"):
            read(tmp_path / "x.npz")
