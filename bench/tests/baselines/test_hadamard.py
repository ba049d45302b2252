"""Hadamard codes: exact distances, other sizes, tags."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from rival_cases import classes, signs, tags

from kinhash_bench.baselines import HadamardHashing
from kinhash_bench.baselines.hadamard import hadamard_codewords, majority

pytestmark = pytest.mark.filterwarnings("ignore:.*constant on the training rows")


def test_any_two_classes_differ_in_half_the_bits():
    X, y = classes()
    fitted = HadamardHashing(16, n_centers=40, random_state=0).fit(X, y)
    B = signs(fitted)
    expected = np.where(y[:, None] == y, 16, 0)
    assert np.array_equal(B @ B.T, expected)
    assert (B[y == 0] == 1).all()  # the first class has the first row


@pytest.mark.parametrize(("n_classes", "n_bits"), [(4, 6), (10, 8), (3, 2), (17, 16)])
def test_other_sizes_get_codewords_too(n_classes, n_bits):
    words = hadamard_codewords(n_classes, n_bits, np.random.default_rng(0))
    assert words.shape == (n_classes, n_bits)
    assert set(np.unique(words)) <= {-1, 1}


def test_tags_vote_and_the_first_breaks_ties():
    words = np.array([[1, 1, -1.0], [-1, 1, -1], [-1, -1, -1]])
    labels = sp.csr_array(np.array([[1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 1]]))
    expected = [[1, 1, -1], [-1, 1, -1], [-1, 1, -1], [0, 0, 0], [-1, -1, -1]]
    assert majority(labels, words).tolist() == expected


def test_the_map_is_least_squares_on_similarities():
    X, y = classes(n=60)
    fitted = HadamardHashing(8, n_centers=10, random_state=0).fit(X, y)
    phi = fitted.unrounded.preparation(X).astype(float)
    P = np.linalg.lstsq(phi, signs(fitted), rcond=None)[0]
    np.testing.assert_allclose(fitted.decision_function(X), phi @ P, atol=1e-2)
    X, y = tags()
    assert HadamardHashing(8, n_centers=40, random_state=0).fit(X, y).score(X, y) > 0.5
