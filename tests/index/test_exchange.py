"""Codes to and from FAISS and .npy, and the graph scikit-learn takes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from kinhash import BitLayout, Codes
from kinhash.errors import FileProblem, InvalidInput
from kinhash.index import HammingIndex, HammingNeighborsTransformer
from kinhash.index.exchange import from_faiss, from_npy, to_faiss, to_npy

from .oracle import random_codes

rng = np.random.default_rng(0)


@pytest.mark.parametrize("ids", [None, "shuffled"])
@pytest.mark.parametrize("n_bits", [8, 60, 64, 256])
def test_faiss_and_back(n_bits, ids):
    pytest.importorskip("faiss")
    packed = random_codes(rng, 300, n_bits, 50, 0.1)
    queries = random_codes(rng, 5, n_bits)
    index = HammingIndex.from_codes(packed, n_bits, ids=None if ids is None else rng.permutation(1000)[:300])
    there = to_faiss(index)
    np.testing.assert_array_equal(there.search(queries, 20)[0], index.search(queries, 20).distances)
    back = from_faiss(there, n_bits)
    np.testing.assert_array_equal(back.ids, index.ids)
    np.testing.assert_array_equal(back.search(queries, 20).ids, index.search(queries, 20).ids)


def test_faiss_refusals():
    faiss = pytest.importorskip("faiss")
    with pytest.raises(InvalidInput, match="string"):
        to_faiss(HammingIndex.from_codes(np.zeros((1, 1), np.uint8), ids=["a"]))
    with pytest.raises(InvalidInput, match="IndexBinaryFlat"):
        from_faiss(faiss.IndexBinaryHNSW(64))


def test_npy_and_back(tmp_path):
    packed = random_codes(rng, 100, 20)
    to_npy(HammingIndex.from_codes(packed, 20), tmp_path / "codes.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "codes.npy"), packed)
    np.testing.assert_array_equal(from_npy(tmp_path / "codes.npy", 20).codes().packed, packed)
    np.save(tmp_path / "objects.npy", np.array([None]), allow_pickle=True)
    (tmp_path / "text.npy").write_text("no")
    for name in ("objects.npy", "text.npy", "missing.npy", "."):
        with pytest.raises(FileProblem):
            from_npy(tmp_path / name)
    with pytest.raises(FileProblem):
        to_npy(HammingIndex(8), tmp_path / "no" / "folder.npy")


@parametrize_with_checks([HammingNeighborsTransformer(n_neighbors=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_same_graph_as_scikit_learn(mode):
    """Distances of bits that never tie would be needed to compare ids; compare what ties allow."""
    bits = rng.integers(0, 2, (60, 40))
    ours = HammingNeighborsTransformer(n_neighbors=4, mode=mode).fit(bits).transform(bits)
    theirs = KNeighborsTransformer(n_neighbors=4, mode=mode, metric="hamming").fit(bits).transform(bits)
    assert ours.shape == theirs.shape
    np.testing.assert_array_equal(ours.indptr, theirs.indptr)
    scale = 40 if mode == "distance" else 1
    np.testing.assert_allclose(ours.data, theirs.data * scale)


def test_a_classifier_uses_hamming_neighbours():
    X, y = load_digits(return_X_y=True)
    bits = (X.mean(axis=0) < X).astype(float)
    pipeline = make_pipeline(
        HammingNeighborsTransformer(n_neighbors=5), KNeighborsClassifier(n_neighbors=5, metric="precomputed")
    )
    direct = KNeighborsClassifier(n_neighbors=5, metric="manhattan", algorithm="brute").fit(
        bits[:1200], y[:1200]
    )
    score = pipeline.fit(bits[:1200], y[:1200]).score(bits[1200:], y[1200:])
    assert abs(score - direct.score(bits[1200:], y[1200:])) < 0.02
    with pytest.raises(InvalidInput, match="n_neighbors"):
        HammingNeighborsTransformer(n_neighbors=9).fit(bits[:9]).transform(bits[:2])
    with pytest.raises(InvalidInput, match="mode"):
        HammingNeighborsTransformer(mode="graph").fit(bits)


def test_searching_does_not_import_scikit_learn():
    program = (
        "import sys, numpy as np; from kinhash.index import HammingIndex;"
        "HammingIndex.from_codes(np.zeros((2, 8), np.uint8)).search(np.zeros((1, 8), np.uint8), 1);"
        "sys.exit(any(name in sys.modules for name in ('sklearn', 'matplotlib', 'faiss', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_faiss_finds_the_weighted_neighbours():
    pytest.importorskip("faiss")
    rng = np.random.default_rng(5)
    fields = BitLayout(9, 4, 2)
    codes = Codes.from_bits(rng.integers(0, 2, (200, 21)), ids=np.arange(200) * 3, fields=fields)
    index = HammingIndex.from_codes(codes)
    other = to_faiss(index)
    distances, ids = other.search(codes[:10].repeated(), 200)
    found = index.search(codes[:10], 200)
    np.testing.assert_array_equal(distances, found.distances)
    for i in range(10):
        order = np.lexsort((ids[i], distances[i]))
        np.testing.assert_array_equal(ids[i][order], found.ids[i])
    back = from_faiss(other, 21, fields=fields)
    np.testing.assert_array_equal(back.codes().packed, codes.packed)
    assert back.fields == fields
    with pytest.raises(InvalidInput, match="repeated"):
        from_faiss(other, 20, fields=fields)


def test_npy_takes_fields(tmp_path):
    index = HammingIndex.from_codes(Codes.from_bits(np.eye(16), fields=BitLayout(6, 3)))
    to_npy(index, tmp_path / "codes.npy")
    back = from_npy(tmp_path / "codes.npy", fields=BitLayout(6, 3))
    assert back.codes().fields == BitLayout(6, 3)
    np.testing.assert_array_equal(back.codes().packed, index.codes().packed)
