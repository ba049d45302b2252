"""The guard of `encode`: silent on honest rows however they come, and it speaks where rows are others."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from kinhash import EnergyHasher
from kinhash.errors import KinhashWarning
from kinhash.models import Seen, Watch
from kinhash.plugins import Rows

DATA = {  # dense sets of several kinds, and one of words
    "network": "cifar10_efficientnet_lite0_pca256",
    "gist": "coco20770_gist512",
    "texts": "reuters21578_minilm384",
    "words": "mulan_bibtex",
}


def speaks(seen, X, size=256):
    """Whether rows that come in batches make the guard speak."""
    watch = Watch(seen)
    return any(watch.look(Rows(X[at : at + size])) is not None for at in range(0, X.shape[0], size))


def halves(X, seed, n=4000):
    order = np.random.default_rng(seed).permutation(X.shape[0])[: 2 * n]
    return X[np.sort(order[: len(order) // 2])], X[order[len(order) // 2 :]]


def lengths(X):
    return np.sqrt(np.asarray((X * X).sum(axis=1)).ravel())


def unit(X):
    return X / np.maximum(lengths(X), 1e-30)[:, None]


def like_an_embedder(n, seed, model=0, p=96):
    """Rows of unit length around 8 topics, in a space that is the model's own."""
    rng, own = np.random.default_rng(seed), np.random.default_rng(1000 + model)
    mixing = own.normal(size=(p, p)) * np.exp(-np.arange(p) / 15)[:, None]
    topics = own.normal(size=(8, p))
    return unit((topics[rng.integers(0, 8, n)] + rng.normal(size=(n, p))) @ mixing)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X, y


@pytest.mark.parametrize("seed", range(10))
def test_honest_halves_of_digits_are_silent_in_any_order(digits, seed):
    X, y = digits
    order = np.random.default_rng(seed).permutation(len(X))
    seen, rest, classes = Seen.of(Rows(X[order[:1200]])), X[order[1200:]], y[order[1200:]]
    by_length = np.argsort(lengths(rest))
    for one in (rest, rest[by_length], rest[by_length[::-1]], rest[np.argsort(classes, kind="stable")]):
        assert not speaks(seen, one)
        assert not speaks(seen, one[:200], size=1)
        assert not speaks(seen, sp.csr_array(one))
    for c in range(10):
        assert not speaks(seen, rest[classes == c])


@pytest.mark.parametrize("n", [40, 200, 1024, 3000])
@pytest.mark.parametrize("seed", range(5))
def test_honest_rows_of_an_embedder_are_silent(n, seed):
    seen = Seen.of(Rows(like_an_embedder(n, seed)))
    assert not speaks(seen, like_an_embedder(1000, 100 + seed))


@pytest.mark.parametrize("seed", range(5))
def test_another_embedder_and_other_orders_of_columns_are_told(seed):
    seen = Seen.of(Rows(like_an_embedder(2000, seed)))
    X = like_an_embedder(300, 100 + seed)
    assert speaks(seen, like_an_embedder(300, seed, model=1 + seed))
    assert speaks(seen, X[:, np.random.default_rng(seed).permutation(X.shape[1])])
    assert speaks(seen, X[:, ::-1])
    assert speaks(seen, X * 1.3)
    assert not speaks(seen, X)


@pytest.mark.parametrize("seed", range(5))
def test_faults_of_digits_are_told(digits, seed):
    X, _ = digits
    order = np.random.default_rng(seed).permutation(len(X))
    train, rest = X[order[300:]], X[order[:300]]
    spread = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    standardized = [(part - X.mean(axis=0)) / spread for part in (train, rest)]
    assert speaks(Seen.of(Rows(train)), unit(rest))
    assert speaks(Seen.of(Rows(unit(train))), rest)
    assert speaks(Seen.of(Rows(train)), rest / 16)
    assert speaks(Seen.of(Rows(train)), standardized[1])
    assert speaks(Seen.of(Rows(standardized[0])), rest)
    assert speaks(Seen.of(Rows(train)), rest[:, np.random.default_rng(seed).permutation(64)])


