"""The graph of neighbors that scikit-learn takes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from kinhash.errors import InvalidInput
from kinhash.index import HammingNeighborsTransformer

rng = np.random.default_rng(0)


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


def test_a_classifier_uses_hamming_neighbors():
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
