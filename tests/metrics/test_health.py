from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.codes import Codes
from kinhash.errors import InvalidInput
from kinhash.metrics import code_health, health


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 70))
def test_by_brute_force(seed, n, d):
    rng = np.random.default_rng(seed)
    bits = rng.random((n, d)) < rng.choice([0.05, 0.5], d)
    if d > 2:
        bits[:, 2] = ~bits[:, 0]
    report = code_health(Codes.from_bits(bits))
    np.testing.assert_allclose(report.ones, bits.mean(axis=0))
    dead = [j for j in range(d) if bits[:, j].all() or not bits[:, j].any()]
    assert report.dead_bits.tolist() == dead
    twins = [
        (i, j)
        for i in range(d)
        for j in range(i + 1, d)
        if i not in dead and j not in dead and (bits[:, i] ^ bits[:, j]).sum() in (0, n)
    ]
    assert report.twin_bits == twins
    sizes = np.sort(np.unique(bits, axis=0, return_counts=True)[1])[::-1]
    assert report.bucket_sizes.tolist() == sizes.tolist()
    assert report.n_unique == len(sizes)
    assert report.share_in_company == pytest.approx(sizes[sizes > 1].sum() / n)
    assert 0 <= report.entropy <= np.log2(n) + 1e-12
    alive = [j for j in range(d) if j not in dead]
    if len(alive) > 1:
        expected = np.corrcoef(bits[:, alive].T.astype(float))
        np.testing.assert_allclose(report.correlation[np.ix_(alive, alive)], expected, atol=1e-12)
        off = np.abs(expected[~np.eye(len(alive), dtype=bool)])
        assert report.mean_correlation == pytest.approx(off.mean())


def test_blocks_do_not_change_the_counts(monkeypatch):
    codes = Codes.from_bits(np.random.default_rng(0).random((500, 19)) < 0.3)
    whole = code_health(codes)
    monkeypatch.setattr(health, "BLOCK_ROWS", 7)
    np.testing.assert_array_equal(code_health(codes).correlation, whole.correlation)


def test_in_words():
    bits = np.tile([1, 0, 1, 0], (6, 1))
    bits[3:, 2:] = [0, 1]
    words = str(code_health(Codes.from_bits(bits)))
    assert "Dead bits: 2 (0, 1)" in words
    assert "Twin bits: 1 ((2, 3))" in words
    assert "2 distinct codes; the fullest holds 3 rows, 100% of the rows share" in words
    assert "tie-aware" in words
    assert doctest.testmod(health).failed == 0


def test_one_code_and_no_code():
    report = code_health(np.array([[7]], np.uint8))
    assert report.entropy == 0
    assert report.share_in_company == 0
    assert "1 codes of 8 bits" in str(report)
    with pytest.raises(InvalidInput, match="no codes"):
        code_health(np.zeros((0, 2), np.uint8))


def test_the_page_in_the_docs_says_what_happens():
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted > 10
    assert outcome.failed == 0
