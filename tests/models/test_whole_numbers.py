"""A model is whole numbers: all ways to compute it agree, with Python's own whole numbers too."""

from __future__ import annotations

import os

import numpy as np
import pytest
from exact import run
from hypothesis import given, settings
from hypothesis import strategies as st
from made import FEATURES, KINDS, made, rows

from kinhash.encoders.label_models import LinearLabels
from kinhash.encoders.linear import LinearMap
from kinhash.encoders.preparation import Preparation
from kinhash.models import WholeMap
from kinhash.models.builder import WIDEST_UNIT

MANY = int(os.environ.get("KINHASH_EXAMPLES", "300"))  # 10,000 for the figure in docs/reliability.md


@settings(max_examples=MANY)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    features=st.sampled_from(FEATURES),
    p=st.integers(1, 12),
    d=st.integers(1, 5),
)
def test_scores_are_those_of_exact_whole_numbers(seed, kind, features, p, d):
    rng = np.random.default_rng(seed)
    found = made(rng, kind, features, p, d)
    model, X = found.whole(), rows(rng, found, 4)
    assert isinstance(model, WholeMap)
    fast, slow = model.run(X), model.run_with(np, X)
    assert np.array_equal(fast, slow)
    assert fast.tolist() == [run(model, row) for row in X]
    again = WholeMap.from_arrays(model.arrays())
    assert np.array_equal(again.scores(X), model.scores(X))


@pytest.mark.parametrize("readout", ["polish", "solve"])
@given(seed=st.integers(0, 9999), kind=st.sampled_from(["classes", "graded"]), d=st.integers(1, 6))
def test_readouts_that_settle_and_solve_agree_with_floating_point(readout, seed, kind, d):
    """Where no bit is near its turning point on the way."""
    rng = np.random.default_rng(seed)
    found = made(rng, kind, "plain", 5, d, readout)
    model, X = found.whole(), rows(rng, found, 20).astype(np.float64)
    assert isinstance(model, WholeMap)
    assert np.array_equal(model.run(X), model.run_with(np, X))
    agree = (model.scores(X) > 0) == (found.scores(X) > 0)
    assert agree.mean() > 0.8
    again = WholeMap.from_arrays(model.arrays())
    assert np.array_equal(again.scores(X), model.scores(X))


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("kind", KINDS)
def test_rounding_hardly_moves_a_score(kind, features):
    rng = np.random.default_rng(3)
    for _ in range(5):
        found = made(rng, kind, features, 9, 4)
        model = found.whole()
        X = rows(np.random.default_rng(4), found, 200).astype(np.float64)
        X = X[np.abs(X).max(axis=1) < 1e6]
        before, after = (
            found.scores(X)[:, :4],
            model.scores(X)[:, :4],
        )  # the other part of a stack has other rows
        agree = (before > 0) == (after > 0)
        assert agree.mean() > (0.9 if kind == "periodic" else 0.985)


@given(seed=st.integers(0, 9999), p=st.integers(WIDEST_UNIT + 1, WIDEST_UNIT + 300))
@settings(max_examples=5)
def test_wide_rows_are_multiplied_in_float64(seed, p):
    rng = np.random.default_rng(seed)
    found = LinearMap(
        Preparation(np.zeros(p), np.ones(p)),
        rng.normal(size=(p, 3)).astype(np.float32),
        np.ones(3, np.float32),
    )
    model, X = found.whole(), rng.normal(size=(2, p))
    assert [step.kind for step in model.steps_] == ["columns", "linear"]
    assert model.run(X).tolist() == [run(model, row) for row in X]
    np.testing.assert_allclose(model.scores(X), found.scores(X), atol=0.02)


def test_a_row_on_the_boundary_has_the_bit_0():
    zero = LinearMap(
        Preparation(np.zeros(3), np.ones(3)), np.ones((3, 2), np.float32), np.zeros(2, np.float32)
    )
    assert not (zero.whole().scores(np.zeros((5, 3))) > 0).any()


def test_bits_that_nothing_moves_keep_their_constant():
    still = LinearMap(
        Preparation(np.zeros(3), np.ones(3)),
        np.zeros((3, 3), np.float32),
        np.array([1e30, -1e-30, 0], np.float32),
    )
    assert np.array_equal(still.whole().scores(np.ones((1, 3))) > 0, [[True, False, False]])


def test_chances_are_those_of_the_label_model():
    rng = np.random.default_rng(0)
    for kind in ("classes", "graded"):
        found = made(rng, kind, "plain", 6, 4)
        X = rows(rng, found, 50).astype(np.float64)
        X = X[np.abs(X).max(axis=1) < 1e6]
        labels = found.expected.model
        assert isinstance(labels, LinearLabels)
        expected = labels.probabilities(found.preparation(X))
        np.testing.assert_allclose(found.whole().chances(X), expected, atol=0.03)
