"""The NumPy twins of the kernels of a fit, which answer until those are compiled: the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.encoders import fit_kernels, numpy_reference


def cases(rng, n, q, size):
    """Arguments of every kernel with a twin."""
    z, other = (size * rng.standard_normal((2, n, q))).astype(np.float32)
    wide, scale = size * rng.standard_normal((n, q)), rng.uniform(0, 2, q)
    scale[0] = 0.0
    row, column = (rng.uniform(0, 2, k).astype(np.float32) for k in (n, q))
    seen, wanted = (size * rng.standard_normal((2, n, n))).astype(np.float32)
    return {
        "standardize": (wide, rng.standard_normal(q), scale, 9.0, np.empty((n, q), np.float32)),
        "column_sums": (z, rng.uniform(0, 3, n)),
        "shift_and_scale": (z, column, other[0]),
        "prepare_similarities": (z, row, column, np.float32(-1.7), column, other[0], np.float32(2.5)),
        "sigmoids_and_losses": (z,),
        "differences_of_shares": (seen, np.float32(0.37), wanted, np.float32(0.21)),
    }


@pytest.mark.parametrize("name", numpy_reference.__all__)
@given(
    seed=st.integers(0, 9999), n=st.integers(2, 150), q=st.integers(1, 20),
    size=st.sampled_from([1e-4, 1.0, 40.0, 1e6]),
)  # fmt: skip
def test_twins_give_the_same_bits(name, seed, n, q, size):
    given_ = cases(np.random.default_rng(seed), n, q, size)[name]
    answers = []
    for module in (fit_kernels, numpy_reference):
        own = [np.array(each) if isinstance(each, np.ndarray) else each for each in given_]
        answers.append([getattr(module, name)(*own), *own])
    for ours, theirs in zip(*answers, strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (64, 1), (129, 2)])
def test_twins_take_few_rows(shape):
    z = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for name, more in (("column_sums", (np.ones(shape[0]),)), ("sigmoids_and_losses", ())):
        ours, theirs = (getattr(module, name)(z.copy(), *more) for module in (fit_kernels, numpy_reference))
        assert np.array_equal(ours, theirs)
