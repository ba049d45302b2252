"""A model is whole numbers: all ways to compute it agree, with Python's own whole numbers too."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from exact import run
from hypothesis import given, settings
from hypothesis import strategies as st
from made import FEATURES, KINDS, made, rows
from sklearn.datasets import load_digits

from kinhash import EnergyHasher
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.feature_transform import Preparation
from kinhash.encoders.label_models import LinearLabels
from kinhash.encoders.maps import LinearMap
from kinhash.errors import InvalidInput, KinhashWarning
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
    model, X = found.whole(), rows(rng, found, 200).astype(np.float64)
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


@pytest.mark.parametrize("p", [WIDEST_UNIT - 1, WIDEST_UNIT, WIDEST_UNIT + 1, WIDEST_UNIT + 2])
def test_every_width_can_be_rounded(p):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(p, 2)).astype(np.float32)
    found = LinearMap(Preparation(np.zeros(p), np.ones(p)), weights, np.zeros(2, np.float32))
    assert isinstance(found.whole(), WholeMap)


@pytest.mark.parametrize("size", [0.0, 1e-8, 1.0, 1e8])
def test_columns_and_similarities_of_any_sizes_are_summed(size):
    """Columns that say nothing must not decide how finely similarities count."""
    rng = np.random.default_rng(0)
    found = made(rng, "linear", "both", 6, 4)
    weights = found.weights.copy()
    weights[:6] *= np.float32(size)
    found = LinearMap(found.preparation, weights, found.intercept)
    X = rows(rng, found, 200).astype(np.float64)
    X = X[np.abs(X).max(axis=1) < 1e6]
    assert ((found.whole().scores(X) > 0) == (found.scores(X) > 0)).mean() > 0.98


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_map_that_cannot_be_rounded_says_why():
    found = made(np.random.default_rng(0), "linear", "rbf", 4, 3)
    prepared = replace(found.preparation, scale=np.full(len(found.preparation.scale), 1e-300))
    huge = LinearMap(prepared, found.weights * np.float32(1e30), found.intercept)
    with pytest.warns(KinhashWarning, match="stays in floating point, because"):
        assert huge.whole() is huge
    with pytest.raises(InvalidInput, match="cannot be written to a model file"):
        huge.arrays()


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


@pytest.mark.parametrize(
    "encoder", ["ridge", "expected", ExpectedLabels(features="rbf"), ExpectedLabels(features="both")], ids=str
)
@pytest.mark.parametrize("alike", [0, 0.5])
def test_rows_of_float32_get_the_scores_of_the_same_numbers_in_float64(encoder, alike):
    X, y = load_digits(return_X_y=True)
    found = EnergyHasher(16, random_state=0, encoder=encoder, alike=alike).fit(X[:300], y[:300]).fitted_.map
    narrow = (X[300:600] * 1.1).astype(np.float32)
    assert isinstance(found, WholeMap)
    for way in (found.run, lambda X: found.run_with(np, X)):
        assert np.array_equal(way(narrow), way(narrow.astype(np.float64)))
        assert np.array_equal(way(narrow[7:8]), way(narrow)[7:8])


def nearly_orthogonal(rng, n, p):
    """Rows and weights (p, 1) whose products are what rounding the last entry left over."""
    X, w = rng.normal(size=(n, p)), rng.normal(size=(p, 1))
    X[:, -1] = -(X[:, :-1] @ w[:-1])[:, 0] / w[-1, 0]
    return X, w


@given(seed=st.integers(0, 9999))
def test_rows_beside_the_boundary_have_one_code_in_any_batch(seed):
    X, w = nearly_orthogonal(np.random.default_rng(seed), 40, 12)
    model = LinearMap(
        Preparation(np.zeros(12), np.full(12, 0.9)), w.astype(np.float32), np.zeros(1, np.float32)
    ).whole()
    scores = model.run(X)
    for rows_ in (slice(3, 4), slice(5, 22), slice(None, None, -1)):
        assert np.array_equal(model.run(X[rows_]), scores[rows_])
    assert scores.tolist() == [run(model, row) for row in X]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("size", [1e-45, 1e-30, 1e30, 3e38])
@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e275, 1e308])
def test_weights_and_scales_at_the_ends_of_their_range_are_exact_or_refused(features, size, scale):
    """And what is rounded can be stored."""
    rng = np.random.default_rng(0)
    found = made(rng, "linear", features, 4, 3)
    prepared = replace(found.preparation, scale=np.full(len(found.preparation.scale), scale))
    weights = (np.sign(found.weights) * np.float32(size)).astype(np.float32)
    model = LinearMap(prepared, weights, found.intercept).whole()
    X = rows(rng, found, 5).astype(np.float64)
    if not isinstance(model, WholeMap):
        return
    assert np.isfinite(model.scores(X)).all()
    assert model.run(X).tolist() == [run(model, row) for row in X]
    again = WholeMap.from_arrays(model.arrays())
    assert np.array_equal(again.run(X), model.run(X))
