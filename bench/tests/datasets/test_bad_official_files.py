"""Official files with one thing wrong: the error names the file and the thing."""

from __future__ import annotations

import numpy as np
import pytest
from compact_cases import compact_arrays
from official import write_cifar10, write_espgame, write_mnist, write_mulan, write_nuswide

from kinhash.errors import DamagedFile, FileProblem
from kinhash_bench.datasets import DATASETS, read_compact, read_mulan

HEAD = "@relation r\n@attribute a numeric\n@attribute b {0,1}\n@attribute c {0,1}\n@data\n"

ARFF = {
    "no data": (HEAD, "no rows after @data"),
    "no @data": (HEAD.replace("@data\n", ""), "Invalid layout"),
    "short row": (HEAD + "1,0,1\n1,0\n", "line 7"),
    "missing value": (HEAD + "?,0,1\n", "line 6: a value is missing"),
    "missing in a sparse row": (HEAD + "{0 ?}\n", "line 6: a value is missing"),
    "unlisted value": (HEAD + "1,0,2\n", "line 6: Data value 2 not found"),
    "no number": (HEAD + "1,0,1\none,0,1\n", "line 7: Invalid numerical value"),
    "text attribute": (HEAD.replace("a numeric", "a string") + "x,0,1\n", "attribute 'a' holds text"),
    "unknown attribute": (HEAD.replace("a numeric", "a date"), "Bad @ATTRIBUTE type, at line 2"),
    "outside": (HEAD + "{3 1}\n", "line 6"),
    "mixed rows": (HEAD + "{0 1}\n1,0,1\n", "line 7"),
    "default not zero": (HEAD.replace("{0,1}", "{1,0}") + "{0 1}\n", "would have a value other than 0"),
    "infinite": (HEAD + "inf,0,1\n", "NaN or numbers too large"),
    "two names": (HEAD.replace("@attribute a", "@attribute b"), "name b at line 3"),
}


@pytest.mark.parametrize("name", ARFF)
def test_arff(tmp_path, name):
    text, words = ARFF[name]
    (tmp_path / "x.arff").write_text(text)
    (tmp_path / "x.xml").write_text('<labels><label name="b"/><label name="c"/></labels>')
    with pytest.raises(DamagedFile, match=words) as caught:
        read_mulan(tmp_path, "x")
    assert "x.arff" in str(caught.value)


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        ("<labels/>", "lists 0 labels"),
        ('<labels><label name="b"/><label name="b"/></labels>', "1 of them different"),
        ('<labels><label name="z"/></labels>', "the label 'z' is no attribute"),
        (
            '<labels><label name="a"/><label name="b"/><label name="c"/></labels>',
            "all of its attributes are labels",
        ),
        ('<labels><label name="a"/></labels>', "something else than 0 and 1"),
        ("<labels>", "could not be read"),
    ],
)
def test_mulan_xml(tmp_path, xml, words):
    (tmp_path / "x.arff").write_text(HEAD + "5,0,1\n")
    (tmp_path / "x.xml").write_text(xml)
    with pytest.raises(FileProblem, match=words):
        read_mulan(tmp_path, "x")


def test_mulan_parts_must_agree(tmp_path):
    write_mulan(tmp_path, "scene", False, True)
    test = tmp_path / "scene-test.arff"
    test.write_text(test.read_text().replace("@ATTRIBUTE a", "@attribute other"))
    with pytest.raises(FileProblem, match=r"scene-test\.arff: its attributes differ"):
        DATASETS["scene"].read(tmp_path)


def damage(folder, place, change):
    path = folder / place
    path.write_bytes(change(path.read_bytes()))


