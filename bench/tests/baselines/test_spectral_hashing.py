"""Spectral hashing: the slowest waves in order, and the release's enumeration as a twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rival_cases import classes

from kinhash_bench.baselines import SpectralHashing
from kinhash_bench.baselines.spectral_hashing import slowest_waves


def plain_modes(lengths, n_bits):
    """Every wave number of every side, sorted by frequency."""
    every = [(k / length, side, k) for side, length in enumerate(lengths) for k in range(1, n_bits + 1)]
    return sorted(every)[:n_bits]


@given(lengths=st.lists(st.floats(0.01, 10), min_size=1, max_size=5), n_bits=st.integers(1, 20))
def test_the_slowest_waves_are_found(lengths, n_bits):
    sides, waves = slowest_waves(np.array(lengths), n_bits)
    frequencies = waves / np.array(lengths)[sides]
    assert (np.diff(frequencies) >= 0).all()
    np.testing.assert_allclose(frequencies, [each[0] for each in plain_modes(lengths, n_bits)])
    assert len({(int(s), int(w)) for s, w in zip(sides, waves, strict=True)}) == n_bits


def test_bits_are_signs_of_cosines_along_principal_components():
    X, _ = classes(p=5)
    fitted = SpectralHashing(6).fit(X)
    centered = X - X.mean(axis=0)
    vectors = np.linalg.svd(centered, full_matrices=False)[2].T
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(5)]
    V = centered @ (vectors * np.sign(peaks))
    sides, waves = fitted.report_.facts["sides"], fitted.report_.facts["waves"]
    low, length = V.min(axis=0), np.ptp(V, axis=0)
    angle = np.pi * waves * (V[:, sides] - low[sides]) / length[sides]
    np.testing.assert_allclose(fitted.unrounded.scores(X), np.sin(angle + np.pi / 2), atol=1e-3)


def test_the_first_wave_halves_the_longest_side():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 2)) * [10, 1]
    bit = SpectralHashing(1).fit(X).transform(X)[:, 0]
    middle = (X[:, 0].min() + X[:, 0].max()) / 2
    clear = np.abs(X[:, 0] - middle) > 0.5
    assert len(np.unique((X[clear, 0] > middle) == bit[clear])) == 1


def test_a_saved_model_encodes_as_before(tmp_path):
    from kinhash import load

    X, _ = classes()
    fitted = SpectralHashing(12).fit(X)
    fitted.save(tmp_path / "m.kin")
    again = load(tmp_path / "m.kin")
    assert np.array_equal(again.decision_function(X), fitted.decision_function(X))
