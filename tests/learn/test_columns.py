"""How rows become prepared columns: what is left out, what is combined, and that storage does not matter."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from kinhash.errors import KinhashWarning, NotEnoughMemory
from kinhash.hasher import EnergyHasher
from kinhash.learn import features
from kinhash.learn.features import prepare_columns, unit_rows
from kinhash.plugins import Rows


def prepared(X, **how):
    rows = Rows(X)
    columns = prepare_columns(rows, np.random.default_rng(0), **how)
    return columns, columns(rows, slice(None))


RNG = np.random.default_rng(1)
SOUND = 0.025 * RNG.normal(size=(400, 20))
COLUMNS = {  # a column beside those, and whether it is left out
    "constant": (np.full(400, 0.04), True),
    "zero": (np.zeros(400), True),
    "large constant": (np.full(400, 1e8), True),
    "spread of 2e-9": (0.01 + 2e-9 * RNG.normal(size=400), True),
    "computed constant": (0.1 * 3 + 1e-17 * RNG.integers(-2, 3, 400), True),
    "a year": (2010 + 5 * RNG.normal(size=400), False),
    "small, but no rounding": (1e-4 * RNG.normal(size=400), False),
    "one row differs": ((np.arange(400) == 7) * 0.5, False),
    "1e8 and a little": (1e8 + 1e-3 * RNG.normal(size=400), False),
}


@pytest.mark.parametrize("what", COLUMNS)
def test_columns_without_information_are_left_out(what):
    column, dead = COLUMNS[what]
    columns, z = prepared(np.column_stack([SOUND, column]))
    assert columns.dead == int(dead)
    assert (columns.inverse[-1] == 0) == dead
    if dead:
        assert not z[:, -1].any()
        assert columns.sizes[-1] == 0
    else:
        own = column.std() / np.median(np.column_stack([SOUND, column]).std(axis=0))
        assert abs(z[:, -1].mean()) < 0.01
        assert z[:, -1].std() == pytest.approx(np.clip(np.sqrt(own), 0.25, 4), abs=0.01)
    np.testing.assert_allclose(z[:, :20].std(axis=0), 1, atol=0.1)


def test_what_is_rounding_depends_on_the_precision_of_the_numbers():
    """1e8 ± 1e-3 is a number as float64, and a constant as float32."""
    X = np.column_stack([1e8 + 1e-3 * RNG.normal(size=400), SOUND[:, 0]])
    assert prepared(X)[0].dead == 0
    assert prepared(X.astype(np.float32))[0].dead == 1
    noise = 0.04 + 3e-9 * RNG.integers(-1, 2, 400)  # the last place of float32
    assert prepared(np.column_stack([SOUND, noise]).astype(np.float32))[0].dead == 1


@given(
    offset=st.floats(-1e3, 1e3), exponent=st.integers(-60, 60), seed=st.integers(0, 50), p=st.integers(1, 12)
)
def test_columns_are_centered_and_half_way_to_one_size(offset, exponent, seed, p):
    rng = np.random.default_rng(seed)
    X = np.ldexp(offset + rng.normal(size=(60, p)), exponent)
    X *= 1 + np.arange(p) / p
    columns, z = prepared(X)
    assert columns.dead == 0
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-4)
    spread = X.std(axis=0)
    np.testing.assert_allclose(z.std(axis=0), np.sqrt(spread / np.median(spread)), atol=1e-3)
    again = prepared(np.ldexp(X, 3))[1]
    assert np.array_equal(again, z), "powers of two change nothing"
    own = columns.centered(z)
    wanted = X - X.mean(axis=0)
    np.testing.assert_allclose(
        unit_rows(own), wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-4
    )


def test_columns_of_very_different_sizes_keep_them_among_each_other():
    X = RNG.normal(size=(100, 3)) * [1e-30, 1.0, 1e-3]
    columns, _ = prepared(X * 1e200)
    assert columns.sizes.max() == 1
    assert np.isfinite(columns.sizes).all()


def test_only_rows_that_count_are_looked_at():
    X = np.vstack([SOUND, 1e6 + np.arange(20.0) * np.ones((10, 20))])
    ours, _ = prepared(X, counted=np.arange(400))
    np.testing.assert_array_equal(ours.mean, prepared(SOUND)[0].mean)
    np.testing.assert_array_equal(ours.inverse, prepared(SOUND)[0].inverse)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("store", ["float32", "memmap", "csr", "Fortran"])
def test_storage_does_not_matter(store, wide, tmp_path, monkeypatch):
    if wide:
        monkeypatch.setattr(features, "WIDE", 8)
    X = np.round(RNG.normal(size=(200, 20)) * 4) + 3.0
    np.save(tmp_path / "X.npy", X)
    stored = {
        "float32": lambda: X.astype(np.float32),
        "memmap": lambda: np.load(tmp_path / "X.npy", mmap_mode="r"),
        "csr": lambda: sp.csr_array(X),
        "Fortran": lambda: np.asfortranarray(X),
    }[store]()
    plain, found = prepared(X)[1], prepared(stored)[1]
    if not wide:
        assert np.array_equal(found, plain)
    elif store == "csr":  # scaled in another way
        assert found.shape == plain.shape
    else:
        np.testing.assert_allclose(np.abs(found @ found.T), np.abs(plain @ plain.T), atol=1e-2)


@pytest.mark.parametrize("sparse", [False, True])
def test_wide_rows_keep_most_of_what_tells_them_apart(sparse):
    rng = np.random.default_rng(2)
    y = np.arange(200) % 4
    X = (rng.random((200, 5000)) < 0.002 + 0.02 * (np.arange(5000) % 4 == y[:, None])) * 1.0
    X[:, 17] = 0
    columns, z = prepared(sp.csr_array(X) if sparse else X)
    assert z.shape == (200, 200) or z.shape[1] <= 200
    assert columns.dead >= 1
    np.testing.assert_allclose(columns.basis.T @ columns.basis, np.eye(z.shape[1]), atol=1e-3)
    unit = unit_rows(z)
    cosine = unit @ unit.T
    apart = ~np.eye(200, dtype=bool)
    same = (y[:, None] == y) & apart
    assert cosine[same].mean() > cosine[~same & apart].mean() + 0.005
    if not sparse:  # all that rows of the sample say is kept
        whole = ((X - columns.mean) * columns.inverse).astype(np.float32)
        np.testing.assert_allclose(
            z @ z.T, whole @ whole.T, rtol=0.05, atol=0.05 * np.abs(whole @ whole.T).max()
        )


def test_columns_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr(features, "require_memory", fail)
    with pytest.raises(NotEnoughMemory):
        prepared(sp.csr_array((10, 6000)))


def fail(*_):
    raise NotEnoughMemory("too much")


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("p", [10, 4500])
def test_rows_that_are_all_the_same_have_one_code(value, sparse, p):
    """However many columns there are."""
    X = np.full((60, p), value)
    with pytest.warns(KinhashWarning, match="16 of 16 bits are constant"):
        found = EnergyHasher(16, random_state=0).fit(sp.csr_array(X) if sparse else X)
    assert found.report_.unique_codes == 1
    assert found.report_.facts["columns left out"] == p
