"""Reference methods: one cosine, one LSH, one sign bits, whatever the container and the size."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import cosine_similarity

from kinhash.baselines import LSH, SignBits
from kinhash.codes import n_bytes
from kinhash.metrics import CodeReferences, cosine_scores, unit_rows


def rows(n=200, p=12, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * np.arange(1, p + 1) + rng.normal(size=p)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("sparse", [False, True])
def test_rows_have_length_one_whatever_their_size(scale, sparse):
    X = rows()
    X[3] = 0
    wanted = X / np.where(X.any(axis=1), np.linalg.norm(X, axis=1), 1)[:, None]
    given = sp.csr_array(X * scale) if sparse else X * scale
    chosen = np.array([5, 3, 3, 0])
    for found, expected in ((unit_rows(given), wanted), (unit_rows(given, chosen), wanted[chosen])):
        assert sp.issparse(found) == sparse
        np.testing.assert_allclose(found.toarray() if sparse else found, expected, atol=1e-7)


def test_cosines_of_sparse_rows_are_those_of_dense_rows():
    X = rows() * (rows(seed=1) > 0)
    sparse, few = sp.csr_array(X), np.arange(20)
    wanted = cosine_scores(unit_rows(X), unit_rows(X))(few)
    np.testing.assert_allclose(wanted, cosine_similarity(X[:20], X), atol=1e-6)
    np.testing.assert_allclose(cosine_scores(unit_rows(sparse), unit_rows(sparse))(few), wanted, atol=1e-6)


def test_lsh_of_the_references_is_lsh_of_the_baselines():
    X = rows()
    mine = CodeReferences(X, np.arange(len(X)), 64, np.random.default_rng(7)).lsh(np.arange(len(X)))
    theirs = LSH(64, random_state=7).fit(X).encode(X).packed
    differing = np.bitwise_count(mine.packed ^ theirs).sum()
    assert differing <= 2  # float32 against float64 at a score of about 0


def test_sign_bits_of_the_references_are_sign_bits_of_the_baselines():
    X = rows()
    packed = CodeReferences(X, np.arange(len(X)), 8, np.random.default_rng(0)).sign_bits(np.arange(len(X)))
    theirs = SignBits(X.shape[1]).fit(X).encode(X).packed
    assert packed.shape == (len(X), n_bytes(X.shape[1]))

    def distances(codes):
        return np.bitwise_count(codes[:, None] ^ codes).sum(axis=2)

    np.testing.assert_array_equal(distances(packed), distances(theirs))
