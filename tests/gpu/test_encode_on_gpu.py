"""Codes made on a card are those of the processor, bit by bit; without a device, by its twin in NumPy."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import kinhash
from kinhash import EMKSH, EnergyHasher, gpu
from kinhash.models import WholeMap, model, packed_codes
from kinhash.plugins import Rows
from numpy_card import Twin


@pytest.fixture(params=["twin", "card"])
def on_card(request, monkeypatch):
    if request.param == "twin":
        monkeypatch.setattr(gpu, "all_cards", lambda: (Twin(),))
    else:
        pytest.importorskip("cupy")
        try:
            gpu.all_cards()
        except kinhash.errors.InvalidInput:
            pytest.skip("needs an NVIDIA card")
    return kinhash.on_gpu


@pytest.mark.parametrize("make", [EnergyHasher, EMKSH])
def test_the_same_bits(on_card, monkeypatch, make):
    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32) + np.random.default_rng(0).normal(0, 3, X.shape).astype(np.float32)
    map_ = make(24, random_state=0).fit(X[:700], y[:700]).model_.map
    expected = packed_codes(map_, Rows(X))
    monkeypatch.setattr(model, "CARD_NUMBERS", 1 << 16)  # several blocks
    monkeypatch.setattr(WholeMap, "run", None)  # nothing stays on the processor
    with on_card():
        np.testing.assert_array_equal(packed_codes(map_, Rows(X)), expected)
        wide = X.astype(np.float64)[:, ::-1][:, ::-1]
        np.testing.assert_array_equal(packed_codes(map_, Rows(wide)), expected)


def test_a_card_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(gpu, "all_cards", lambda: (Twin(),))
    with pytest.raises(kinhash.errors.InvalidInput, match="card"), kinhash.on_gpu(1):
        pass
