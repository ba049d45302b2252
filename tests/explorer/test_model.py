"""The model on the page: its numbers, whether features were float32, and why it is missing.

That JavaScript gives the numbers of Python is shown in tests/models and tests/browser.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from page_reading import array, facts

import kinhash
from kinhash import EnergyHasher
from kinhash.explorer import page as room
from kinhash.models import Columns, Step, WholeMap


def some_rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 6)) + 4 * np.eye(6)[y], y


@pytest.fixture(scope="module")
def hasher():
    return EnergyHasher(16, random_state=0).fit(*some_rows())


def page_of(hasher, dtype=np.float64):
    X, y = some_rows(60, 3)
    X = X.astype(dtype)
    return kinhash.explore(hasher.encode(X), y, model=hasher, features=X).html


def test_the_page_carries_the_numbers_of_the_model(hasher):
    page = page_of(hasher)
    told = facts(page)["model"]
    whole = hasher.model_.map
    assert (told["why"], told["features"]) == (None, 6)
    assert told["steps"] == json.loads(whole.arrays()["steps"].tobytes())
    stored = {name: one for name, one in whole.arrays().items() if name not in ("steps", "units")}
    assert told["kinds"].keys() == stored.keys()
    for name, one in stored.items():
        found = array(page, f"model-{name}", told["kinds"][name])
        assert np.array_equal(found, one.ravel())
        assert found.nbytes <= one.nbytes


def test_the_page_knows_whether_features_were_float32(hasher):
    assert facts(page_of(hasher))["model"]["single"] is False
    assert facts(page_of(hasher, np.float32))["model"]["single"] is True


def test_without_a_model_there_is_none(hasher):
    X, y = some_rows(60, 3)
    page = kinhash.explore(hasher.encode(X), y).html
    assert facts(page)["model"] is None
    assert "data-model-" not in page


def test_a_model_above_the_limit_is_left_out_with_the_reason(hasher, monkeypatch):
    page = page_of(hasher)
    arrays = [array(page, f"model-{name}", kind) for name, kind in facts(page)["model"]["kinds"].items()]
    added = sum(4 * -(-one.nbytes // 3) for one in arrays)
    monkeypatch.setattr(room, "LARGEST_MODEL", added)
    assert facts(page_of(hasher))["model"]["why"] is None
    monkeypatch.setattr(room, "LARGEST_MODEL", added - 1)
    page = page_of(hasher)
    told = facts(page)["model"]
    assert told.keys() == {"why"}
    assert "MB is the limit" in told["why"]
    assert "data-model-" not in page


@pytest.mark.parametrize("whole", [True, False])
def test_a_model_that_a_page_cannot_run_is_left_out_with_the_reason(whole):
    class Other(Step):
        kind = "other"
        bound, run = (lambda _, given: given), (lambda *given: given[-1])

    steps = Columns((0,), np.zeros(2), np.ones(2), 5), Other((1,))
    map_ = WholeMap(2, steps, np.zeros(2, np.int16))
    if not whole:
        map_ = SimpleNamespace(why_not_whole=lambda: "it was not rounded")
    model = SimpleNamespace(
        model_=SimpleNamespace(map=map_),
        model_id_=None,
        decision_=None,
        decision_function=lambda X: np.asarray(X, float),
    )
    X = np.random.default_rng(0).normal(size=(9, 2))
    page = kinhash.explore(kinhash.Codes.from_bits(X > 0), model=model, features=X).html
    assert ("no step other" if whole else "not rounded") in facts(page)["model"]["why"]
    assert "data-model-" not in page
