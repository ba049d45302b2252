"""The Python of docs/encode_anywhere.md runs as written, and finds what `HammingIndex` finds."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kinhash import EnergyHasher, HammingIndex
from kinhash.models import to_onnx

PAGE = Path(__file__).parents[2] / "docs" / "encode_anywhere.md"
if not PAGE.exists():
    pytest.skip("the page is in a clone", allow_module_level=True)
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
PLAIN = [block for block in BLOCKS if "kinhash" not in block]


def test_codes_and_answers_without_kinhash(tmp_path, monkeypatch):
    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    monkeypatch.chdir(tmp_path)
    X, y = load_digits(return_X_y=True)
    hasher = EnergyHasher(64, random_state=0).fit(X[:1000], y[:1000])
    to_onnx(hasher, "model.onnx")
    np.save("items.npy", X[:1000])
    np.save("query.npy", X[1000:])
    names = {}
    assert len(PLAIN) == 2
    for block in PLAIN:
        exec(block, names)
    np.testing.assert_array_equal(names["database"], hasher.encode(X[:1000]).packed)
    queries = hasher.encode(X[1000:1050])
    ours = HammingIndex.from_codes(hasher.encode(X[:1000])).search(queries, 10)
    np.testing.assert_array_equal(names["rows"], ours.ids[0])
    for query, ids, distances in zip(queries.packed, ours.ids, ours.distances, strict=True):
        found, far = names["search"](query, names["database"], 10)
        np.testing.assert_array_equal(found, ids)
        np.testing.assert_array_equal(far, distances)
    with pytest.raises(ValueError, match="NaN"):
        names["encode"](np.full((1, 64), np.nan))


def test_the_page_says_what_the_code_says():
    from kinhash.models import OPSET
    from kinhash.models.onnx import IR_VERSION

    text = PAGE.read_text("utf-8")
    assert f"opset {OPSET} (IR version {IR_VERSION})" in text
