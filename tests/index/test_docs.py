"""The page on search does what it says."""

from __future__ import annotations

import doctest
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_on_search():
    results = doctest.testfile(str(ROOT / "docs" / "searching.md"), module_relative=False)
    assert results.attempted > 20
    assert results.failed == 0
