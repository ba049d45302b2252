"""`kinhash fit --set` reaches the parts of a method, and its bar knows every stage."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinhash import EMKSH, EnergyHasher, load
from kinhash.cli.fit import STAGE_BEGINS
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.features import RBF
from kinhash.encoders.ridge import Ridge
from kinhash.solvers.coordinate import Coordinate

from .conftest import Run, three_classes

SETTINGS = {
    "--set encoder=ridge": EnergyHasher(16, encoder="ridge"),
    "--set solver=coordinate --set solver__n_sweeps=1": EnergyHasher(16, solver=Coordinate(n_sweeps=1)),
    "--set solver.n_anchors=20 --set solver=coordinate": EnergyHasher(16, solver=Coordinate(n_anchors=20)),
    "--set encoder=ridge --set encoder.features=rbf --set encoder.features.n_centers=9": EnergyHasher(
        16, encoder=Ridge(features=RBF(n_centers=9))
    ),
    "--set encoder=expected --set encoder__penalty=30": EnergyHasher(16, encoder=ExpectedLabels(penalty=30)),
    "--method EMKSH --set n_sweeps=2": EMKSH(16, n_sweeps=2),
}


@pytest.mark.parametrize("words", SETTINGS)
@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_settings_give_the_model_that_python_gives(run: Run, folder: Path, words: str) -> None:
    said = run(*f"fit X.npy --labels y.txt --bits 16 --held-out 0 -o m.kin {words}".split())
    assert said.code == 0, said.err
    X, y = three_classes(120)
    method: Any = SETTINGS[words].set_params(random_state=0)
    assert load("m.kin").model_id_ == method.fit(X, [f"class-{k}" for k in y]).model_id_


@pytest.mark.parametrize(
    "words", ["", "--alike 0.5 --kin-weight 2", "--set encoder=ridge", "--method EMKSH", "--method ITQ"]
)
def test_the_bar_knows_every_stage_and_never_goes_back(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    seen: list[tuple[float, str]] = []

    @contextlib.contextmanager
    def bar(label: str, total: float) -> Iterator[Any]:
        yield lambda done, label: seen.append((done, label))

    monkeypatch.setattr(importlib.import_module("kinhash.cli.fit"), "bar", bar)
    X, y = three_classes(300)
    np.save("X.npy", X)
    np.save("y.npy", y)
    said = run(*f"fit X.npy --labels y.npy --bits 16 -o m.kin {words}".split())
    assert said.code == 0, said.err
    places, stages = zip(*seen, strict=True)
    assert list(places) == sorted(places)
    assert set(stages) - {"reading", "judging", "saving"} <= set(STAGE_BEGINS)
    assert {"training codes"} < set(stages)
