"""The blocks of docs/integrations.md run as written, each with the library it is about."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kinhash import EnergyHasher

PAGE = Path(__file__).parents[2] / "docs/integrations.md"
if not PAGE.exists():
    pytest.skip("the page is in a clone", allow_module_level=True)
PARTS = {part.splitlines()[0]: part for part in PAGE.read_text("utf-8").split("\n## ")[1:]}
X, y = load_digits(return_X_y=True)


def run(title, **names):
    (block,) = re.findall(r"^```python\n(.*?)^```$", PARTS[title], re.DOTALL | re.MULTILINE)
    exec(block, names)
    return names


@pytest.fixture(scope="module")
def hasher():
    return EnergyHasher(64, random_state=0).fit(X, y)


def test_scikit_learn():
    assert run("scikit-learn")["score"] > 0.94


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")  # random vectors are no digits
def test_langchain(hasher, tmp_path, monkeypatch):
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    from langchain_core.embeddings import DeterministicFakeEmbedding

    monkeypatch.chdir(tmp_path)
    texts, shops = [f"shoe {n}" for n in range(30)], ["north", "south"] * 15
    names = run(
        "LangChain",
        embedding=DeterministicFakeEmbedding(size=64),
        hasher=hasher,
        texts=texts,
        metadatas=[{"shop": shop} for shop in shops],
    )
    assert [one.metadata["shop"] for one in names["found"]] == ["north"] * 4
    assert names["again"].similarity_search("shoe 3", k=30) == names["store"].similarity_search(
        "shoe 3", k=30
    )


def test_cleanlab(hasher):
    """Most labels that were changed after the fit are doubted, and most that are doubted were changed."""
    pytest.importorskip("cleanlab", reason="cleanlab is not installed")
    pytest.importorskip("datasets.arrow_dataset", reason="datasets is not installed")
    wrong = np.arange(0, len(X), 40)
    labels = y.copy()
    labels[wrong] = (labels[wrong] + 5) % 10
    names = run("cleanlab", hasher=hasher, X=X, y=labels)
    doubted = set(names["doubted"])
    right = len(doubted & set(wrong.tolist()))
    assert right > len(wrong) / 2
    assert right > len(doubted) / 2
    assert {"outlier", "near_duplicate"} <= set(names["lab"].get_issue_summary()["issue_type"])


def test_datasets(hasher):
    pytest.importorskip("datasets.arrow_dataset", reason="datasets is not installed")
    names = run("Hugging Face datasets", hasher=hasher, X=X)
    np.testing.assert_array_equal(names["packed"], hasher.encode(X).packed)
