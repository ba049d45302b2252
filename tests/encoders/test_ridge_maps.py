"""Moments, ridge, preparation and rows, against NumPy and scikit-learn (METHODS section 4, fact 11)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from kinhash._internal.rows import Rows
from kinhash.encoders.feature_transform import (
    Preparation,
    UnitRBF,
    column_statistics,
)
from kinhash.encoders.least_squares import (
    choose_alpha,
    leverage_factor,
    moments_of_block,
    moments_of_rows,
    ridge_weights,
)
from kinhash.encoders.maps import LinearMap
from kinhash.errors import InvalidInput, NotEnoughMemory

seeds = st.integers(0, 9999)


def data(seed=0, n=120, p=5, k=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) * rng.uniform(0.1, 10, p) + rng.normal(size=p) * 5
    return X, np.tanh(X @ rng.normal(size=(p, k)) / 10 + 0.2 * rng.normal(size=(n, k))) + 0.4


def moments_of(X, T, weights=None, preparation=None):
    first = Preparation.first_guess(X, None, True) if preparation is None else preparation
    return moments_of_rows(Rows(X), first, lambda part: T[part], weights, 1)


@given(seed=seeds, alpha=st.sampled_from([0.1, 3.0, 100.0]), weighted=st.booleans())
def test_ridge_is_scikit_learns(seed, alpha, weighted):
    X, T = data(seed)
    w = np.random.default_rng(seed).uniform(0.1, 3, len(X)) if weighted else None
    fitted = LinearMap.fit(moments_of(X, T, w).standardized(), alpha, np.zeros(3))
    scaler = StandardScaler().fit(X, sample_weight=w)
    theirs = Ridge(alpha=alpha).fit(scaler.transform(X), T, sample_weight=w)
    np.testing.assert_allclose(fitted.scores(X), theirs.predict(scaler.transform(X)), atol=2e-4)


def test_fact_11_the_map_is_the_same_for_phi_and_for_phi_less_its_mean_and_turns_at_zero():
    X, T = data()
    mean = T.mean(axis=0)
    plain = LinearMap.fit(moments_of(X, T).standardized(), 2.0, mean)
    centered = LinearMap.fit(moments_of(X, T - mean).standardized(), 2.0, np.zeros(3))
    np.testing.assert_allclose(plain.weights, centered.weights, atol=2e-5)
    np.testing.assert_allclose(plain.intercept, 0.0, atol=1e-6)  # rounded at the mean: threshold 0
    np.testing.assert_allclose(plain.scores(X), centered.scores(X), atol=1e-4)


@given(seed=seeds, cuts=st.lists(st.integers(1, 119), max_size=5))
def test_fact_11_moments_merge_in_any_order(seed, cuts):
    X, T = data(seed)
    first = Preparation.first_guess(X[:40], None, True)
    edges = [0, *sorted(set(cuts)), len(X)]
    parts = [moments_of_block(first, X[a:b], T[a:b], None) for a, b in pairwise(edges)]
    order = np.random.default_rng(seed).permutation(len(parts))
    total = parts[order[0]]
    for place in order[1:]:
        total = total.merge(parts[place])
    whole = moments_of_block(first, X, T, None)
    assert total.n_rows == len(X)
    for name in ("weight", "sums", "gram", "cross", "target_sums", "target_squares"):
        np.testing.assert_allclose(getattr(total, name), getattr(whole, name), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(
        ridge_weights(total.standardized(), 2.0), ridge_weights(whole.standardized(), 2.0), atol=1e-3
    )


def test_a_poor_first_guess_does_not_change_the_answer():
    X, T = data()
    poor = Preparation(X.mean(axis=0) + 3 * X.std(axis=0), 0.2 * X.std(axis=0))
    good = moments_of(X, T).standardized()
    other = moments_of(X, T, preparation=poor).standardized()
    np.testing.assert_allclose(other.preparation.mean, X.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(other.preparation.scale, X.std(axis=0), rtol=1e-4)
    np.testing.assert_allclose(ridge_weights(other, 2.0), ridge_weights(good, 2.0), atol=1e-4)


def test_weights_count_rows():
    X, T = data()
    w = np.random.default_rng(0).integers(0, 4, len(X))
    first = Preparation.first_guess(X, None, True)
    weighted = moments_of(X, T, w.astype(float), first).standardized()
    repeated = moments_of(np.repeat(X, w, axis=0), np.repeat(T, w, axis=0), None, first).standardized()
    np.testing.assert_allclose(ridge_weights(weighted, 1.0), ridge_weights(repeated, 1.0), atol=1e-5)
    np.testing.assert_allclose(weighted.preparation.scale, repeated.preparation.scale, rtol=1e-5)


def test_constant_columns_carry_nothing():
    X, T = data()
    padded = np.column_stack([X, np.full(len(X), 7.0), np.zeros(len(X))])
    fitted = LinearMap.fit(moments_of(padded, T).standardized(), 1.0, np.zeros(3))
    assert (fitted.weights[-2:] == 0).all()
    assert np.isfinite(fitted.scores(padded)).all()
    without = LinearMap.fit(moments_of(X, T).standardized(), 1.0, np.zeros(3))
    np.testing.assert_allclose(fitted.scores(padded), without.scores(X), atol=1e-4)


def test_collinear_columns_work_without_a_penalty():
    X, T = data()
    double = np.column_stack([X, X[:, 0]])
    fitted = LinearMap.fit(moments_of(double, T).standardized(), 0.0, np.zeros(3))
    assert np.isfinite(fitted.weights).all()


@example(seed=4323)
@given(seed=seeds)
def test_generalized_cross_validation_is_the_best_of_its_grid(seed):
    """n·RSS/(n − trace)² by the definition, with the hat matrix written out.

    Directions whose size is lost in rounding are left out on purpose, so data with one are no case for it.
    """
    X, T = data(seed, n=60)
    moments = moments_of(X, T).standardized()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    centered = T - T.mean(axis=0)
    assume(np.linalg.cond(Z) < 900)  # 1,000: eigenvalues of a millionth of the largest

    def score(alpha):
        hat = Z @ np.linalg.solve(Z.T @ Z + alpha * np.eye(Z.shape[1]), Z.T)
        return ((centered - hat @ centered) ** 2).sum() / (len(Z) - np.trace(hat)) ** 2

    grid = len(X) / X.shape[1] * 10.0 ** np.arange(-6, 3.1, 0.5)
    chosen = choose_alpha("gcv", moments)
    # Products are float32, so neighbors on a flat stretch of the curve may change places.
    assert score(chosen) <= min(score(alpha) for alpha in grid) * (1 + 1e-2)


def test_gcv_shrinks_noise_away_and_leaves_signal():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 8))
    noise, signal = rng.normal(size=(100, 2)), X @ rng.normal(size=(8, 2))
    auto = 100 / 8
    assert choose_alpha("gcv", moments_of(X, noise).standardized()) >= auto
    assert choose_alpha("gcv", moments_of(X, signal).standardized()) <= 1e-3 * auto


def test_the_penalty_by_name_and_number():
    X, T = data()
    moments = moments_of(X, T).standardized()
    assert choose_alpha("auto", moments) == pytest.approx(120 / 5)
    assert choose_alpha(3, moments) == 3.0
    for wrong in ("aut", -1.0, np.nan, np.inf):
        with pytest.raises(InvalidInput, match="alpha"):
            choose_alpha(wrong, moments)


def test_leverages_are_the_diagonal_of_the_hat_matrix():
    X, T = data()
    moments = moments_of(X, T).standardized()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    hat = Z @ np.linalg.solve(Z.T @ Z + 2.0 * np.eye(5), Z.T)
    found = ((Z @ leverage_factor(moments, 2.0)) ** 2).sum(axis=1)
    np.testing.assert_allclose(found, np.diag(hat), rtol=1e-4)


# -- preparation -----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1.0, 1e30, 1e140])
def test_sizes_of_columns_do_not_matter(size):
    X, T = data()
    plain = LinearMap.fit(moments_of(X, T).standardized(), 1.0, np.zeros(3))
    scaled = LinearMap.fit(moments_of(X * size, T).standardized(), 1.0, np.zeros(3))
    np.testing.assert_allclose(scaled.scores(X * size), plain.scores(X), atol=1e-4)


def test_statistics_of_columns():
    X, _ = data()
    mean, scale = column_statistics(np.column_stack([X, np.full(len(X), -3.0)]))
    np.testing.assert_allclose(mean, [*X.mean(axis=0), -3.0])
    np.testing.assert_allclose(scale, [*X.std(axis=0), 1.0])


def test_rbf_similarities_by_definition():
    X, _ = data(n=30)
    rbf = UnitRBF.of(X[:4], 0.4)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    squared = ((unit[:, None, :] - unit[None, :4, :]) ** 2).sum(-1)
    np.testing.assert_allclose(rbf(X), np.exp(-squared / (2 * 0.4**2)), atol=1e-5)
    assert np.isfinite(rbf(np.zeros((1, 5)))).all()
    np.testing.assert_allclose(rbf(X * 1e200), rbf(X), atol=1e-5)


def test_unstandardized_columns_are_centered_only():
    X, T = data()
    moments = moments_of_rows(Rows(X), Preparation.first_guess(X, None, False), lambda part: T[part], None, 1)
    found = moments.standardized(False)
    assert (found.preparation.scale == 1).all()
    theirs = Ridge(alpha=2.0).fit(X - X.mean(axis=0), T)
    np.testing.assert_allclose(ridge_weights(found, 2.0), theirs.coef_.T, atol=1e-4)


# -- rows -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "store",
    [
        np.asarray,
        np.asfortranarray,
        sp.csr_array,
        lambda X: X.astype(np.float16),
        lambda X: X.astype(np.int32),
    ],
)
def test_rows_are_read_as_float64_however_they_are_stored(store):
    X = np.arange(12.0).reshape(4, 3)
    rows = Rows(store(X))
    for part in (slice(1, 3), np.array([3, 0])):
        block = rows.read(part)
        assert block.dtype == np.float64
        assert block.flags.c_contiguous
        assert np.array_equal(block, X[part])
    block[:] = 0
    assert np.array_equal(rows.read(slice(0, 4)), X)  # a fresh copy every time


def test_blocks_depend_on_the_width_alone():
    assert Rows(np.zeros((10, 3))).block_rows() == Rows(np.zeros((99, 3))).block_rows() == 4096
    assert Rows(np.zeros((1, 10**5))).block_rows() == 256


def test_a_gram_matrix_that_would_not_fit_is_refused_before_it_starts(monkeypatch):
    X, T = data()
    monkeypatch.setattr("kinhash._internal.blocks.available_memory", lambda: 100)
    with pytest.raises(NotEnoughMemory, match="Gram matrix of 5 features"):
        moments_of(X, T)


def test_nearly_collinear_columns_are_no_trouble_for_any_penalty():
    """Float32 products make such Gram matrices slightly indefinite, and noise must not look like signal."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(100, 1))
    X = base + 1e-4 * rng.normal(size=(100, 30))
    T = np.sign(base + rng.normal(size=(100, 1))) * np.ones((1, 3))
    moments = moments_of(X, T).standardized()
    for alpha in (0.0, 1e-9, choose_alpha("gcv", moments)):
        assert np.isfinite(ridge_weights(moments, alpha)).all()
        assert np.isfinite(leverage_factor(moments, alpha)).all()


def test_gcv_does_not_take_rounding_error_for_signal():
    from dataclasses import replace

    X, T = data()
    moments = moments_of(X, T).standardized()
    values, vectors = np.linalg.eigh(moments.gram)
    values[0] = 1e-8 * values[-1]  # a direction of rounding error, with some of the target in it
    noisy = replace(moments, gram=(vectors * values) @ vectors.T, cross=moments.cross + 3 * vectors[:, :1])
    assert choose_alpha("gcv", noisy) > 1e-5 * 120 / 5
