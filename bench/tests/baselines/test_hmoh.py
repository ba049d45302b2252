"""HMOH: the perceptron written out, blocks that add up, labels that come later."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from rival_cases import classes, tags

from kinhash.errors import InvalidInput
from kinhash_bench.baselines import HMOH
from kinhash_bench.baselines.hadamard import hadamard_codewords

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


def naive(Z, T):
    """Mean of the weights over all steps, kept as they were at each."""
    W, total = np.zeros((Z.shape[1], T.shape[1])), 0.0
    for z, t in zip(Z, T, strict=True):
        for k in range(T.shape[1]):
            if (1.0 if z @ W[:, k] > 0 else -1.0) != t[k]:
                W[:, k] += t[k] * z
        total = total + W
    return total / len(Z)


def test_the_map_is_the_mean_of_the_perceptrons_weights():
    X, y = classes(n=80)
    fitted = HMOH(8, random_state=0).partial_fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    T = hadamard_codewords(4, 8, np.random.default_rng(0))[y]
    scores = Z @ naive(Z, T)
    np.testing.assert_allclose(fitted.decision_function(X), scores, rtol=1e-2, atol=1e-2)


def test_blocks_are_one_stream():
    X, y = classes(n=120)
    order = np.argsort(np.arange(120) % 40 >= 30, kind="stable")  # any order, the same for both
    X, y = X[order], y[order]
    whole = HMOH(8, n_labels=4, random_state=0).partial_fit(X[:60], y[:60])
    parts = pickle.loads(pickle.dumps(whole))
    whole.partial_fit(X[60:], y[60:])
    for start in range(60, 120, 20):
        parts.partial_fit(X[start : start + 20], y[start : start + 20])
    assert parts.model_id_ == whole.model_id_
    assert parts.report_.n_rows == 120


def test_classes_that_come_later_have_codewords_if_they_were_announced():
    X, y = classes(n=200)
    late = y == 3
    stream = (
        HMOH(16, n_labels=4, random_state=0).partial_fit(X[~late], y[~late]).partial_fit(X[late], y[late])
    )
    stream.partial_fit(X, y)
    assert stream.score(X, y) > 0.8
    with pytest.raises(InvalidInput, match="4 classes or tags have come"):
        HMOH(16, random_state=0).partial_fit(X[~late], y[~late]).partial_fit(X[late], y[late])


@pytest.mark.parametrize("make", [classes, tags])
def test_it_learns_in_one_pass(make):
    X, y = make(n=600)
    assert HMOH(16, random_state=0).fit(X, y).score(X, y) > 0.75


def test_fit_forgets_a_stream_and_heeds_weights():
    X, y = classes(n=120)
    fresh = HMOH(8, random_state=0).fit(X, y)
    assert HMOH(8, random_state=0).partial_fit(X[:50], y[:50]).fit(X, y).model_id_ == fresh.model_id_
    weights = np.ones(120)
    weights[:30] = 0
    far = X.copy()
    far[:30] += 1000
    heeded = HMOH(8, random_state=0).fit(far, y, sample_weight=weights)
    assert heeded.model_id_ == HMOH(8, random_state=0).fit(X[30:], y[30:]).model_id_
