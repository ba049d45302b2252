"""The ONNX graph gives the codes of `encode` and the margins of `decision_function`, bit for bit."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import KINDS, hard_rows, made
from sklearn.datasets import load_digits

import kinhash
from kinhash import EMKSH, Codes, EnergyHasher
from kinhash.errors import FileProblem, InvalidInput
from kinhash.models import OPSET, Columns, Step, WholeMap, to_onnx
from kinhash.models.onnx import model_of

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning", "ignore::RuntimeWarning")

X, y = load_digits(return_X_y=True)  # three columns of which are constant


def session_of(model):
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), d=st.integers(1, 20), h=st.integers(0, 6))
def test_generated_models_give_the_numbers_of_python(seed, kind, d, h):
    model, _, rows = made(seed, kind, d=d, h=h)
    rows = hard_rows(rows, seed)
    session = session_of(model_of(model, double=rows.dtype == np.float64))
    codes, margins = session.run(["codes", "margins"], {"X": rows})
    assert np.array_equal(margins, model.scores(rows))
    assert np.array_equal(codes, np.packbits(model.run(rows) > 0, axis=1))
    assert (codes.dtype, margins.dtype) == (np.uint8, np.float64)
    for part in (slice(0), slice(3, 4), slice(9, 99)):
        assert np.array_equal(session.run(["codes"], {"X": rows[part]})[0], codes[part])


@pytest.mark.parametrize("make", [EnergyHasher, EMKSH])
def test_a_hasher_and_its_file_have_the_same_codes_and_facts(tmp_path, make):
    hasher = make(12, random_state=0).fit(X[:600], y[:600])
    hasher.save(tmp_path / "model.kin")
    to_onnx(hasher, tmp_path / "one.onnx")
    to_onnx(kinhash.load(tmp_path / "model.kin"), tmp_path / "two.onnx")
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()
    read = onnx.load(tmp_path / "one.onnx")
    rows = np.concatenate([X, X[:300] * 1e30, X[:300] * 1e-30]).astype(np.float32)
    codes, margins = session_of(read).run(["codes", "margins"], {"X": rows})
    assert np.array_equal(codes, hasher.encode(rows).packed)
    assert np.array_equal(margins, hasher.decision_function(rows))
    facts = {item.key: item.value for item in read.metadata_props}
    assert facts == {"n_bits": "12", "model_id": hasher.model_id_, "opset": str(OPSET)}
    assert [(one.domain, one.version) for one in read.opset_import] == [("", OPSET)]
    hasher.encode(X[:5]).require_same_kind(Codes(codes, int(facts["n_bits"]), model_id=facts["model_id"]))


def test_a_failed_export_keeps_the_old_file(tmp_path, monkeypatch):
    hasher = EMKSH(8, random_state=0).fit(X[:200], y[:200])
    path = tmp_path / "hasher.onnx"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileProblem, match="No space left"):
        to_onnx(hasher, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileProblem):
        to_onnx(hasher, tmp_path / "no" / "folder.onnx")


def test_what_cannot_be_exported_is_refused():
    with pytest.raises(InvalidInput, match="not fitted"):
        to_onnx(EnergyHasher())

    class Other(Step):
        kind = "other"
        bound, run = (lambda _, given: given), (lambda *given: given[-1])

    model = WholeMap(2, (Columns((0,), np.zeros(2), np.ones(2), 5), Other((1,))), np.zeros(2, np.int16))
    with pytest.raises(InvalidInput, match="no step 'other'"):
        to_onnx(SimpleNamespace(model_=SimpleNamespace(map=model)))
