"""Shared fixtures: hypothesis profile, and the data sets where they are present."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

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


@pytest.fixture(scope="module")
def quick_fits() -> Iterator[None]:
    """Fits of few small steps, in tests that are not about how good the last codes are."""
    from kinhash.learn.learner import Schedule

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Schedule, "of", classmethod(lambda cls, n_rows: cls(60, 128, 0.006)))
        yield
