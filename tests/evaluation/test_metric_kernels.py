"""The kernels against their NumPy twins, for any length of code and any kind of label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.codes import pack_bits, to_words
from kinhash.evaluation import kernels, kernels_reference
from kinhash.evaluation.kernels import GIVEN, LANES, SAME, SHARED
from kinhash.evaluation.tie_groups import discount_sums, harmonic_step


def problem(seed, n_bits, how, top_grade, n=37, q=4):
    rng = np.random.default_rng(seed)
    flips = rng.random((n + q, n_bits)) < rng.choice([0.02, 0.5])
    words = to_words(pack_bits(flips))
    width = 1 if how == SAME else int(rng.integers(1, 5))
    labels = rng.integers(0, 3, (n + q, 1)).astype(np.uint64)
    if how == SHARED:
        labels = np.zeros((n + q, width), np.uint64)
        for _ in range(top_grade):  # at most top_grade tags a row
            bit = np.uint64(1) << rng.integers(0, 64, n + q).astype(np.uint64)
            labels[np.arange(n + q), rng.integers(0, width, n + q)] |= bit & np.uint64(0xF00000000000000F)
    grades = rng.integers(0, 5, (q, n + 7)).astype(np.uint8)
    return words[:q], words[q:], labels[:q], labels[q:], grades


@given(st.integers(0, 2**32), st.integers(1, 1024), st.sampled_from([SAME, SHARED, GIVEN]), st.integers(1, 4))
def test_tally_equals_its_twin(seed, n_bits, how, top_grade):
    top_grade = 1 if how == SAME else top_grade
    arrays = problem(seed, n_bits, how, top_grade)
    counts = np.zeros((2, 4, LANES, (n_bits + 1) * (top_grade + 1)), np.int32)
    for module, out in zip((kernels, kernels_reference), counts, strict=True):
        module.tally(*arrays, 5, how, top_grade, 1, 4, out)
    np.testing.assert_array_equal(counts[0].sum(axis=1), counts[1].sum(axis=1))
    assert counts[0].sum() == 3 * 37


@given(st.integers(0, 2**32), st.integers(1, 1024), st.sampled_from([SAME, SHARED, GIVEN]), st.integers(1, 4))
def test_walk_equals_its_twin(seed, n_bits, how, top_grade):
    top_grade = 1 if how == SAME else top_grade
    arrays = problem(seed, n_bits, how, top_grade)
    rng = np.random.default_rng(seed)
    gains = np.arange(top_grade + 1) ** 1.5
    state = rng.integers(0, 9, (2, 4, n_bits + 1))
    results = []
    for module in (kernels, kernels_reference):
        place, found, sums = state[0].copy(), state[1].copy(), np.zeros((4, 3))
        module.walk(*arrays, 5, how, gains, np.array([-1, 6, 99, 5]), 12, 0, 4, place, found, sums)
        results.append((place, found, sums))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])
    np.testing.assert_allclose(results[0][2], results[1][2], rtol=1e-12)


@given(st.lists(st.sets(st.integers(0, 199), max_size=9), max_size=20))
def test_pack_tags_equals_its_twin(rows):
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    tags = np.array([tag for row in rows for tag in sorted(row)], np.int64)
    words = np.zeros((2, len(rows), 4), np.uint64)
    kernels.pack_tags(starts, tags, words[0])
    kernels_reference.pack_tags(starts, tags, words[1])
    np.testing.assert_array_equal(words[0], words[1])
    assert np.bitwise_count(words[0]).sum() == len(tags)


@pytest.mark.parametrize("n", [1, 2, 3, 40, 500])
@pytest.mark.parametrize("N", [0, 1, 62, 63, 64, 65, 500, 10**6, 10**9])
def test_harmonic_step_to_machine_precision(N, n):
    from fractions import Fraction

    exact = sum(Fraction(1, N + t) for t in range(1, n + 1))
    assert float(harmonic_step(N, n)) == pytest.approx(float(exact), rel=2e-15)


def test_discount_sums_in_chunks():
    places = np.array([[0, 1, 7], [8, 30, 30]])
    exact = np.concatenate([[0], np.cumsum(1 / np.log2(np.arange(2, 32)))])[places]
    for chunk in (1, 7, 8, 1000):
        np.testing.assert_allclose(discount_sums(places, chunk), exact, rtol=1e-14)