NUSWIDE = {
    "Groundtruth/AllLabels/Labels_concept05.txt": [
        (lambda data: data[3:], "6 lines"),
        (lambda data: b"2" + data[1:], "something else than 0 and 1"),
        (lambda data: data.replace(b"\r\n", b"", 1), "something else than 0 and 1"),
    ],
    "Low_Level_Features/BoW_int.dat": [
        (lambda data: data[: len(data) // 3], "too short|columns"),
        (lambda data: data.replace(b" ", b" x", 1), "line 1, column 2 holds"),
        (lambda data: data + data[: data.index(b"\n") + 1], "more than 7 rows"),
        (lambda data: data[data.index(b"\n") + 1 :].replace(b" ", b"    "), "it has 6 rows"),
    ],
    "ImageList/Imagelist.txt": [(lambda data: data + b"one\\more.jpg\r\n", "7 lines")],
    "ImageList/TestImagelist.txt": [(lambda data: data + b"strange.jpg\n", "'strange.jpg'")],
}


@pytest.mark.parametrize(("place", "change", "words"), [(p, c, w) for p in NUSWIDE for c, w in NUSWIDE[p]])
def test_nuswide(tmp_path, place, change, words):
    write_nuswide(tmp_path)
    damage(tmp_path, place, change)
    with pytest.raises(FileProblem, match=words):
        DATASETS["nuswide"].read(tmp_path)


def test_nuswide_needs_all_concepts(tmp_path):
    write_nuswide(tmp_path)
    (tmp_path / "Groundtruth/AllLabels/Labels_concept05.txt").unlink()
    with pytest.raises(FileProblem, match="holds 80 files"):
        DATASETS["nuswide"].read(tmp_path)


ESPGAME = {
    "espgame_train_annot.hvecs": [
        (lambda data: data[:-2], "no whole number of rows"),
        (lambda data: data[:10] + b"\5" + data[11:], "row 1 states another length"),
        (lambda data: data[:2] + b"\7" + data[3:], "something else than 0 and 1"),
        (lambda data: data[:-10], "it has 5 rows"),
    ],
    "espgame_dictionary.txt": [(lambda data: data + b"cat\n", "one for each of 5 keywords")],
    "espgame_train_Gist.fvec": [(lambda data: data[:4] + b"\0\0\x80\x7f" + data[8:], "NaN or infinity")],
    "espgame_test_list.txt": [(lambda data: data + b"x\n", "names 4 images")],
}


@pytest.mark.parametrize(("place", "change", "words"), [(p, c, w) for p in ESPGAME for c, w in ESPGAME[p]])
def test_espgame(tmp_path, place, change, words):
    write_espgame(tmp_path)
    damage(tmp_path, place, change)
    with pytest.raises(FileProblem, match=words):
        DATASETS["espgame"].read(tmp_path)


MNIST = {
    "train-images-idx3-ubyte": [
        (lambda data: data[:-1], "ends after 119 of 120 bytes"),
        (lambda data: data + b"\0", "more in it"),
        (lambda data: b"\0\0\x0d" + data[3:], "does not begin like"),
        (lambda data: data[:10], "inside its header"),
        (lambda data: data[:4] + b"\xff\xff\xff\xff" + data[8:], "cannot be in it"),
    ],
    "train-labels-idx1-ubyte": [
        (lambda data: data[:-1] + b"\x0a", "holds the label 10"),
        (lambda data: data[:4] + b"\0\0\0\5" + data[8:-1], "one label for each of 6"),
    ],
}


@pytest.mark.parametrize(("place", "change", "words"), [(p, c, w) for p in MNIST for c, w in MNIST[p]])
def test_mnist(tmp_path, place, change, words):
    write_mnist(tmp_path, zipped=False)
    damage(tmp_path, place, change)
    with pytest.raises(FileProblem, match=words):
        DATASETS["mnist"].read(tmp_path)


def test_cifar10(tmp_path):
    write_cifar10(tmp_path, archive=False)
    batch = "cifar-10-batches-bin/data_batch_2.bin"
    good = (tmp_path / batch).read_bytes()
    for data, words in (
        (good[:-1], "no whole number"),
        (b"\x0b" + good[1:], "record 0 has the class 11"),
        (b"", "empty"),
    ):
        (tmp_path / batch).write_bytes(data)
        with pytest.raises(FileProblem, match=words):
            DATASETS["cifar10"].read(tmp_path)
    (tmp_path / batch).unlink()
    with pytest.raises(FileProblem, match=r"data_batch_2\.bin: there is no such file"):
        DATASETS["cifar10"].read(tmp_path)


COMPACT = [
    ("quantized", {"scale": np.ones(3, np.float32)}, "not 4 finite numbers"),
    ("quantized", {"offset": np.full(4, np.nan, np.float32)}, "not 4 finite numbers"),
    ("quantized", {"labels": np.zeros(11, np.uint8)}, "different numbers of rows"),
    ("quantized", {"labels": np.full(12, 200, np.uint8)}, "the class 200"),
    ("quantized", {"labels": np.full(12, -1)}, "one class number per row"),
    ("half", {"n_train": np.array(13)}, "13 training rows"),
    ("half", {"n_train": np.array(-1)}, "not a number of rows"),
    ("half", {"features": np.full((12, 4), np.inf, np.float16)}, "NaN or infinity"),
    ("half", {"label_indices": np.full(40, 9, np.uint8)}, "do not fit|outside"),
    ("half", {"label_names": np.array(["a"])}, "indices must be < 1"),
    ("sparse", {"x_shape": np.array([11, 6])}, "index pointer size 13 should be 12"),
    ("sparse", {"x_shape": np.array([12, -6])}, "pair of sizes"),
    ("sparse", {"x_names": np.array(["a"])}, "1 entries for 6 columns"),
    ("tags only", {"is_test": np.zeros(3, bool)}, "one mark per row"),
    ("pictures", {"offsets": np.array([0, 5, 4])}, "do not divide"),
    (
        "pictures",
        {"webp": np.zeros(10, np.uint8), "offsets": np.array([0, 10])},
        "picture 0 could not be read",
    ),
]


@pytest.mark.parametrize(("kind", "change", "words"), COMPACT)
def test_compact(tmp_path, kind, change, words):
    np.savez(tmp_path / "x.npz", **{**compact_arrays(kind), **change})
    with pytest.raises(FileProblem, match=words):
        read_compact(tmp_path / "x.npz")


def test_a_column_named_twice_in_a_row_is_refused(tmp_path):
    tags = {
        "label_indptr": np.array([0, 2]),
        "label_indices": np.array([1, 1]),
        "label_names": np.array(["a", "b"]),
    }
    np.savez(tmp_path / "x.npz", features=np.ones((1, 2)), **tags)
    with pytest.raises(FileProblem, match="names a column twice"):
        read_compact(tmp_path / "x.npz")


def test_exploding_xml_is_refused(tmp_path):
    write_mulan(tmp_path, "scene", False, True)
    bomb = '<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><labels><label name="&b;"/></labels>'
    (tmp_path / "scene.xml").write_text(bomb)
    with pytest.raises(FileProblem, match="declarations"):
        DATASETS["scene"].read(tmp_path)
