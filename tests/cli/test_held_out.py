"""Rows held out by their order or by their time, because rows drift."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kinhash
from kinhash import EnergyHasher
from kinhash.codes.codes_file import load_codes

from .conftest import Run, three_classes

FIT = ["--bits", "16", "-o", "a.kin", "--codes", "a_db.kin", "--json"]
N, LAST = 120, 30


def expected_id(rows: np.ndarray) -> str:
    """The model of the rows that are left, fitted in Python."""
    X, y = three_classes(N)
    names = np.array([f"class-{k}" for k in y])
    return EnergyHasher(16, random_state=0).fit(X[rows], names[rows]).model_id_


def test_the_last_rows_of_the_file(run: Run, folder: Path) -> None:
    said = run("fit", "X.npy", "--labels", "y.txt", "--held-out", f"last:{LAST}", *FIT)
    result = json.loads(said.out)
    assert result["training_rows"] == N - LAST
    assert result["held_out"] == "the last 30 rows"
    assert result["verdict"]["queries"] == LAST
    assert result["model_id"] == expected_id(np.arange(N - LAST))
    X, _ = three_classes(N)
    mapped = kinhash.load(folder / "a.kin").encode(X).packed
    np.testing.assert_array_equal(load_codes(folder / "a_db.kin").packed[N - LAST :], mapped[N - LAST :])


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ([f"c{row}" for row in range(N)], "no two rows share a label"),
        (["a", "b"] * 4 + [""] * (N - 8), "that takes 10 rows with a label"),
    ],
)
def test_why_nothing_is_held_out(labels: list[str], why: str, run: Run, folder: Path) -> None:
    (folder / "labels.txt").write_text("\n".join(labels) + "\n")
    result = json.loads(run("fit", "X.npy", "--labels", "labels.txt", *FIT).out)
    assert result["why_no_verdict"] == f"Nothing was kept out ({why}), so there is no verdict."


@pytest.mark.parametrize("kind", ["number", "date", "file"])
def test_the_latest_rows_by_time(kind: str, run: Run, folder: Path) -> None:
    """Times are no feature; as many rows as asked for, the latest ones, whatever their place in the file."""
    X, y = three_classes(N)
    times = np.random.default_rng(3).permutation(N)
    days = np.datetime64("2024-01-01") + times
    shown = [str(day) for day in days] if kind == "date" else [str(time + 0.5) for time in times]
    lines = [",".join([*(f"f{k}" for k in range(6)), "when", "kind"])]
    lines += [",".join([*map(str, X[n].tolist()), shown[n], f"class-{y[n]}"]) for n in range(N)]
    (folder / "log.csv").write_text("\n".join(lines) + "\n")
    (folder / "when.txt").write_text("\n".join(shown) + "\n")
    words = ["X.npy", "--labels", "y.txt", "--held-out-by", "when.txt"]
    if kind != "file":
        words = ["log.csv", "--labels", "kind", "--held-out-by", "when"]
    result = json.loads(run("fit", *words, "--held-out", f"last:{LAST}", *FIT).out)
    assert result["columns"] == 6
    assert result["model_id"] == expected_id(np.flatnonzero(times < N - LAST))
    result = json.loads(run("fit", *words, *FIT).out)  # a tenth without a number
    assert result["model_id"] == expected_id(np.flatnonzero(times < N - 12))
    assert "latest rows by when" in result["held_out"]


def test_rows_without_a_label_are_no_queries(run: Run, folder: Path) -> None:
    lines = (folder / "y.txt").read_text().splitlines()
    lines[-10:] = [""] * 9 + ["class-0"]
    (folder / "y.txt").write_text("\n".join(lines) + "\n")
    result = json.loads(run("fit", "X.npy", "--labels", "y.txt", "--held-out", f"last:{LAST}", *FIT).out)
    assert result["training_rows"] == N - LAST
    assert result["verdict"]["queries"] == LAST - 9


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--labels y.txt --held-out first:3", "last:500"),
        ("--labels y.txt --held-out last:", "last:500"),
        ("--labels y.txt --held-out last:0", "last:500"),
        ("--labels y.txt --held-out -5", "-5"),
        ("--labels y.txt --held-out last:119", "at least two rows"),
        ("--labels y.txt --held-out-by few.txt", "2 times for 120 rows"),
        ("--labels y.txt --held-out-by nowhere", "column"),
        ("--pairs pairs.csv --held-out last:30", "Pairs"),
    ],
)
def test_what_cannot_be_kept_out(words: str, says: str, run: Run, folder: Path) -> None:
    (folder / "few.txt").write_text("1\n2\n")
    said = run("fit", "X.npy", *words.split(), *FIT)
    assert said.code == 2
    assert says in said.err
    assert said.err.count("\n") == 1
