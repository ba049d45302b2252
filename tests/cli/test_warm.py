"""`kinhash warm` fills the cache of kernels, and says what it compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kinhash import EnergyHasher
from kinhash.index.kernels.asymmetric import top_k_weighted
from kinhash.index.kernels.grouped import top_k_grouped
from kinhash.index.kernels.multi_index import probe
from kinhash.index.kernels.radius import scan_within
from kinhash.index.kernels.top_k import top_k

from .conftest import Run, three_classes

FIRST_CODES = """
import logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s")
import numpy as np, kinhash
kinhash.load(sys.argv[1]).encode(np.eye(6))
"""


def in_a_process(folder: Path, *words: str) -> str:
    """What a process with that cache says, on both streams; commands start as their entry point does."""
    kept = {name: value for name, value in os.environ.items() if name != "KINHASH_COMPILE"}
    ran = subprocess.run(
        [sys.executable, "-c", *words], env={**kept, "NUMBA_CACHE_DIR": str(folder)}, capture_output=True,
        text=True, timeout=240,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


def test_what_was_compiled_is_not_compiled_again(tmp_path: Path) -> None:
    X, y = three_classes(120)
    model, cache = str(tmp_path / "model.kin"), tmp_path / "cache"
    EnergyHasher(n_bits=32, random_state=0).fit(X, y).save(model)
    assert "NumPy" in in_a_process(cache, FIRST_CODES, model)
    command = "import sys; from kinhash.cli import main; main(sys.argv[1:])"
    said = json.loads(in_a_process(cache, command, "warm", "--for", "encode", "--json"))
    assert (said["for"], said["cache"]) == (["encode"], str(cache))
    assert "kinhash.models.kernels.unit_rows" in said["compiled"]
    assert in_a_process(cache, FIRST_CODES, model) == ""  # kernels answer, not their twins


@pytest.mark.parametrize("kernel", [top_k, top_k_grouped, top_k_weighted, scan_within, probe])
def test_searches_of_all_kinds_are_compiled(run: Run, kernel: Any) -> None:
    assert run("warm", "--for", "search,search").code == 0
    assert kernel.signatures


def test_work_that_is_unknown_is_refused(run: Run) -> None:
    said = run("warm", "--for", "search,serve")
    assert said.code == 2
    assert "'serve'" in said.err


def test_a_fit_finds_its_kernels(run: Run) -> None:
    run("warm", "--for", "fit,encode")  # in this process
    said = json.loads(run("warm", "--for", "fit,encode", "--json").out)
    assert said["compiled"] == []
    assert os.environ["KINHASH_COMPILE"] == "first"  # as before
