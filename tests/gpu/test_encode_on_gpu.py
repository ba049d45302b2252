"""Codes made on a card are those of the processor, bit by bit; without a device, by its twin in NumPy."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from test_gpu_index import _has_card

import kinhash
from kinhash import EMKSH, EnergyHasher, gpu
from kinhash._internal.rows import Rows
from kinhash.encoders import Amortized, codes_of_rows, least_squares
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.feature_transform import ColumnsAndRBF, Preparation, UnitRBF
from kinhash.encoders.least_squares import moments_of_rows
from kinhash.encoders.ridge import Ridge
from kinhash.gpu.numpy_reference import Twin
from kinhash.models import WholeMap


@pytest.fixture(params=["twin", "card"])
def on_card(request, monkeypatch):
    if request.param == "twin":
        monkeypatch.setattr(gpu, "all_cards", lambda: (Twin(),))
    elif not _has_card():
        pytest.skip("needs CuPy and an NVIDIA card")
    return kinhash.on_gpu


def _rows():
    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32) + np.random.default_rng(0).normal(0, 3, X.shape).astype(np.float32), y


def _tags(y):
    return np.stack([y % 2 == 0, y % 3 == 0, y > 4, y < 8], axis=1).astype(np.uint8)


CASES = {
    "linear": (lambda: EMKSH(32, random_state=0), False),
    "classes": (lambda: EnergyHasher(24, random_state=0), False),
    "tags": (lambda: EnergyHasher(24, random_state=0), True),
    "ridge": (lambda: EnergyHasher(20, encoder="ridge", alike=0, random_state=0), False),
    "rbf": (lambda: EnergyHasher(20, encoder=Ridge(features="rbf"), random_state=0), False),
    "both": (lambda: EnergyHasher(20, encoder=ExpectedLabels(features="both"), random_state=0), False),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_bits(on_card, monkeypatch, name):
    make, tags = CASES[name]
    X, y = _rows()
    hasher = make().fit(X[:700], _tags(y[:700]) if tags else y[:700])
    assert all(step.on_card for step in hasher.fitted_.map.steps_)
    expected = hasher.encode(X)
    here, there, on_it = [], [], codes_of_rows._codes_on
    monkeypatch.setattr(codes_of_rows, "CARD_BYTES", 1 << 19)  # several blocks
    monkeypatch.setattr(codes_of_rows, "_codes_on", lambda *given: there.append(1) or on_it(*given))
    monkeypatch.setattr(WholeMap, "run", lambda *given: here.append(1))
    with on_card():
        codes = hasher.encode(X)
        wide = hasher.encode(X.astype(np.float64)[:, ::-1][:, ::-1])
    np.testing.assert_array_equal(codes.packed, expected.packed)
    np.testing.assert_array_equal(wide.packed, expected.packed)
    assert there
    assert not here


def test_maps_a_card_does_not_know_stay_on_the_processor(on_card, monkeypatch):
    X, y = _rows()
    hasher = EnergyHasher(16, solver="coordinate", alike=0, random_state=0).fit(X[:500], y[:500])
    expected = hasher.encode(X)
    assert not all(step.on_card for step in hasher.fitted_.map.steps_)
    monkeypatch.setattr(codes_of_rows, "_codes_on", None)
    with on_card():
        np.testing.assert_array_equal(hasher.encode(X).packed, expected.packed)


def test_a_card_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(gpu, "all_cards", lambda: (Twin(),))
    with pytest.raises(kinhash.errors.InvalidInput, match="card"), kinhash.on_gpu(1):
        pass


@pytest.mark.parametrize("rbf", [None, UnitRBF, ColumnsAndRBF])
def test_moments_are_those_of_the_processor_but_for_last_digits(on_card, monkeypatch, rbf):
    X, y = _rows()
    rows, targets = Rows(X), np.eye(10, dtype=np.float32)[y]
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    centers = None if rbf is None else rbf.of(X[:200].astype(np.float64), 0.4)
    preparation = Preparation.first_guess(rows.read(slice(0, 500)), centers, True)
    monkeypatch.setattr(least_squares, "BLOCK_BYTES", 1 << 17)
    expected = moments_of_rows(rows, preparation, lambda part: targets[part], weights)
    with on_card():
        summed = moments_of_rows(rows, preparation, lambda part: targets[part], weights)
    for name in ("weight", "sums", "gram", "cross", "target_sums", "target_squares"):
        here, there = np.asarray(getattr(expected, name)), np.asarray(getattr(summed, name))
        np.testing.assert_allclose(there, here, atol=2e-6 * np.abs(here).max(), err_msg=name)
    assert not np.array_equal(summed.gram, expected.gram)  # summed elsewhere


def test_a_fit_on_a_card_encodes_as_one_on_the_processor(on_card):
    X, y = _rows()
    expected = EMKSH(32, random_state=0).fit(X[:700], y[:700])
    with on_card():
        hasher = EMKSH(32, random_state=0).fit(X[:700], y[:700])
    np.testing.assert_allclose(hasher.decision_function(X), expected.decision_function(X), atol=2e-4)


@pytest.mark.parametrize("kind", ["pairs", "clicks", "triplets"])
def test_a_map_learned_from_pairs_on_a_card_is_that_of_the_processor(on_card, kind):
    X, y = _rows()
    a, b, c = np.random.default_rng(0).integers(0, 700, (3, 4000))
    alike = (y[a] == y[b]) & (a != b)
    ordered = alike & (y[a] != y[c])

    def fitted() -> EnergyHasher:
        hasher = EnergyHasher(16, random_state=0, encoder=Amortized(pull=0.001, scale="common"))
        if kind == "triplets":
            return hasher.fit_triplets(X[:700], a[ordered], b[ordered], c[ordered])
        if kind == "clicks":
            return hasher.fit_pairs(X[:700], a[alike], b[alike])
        return hasher.fit_pairs(X[:700], a[a != b], b[a != b], alike[a != b])

    expected = fitted()
    with on_card():
        hasher = fitted()
    np.testing.assert_allclose(hasher.decision_function(X), expected.decision_function(X), atol=2e-2)
