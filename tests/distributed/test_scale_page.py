"""The examples of docs/scale.md run."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_the_examples_run():
    pytest.importorskip("dask", reason="the extra kinhash[dask] is not installed")
    found = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 15
    assert found.failed == 0
