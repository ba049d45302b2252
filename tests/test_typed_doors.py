"""Type checkers see through the lazy doors: a user's five lines have types, and misspelt names are caught."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("mypy")

FIVE_LINES = """
import numpy as np
import kinhash
from kinhash import EMKSH, Codes, EnergyHasher, HammingIndex, load_codes

X, y = np.zeros((4, 3)), np.array([0, 0, 1, 1])
hasher = EnergyHasher(n_bits=64).fit(X, y)
index = HammingIndex.from_codes(hasher.codes_)
found = index.search(hasher.encode(X), k=10)
reveal_type(hasher)
reveal_type(hasher.encode(X))
reveal_type(index)
reveal_type(found.ids)
reveal_type(load_codes("db.kin"))
reveal_type(EMKSH(8).fit(X, y))
reveal_type(kinhash.metrics.mean_average_precision)
"""


def mypy(tmp_path, text):
    script = tmp_path / "five_lines.py"
    script.write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(script)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=280,
    )
    return done.returncode, done.stdout


def test_five_lines_have_types(tmp_path):
    code, told = mypy(tmp_path, FIVE_LINES)
    assert code == 0, told
    revealed = [line.split("Revealed type is ")[1] for line in told.splitlines() if "Revealed" in line]
    expected = ("EnergyHasher", "Codes", "HammingIndex", "ndarray", "Codes", "EMKSH", "def (")
    assert len(revealed) == len(expected), told
    for found, name in zip(revealed, expected, strict=True):
        assert name in found, told
        assert found.strip('"') != "Any", told


def test_a_misspelt_parameter_is_caught(tmp_path):
    code, told = mypy(tmp_path, "from kinhash import EnergyHasher\nEnergyHasher(bits=64)\n")
    assert code == 1
    assert "bits" in told
