"""The blocks of docs/integrations.md run as written, each with the library it is about."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

PAGE = Path(__file__).parents[2] / "docs/integrations.md"
if not PAGE.exists():
    pytest.skip("the page is in a clone", allow_module_level=True)
PARTS = {part.splitlines()[0]: part for part in PAGE.read_text("utf-8").split("\n## ")[1:]}


def run(title):
    """The names that the block of this part leaves, run as it is pasted."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PARTS[title], re.DOTALL | re.MULTILINE)
    names = {}
    exec(block, names)
    return names


def test_scikit_learn():
    assert run("scikit-learn")["score"] > 0.92


def test_langchain(tmp_path, monkeypatch):
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    monkeypatch.chdir(tmp_path)
    names = run("LangChain")
    assert [one.metadata["shop"] for one in names["found"]] == ["north"] * 4
    again, store = (names[name].similarity_search("red shirt", k=30) for name in ("again", "store"))
    assert again == store


def test_cleanlab():
    """Most labels that were changed after the fit are doubted, and most that are doubted were changed."""
    pytest.importorskip("cleanlab", reason="cleanlab is not installed")
    pytest.importorskip("datasets.arrow_dataset", reason="datasets is not installed")
    names = run("cleanlab")
    wrong = set(np.flatnonzero(names["y"] != load_digits().target).tolist())
    assert len(wrong) == 45
    doubted = set(names["doubted"])
    right = len(doubted & wrong)
    assert right > len(wrong) / 2
    assert right > len(doubted) / 2
    assert {"outlier", "near_duplicate"} <= set(names["lab"].get_issue_summary()["issue_type"])


def test_datasets():
    pytest.importorskip("datasets.arrow_dataset", reason="datasets is not installed")
    names = run("Hugging Face datasets")
    np.testing.assert_array_equal(names["packed"], names["hasher"].encode(names["X"]).packed)
