"""The NumPy twins of the kernels of models, which answer until those are compiled: the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.models import kernels, numpy_reference


def whole(rng, shape, most, dtype=np.float64):
    return rng.integers(-most, most + 1, shape).astype(dtype)


def cases(rng, dtype):
    """Arguments of every kernel with a twin; the last ones are its results."""
    n, p, q = rng.integers(1, 9, 3)
    x = (rng.normal(size=(n, p)) * 10.0 ** rng.integers(-30, 30, (n, 1))).astype(dtype)
    x[0] = 0
    v, table = whole(rng, (n, p), 2**20, dtype), np.sort(rng.integers(1, 2**24, 50))[::-1].astype(float)
    u, c = whole(rng, (n, p), 500, np.float32), whole(rng, (q, p), 500, np.float32)
    squares = [(each.astype(int) ** 2).sum(axis=1).astype(np.int32) for each in (u, c)]
    chances, patterns = rng.integers(0, 2**10, (n, p)), rng.integers(0, 2, (q, p))
    common, total = (chances @ patterns.T).astype(dtype), chances.sum(axis=1).astype(float)
    sizes, scale = np.maximum(patterns.sum(axis=1), 1) * 2.0**16, 2.0 ** -rng.integers(0, 9)
    out, small = np.empty((n, p)), np.empty((n, p), np.float32)
    columns = rng.normal(size=p), 10.0 ** rng.uniform(-3, 3, p)
    lengths, constant = np.sqrt(rng.integers(0, 2**40, (n, 1))), whole(rng, p, 2**40)
    return {
        "whole_columns": (x, *columns, 2.0**20, small),
        "relative_rows": (x, 2.0**14, small),
        "unit_rows": (v, 4096.0, small, np.empty((n, 1))),
        "lengthened": (v.astype(np.float32), lengths, np.ldexp(1.0, rng.integers(-20, 3, p)), constant, out),
        "row_squares": (u.astype(dtype),),
        "similarities": (u @ c.T, *squares, np.int64(rng.integers(0, 12)), table, np.empty((n, q))),
        "shares": (v.astype(np.float64), scale, table, 2.0**24, out),
        "tag_similarities": (common, common, total, sizes, scale, table, np.empty((n, q))),
    }


@pytest.mark.parametrize("name", numpy_reference.__all__)
@given(seed=st.integers(0, 9999), dtype=st.sampled_from([np.float32, np.float64]))
def test_twins_give_the_same_bits(name, seed, dtype):
    given_ = cases(np.random.default_rng(seed), dtype)[name]
    answers = []
    for module in (kernels, numpy_reference):
        own = [np.array(each) if isinstance(each, np.ndarray) else each for each in given_]
        answers.append([getattr(module, name)(*own), *own])
    for ours, theirs in zip(*answers, strict=True):
        assert np.array_equal(ours, theirs)
