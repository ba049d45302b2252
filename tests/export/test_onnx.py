"""The ONNX graph gives the codes of `encode`, bit for bit."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from kinhash import Codes, EnergyHasher, Fields
from kinhash.encoders.features import RBF
from kinhash.encoders.ridge import Ridge
from kinhash.errors import FileProblem, InvalidInput
from kinhash.export import to_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

X, y = load_digits(return_X_y=True)


def test_a_failed_export_keeps_the_old_file(tmp_path, monkeypatch):
    hasher = EnergyHasher(n_bits=8, encoder="ridge", random_state=0).fit(X[:100], y[:100])
    path = tmp_path / "hasher.onnx"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileProblem, match="No space left"):
        to_onnx(hasher, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.filterwarnings("ignore:10 of 10 classes share their code")  # one bit
@pytest.mark.parametrize(
    ("n_bits", "alike"), [(1, 0), (12, 0), (64, 0), (70, 0), (64, 0.5), (21, 0.5), (70, 0.9)]
)
def test_same_codes_as_encode(tmp_path, n_bits, alike):
    hasher = EnergyHasher(n_bits=n_bits, alike=alike, encoder="ridge", random_state=0).fit(X[:900], y[:900])
    assert (hasher.fitted_.fields.alike > 0) == (alike != 0)
    path = tmp_path / "hasher.onnx"
    to_onnx(hasher, path)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for rows in (X, X[:1]):
        codes, margins = session.run(["codes", "margins"], {"X": rows})
        ours = hasher.decision_function(rows)
        np.testing.assert_allclose(margins, ours, atol=1e-4)
        # Margins this near to zero are decided by the order in which a runtime adds.
        firm = np.abs(ours) > 1e-6
        assert firm.mean() > 0.999
        bits = np.unpackbits(codes, axis=1, count=n_bits)
        np.testing.assert_array_equal(bits[firm], (ours > 0)[firm])
        if firm.all():
            np.testing.assert_array_equal(codes, hasher.encode(rows))
        assert codes.dtype == np.uint8
        assert codes.shape == (len(rows), -(-n_bits // 8))
    facts = {item.key: item.value for item in onnx.load(path).metadata_props}
    assert facts.keys() == {"n_bits", "model_id", "fields"}
    assert (facts["n_bits"], facts["model_id"]) == (str(n_bits), hasher.model_id_)
    assert Fields(**json.loads(facts["fields"])) == hasher.fitted_.fields
    read = Codes(codes, int(facts["n_bits"]), model_id=facts["model_id"], fields=hasher.fitted_.fields)
    hasher.encode(rows).require_same_kind(read)


def test_what_cannot_be_exported_is_said(tmp_path):
    with pytest.raises(InvalidInput, match="no map yet"):
        to_onnx(EnergyHasher())
    expected = EnergyHasher(n_bits=8, alike=0, random_state=0).fit(X[:300], y[:300])
    with pytest.raises(InvalidInput, match="linear"):
        to_onnx(expected)
    kin_only = EnergyHasher(n_bits=8, alike=0, random_state=0)
    rbf = clone(kin_only).set_params(encoder=Ridge(features=RBF(n_centers=20))).fit(X[:300], y[:300])
    with pytest.raises(InvalidInput, match="RBF"):
        to_onnx(rbf)
    linear = clone(kin_only).set_params(encoder="ridge").fit(X[:300], y[:300])
    with pytest.raises(FileProblem):
        to_onnx(linear, tmp_path / "no" / "folder.onnx")


def test_values_far_out_are_cut_as_encode_cuts_them(tmp_path):
    """Beyond ±1e15 deviations, infinities of float32 would meet and cancel to NaN."""
    hasher = EnergyHasher(n_bits=12, encoder="ridge", random_state=0).fit(X[:900], y[:900])
    to_onnx(hasher, tmp_path / "hasher.onnx")
    session = runtime.InferenceSession(tmp_path / "hasher.onnx", providers=["CPUExecutionProvider"])
    far = np.where(np.arange(X.shape[1]) % 2, 1e60, -1e60)[None] * np.ones((3, 1))
    codes, margins = session.run(["codes", "margins"], {"X": far})
    assert np.isfinite(margins).all()
    np.testing.assert_array_equal(codes, hasher.encode(far).packed)
