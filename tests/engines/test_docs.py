"""The page on engines says what the engines say."""

from __future__ import annotations

import doctest
from pathlib import Path

from kinhash.engines import ENGINES

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"


def test_the_page_on_engines() -> None:
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted > 15
    assert results.failed == 0


def test_every_engine_is_on_the_page() -> None:
    text = PAGE.read_text()
    for name in ENGINES:
        assert f"| `{name}` |" in text
        assert f'engines.statement("{name}"' in text
