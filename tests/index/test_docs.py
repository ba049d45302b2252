"""The page on search and the example do what they say."""

from __future__ import annotations

import doctest
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_on_search():
    results = doctest.testfile(str(ROOT / "docs" / "search.md"), module_relative=False)
    assert results.attempted > 20
    assert results.failed == 0


def test_the_example_ends_in_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    example = runpy.run_path(str(ROOT / "examples" / "neighbours_picture.py"))
    assert example["main"](tmp_path / "neighbours.png") > 0.85
    assert (tmp_path / "neighbours.png").read_bytes()[:4] == b"\x89PNG"
