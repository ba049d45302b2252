"""Closed standard streams and links that lead nowhere: one line, or silence, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kinhash.data import read_table
from kinhash.errors import DamagedFile

from .conftest import Run


def closed(folder: Path, streams: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command by a shell that closes streams before it starts."""
    command = " ".join([sys.executable, "-m", "kinhash", *words, streams])
    return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False)


def test_standard_output_closed_is_said_before_the_work(folder: Path) -> None:
    done = closed(folder, ">&-", "encode", "model.kin", "X.npy", "-o", "new.kin")
    assert done.returncode == 2
    assert done.stderr.startswith("Error: Standard output is closed.")
    assert done.stderr.count("\n") == 1
    assert not (folder / "new.kin").exists()


def test_standard_error_closed_changes_nothing(folder: Path) -> None:
    done = closed(folder, "2>&-", "encode", "model.kin", "X.npy", "-o", "new.kin")
    assert done.returncode == 0
    assert "120 codes" in done.stdout
    assert closed(folder, "2>&-", "encode", "none.kin", "X.npy", "-o", "new.kin").returncode == 2


def test_standard_input_closed_holds_nothing(folder: Path) -> None:
    done = closed(folder, "<&-", "encode", "model.kin", "-", "-o", "new.kin")
    assert done.returncode == 2
    assert "standard input: nothing came through it" in done.stderr
    assert closed(folder, "<&-", "encode", "model.kin", "X.npy", "-o", "new.kin").returncode == 0


def test_all_closed_at_once(folder: Path) -> None:
    done = closed(folder, "<&- >&- 2>&-", "info", "model.kin")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


@pytest.mark.parametrize(
    "words",
    [
        "fit loop.npy --labels y.txt -o a.kin",
        "fit X.npy --labels loop.npy -o a.kin",
        "fit X.npy --labels y.txt -o loop.kin",
        "fit X.npy --labels y.txt -o loop.kin/a.kin",
        "fit X.npy --labels y.txt --looks-from loop.npy -o a.kin",
        "encode loop.kin X.npy -o a.kin",
        "index db.kin --ids loop.npy -o a.kin",
        "search index.kin loop.kin",
        "export db.kin --to sqlite -o loop.kin",
    ],
)
def test_a_link_to_itself(words: str, run: Run, folder: Path) -> None:
    for name in ("loop.npy", "loop.kin"):
        os.symlink(name, folder / name)
    said = run(*words.split())
    assert said.code == 2
    assert said.err.startswith("Error: loop")
    assert said.err.count("\n") == 1
    assert not (folder / "a.kin").exists()


@pytest.mark.parametrize("point", [0x110000, 0xFFFFFFFF, 0xD800, 0xDFFF])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("name", ["y.npy", "y.npz"])
def test_labels_that_are_no_characters(point: int, order: str, name: str, tmp_path: Path) -> None:
    points = np.full((40, 2), 0x41, f"{order}u4")
    points[7, 1] = point
    labels = points.view(f"{order}U2")[:, 0]
    if name.endswith("z"):
        np.savez(tmp_path / name, y=labels)
    else:
        np.save(tmp_path / name, labels)
    with pytest.raises(DamagedFile, match="text in valid Unicode"):
        read_table(tmp_path / name).labels()


def test_labels_of_either_byte_order(tmp_path: Path) -> None:
    for order in "<>":
        np.save(tmp_path / "y.npy", np.array(["é", "😀", ""]).astype(f"{order}U3"))
        assert read_table(tmp_path / "y.npy").labels().tolist() == ["é", "😀", ""]
