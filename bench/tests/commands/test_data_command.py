"""`kinhash data`, and other commands of this package that meet bad input."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from command_line import Run


def succeed(run: Run, words: str) -> str:
    said = run(*words.split())
    assert said.code == 0, said.err
    return said.out


def test_data_lists_checks_and_prepares(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    listed = json.loads(succeed(run, "data list --json"))["data_sets"]
    assert "digits" in [entry["name"] for entry in listed]
    assert "handwritten" in succeed(run, "data list").lower()
    checked = succeed(run, f"data check --data-home {tmp_path}")
    assert "built in" in checked
    assert "missing" in checked
    states = json.loads(succeed(run, f"data check --data-home {tmp_path} --json"))["data_sets"]
    assert {entry["name"]: entry["state"] for entry in states}["digits"] == "built in"
    succeed(run, f"data prepare digits --data-home {tmp_path} -o digits.npz")
    succeed(run, "fit digits.npz:features --labels digits.npz:labels --bits 8 --held-out 20 -o m.kin")
    said = run("data", "prepare", "cifar10", "--data-home", tmp_path)
    assert said.code == 2
    assert "cifar10 lacks" in said.err


def test_data_alone_prints_its_help(run: Run) -> None:
    said = run("data")
    assert said.code == 0
    assert said.err == ""
    assert "kinhash data list" in said.out
    assert said.out.count("\n") > 10


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("data prepare cifar", "Did you mean 'cifar10'?"),
        ("bench smoke --bits 63 -o out.kin", "no length of this task called '63'"),
        ("report loop.kin -o a.html", "Error: loop"),
    ],
)
def test_bad_input_is_one_line(
    words: str, says: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.symlink("loop.kin", "loop.kin")
    np.save("X.npy", np.eye(30))
    Path("y.txt").write_text("a\nb\n" * 15)
    said = run(*words.split())
    assert said.code == 2
    assert says in said.err
    assert said.err.count("\n") == 1
    assert not Path("out.kin").exists()


def test_audit_notices_classes_that_look_like_tags(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("codes.npy", np.arange(120, dtype=np.uint8)[:, None])
    Path("y.txt").write_text("\n".join(["red", "blue;round", "round", "blue;red"] * 30) + "\n")
    said = run("audit", "codes.npy", "y.txt")
    assert said.code == 0, said.err
    assert "Classes in y.txt look like several tags" in said.err
