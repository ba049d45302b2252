"""No rival forms an n × n matrix: its peak stays far below the bytes of one, even of single bytes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from kinhash_bench.baselines import BASELINES

N = 20_000
SMALLER = {"n_partners": 10, "n_rounds": 3, "n_pairs": 200, "n_epochs": 1, "svm_rows": 300, "n_centers": 100}
SMALLER |= {
    "features": "plain"
}  # of heads: 1,000 RBF features of a row are held, however many rows there are


def quick(name, **settings):
    """Few rounds and few partners: what is asked is how memory grows with the number of rows."""
    hasher = BASELINES[name](random_state=0)
    known = hasher.get_params()
    return hasher.set_params(
        n_bits=8, **settings, **{key: value for key, value in SMALLER.items() if key in known}
    )


def peak_of(hasher, X, y):
    tracemalloc.start()
    try:
        hasher.fit(X, y)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, N)
    return rng.normal(size=(N, 8)) + rng.normal(size=(10, 8))[y], y


def tag_sets():
    """A thousand different tag sets, so that rows do not fall into a handful of groups."""
    rng = np.random.default_rng(0)
    Y = (rng.random((N, 12)) < 0.18).astype(np.int8)
    return Y @ rng.normal(size=(12, 8)) + rng.normal(size=(N, 8)), Y


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("make", [classes, tag_sets])
@pytest.mark.parametrize("name", list(BASELINES))
def test_no_rival_forms_a_matrix_of_all_pairs(name, make):
    if "metric-learn" in BASELINES[name].card.ours:
        pytest.importorskip("metric_learn")
    X, y = make()
    assert peak_of(quick(name), X, y) < N * N / 2


@pytest.mark.slow
def test_the_yardstick_sees_a_matrix_of_all_pairs():
    class Square:
        def fit(self, X, y):
            return np.zeros((N, N), np.bool_)

    assert peak_of(Square(), None, None) > N * N / 2
