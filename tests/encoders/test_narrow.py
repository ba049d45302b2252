"""Wide rows: a fit works on fewer columns, and its map on all of them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import KNeighborsRegressor

import kinhash
from kinhash import EnergyHasher
from kinhash.encoders import column_reduction
from kinhash.encoders.column_reduction import NarrowRows
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.maps import ExpectedMap, LinearMap, StackedMap
from kinhash.encoders.regressor import Regressor
from kinhash.encoders.ridge import Ridge
from kinhash.errors import NotEnoughMemory
from kinhash.hashers import parts

FIXED = ExpectedLabels(features="plain", penalty=1.0, temperature=1.0)


def wide_classes(n, p, container=np.asarray, n_classes=4):
    """Few words of many in each row, with their class's own among them."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.arange(n) % n_classes)
    X = (rng.random((n, p)) < 0.05) * rng.random((n, p)) + (rng.random((n_classes, p)) < 0.1)[y] * 0.5
    return container(X.astype(np.float32)), y


@pytest.fixture
def few_columns(monkeypatch):
    """As if 40 columns were many."""
    monkeypatch.setattr(parts, "WIDE", 40)
    monkeypatch.setattr(column_reduction, "FEWEST", 40)
    monkeypatch.setattr(column_reduction, "MOST", 40)


def spied(monkeypatch, *places):
    """What functions, each the attribute of something, were called with and returned."""
    seen = []

    def watched(made):
        def spy(*args):
            seen.append((args, made(*args)))
            return seen[-1][1]

        return spy

    for owner, name in places:
        monkeypatch.setattr(owner, name, watched(getattr(owner, name)))
    return seen


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "settings",
    [
        {"encoder": FIXED},
        {"encoder": "ridge"},
        {"encoder": Ridge(), "solver": "coordinate"},
        {"alike": 0.5},
    ],
    ids=["expected", "ridge", "coordinate", "alike"],
)
@pytest.mark.usefixtures("few_columns")
def test_the_map_of_all_columns_gives_the_scores_of_the_map_of_few(container, settings, monkeypatch):
    X, y = wide_classes(120, 90, container)
    seen = spied(monkeypatch, *((kind, "widened") for kind in (LinearMap, StackedMap, ExpectedMap)))
    fitted = EnergyHasher(16, random_state=0, **settings).fit(X, y)
    assert seen
    assert all(isinstance(rows, NarrowRows) for (_, rows), _ in seen)
    dense = np.asarray(X.todense() if sp.issparse(X) else X, np.float64)
    for (inner, rows), whole in seen:
        expected = inner.scores(rows.read(slice(0, 120)))
        size = np.abs(expected).mean()
        np.testing.assert_allclose(whole.scores(dense), expected, atol=2e-3 * size)
    assert fitted.fitted_.map.n_features == 90


@pytest.mark.usefixtures("few_columns")
def test_nothing_is_lost_where_rows_are_fewer_than_combinations():
    X, y = wide_classes(38, 90)
    new, _ = wide_classes(200, 90)
    small = EnergyHasher(16, encoder=FIXED, alike=0, random_state=0).fit(X, y)
    parts.WIDE = 10_000
    whole = EnergyHasher(16, encoder=FIXED, alike=0, random_state=0).fit(X, y)
    chances = [
        one.fitted_.unrounded.expected.model.probabilities(
            one.fitted_.unrounded.preparation(np.asarray(new, np.float64))
        )
        for one in (small, whole)
    ]
    np.testing.assert_allclose(chances[0], chances[1], atol=0.02)


@pytest.mark.usefixtures("few_columns")
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_combinations_are_orthonormal_and_keep_what_varies(container, monkeypatch):
    rng = np.random.default_rng(0)
    low = rng.normal(size=(300, 12)) @ rng.normal(size=(12, 90)) + 3.0
    seen = spied(monkeypatch, (parts, "narrowed"))
    EnergyHasher(8, encoder=FIXED, random_state=0).fit(container(low), np.arange(300) % 3)
    rows = seen[0][1].rows
    np.testing.assert_allclose(rows.basis.T @ rows.basis, np.eye(rows.basis.shape[1]), atol=2e-2)
    standard = (low - low.mean(axis=0)) / rows.scale
    kept = (rows.read(slice(0, 300)) ** 2).sum()
    assert kept == pytest.approx((standard**2).sum(), rel=1e-2)


def test_few_columns_and_centers_are_left_alone(monkeypatch):
    X, y = wide_classes(60, 50)
    seen = spied(monkeypatch, (parts, "narrowed"))
    EnergyHasher(8, encoder=FIXED, random_state=0).fit(X, y)
    monkeypatch.setattr(parts, "WIDE", 40)
    EnergyHasher(8, encoder=ExpectedLabels(features="rbf"), random_state=0).fit(X, y)
    EnergyHasher(8, encoder=Regressor(estimator=KNeighborsRegressor(3)), random_state=0).fit(X, y)
    assert not seen


def test_no_matrix_of_columns_by_columns_is_formed(tmp_path):
    X, y = wide_classes(300, 6000, sp.csr_array)
    tracemalloc.start()
    fitted = EnergyHasher(32, encoder=FIXED, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 6000 * 6000
    fitted.save(tmp_path / "m.kin")
    again = kinhash.load(tmp_path / "m.kin")
    assert np.array_equal(again.encode(X), fitted.encode(X.toarray()))


def test_memory_is_asked_for_before_the_work(monkeypatch):
    X, y = wide_classes(60, 5000, sp.csr_array)
    monkeypatch.setattr("kinhash._internal.blocks.available_memory", lambda: 1_000_000)
    with pytest.raises(NotEnoughMemory, match="Narrowing 5,000 columns"):
        EnergyHasher(8, encoder=FIXED, random_state=0).fit(X, y)
