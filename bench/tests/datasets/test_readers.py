"""Every reader gives back what was written in the official layout."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from compact_cases import COMPACT_KINDS, compact_arrays
from official import write_cifar10, write_espgame, write_mnist, write_mulan, write_nuswide

from kinhash.errors import InvalidInput, UnknownName
from kinhash_bench.datasets import DATASETS, Dataset, load, read_compact, read_mulan, write_compact
from kinhash_bench.datasets import digits as digits_module


@pytest.mark.parametrize("archive", [True, False])
@pytest.mark.parametrize("folder", ["", "cifar10"])
def test_cifar10(tmp_path, archive, folder):
    pictures, classes = write_cifar10(tmp_path / folder, archive)
    dataset = load("cifar10", tmp_path, verify=False)
    np.testing.assert_array_equal(dataset.images(), pictures)
    np.testing.assert_array_equal(dataset.labels.classes, classes)
    assert dataset.labels.names[9] == "truck"
    assert (dataset.n_train, dataset.n_query) == (15, 3)
    assert dataset.features.shape == (18, 3072)


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
@pytest.mark.parametrize("zipped", [True, False])
def test_mnist(tmp_path, name, zipped):
    pictures, classes = write_mnist(tmp_path / name, zipped)
    dataset = load(name, tmp_path, verify=False)
    np.testing.assert_array_equal(dataset.images(), pictures)
    np.testing.assert_array_equal(dataset.labels.classes, classes)
    np.testing.assert_array_equal(dataset.train, np.arange(6))
    np.testing.assert_array_equal(dataset.queries, [6, 7, 8])


@pytest.mark.parametrize("nested", [True, False])
def test_nuswide(tmp_path, nested):
    words, tags = write_nuswide(tmp_path / "nuswide", nested)
    dataset = load("nuswide", tmp_path)
    assert dataset.features.dtype == np.float32
    np.testing.assert_array_equal(dataset.features, words)
    np.testing.assert_array_equal(dataset.labels.tags.toarray(), tags)
    assert dataset.labels.names[0] == "airport"
    assert dataset.names[0] == "actor/0000_1.jpg"
    np.testing.assert_array_equal(dataset.train, [1, 3, 5])
    np.testing.assert_array_equal(dataset.queries, [0, 2, 4, 6])


def test_espgame(tmp_path):
    features, tags = write_espgame(tmp_path / "espgame")
    dataset = load("espgame", tmp_path)
    np.testing.assert_array_equal(dataset.features, features)
    np.testing.assert_array_equal(dataset.labels.tags.toarray(), tags)
    assert list(dataset.labels.names) == ["sky", "sea", "car", "dog"]
    assert dataset.names[5] == "test/0"
    assert (dataset.n_train, dataset.n_query) == (5, 3)


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("split", [True, False])
def test_mulan(tmp_path, sparse, split):
    features, tags = write_mulan(tmp_path / "mulan", "scene", sparse, split)
    dataset = load("scene", tmp_path)
    assert sp.issparse(dataset.features) == sparse
    assert dataset.features.dtype == np.float32
    dense = dataset.features.toarray() if sparse else dataset.features
    np.testing.assert_array_equal(dense, features.astype(np.float32))
    np.testing.assert_array_equal(dataset.labels.tags.toarray(), tags)
    assert list(dataset.labels.names) == ["beach", "sun set", "fall"]
    assert list(dataset.feature_names) == ["a", "b c", "d", "mood"]
    assert (dataset.n_train, dataset.n_query) == ((6, 3) if split else (None, None))


def test_mulan_spells_its_files_in_several_ways(tmp_path):
    features, _ = write_mulan(tmp_path, "corel5k", True, True)
    for path in list(tmp_path.iterdir()):
        path.rename(path.with_name(path.name.replace("corel5k", "Corel5k").replace(".arff", "-sparse.arff")))
    dataset = load("corel5k", tmp_path)
    np.testing.assert_array_equal(dataset.features.toarray(), features.astype(np.float32))
    assert dataset.n_train == 6


def test_nested_labels_are_all_read(tmp_path):
    write_mulan(tmp_path, "own", False, True)
    nested = '<labels><label name="beach"><label name="sun set"><label name="fall"/></label></label></labels>'
    (tmp_path / "own.xml").write_text(nested)
    assert list(read_mulan(tmp_path, "own").labels.names) == ["beach", "sun set", "fall"]


def test_any_mulan_set_can_be_read_by_name(tmp_path):
    features, _ = write_mulan(tmp_path, "own", False, True)
    np.testing.assert_allclose(read_mulan(tmp_path, "own").features, features, rtol=1e-6)


def test_digits_need_no_files(tmp_path):
    dataset = load("digits", tmp_path)
    assert dataset.features.shape == (1797, 64)
    assert dataset.features.dtype == np.float32
    assert dataset.images().shape == (1797, 8, 8)
    assert dataset.checksum == digits_module.read().checksum


@pytest.mark.parametrize("kind", COMPACT_KINDS)
def test_compact_files(tmp_path, kind):
    arrays = compact_arrays(kind)
    np.savez_compressed(tmp_path / "own.npz", **arrays)
    dataset = read_compact(tmp_path / "own.npz")
    assert dataset.name == "own"
    if kind == "quantized":
        expected = arrays["gist"] * arrays["scale"] + arrays["offset"]
        np.testing.assert_array_equal(dataset.features, expected)
        np.testing.assert_array_equal(dataset.labels.classes, arrays["labels"])
    elif kind == "half":
        np.testing.assert_array_equal(dataset.features, arrays["features"].astype(np.float32))
        np.testing.assert_array_equal(dataset.queries, np.arange(8, 12))
        np.testing.assert_array_equal(dataset.names, arrays["newid"])
    elif kind == "queries first":
        np.testing.assert_array_equal(dataset.queries, [0, 1])
        np.testing.assert_array_equal(dataset.train, np.arange(2, 7))
    elif kind == "sparse":
        rows = np.split(arrays["x_indices"], arrays["x_indptr"][1:-1])
        assert dataset.features.dtype == np.float32
        for row, columns in zip(dataset.features.toarray(), rows, strict=True):
            np.testing.assert_array_equal(np.flatnonzero(row), columns)
        assert list(dataset.feature_names) == list("uvwxyz")
    elif kind == "tags only":
        assert dataset.features is None
        np.testing.assert_array_equal(dataset.train, np.flatnonzero(arrays["is_train"]))
        np.testing.assert_array_equal(dataset.labels.tags.indices, arrays["indices"])
    else:
        assert dataset.images().shape == (3, 8, 6, 3)
        rng = np.random.default_rng(0)
        rng.random((12, 5))
        np.testing.assert_array_equal(dataset.images()[0], rng.integers(0, 256, (8, 6, 3), dtype=np.uint8))


@pytest.mark.parametrize("kind", [kind for kind in COMPACT_KINDS if kind != "pictures"])
def test_compact_files_can_be_written_again(tmp_path, kind):
    np.savez_compressed(tmp_path / "own.npz", **compact_arrays(kind))
    before = read_compact(tmp_path / "own.npz")
    write_compact(tmp_path / "again.npz", before)
    assert_same(read_compact(tmp_path / "again.npz"), before)


def test_quantized_writing_stays_within_half_a_step(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 6)).astype(np.float32)
    X[:, 5] = 3
    dataset = Dataset("own", X, None, "", "", "", "", names=np.arange(50))
    write_compact(tmp_path / "q.npz", dataset, quantize=True)
    error = np.abs(read_compact(tmp_path / "q.npz").features - X)
    assert (error <= (X.max(axis=0) - X.min(axis=0)) / 510 + 1e-6).all()


def test_only_pixels_become_images(tmp_path):
    np.savez_compressed(tmp_path / "own.npz", **compact_arrays("half"))
    with pytest.raises(InvalidInput, match="not pixels"):
        read_compact(tmp_path / "own.npz").images()


def test_every_row_of_the_table_has_complete_facts():
    for name in DATASETS:
        facts = DATASETS[name].facts
        assert facts.name == name
        assert all([facts.about, facts.source, facts.license, facts.citation, facts.rows, facts.labels])
        for wanted in facts.files:
            assert wanted.url is None or wanted.checksum is not None, "no download without a checksum"


def test_an_unknown_name_gets_a_suggestion(tmp_path):
    with pytest.raises(UnknownName, match="'cifar10'"):
        load("cifar_10", tmp_path)


@pytest.mark.data
def test_the_real_compact_files_have_the_sizes_they_should(data_home):
    seen = 0
    for name in DATASETS:
        facts = DATASETS[name].facts
        if not facts.locate(data_home)[2] and facts.files:
            dataset = load(name, data_home)
            columns = 0 if dataset.features is None else dataset.features.shape[1]
            assert (len(dataset), columns) == (facts.rows, facts.columns), name
            assert len(dataset.labels) == facts.rows
            assert len(dataset.labels.names) == facts.labels
            assert f"sha256:{dataset.checksum}" == facts.files[0].checksum
            seen += 1
    assert seen > 0


def assert_same(one: Dataset, other: Dataset) -> None:
    for part in ("features", "names", "feature_names", "train", "queries"):
        a, b = getattr(one, part), getattr(other, part)
        assert (a is None) == (b is None), part
        if sp.issparse(a):
            a, b = a.toarray(), b.toarray()
        if a is not None:
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.labels.indicator().toarray(), other.labels.indicator().toarray())
    assert list(one.labels.names) == list(other.labels.names)


def test_the_page_about_data_sets_names_them_all():
    page = (Path(__file__).parents[3] / "docs" / "datasets.md").read_text(encoding="utf-8")
    assert not [name for name in DATASETS if f"`{name}`" not in page]
