"""The ONNX graph gives the codes of `encode` and the margins of `decision_function`, bit for bit."""

from __future__ import annotations

import json
import os
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from kinhash import EMKSH, EMLFH, BitLayout, Codes, EnergyHasher
from kinhash.encoders import ExpectedLabels
from kinhash.encoders.features import RBF
from kinhash.encoders.ridge import Ridge
from kinhash.errors import FileProblem, InvalidInput
from kinhash.hashers.model_file import HASHERS
from kinhash.models import Inexact, WholeMap, to_onnx
from kinhash.models import steps as s
from kinhash.models.onnx import OPSET, WRITERS, model_of

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")  # rows made up to be strange

X, y = load_digits(return_X_y=True)  # three columns of which are constant
N_FIT = 600
TAGS = np.random.default_rng(0).random((len(X), 12)) < 0.1
TAGS[np.arange(len(X)), y] = True
MODELS = {
    "default": lambda: EnergyHasher(64, random_state=0),
    "classes, plain": lambda: EnergyHasher(12, encoder=ExpectedLabels(features="plain"), random_state=0),
    "classes, both": lambda: EnergyHasher(70, encoder=ExpectedLabels(features="both"), random_state=0),
    "classes, rbf": lambda: EnergyHasher(21, encoder=ExpectedLabels(features="rbf"), random_state=0),
    "one bit": lambda: EnergyHasher(1, alike=0, random_state=0),
    "tags": lambda: EnergyHasher(32, random_state=0),
    "tags, any": lambda: EnergyHasher(32, kinship="any", random_state=0),
    "ridge": lambda: EnergyHasher(64, encoder="ridge", random_state=0),
    "ridge, rbf": lambda: EnergyHasher(16, encoder=Ridge(features=RBF(n_centers=50)), random_state=0),
    "settled": lambda: EnergyHasher(16, solver="coordinate", alike=0, random_state=0),
    "EMKSH": lambda: EMKSH(16, random_state=0),
    "solved": lambda: EnergyHasher(16, solver="linearized", alike=0, random_state=0),
    "EMLFH": lambda: EMLFH(16, random_state=0),
}
for name in ("ITQ", "LSH", "SpectralHashing", "SCDH", "KSH", "TSH"):
    if name in HASHERS:  # rivals where kinhash-bench is installed
        MODELS[name] = partial(HASHERS[name], 8, random_state=0)
USED = ("default", "tags", "settled", "solved")  # these have every kind of step


def fitted(name):
    return MODELS[name]().fit(X[:N_FIT], (TAGS if "tags" in name else y)[:N_FIT])


def session_of(model):
    return runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def strange_rows():
    """Real rows, and rows that are empty, huge, tiny, constant, noise, or one entry only."""
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(1000, X.shape[1])) * rng.choice([1e-3, 1, 100], (1000, 1))
    signs = rng.choice([-1.0, 1.0], (100, X.shape[1]))
    flat = np.ones((5, X.shape[1])) * np.array([[-1e30], [-1], [0], [1e-30], [7]])
    return np.concatenate([X, X[:300] * 1e30, X[:300] * 1e-30, signs * 1e36, flat, noise, np.eye(64) * 16])


@pytest.mark.parametrize("name", MODELS)
def test_same_codes_and_margins_as_in_python(name):
    hasher, rows = fitted(name), strange_rows()
    for double, dtype in ((False, np.float32), (True, np.float64)):
        session = session_of(to_onnx(hasher, double=double))
        given = rows.astype(dtype)
        if double:  # beyond float32
            given = np.concatenate([given, rows[:200] * 1e200, rows[:200] * 1e-200])
        codes, margins = session.run(["codes", "margins"], {"X": given})
        ours, scores = hasher.encode(given).packed, hasher.decision_function(given)
        np.testing.assert_array_equal(codes, ours)
        np.testing.assert_array_equal(margins, scores)
        assert (codes.dtype, margins.dtype) == (np.uint8, np.float64)
        for size in (0, 1, 7):
            starts = range(0, (300 if double else len(given)) if size else 1, max(1, size))
            parts = [session.run(["codes"], {"X": given[at : at + size]})[0] for at in starts]
            np.testing.assert_array_equal(np.concatenate(parts), ours[: sum(map(len, parts))])
        assert len(np.unique(ours, axis=0)) > 1


def test_every_kind_of_step_is_compared():
    """Each is in a model above, or refused."""
    assert s.STEPS.keys() - WRITERS.keys() == {"trees"}
    seen = {step.kind for name in USED for step in fitted(name).fitted_.map.steps_}
    assert seen == WRITERS.keys()


@pytest.mark.parametrize("n_bits", [1, 12, 64])
def test_metadata_says_how_to_read_codes(tmp_path, n_bits):
    hasher = EnergyHasher(n_bits, random_state=0).fit(X[:N_FIT], y[:N_FIT])
    to_onnx(hasher, tmp_path / "hasher.onnx")
    read = onnx.load(tmp_path / "hasher.onnx")
    facts = {item.key: item.value for item in read.metadata_props}
    assert facts.keys() == {"n_bits", "model_id", "fields", "opset"}
    assert (facts["n_bits"], facts["model_id"]) == (str(n_bits), hasher.model_id_)
    assert int(facts["opset"]) == OPSET == read.opset_import[0].version
    assert [one.domain for one in read.opset_import] == [""]
    fields = BitLayout(**json.loads(facts["fields"]))
    assert fields == hasher.fitted_.fields
    (codes,) = session_of(read).run(["codes"], {"X": X[:5].astype(np.float32)})
    hasher.encode(X[:5]).require_same_kind(
        Codes(codes, int(facts["n_bits"]), model_id=facts["model_id"], fields=fields)
    )


