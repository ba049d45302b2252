"""The model on the page: which models are there, and that JavaScript gives the numbers of Python.

Node, where it is installed, runs the page's own file here; tests/browser does the same in Chromium.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from page_reading import array, facts

import kinhash
from kinhash import EnergyHasher
from kinhash.explorer import model
from kinhash.explorer.model import model_shown
from kinhash.models.steps import STEPS as EVERY_STEP
from model_kinds import MODELS, N_FEATURES, STEPS, expected, fitted, hard_rows, made_by_hand, some_rows

SOURCE = Path(model.__file__).with_name("model.js")
NODE = shutil.which("node")
RUN = """
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const bytes = (text) => Uint8Array.from(Buffer.from(text, "base64"));
const kind = given.single ? Float32Array : Float64Array;
const rows = new kind(bytes(given.rows).buffer), found = [];
const model = readModel(given.facts.steps, given.facts.kinds, (name) => bytes(given.arrays[name]));
for (let at = 0; at < rows.length; at += given.width) {
  found.push(Buffer.from(runModel(model, Float64Array.from(rows.subarray(at, at + given.width))).buffer));
}
process.stdout.write(Buffer.concat(found).toString("base64"));
"""


def text_of(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def in_node(hasher, X):
    """Whole scores by the page's JavaScript."""
    shown = model_shown(hasher, X)
    given = {
        "facts": shown.facts,
        "arrays": {name: text_of(one) for name, one in shown.arrays.items()},
        "rows": text_of(X),
        "single": X.dtype == np.float32,
        "width": X.shape[1],
    }
    program = SOURCE.read_text(encoding="utf-8") + RUN
    return np.frombuffer(base64.b64decode(run_node(program, given))).reshape(len(X), -1)


def run_node(program, given):
    text = json.dumps(given)
    done = subprocess.run([NODE, "-e", program], input=text, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", MODELS)
def test_javascript_gives_the_numbers_of_python(kind, dtype):
    hasher, X = fitted(kind), hard_rows(2_000, dtype)
    scores, codes = expected(hasher, X)
    found = in_node(hasher, X)
    assert np.array_equal(found, scores)
    assert np.array_equal(np.packbits(found > 0, axis=1), codes)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("name", made_by_hand())
def test_models_made_by_hand_give_the_numbers_of_python(name):
    """Ties, fields of zero, places below a table, systems that are nearly singular."""
    rng = np.random.default_rng(1)
    sizes = rng.choice([2, 20, 300, 2**20], (20_000, 1))
    X = rng.integers(-sizes, sizes + 1, (20_000, 6)).astype(np.float64)
    model = made_by_hand()[name]
    found = in_node(SimpleNamespace(fitted_=SimpleNamespace(map=model)), X)
    assert np.array_equal(found, model.run_with(np, X))
    assert np.array_equal(found, model.run(X))


def test_every_step_is_written_in_javascript_and_tried():
    tried = {step.kind for kind in MODELS for step in fitted(kind).fitted_.map.steps_}
    assert tried == set(EVERY_STEP)
    for kind, steps in STEPS.items():
        assert steps <= {step.kind for step in fitted(kind).fitted_.map.steps_}
    source = SOURCE.read_text(encoding="utf-8")
    assert [kind for kind in EVERY_STEP if f"\n  {kind}" not in source] == []


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_halves_are_rounded_to_even_up_to_the_last_half():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            np.arange(-9, 9, 0.25),
            2.0**51 + np.arange(-8, 8, 0.5),
            -(2.0**51) - np.arange(-8, 8, 0.5),
            2.0**52 + np.arange(-8, 8, 0.5),
            2.0 ** rng.integers(-60, 60, 2_000) * rng.normal(size=2_000),
            np.nextafter([0.5, 1.5, 2.5, -0.5, -2.5], 0),
            [1e300, -1e300, 5e-324],
        ]
    )
    program = SOURCE.read_text(encoding="utf-8") + (
        'const x = JSON.parse(require("fs").readFileSync(0, "utf8"));'
        "process.stdout.write(JSON.stringify(x.map(rint)));"
    )
    assert np.array_equal(json.loads(run_node(program, x.tolist())), np.rint(x))


def page_of(hasher, dtype=np.float64):
    X, y = some_rows(60, 3)
    X = X.astype(dtype)
    return kinhash.explore(hasher.encode(X), y, model=hasher, features=X).html


@pytest.mark.parametrize("kind", ["classes", "trees"])
def test_the_page_carries_the_numbers_of_the_model(kind):
    hasher = fitted(kind)
    page = page_of(hasher)
    told = facts(page)["model"]
    whole = hasher.fitted_.map
    assert told["why"] is None
    assert told["features"] == N_FEATURES
    assert told["steps"] == json.loads(whole.arrays()["steps"].tobytes())
    stored = {name: one for name, one in whole.arrays().items() if name not in ("steps", "units")}
    assert told["kinds"].keys() == stored.keys()
    for name, one in stored.items():
        found = array(page, f"model-{name}", told["kinds"][name])
        assert np.array_equal(found, one.ravel())
        assert found.nbytes <= one.nbytes


def test_the_page_knows_whether_features_were_float32():
    hasher = fitted("ridge")
    assert facts(page_of(hasher))["model"]["single"] is False
    assert facts(page_of(hasher, np.float32))["model"]["single"] is True


def test_without_a_model_there_is_none():
    X, y = some_rows(60, 3)
    page = kinhash.explore(fitted("ridge").encode(X), y).html
    assert facts(page)["model"] is None
    assert "data-model-" not in page


def test_a_model_above_the_limit_is_left_out_with_the_reason(monkeypatch):
    hasher = fitted("classes")
    added = sum(4 * -(-one.nbytes // 3) for one in model_shown(hasher, np.zeros((1, 1))).arrays.values())
    monkeypatch.setattr(model, "LARGEST_MODEL", added)
    assert facts(page_of(hasher))["model"]["why"] is None
    monkeypatch.setattr(model, "LARGEST_MODEL", added - 1)
    page = page_of(hasher)
    told = facts(page)["model"]
    assert told.keys() == {"why"}
    assert "MB is the limit" in told["why"]
    assert "data-model-" not in page


def test_a_model_that_runs_in_python_only_is_left_out_with_the_reason():
    from sklearn.tree import DecisionTreeRegressor

    X, y = some_rows(100, 3)
    encoder = kinhash.encoders.Regressor(estimator=DecisionTreeRegressor(max_depth=6, random_state=0))
    hasher = EnergyHasher(16, encoder=encoder, alike=0, random_state=0).fit(X, y)
    page = kinhash.explore(hasher.encode(X), y, model=hasher, features=X).html
    told = facts(page)["model"]
    assert told.keys() == {"why"}
    assert "whole numbers" in told["why"]
