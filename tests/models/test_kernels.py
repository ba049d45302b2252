"""Compiled kernels against the same in plain NumPy or Python, to the last digit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.models import kernels

seeds = st.integers(0, 9999)
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def whole_rows(rng, n, p, most, dtype=np.float64):
    return rng.integers(-most, most + 1, (n, p)).astype(dtype)


@dtypes
@given(seed=seeds)
def test_whole_columns(dtype, seed):
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(7, 5)) * 10.0 ** rng.integers(-30, 30, (7, 1))).astype(dtype)
    mean, factor = rng.normal(size=5), 10.0 ** rng.uniform(-3, 3, 5)
    out = np.empty((7, 5), np.float32)
    kernels.whole_columns(x, mean, factor, 2.0**20, out)
    plain = np.clip(np.rint((x.astype(np.float64) - mean) * factor), -(2.0**20), 2.0**20)
    assert np.array_equal(out, plain)


@dtypes
@given(seed=seeds)
def test_relative_rows(dtype, seed):
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(7, 5)) * 10.0 ** rng.integers(-30, 30, (7, 1))).astype(dtype)
    x[3] = 0
    out = np.empty((7, 5), np.float32)
    kernels.relative_rows(x, 2.0**14, out)
    wide = x.astype(np.float64)
    top = np.abs(wide).max(axis=1, keepdims=True)
    assert np.array_equal(out, np.rint(wide / np.where(top > 0, top, 1) * 2.0**14))


@dtypes
@given(seed=seeds, p=st.integers(1, 300))
def test_unit_rows(dtype, seed, p):
    v = whole_rows(np.random.default_rng(seed), 5, p, 2**20, dtype)
    v[2] = 0
    u, n = np.empty(v.shape, np.float32), np.empty((5, 1))
    kernels.unit_rows(v, 4096.0, u, n)
    squares = [sum(int(x) ** 2 for x in row) for row in v]
    lengths = np.sqrt(np.array(squares, np.float64))
    assert np.array_equal(n[:, 0], lengths)
    factor = np.where(lengths > 0, 4096.0 / np.maximum(lengths, 1), 0.0)
    assert np.array_equal(u, np.rint(v.astype(np.float64) * factor[:, None]))


@given(seed=seeds)
def test_lengthened(seed):
    rng = np.random.default_rng(seed)
    products, n = whole_rows(rng, 6, 4, 2**24, np.float32), np.sqrt(rng.integers(0, 2**40, (6, 1)))
    scale, constant = np.ldexp(1.0, rng.integers(-20, 3, 4)), rng.integers(-(2**40), 2**40, 4).astype(float)
    out = np.empty((6, 4))
    kernels.lengthened(products, n, scale, constant, out)
    assert np.array_equal(out, np.rint(products.astype(np.float64) * n * scale) + constant)


@dtypes
@given(seed=seeds, p=st.integers(1, 200))
def test_row_squares(dtype, seed, p):
    u = whole_rows(np.random.default_rng(seed), 6, p, 1000, dtype)
    assert kernels.row_squares(u).tolist() == [sum(int(x) ** 2 for x in row) for row in u]


@given(seed=seeds, shift=st.integers(0, 12), n=st.integers(1, 400))
def test_similarities(seed, shift, n):
    rng = np.random.default_rng(seed)
    u, c = rng.integers(-500, 500, (6, 5)), rng.integers(-500, 500, (7, 5))
    c[0] = u[0]
    table = rng.integers(0, 2**15, n).astype(float)
    out = np.empty((6, 7))
    products = (u @ c.T).astype(np.float32)
    squares = [(each * each).sum(axis=1).astype(np.int32) for each in (u, c)]
    kernels.similarities(products, *squares, np.int64(shift), table, out)
    away = ((u[:, None] - c) ** 2).sum(axis=2)
    assert np.array_equal(out, table[np.minimum((away + (1 << shift >> 1)) >> shift, n - 1)])


@dtypes
@given(seed=seeds, shift=st.integers(0, 12), n=st.integers(1, 400))
def test_shares(dtype, seed, shift, n):
    rng = np.random.default_rng(seed)
    v = whole_rows(rng, 6, 5, 2**16, dtype)
    table = np.sort(rng.integers(1, 2**24, n))[::-1].astype(float)
    out = np.empty((6, 5))
    kernels.shares(v.astype(np.float64), 2.0**-shift, table, 2.0**24, out)
    away = (v.max(axis=1, keepdims=True) - v).astype(np.int64)
    odds = table[np.minimum((away + (1 << shift >> 1)) >> shift, n - 1)]
    assert np.array_equal(out, np.rint(odds / odds.sum(axis=1, keepdims=True) * 2.0**24))


@dtypes
@given(seed=seeds, shift=st.integers(0, 8), n=st.integers(1, 400))
def test_tag_similarities(dtype, seed, shift, n):
    rng = np.random.default_rng(seed)
    chances, logs = rng.integers(0, 2**10 + 1, (2, 6, 4))
    patterns = rng.integers(0, 2, (5, 4))
    table = rng.integers(0, 2**15 + 1, n).astype(float)
    common, none = (each @ patterns.T for each in (chances, logs))
    sizes = np.maximum(patterns.sum(axis=1), 1) * 2.0**16
    total = chances.sum(axis=1).astype(float)
    out = np.empty((6, 5))
    kernels.tag_similarities(common.astype(dtype), none.astype(dtype), total, sizes, 2.0**-shift, table, out)
    place = np.minimum((none + (1 << shift >> 1)) >> shift, n - 1)
    union = total[:, None] - common + sizes
    assert np.array_equal(out, np.rint(common / union * 2.0**15) - table[place])


@given(seed=seeds, d=st.integers(1, 6), sweeps=st.integers(1, 5))
def test_settle_rows(seed, d, sweeps):
    """Couplings that are not symmetric may go round in circles; the sweeps end them."""
    rng = np.random.default_rng(seed)
    pulls, coupling = whole_rows(rng, 4, d, 20), whole_rows(rng, d, d, 9)
    bits = np.where(pulls > 0, 1.0, -1.0)
    plain = bits.copy()
    kernels.settle_rows(bits, pulls, coupling, 1.0, sweeps)
    for row, pull in zip(plain, pulls, strict=True):
        for _ in range(sweeps):
            for k in range(d):
                field = pull[k] - coupling[k] @ row + coupling[k, k] * row[k]
                row[k] = np.sign(field) or row[k]
    assert np.array_equal(bits, plain)


def grown(rng, depth, n_columns):
    """A tree as nested tuples: (feature, threshold, left, right), or a value."""
    if depth == 0 or rng.random() < 0.2:
        return float(rng.integers(-99, 99))
    split = int(rng.integers(0, n_columns)), int(rng.integers(0, 256))
    return *split, grown(rng, depth - 1, n_columns), grown(rng, depth - 1, n_columns)


def listed(tree):
    """Nodes in the order "node, left branch, right branch": feature, threshold, right, value."""
    if not isinstance(tree, tuple):
        return [(0, 0, 0, tree)]
    left, right = listed(tree[2]), listed(tree[3])
    far = 1 + len(left)
    moved = [[(f, t, r + by if r else 0, v) for f, t, r, v in part] for part, by in ((left, 1), (right, far))]
    return [(tree[0], tree[1], far, 0.0), *moved[0], *moved[1]]


def leaf(tree, row):
    while isinstance(tree, tuple):
        tree = tree[2] if row[tree[0]] <= tree[1] else tree[3]
    return tree


@given(seed=seeds, n=st.integers(0, 4))
def test_walk(seed, n):
    rng = np.random.default_rng(seed)
    trees = [grown(rng, 4, 3) for _ in range(n)]
    nodes = [listed(tree) for tree in trees]
    columns = list(zip(*(node for tree in nodes for node in tree), strict=True)) or [()] * 4
    types = (np.int32, np.uint8, np.int32, np.float64)
    arrays = [np.array(column, dtype) for column, dtype in zip(columns, types, strict=True)]
    places, out = rng.integers(0, 256, (20, 3)).astype(np.uint8), np.ones(20)
    kernels.walk(places, *arrays, np.cumsum([0, *map(len, nodes)]), out)
    assert out.tolist() == [1 + sum(leaf(tree, row) for tree in trees) for row in places]
