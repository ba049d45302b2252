"""`kinhash advise`: the same answer as in Python, as text, JSON and picture; bad input is one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import kinhash

from .conftest import Run

ADVISE = "advise X.npy --labels y.txt --bits 8,16 --splits 1 --picture out.png"


def test_the_answer_is_that_of_python(run: Run, folder: Path) -> None:
    said = run(*ADVISE.split(), "--seed", 3, "--json")
    assert (said.code, said.err) == (0, "")
    found = json.loads(said.out)
    y = (folder / "y.txt").read_text().split()
    advice = kinhash.advise(np.load("X.npy"), y, bits=(8, 16), n_splits=1, random_state=3)
    expected = json.loads(json.dumps(advice.as_dict()))
    assert found["recommendation"] == expected["recommendation"]
    assert found["comparisons"] == expected["comparisons"]
    assert found["features"] == "X.npy"
    assert found["picture"] == "out.png"
    assert (folder / "out.png").read_bytes().startswith(b"\x89PNG")


def test_text_says_what_to_do_and_how_it_was_measured(run: Run, folder: Path) -> None:
    said = run(*ADVISE.split())
    assert (said.code, said.err) == (0, "")
    for words in (
        "120 labeled rows of 6 columns, 3 classes",
        "What to do",
        "Use 16 bits",
        "float cosine",
        "classifier, true labels",
        "held out of the fit",
        "Picture: out.png.",
    ):
        assert words in said.out
    assert max(map(len, said.out.splitlines())) <= 120


@pytest.mark.parametrize(
    "argv",
    [
        "advise X.npy --tags tags.txt --bits 8 --bits 16 --splits 1",
        "advise table.csv --label-column kind --leave-out name --bits 8,16 --splits 1",
    ],
)
def test_tags_and_tables(argv: str, run: Run, folder: Path) -> None:
    said = run(*argv.split(), "--json")
    assert (said.code, said.err) == (0, "")
    found = json.loads(said.out)
    assert set(found["comparisons"]) == {"8", "16"}
    assert found["measurement"]["columns"] == 6
    assert found["measurement"]["kind"] == ("tags" if "--tags" in argv else "classes")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("--bits 8,16", "--bits 0"), "n_bits is 0. Expected an integer from 1 to 1024"),
        (("--bits 8,16", "--bits 8,x"), "'x' is not a whole number"),
        (("--bits 8,16", "--bits 8 16"), "unexpected extra argument"),
        (("--splits 1", "--splits 0"), "n_splits is 0"),
        (("--labels y.txt", "--pairs pairs.csv"), "Advice takes --labels or --tags, not --pairs"),
        (("--labels y.txt", ""), "Pass one of --labels"),
        (("y.txt", "short.txt"), "120"),
        (("y.txt", "nothing.txt"), "nothing.txt"),
        (("y.txt", "one.txt"), "only one class"),
        (("X.npy", "nan.npy"), "NaN: the first in row 97, column 4"),
        (("out.png", "none/out.png"), "there is no folder"),
        (("out.png", "X.npy"), "also an input"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    change: tuple[str, str], says: str, run: Run, folder: Path
) -> None:
    X = np.load("X.npy")
    X[97, 4] = np.nan
    np.save("nan.npy", X)
    (folder / "short.txt").write_text("a\nb\n")
    (folder / "one.txt").write_text("a\n" * 120)
    (folder / "out.png").write_bytes(b"what was there before")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said = run(*ADVISE.replace(*change).split())
    assert said.code == 2, said
    assert len(said.err.splitlines()) == 1
    assert said.err.startswith("Error: ")
    assert says in said.err
    assert said.out == ""
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_without_matplotlib_the_work_does_not_start(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said = run(*ADVISE.split())
    assert said.code == 2
    assert "pip install 'kinhash[plot]'" in said.err
    assert not (folder / "out.png").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of this kind are a Unix matter")
def test_ctrl_c_leaves_one_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", rng.normal(size=(20_000, 200)).astype(np.float32))
    np.save(tmp_path / "y.npy", rng.integers(0, 50, 20_000))
    words = ["advise", "X.npy", "--labels", "y.npy", "--picture", "out.png"]
    process = subprocess.Popen(
        [sys.executable, "-m", "kinhash", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert err.decode().strip() == "Stopped. What was there before is as it was."
    assert {path.name for path in tmp_path.iterdir()} == {"X.npy", "y.npy"}
