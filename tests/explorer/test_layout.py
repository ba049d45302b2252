"""The map: the same for the same seed, near codes near, equal codes around one point."""

from __future__ import annotations

import numpy as np
from page_reading import array

import kinhash
from kinhash import Codes
from kinhash.paper import SignBits


def places_of(codes, seed=0, **more):
    page = kinhash.explore(codes, random_state=seed, **more).html
    return array(page, "places", "<u2").reshape(-1, 2) / 65535


def clusters(n=300, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centers = rng.integers(0, 2, (3, 48))
    return Codes.from_bits(centers[y] ^ (rng.random((n, 48)) < 0.05)), y


def test_near_codes_stand_near():
    codes, y = clusters()
    places = places_of(codes)
    assert places.shape == (300, 2)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert (y[np.argsort(apart, axis=1)[:, :5]] == y[:, None]).mean() > 0.97


def test_the_seed_decides():
    codes, _ = clusters()
    assert np.array_equal(places_of(codes, 1), places_of(codes, 1))
    assert not np.array_equal(places_of(codes, 1), places_of(codes, 2))


def test_margins_tell_rows_of_one_code_apart():
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(90, 16))) + 0.1
    X[:45, :8] *= 30
    hasher = SignBits(16).fit(np.concatenate([X, -X]))
    codes = hasher.encode(X)
    assert len(np.unique(codes.packed, axis=0)) == 1
    places = places_of(codes, model=hasher, features=X)
    assert len(np.unique(places, axis=0)) == 90
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    firm = np.arange(90) < 45
    assert (firm[apart.argmin(axis=1)] == firm).mean() > 0.9


def test_rows_of_one_code_stand_around_its_point_and_none_on_another():
    places = places_of(Codes.from_bits(np.repeat(np.array([[0] * 8, [1] * 8]), 200, axis=0)))
    assert len(np.unique(places, axis=0)) == 400
    first, second = places[:200].mean(axis=0), places[200:].mean(axis=0)
    near = np.linalg.norm(places - first, axis=1) < np.linalg.norm(places - second, axis=1)
    assert near[:200].all()
    assert not near[200:].any()
