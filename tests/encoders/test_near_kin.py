"""Gradient steps on bits that rank kin: the gradient is the loss's, blocks are kin, and rankings gain."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import special
from sklearn.datasets import load_digits

from kinhash._internal.numerics import fit_rotation
from kinhash.encoders import ranking
from kinhash.encoders.fit_kernels import differences_of_shares
from kinhash.encoders.ranking import ALIKE_SHARPNESS, NEAR, alike_blocks, alike_gradient, rank_alike


def unit_rows(n, p, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, p))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def loss(W, z):
    """Cross-entropy by its formula, in float64 and row by row."""
    cosine, codes = z @ z.T, np.tanh(z @ W)
    others = ~np.eye(len(z), dtype=bool)
    width = NEAR * cosine[others].std()
    total = 0.0
    for i in range(len(z)):
        near = np.exp(cosine[i, others[i]] / width)
        seen = np.exp(ALIKE_SHARPNESS * (codes[others[i]] @ codes[i]) / W.shape[1])
        total -= (near / near.sum()) @ np.log(seen / seen.sum())
    return total / len(z)


def test_the_gradient_is_that_of_the_loss():
    z, W = unit_rows(12, 5), np.random.default_rng(1).standard_normal((5, 4))
    found = alike_gradient(W.astype(np.float32), z.astype(np.float32))
    for i, j in np.ndindex(W.shape):
        step = np.zeros_like(W)
        step[i, j] = 1e-5
        slope = (loss(W + step, z) - loss(W - step, z)) / 2e-5
        assert found[i, j] == pytest.approx(slope, abs=2e-4)


@pytest.mark.parametrize("k", [2, 3, 50])
@pytest.mark.parametrize(("size", "about"), [(1e-3, 0.0), (1.0, 0.0), (300.0, 0.0), (1e-4, 0.999)])
def test_shares_are_softmaxes_over_the_others(k, size, about):
    seen, wanted = about + size * np.random.default_rng(k).standard_normal((2, k, k)).astype(np.float32)
    others = ~np.eye(k, dtype=bool)

    def shares(scores):
        scores = np.where(others, scores, -np.inf)
        return special.softmax(scores, axis=1)

    wide = wanted.astype(np.float64)
    width = 0.3 * max(wide[others].std(), 1e-5)
    expected = shares(2 * seen.astype(np.float64)) - shares(wide / width)
    found = seen.copy()
    differences_of_shares(found, np.float32(2), wanted.copy(), np.float32(0.3))
    np.testing.assert_allclose(found, expected, atol=2e-4)


def near_among_kin(W, rows, kind):
    """How many of the five nearest kin by cosine are among the first ten kin by Hamming distance."""
    bits = np.where(rows @ W > 0, 1, -1)
    kin = (kind[:, None] == kind) & ~np.eye(len(rows), dtype=bool)
    nearest, first = (
        np.argsort(-np.where(kin, similarity, -99), axis=1, kind="stable")
        for similarity in (rows @ rows.T, bits @ bits.T)
    )
    return np.mean([len(set(a[:5]) & set(b[:10])) for a, b in zip(nearest, first, strict=True)]) / 5


def test_kin_are_ranked_better_than_by_rotated_directions():
    """Digits that nobody trained on."""
    rows, kind = load_digits(return_X_y=True)
    rows = rows - rows.mean(axis=0)
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    fitted, later = rows[:900], rows[900:]
    principal = np.linalg.eigh(fitted.T @ fitted)[1][:, ::-1][:, :16]
    rotation = fit_rotation((fitted @ principal).astype(np.float64), 16, np.random.default_rng(0))
    start = (principal @ rotation).astype(np.float32)
    labels = sp.csr_array(np.eye(10)[kind[:900]])
    found = rank_alike(start, fitted, labels, np.random.default_rng(0))
    assert near_among_kin(found, later, kind[900:]) > near_among_kin(start, later, kind[900:]) + 0.03
    again = rank_alike(start, fitted, labels, np.random.default_rng(0))
    assert np.array_equal(found, again)


def test_blocks_are_rows_with_a_label_in_common():
    n = 1000
    labels = np.zeros((n, 3), int)
    labels[:300, 0] = labels[200:420, 1] = labels[990:, 2] = 1  # the last has too few rows to rank
    draw = alike_blocks(sp.csr_array(labels), n, np.random.default_rng(0))
    blocks = [draw() for _ in range(200)]
    assert all(len(np.unique(rows)) == len(rows) == ranking.ROWS for rows in blocks)
    shared = np.array([labels[rows].all(axis=0) for rows in blocks])
    assert shared[:, :2].any(axis=0).all()
    assert not shared[:, 2].any()
    alone = np.array([rows for rows, one in zip(blocks, shared, strict=True) if not one.any()])
    assert alone.max() >= 420  # drawn from all where the row had no label, or a rare one


@pytest.mark.parametrize("labels", [None, sp.csr_array((60, 0))])
def test_without_labels_any_rows_make_a_block(labels):
    rows = alike_blocks(labels, 60, np.random.default_rng(0))()
    assert sorted(rows) == list(range(60))


@pytest.mark.parametrize("rows", [np.zeros((0, 4)), unit_rows(1, 4), unit_rows(2, 4), np.zeros((80, 4))])
def test_rows_that_cannot_be_ranked_do_no_harm(rows):
    start = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rank_alike(start, rows.astype(np.float32), None, np.random.default_rng(0))
    assert np.isfinite(found).all()


FRESH = """
import hashlib, numpy as np
from kinhash.encoders.fit_kernels import differences_of_shares
rng = np.random.default_rng(0)
seen, wanted = rng.normal(size=(2, 211, 211)).astype(np.float32)
differences_of_shares(seen, np.float32(0.4), wanted, np.float32(0.3))
print(hashlib.sha256(seen).hexdigest())
"""


def test_a_kernel_that_was_just_compiled_gives_the_digits_of_one_from_the_cache(tmp_path):
    """With sums in any order it did not: the first fit of a machine had other bits than the second."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.check_output([sys.executable, "-c", FRESH], text=True, env=environment) for _ in range(2)
    )
    assert first == second
