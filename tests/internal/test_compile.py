"""Kernels compile where nothing can be kept: a read-only package and no home to write to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import kinhash
from kinhash._internal.compile import njit

SOURCE = Path(kinhash.__file__).parent

CHILD = """
import importlib, sys
import numpy as np
import kinhash
assert kinhash.__file__.startswith(sys.argv[1]), kinhash.__file__
for name in sys.argv[2:]:
    importlib.import_module(name)
from kinhash.models.kernels import whole_columns
out = np.empty((2, 3))
whole_columns(np.full((2, 3), 5.0), np.ones(3), np.full(3, 0.5), 9.0, out)
assert (out == 2).all()
assert not whole_columns.stats.cache_path
"""


def unwritable_copy(folder: Path) -> None:
    """The package with a file where every folder for compiled code would be: that stops even root."""
    shutil.copytree(SOURCE, folder / "kinhash", ignore=shutil.ignore_patterns("__pycache__"))
    for path in [folder / "kinhash", *(folder / "kinhash").rglob("*")]:
        if path.is_dir():
            (path / "__pycache__").write_text("")


def modules_with_kernels() -> list[str]:
    paths = [path for path in SOURCE.rglob("*.py") if "@njit" in path.read_text()]
    return [".".join(("kinhash", *path.relative_to(SOURCE).with_suffix("").parts)) for path in paths]


@pytest.mark.parametrize("mode", ["first", "behind"])
def test_kernels_work_where_nothing_can_be_written(tmp_path, mode):
    unwritable_copy(tmp_path)
    names = modules_with_kernels()
    assert len(names) >= 3
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_", "PYTHON"))}
    ran = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path), *names],
        env={
            **kept,
            "PYTHONPATH": str(tmp_path),
            "HOME": "/dev/null",
            "PYTHONDONTWRITEBYTECODE": "1",
            "KINHASH_COMPILE": mode,
        },
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("NUMBA_CACHE_DIR") == 1  # said once


def test_kernels_are_kept_where_they_can_be():
    from kinhash.models.kernels import whole_columns

    assert whole_columns.stats.cache_path


def test_other_errors_of_the_compiler_are_not_hidden(monkeypatch):
    def broken(**options):
        raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", broken)
    with pytest.raises(RuntimeError, match="something else"):
        njit(cache=True)(len)
