"""Shared fixtures and cases. The suite runs from a clone: some cases come from the library's own tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

LIBRARY_TESTS = Path(__file__).parents[2] / "tests"
sys.path += [str(LIBRARY_TESTS / room) for room in ("contracts", "data", "metrics")]
sys.path.append(str(Path(__file__).parent / "baselines"))

# Tests are about the kernels; those of their NumPy twins say so themselves.
os.environ.setdefault("KINHASH_COMPILE", "first")

settings.register_profile("default", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def data_home() -> Path:
    """Folder of the real data sets; tests that ask for it skip where it is missing."""
    folder = os.environ.get("KINHASH_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("KINHASH_DATA does not point to a folder with the data sets")
    return Path(folder)