def test_rows_of_length_one_are_told_where_lengths_go_around_it():
    """Normalized rows are neither long nor short among rows of all lengths."""
    rng = np.random.default_rng(0)
    X = like_an_embedder(2300, 0) * rng.uniform(0.3, 3, (2300, 1))
    seen = Seen.of(Rows(X[:2000]))
    assert not speaks(seen, X[2000:])
    assert speaks(seen, unit(X[2000:]))
    tags = sp.csr_array((rng.random((2300, 50)) < 0.03).astype(float))  # many have one tag: length 1
    seen = Seen.of(Rows(tags[:2000]))
    assert not speaks(seen, tags[2000:][np.flatnonzero(tags[2000:].sum(axis=1) == 1)])


def test_encode_warns_once_and_a_loaded_model_too(tmp_path):
    from kinhash import load

    X = like_an_embedder(1200, 0)
    y = (X[:, :2] > 0) @ [1, 2]
    hasher = EnergyHasher(16, random_state=0).fit(X, y)
    hasher.save(tmp_path / "model.kin")
    for one in (hasher, load(tmp_path / "model.kin")):
        with warnings.catch_warnings():
            warnings.simplefilter("error", KinhashWarning)
            one.encode(X)
        with pytest.warns(KinhashWarning, match="same embedding model"):
            one.encode(X[:, ::-1])
        with warnings.catch_warnings():
            warnings.simplefilter("error", KinhashWarning)
            one.encode(X[:, ::-1])


def test_what_cannot_be_judged_is_not():
    assert Seen.of(Rows(np.full((50, 3), 1e200))) is None
    few = Seen.of(Rows(np.eye(30)))
    assert not speaks(few, 1e9 * np.ones((50, 30)))
    zeros = Seen.of(Rows(np.zeros((2000, 6))))
    assert not speaks(zeros, np.zeros((50, 6)))


def test_arrays_of_strangers_are_checked():
    seen = Seen.of(Rows(like_an_embedder(1100, 0)))
    arrays, X = seen.arrays(), like_an_embedder(50, 9)
    assert all(map(np.array_equal, seen.measures(X), Seen.from_arrays(arrays, 96).measures(X)))
    with pytest.raises(ValueError, match="other columns"):
        Seen.from_arrays(arrays, 95)
    for name, value in {"limits": np.full(5, np.nan), "directions": np.zeros((3, 95), np.int8)}.items():
        with pytest.raises(ValueError, match=name):
            Seen.from_arrays(arrays | {name: value}, 96)
    silent = Seen.from_arrays(arrays | {"directions": np.zeros((3, 96), np.int8)}, 96)
    assert silent.measures(X)[2].tolist() == [0.0] * 50


@pytest.fixture(scope="module")
def features(data_home):
    load = pytest.importorskip("kinhash_bench.datasets").load
    return {name: load(file, verify=False).features for name, file in DATA.items()}


@pytest.mark.data
@pytest.mark.parametrize("name", DATA)
def test_real_rows(features, name):
    X = features[name]
    for seed in range(5):
        train, rest = halves(X, seed)
        seen = Seen.of(Rows(train))
        assert not speaks(seen, rest)
        assert not speaks(seen, rest[:200], size=1)
        assert not speaks(seen, rest[np.argsort(lengths(rest))])
        assert speaks(seen, rest[:, np.random.default_rng(seed).permutation(X.shape[1])])
        if name != "texts":  # those are of length 1
            assert speaks(seen, sp.csr_array(unit(rest.toarray())) if sp.issparse(rest) else unit(rest))


@pytest.mark.data
@pytest.mark.parametrize(("one", "other"), [("network", "gist"), ("gist", "texts"), ("texts", "network")])
def test_real_rows_of_another_embedder(features, one, other):
    width = min(features[one].shape[1], features[other].shape[1])
    for change in (np.asarray, unit):
        A, B = change(features[one][:4000, :width]), change(features[other][:300, :width])
        assert speaks(Seen.of(Rows(A)), B)
