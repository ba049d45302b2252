"""The map: the same for the same seed, near codes near, equal codes around one point."""

from __future__ import annotations

import numpy as np

from kinhash import Codes
from kinhash.explorer.layout import LARGEST_STEP, NEAR, layout, settle


def clusters(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centers = rng.integers(0, 2, (3, 48))
    return Codes.from_bits(centers[y] ^ (rng.random((n, 48)) < 0.05)), y


def plain_settle(places, heads, tails, n_steps, n_pushed, gravity, seed):
    """`settle`, in plain NumPy and Python."""
    state = (seed * 2 + 1) % 2**32
    for step in range(n_steps):
        rate = 1 - step / n_steps
        for i, j in zip(heads.tolist(), tails.tolist(), strict=True):
            apart = places[i] - places[j]
            move = rate * np.clip(-2 / (1 + apart @ apart) * apart, -LARGEST_STEP, LARGEST_STEP)
            places[i] += move
            places[j] -= move
            places[i] -= rate * gravity * places[i]
            for _ in range(n_pushed):
                state = (1664525 * state + 1013904223) % 2**32
                k = (state * len(places)) >> 32
                if k != i:
                    apart = places[i] - places[k]
                    square = apart @ apart
                    push = 2 / ((NEAR + square) * (1 + square)) * apart
                    places[i] += rate * np.clip(push, -LARGEST_STEP, LARGEST_STEP)


def test_the_kernel_is_its_plain_twin():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(12, 2))
    heads, tails = np.repeat(np.arange(12), 2), rng.integers(0, 12, 24)
    fast, plain = places.copy(), places.copy()
    settle(fast, heads, tails, 5, 3, 0.01, 2**31 - 5)
    plain_settle(plain, heads, tails, 5, 3, 0.01, 2**31 - 5)
    assert np.allclose(fast, plain, rtol=1e-7, atol=1e-9)


def test_near_codes_stand_near():
    codes, y = clusters()
    places = layout(codes, None, 0)
    assert places.shape == (300, 2)
    assert places.min() >= 0
    assert places.max() <= 1
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (y[np.argsort(apart, axis=1)[:, :5]] == y[:, None]).mean() > 0.97


def test_the_seed_decides():
    codes, _ = clusters()
    assert np.array_equal(layout(codes, None, 1), layout(codes, None, 1))
    assert not np.array_equal(layout(codes, None, 1), layout(codes, None, 2))


def test_margins_tell_rows_of_one_code_apart():
    rng = np.random.default_rng(0)
    margins = np.abs(rng.normal(size=(90, 16))) + 0.1
    margins[:45, :8] *= 30
    codes = Codes.from_bits(margins > 0)
    assert len(np.unique(codes.packed, axis=0)) == 1
    places = layout(codes, margins, 0)
    assert len(np.unique(places, axis=0)) == 90


def test_rows_of_one_code_stand_around_its_point_and_none_on_another():
    codes = Codes.from_bits(np.repeat(np.array([[0] * 8, [1] * 8]), 200, axis=0))
    places = layout(codes, None, 0)
    assert len(np.unique(places.round(6), axis=0)) == 400
    first, second = places[:200].mean(axis=0), places[200:].mean(axis=0)
    near = np.linalg.norm(places - first, axis=1) < np.linalg.norm(places - second, axis=1)
    assert near[:200].all()
    assert not near[200:].any()
