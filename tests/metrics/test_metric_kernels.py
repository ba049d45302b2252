"""The kernel against plain NumPy, for any length of code and any kind of label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.codes import pack_bits, to_words
from kinhash.metrics.kernels import GIVEN, LANES, SAME, SHARED, tally
from kinhash.metrics.relevance import label_words
from kinhash.metrics.tie_groups import discount_sums, harmonic_step
from kinhash.supervision import read_labels


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
def test_tally_counts_every_pair_once(seed, n_bits, how, top_grade):
    top_grade = 1 if how == SAME else top_grade
    queries, codes, query_labels, labels, grades = problem(seed, n_bits, how, top_grade)
    counts = np.zeros((4, LANES, (n_bits + 1) * (top_grade + 1)), np.int32)
    words, label_columns = (np.ascontiguousarray(side.T) for side in (codes, labels))
    tally(queries, words, query_labels, label_columns, grades, 5, how, top_grade, 1, 4, counts)
    for q in range(1, 4):
        distance = np.bitwise_count(queries[q] ^ codes).sum(axis=1, dtype=np.int64)
        if how == GIVEN:
            grade = grades[q, 5:42].astype(np.int64)
        elif how == SAME:
            grade = (query_labels[q] == labels).all(axis=1).astype(np.int64)
        else:
            grade = np.bitwise_count(query_labels[q] & labels).sum(axis=1, dtype=np.int64)
        keys = distance * (top_grade + 1) + np.minimum(grade, top_grade)
        np.testing.assert_array_equal(counts[q].sum(axis=0), np.bincount(keys, minlength=counts.shape[2]))
    assert not counts[0].any()


@given(st.lists(st.sets(st.integers(0, 199), max_size=9), max_size=20))
def test_one_bit_for_every_tag(rows):
    labels = read_labels([*rows, set(range(200))])[: len(rows)]
    words = label_words(labels)
    for row, tags in zip(words, rows, strict=True):
        assert {bit for bit in range(200) if row[bit // 64] >> np.uint64(bit % 64) & np.uint64(1)} == tags


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