def test_equal_models_give_equal_files(tmp_path):
    hasher = fitted("default")
    hasher.save(tmp_path / "model.kin")
    from kinhash import load

    to_onnx(hasher, tmp_path / "one.onnx")
    to_onnx(load(tmp_path / "model.kin"), tmp_path / "two.onnx")
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()


def test_a_failed_export_keeps_the_old_file(tmp_path, monkeypatch):
    hasher = fitted("ridge")
    path = tmp_path / "hasher.onnx"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileProblem, match="No space left"):
        to_onnx(hasher, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_refusals_name_the_reason_and_what_to_fit(tmp_path):
    with pytest.raises(InvalidInput, match="not fitted"):
        to_onnx(EnergyHasher())
    if "FastHash" in HASHERS:
        trees = HASHERS["FastHash"](8, random_state=0).fit(X[:200], y[:200])
        with pytest.raises(InvalidInput, match=r"boosted trees.*encoder='expected'"):
            to_onnx(trees)
    with pytest.raises(FileProblem):
        to_onnx(fitted("ridge"), tmp_path / "no" / "folder.onnx")


@pytest.mark.parametrize("energy", ["lfh", "exph"])
def test_linear_systems_of_their_own_for_every_row_are_refused(energy):
    hasher = EnergyHasher(8, energy=energy, encoder="expected", solver="linearized", alike=0, random_state=0)
    with pytest.raises(InvalidInput, match=r"linear system of its own for every row.*encoder='ridge'"):
        to_onnx(hasher.fit(X[:200], y[:200]))
    to_onnx(hasher.set_params(encoder="ridge").fit(X[:200], y[:200]))


def test_an_estimator_of_scikit_learn_is_refused():
    from sklearn.linear_model import Lasso

    from kinhash.encoders import Regressor

    hasher = EnergyHasher(8, alike=0, encoder=Regressor(estimator=Lasso()), random_state=0).fit(
        X[:200], y[:200]
    )
    with pytest.raises(InvalidInput, match="whole numbers"):
        to_onnx(hasher)


# -- generated models --------------------------------------------------------------------------


def generated(seed):
    """A random list of steps, as large as its sums may become; None if they may become too large."""
    rng = np.random.default_rng(seed)
    p, q, d = rng.integers(1, 9, 3)

    def whole(bits, *shape):
        return rng.integers(-(2**bits), 2**bits + 1, shape).astype(np.int32)

    def table(bits, low=0):
        return rng.integers(low * 2**bits, 2**bits + 1, rng.integers(1, 40)).astype(np.int32)

    def linear(places, a, b):
        shift = rng.integers(-12, 3, b).astype(np.int16) * rng.integers(0, 2)
        return s.Linear(places, whole(rng.integers(1, 12), a, b), shift, whole(16, b).astype(np.int64))

    steps = [
        s.Columns((0,), rng.normal(size=p), 2.0 ** rng.integers(0, 12, p), int(2 ** rng.integers(1, 15))),
        s.Unit((1,), int(2 ** rng.integers(1, 13))),
        linear((2,), p, q),  # 3
        s.Relative((0,), int(p)),
        s.Unit((4,), int(2 ** rng.integers(1, 12))),
        s.Similarities((int(rng.choice([1, 4, 5])),), whole(10, 5, p), table(15), int(rng.integers(0, 24)),
                       int(rng.integers(2))),  # 6
        linear((6, 3), 5, q),  # 7
        s.Lookup((7,), table(16), int(whole(16)), int(rng.integers(0, 20)), int(rng.integers(2))),  # 8
        s.Lookup((7,), table(15, -1), int(whole(16)), int(rng.integers(0, 20)), int(rng.integers(2))),  # 9
        s.Softmax((7,), np.maximum(table(24), 1), int(rng.integers(0, 24))),  # 10
        s.TagSimilarities((8, 8), rng.integers(0, 2, (3, q)).astype(np.uint8), table(15),
                          int(rng.integers(0, 12)), int(rng.integers(2))),  # 11
        s.Join((9, 10, 11)),
        linear((12,), 2 * q + 3, d),  # 13
        s.Settle((13,), whole(20, d, d).astype(np.int64), int(rng.integers(1, 5))),
        s.Solve((13,), whole(16, d, d), rng.normal(size=d) * 1e4, np.abs(rng.normal(size=d)) * 1e4,
                np.array([rng.uniform(0.5, 2)]), int(rng.integers(3))),
        s.Join((13, 14, 15)),
    ]  # fmt: skip
    try:
        return WholeMap(int(p), tuple(steps), rng.integers(-30, 30, 3 * d).astype(np.int16)), rng
    except Inexact:
        return None, rng


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_generated_models_agree(seed):
    map_, rng = generated(seed)
    if map_ is None:
        return
    rows = rng.normal(size=(200, map_.n_features)) * 2.0 ** rng.integers(-20, 20, (200, 1))
    rows[:3] = [[0], [1], [-1e300]]
    codes, margins = session_of(model_of(map_, double=True)).run(["codes", "margins"], {"X": rows})
    whole = map_.run_with(np, rows)
    np.testing.assert_array_equal(margins, whole * np.ldexp(1.0, -map_.units.astype(np.int64)))
    np.testing.assert_array_equal(codes, np.packbits(whole > 0, axis=1))


def test_most_generated_models_are_used():
    assert sum(generated(seed)[0] is not None for seed in range(100)) > 50
