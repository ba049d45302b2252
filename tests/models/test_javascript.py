"""`explorer/model.js` gives the numbers of Python, here in Node; tests/browser does the same in Chromium."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from made import KINDS, hard_rows, made

from kinhash.explorer import page
from kinhash.models.steps import OWN

SOURCE = Path(page.__file__).with_name("model.js").read_text(encoding="utf-8")
NODE = shutil.which("node")
RUN = """
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const bytes = (text) => Uint8Array.from(Buffer.from(text, "base64"));
const rows = new Float64Array(bytes(given.rows).buffer), found = [];
const model = readModel(given.steps, given.kinds, (name) => bytes(given.arrays[name]));
for (let at = 0; at < rows.length; at += given.width) {
  found.push(Buffer.from(runModel(model, rows.slice(at, at + given.width)).buffer));
}
process.stdout.write(Buffer.concat(found).toString("base64"));
"""


def in_node(program, given):
    done = subprocess.run(
        [NODE, "-e", SOURCE + program], input=json.dumps(given), stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def text_of(array):
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("kind", KINDS)
def test_javascript_gives_the_numbers_of_python(kind):
    for seed in range(4):
        model, _, X = made(seed, kind, p=9, d=13, h=7)
        X = hard_rows(X, seed)
        shown = page.model_shown(SimpleNamespace(model_=SimpleNamespace(map=model)), X)
        arrays = {name: text_of(one) for name, one in shown.arrays.items()}
        given = {**shown.facts, "arrays": arrays, "rows": text_of(X.astype(np.float64)), "width": X.shape[1]}
        found = np.frombuffer(base64.b64decode(in_node(RUN, given))).reshape(len(X), -1)
        assert np.array_equal(found, model.run(X))


def test_every_step_is_written_in_javascript():
    assert [kind for kind in OWN if f"\n  {kind.lower()}" not in SOURCE] == []


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
    program = (
        'const x = JSON.parse(require("fs").readFileSync(0, "utf8"));'
        "process.stdout.write(JSON.stringify(x.map(rint)));"
    )
    assert np.array_equal(json.loads(in_node(program, x.tolist())), np.rint(x))
