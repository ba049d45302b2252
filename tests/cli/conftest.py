"""Small files of every kind, and a way to run a command and see what it says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from kinhash.cli import main


class Said(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Said]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, as its entry point does."""

    def command(*argv: object) -> Said:
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in argv])
        out, err = capfd.readouterr()
        code = left.value.code
        assert isinstance(code, int)
        return Said(code, out, err)

    return command


def succeed(run: Run, argv: str) -> str:
    """What a command prints that succeeds without a word on stderr."""
    said = run(*argv.split())
    assert said.code == 0, said.err
    assert said.err == ""
    return said.out


def say(run: Run, argv: str) -> Said:
    """A command in one string."""
    return run(*argv.split())


def done(run: Run, argv: str) -> Any:
    """The result of a command that succeeds, warnings or not."""
    said = run(*argv.split(), "--json")
    assert said.code == 0, said.err
    return json.loads(said.out)


def three_classes(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return (rng.normal(size=(n, 6)) + 4 * np.eye(6)[y]).astype(np.float32), y


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of good files, made once; tests take copies."""
    folder = tmp_path_factory.mktemp("made")
    X, y = three_classes(120)
    np.save(folder / "X.npy", X)
    (folder / "y.txt").write_text("\n".join(f"class-{k}" for k in y) + "\n")
    tags = [{"red"} if k == 0 else {"blue", "round"} if k == 1 else {"round"} for k in y]
    (folder / "tags.txt").write_text("\n".join(";".join(sorted(row)) for row in tags) + "\n")
    rng = np.random.default_rng(1)
    i, j = rng.integers(0, 120, (2, 600))
    keep = i != j
    pairs = np.stack([i, j, np.where(y[i] == y[j], 1, -1)], axis=1)[keep]
    np.savetxt(folder / "pairs.csv", pairs, fmt="%d", delimiter=",")
    names = ",".join(["name", *(f"f{k}" for k in range(6)), "kind"])
    rows = [",".join([f"item {n}", *map(repr, X[n].tolist()), f"class-{y[n]}"]) for n in range(120)]
    (folder / "table.csv").write_text("\n".join([names, *rows]) + "\n")
    for bits, stem in ((16, ""), (24, "other_")):
        with pytest.raises(SystemExit) as left:
            main(
                f"fit {folder}/X.npy --labels {folder}/y.txt --bits {bits} -o {folder}/{stem}model.kin "
                f"--codes {folder}/{stem}db.kin --json".split()
            )
        assert left.value.code == 0
    for argv in (
        f"encode {folder}/model.kin {folder}/X.npy -o {folder}/queries.kin",
        f"index {folder}/db.kin -o {folder}/index.kin",
    ):
        with pytest.raises(SystemExit) as left:
            main(argv.split())
        assert left.value.code == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the good files, as the working folder."""
    here = tmp_path / "work"
    shutil.copytree(made, here)
    monkeypatch.chdir(here)
    return here
