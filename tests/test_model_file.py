"""Models on disk: what `save` wrote is what `load` gives, or an error. Forged files have tests of their own.

``python tests/test_model_file.py`` writes the golden files again, where a format has changed.
"""

from __future__ import annotations

import copy
import io
import os
import pickle
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import kinhash
from kinhash._internal.container import FORMAT
from kinhash.errors import FileProblem, InvalidInput
from kinhash.files import HASHERS, load, read_model
from kinhash.hasher import EnergyHasher
from kinhash.paper import LFH
from some_rows import classes, clicks, pairs, tags

pytestmark = pytest.mark.usefixtures("quick_fits")
GOLDEN = Path(__file__).parent / "golden"

X, Y = classes(n=200, p=12, k=3)
NAMES = np.array(["zebra-secret", "yak-secret", "gnu-secret"])
TAGS = tags(n=200, p=12)


def hasher(n_bits=12, **settings):
    return EnergyHasher(n_bits, random_state=0, **settings)


KINDS = {
    "classes": lambda: hasher().fit(X, NAMES[Y]),
    "tags": lambda: hasher().fit(*TAGS),
    "tree of classes": lambda: hasher(kinship="tree").fit(X, np.array(["a/x", "a/y", "b"])[Y]),
    "tree of tags": lambda: hasher(kinship="tree").fit(X, [{("a/x", "a/y", "b")[c]} for c in Y]),
    "parents": lambda: hasher(kinship={0: "a", 1: "a", 2: "b"}).fit(X, Y),
    "matrix": lambda: hasher(kinship=[[1.0, 0.5, -1.0], [0.5, 1.0, 0.0], [-1.0, 0.0, 1.0]]).fit(X, Y),
    "looks": lambda: hasher().fit(X),
    "pairs": lambda: hasher().fit_pairs(X, *pairs(Y)),
    "clicks and labels": lambda: hasher().fit_pairs(X, *clicks(Y), y=Y),
    "wide": lambda: hasher().fit(np.tile(X, (1, 400)) + X.sum(axis=1, keepdims=True), Y),
    "wide, sparse": lambda: hasher().fit(sp.random_array((200, 5000), density=0.01, rng=0), Y),
    "dead columns": lambda: hasher().fit(np.hstack([X, np.ones((200, 3))]), Y),
    "an energy": lambda: hasher(energy=LFH()).fit(X, Y),
    "a generator": lambda: hasher().set_params(random_state=np.random.default_rng(0)).fit(X, Y),
    "other settings": lambda: hasher(300, energy="ksh", looks=0.1, trust=0.9, n_jobs=1).fit(X, Y),
    "later classes": lambda: hasher().fit(X, Y).add_classes(X[:60], Y[:60] + 7),
    "parts": lambda: hasher().partial_fit(X[:100], Y[:100]).partial_fit(X[100:], Y[100:]),
    "one bit": lambda: hasher(1).fit(X, Y),
    "few rows": lambda: hasher().fit(X[:6], Y[:6]),
}
CAN_BE_DOUBTFUL = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


def labels_of(kind):
    if kind == "tags":
        return TAGS[1]
    if kind == "tree of classes":
        return np.array(["a/x", "a/y", "b"])[Y]
    if kind == "tree of tags":
        return [{("a/x", "a/y", "b")[c]} for c in Y]
    return NAMES[Y] if kind == "classes" else Y


@CAN_BE_DOUBTFUL
@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_does_bit_for_bit_what_it_did(kind, tmp_path):
    fitted = KINDS[kind]()
    fitted.save(tmp_path / "m.kin")
    loaded = load(tmp_path / "m.kin")
    fresh = np.random.default_rng(1).normal(size=(300, fitted.n_features_in_)) * 2
    assert np.array_equal(loaded.encode(fresh), fitted.encode(fresh))
    assert np.array_equal(loaded.decision_function(fresh), fitted.decision_function(fresh))
    assert loaded.model_id_ == fitted.model_id_
    assert loaded.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    plain = kind not in ("an energy", "a generator", "parents")  # a file holds what JSON can
    if plain:
        assert repr(loaded.get_params()) == repr(fitted.get_params())
    if fitted.model_.table is not None and kind != "few rows":
        rows = TAGS[0] if kind == "tags" else np.resize(X, (200, fitted.n_features_in_))
        labels = labels_of(kind)
        assert np.array_equal(loaded.learned_codes(rows, labels), fitted.learned_codes(rows, labels))
    if kind == "later classes":
        assert len(loaded.learned_codes(X[:2], [8, 9])) == 2
    loaded.save(tmp_path / "again.kin")
    if plain:
        assert (tmp_path / "again.kin").read_bytes() == (tmp_path / "m.kin").read_bytes()
    assert load(tmp_path / "again.kin").model_id_ == fitted.model_id_
    with pytest.raises(AttributeError, match="right after fit"):
        loaded.codes_  # noqa: B018
    assert not hasattr(loaded, "report_")


@pytest.mark.parametrize(
    "name", [name for name, row in HASHERS._targets().items() if row.startswith("kinhash.")]
)
@CAN_BE_DOUBTFUL
def test_every_method_of_ours_is_saved_and_found_again(name, tmp_path):
    fitted = HASHERS[name](n_bits=1 if name == "EMSPLH" else 4, random_state=0).fit(X, Y)
    fitted.save(tmp_path / "m.kin")
    loaded = load(tmp_path / "m.kin")
    assert type(loaded) is type(fitted)
    assert np.array_equal(loaded.encode(X), fitted.encode(X))
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted), through_joblib(fitted)):
        assert np.array_equal(again.encode(X), fitted.encode(X))
        assert np.array_equal(again.codes_.packed, fitted.codes_.packed)
    assert not hasattr(clone(fitted), "model_")


def through_joblib(fitted):
    buffer = io.BytesIO()
    joblib.dump(fitted, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


def test_column_names_travel_with_the_model(tmp_path):
    frame = pd.DataFrame(X, columns=[f"größe {k}" for k in range(12)])
    fitted = hasher().fit(frame, Y)
    fitted.save(tmp_path / "m.kin")
    loaded = load(tmp_path / "m.kin")
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    for rows in (frame, frame[frame.columns[::-1]]):
        assert np.array_equal(loaded.encode(rows), fitted.encode(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.encode(frame.rename(columns={"größe 0": "other"}))


def test_settings_that_changed_since_the_fit_do_not_change_the_model(tmp_path):
    fitted = hasher().fit(X, Y).set_params(n_bits=40)
    fitted.save(tmp_path / "m.kin")
    loaded = load(tmp_path / "m.kin")
    assert loaded.n_bits == 12
    assert np.array_equal(loaded.encode(X), fitted.encode(X))


@pytest.mark.parametrize("kind", ["classes", "tags", "pairs", "wide, sparse"])
def test_a_model_file_holds_no_training_row_and_no_name_of_a_label(kind, tmp_path):
    labels = [{NAMES[c], "common-secret"} if c else {NAMES[c]} for c in Y] if kind == "tags" else NAMES[Y]
    rows = X + np.pi * 1e3
    if kind == "pairs":
        fitted = hasher().fit_pairs(rows, *pairs(Y), y=labels)
    elif kind == "wide, sparse":
        rows = sp.random_array((200, 5000), density=0.01, rng=0).toarray()
        fitted = hasher().fit(sp.csr_array(rows), labels)
    else:
        fitted = hasher().fit(rows, labels)
    fitted.save(tmp_path / "m.kin")
    content = (tmp_path / "m.kin").read_bytes()
    assert b"secret" not in content
    for dtype in (np.float64, np.float32, np.float16):
        for row in rows.astype(dtype):
            at = int(np.flatnonzero(row)[0])
            assert row[at : at + 2].tobytes() not in content or kind == "wide, sparse"
    arrays, _ = read_model(tmp_path / "m.kin")
    prepared = (rows - rows.mean(axis=0)) / np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1)
    for array in arrays.values():
        for matrix in (array, array.T) if array.ndim == 2 else ():
            if matrix.shape[1] == rows.shape[1]:
                assert not any(np.isclose(matrix, row, atol=1e-4).all(axis=1).any() for row in prepared)


def test_a_stranger_is_not_saved(tmp_path):
    class Mine(EnergyHasher):
        pass

    with pytest.raises(InvalidInput, match="Mine is in no table"):
        Mine(8, random_state=0).fit(X, Y).save(tmp_path / "m.kin")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("of", [str, Path, os.fsencode], ids=["text", "path", "bytes"])
def test_paths_of_all_kinds(of, tmp_path):
    fitted = hasher().fit(X, Y)
    fitted.save(of(tmp_path / "m.kin"))
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.kin"]
    assert np.array_equal(load(of(tmp_path / "m.kin")).encode(X), fitted.encode(X))
    kinhash.save_codes(fitted.codes_, of(tmp_path / "c.kin"))
    index = kinhash.HammingIndex.from_codes(kinhash.load_codes(of(tmp_path / "c.kin")))
    index.save(of(tmp_path / "i.kin"))
    assert (
        len(kinhash.HammingIndex.load(of(tmp_path / "i.kin"))) == len(load(of(tmp_path / "c.kin"))) == len(X)
    )
    kinhash.explore(index).save(of(tmp_path / "e.html"))
    assert (tmp_path / "e.html").stat().st_size


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_fault_while_saving_keeps_the_old_file(step, tmp_path, monkeypatch):
    path, other = tmp_path / "m.kin", hasher(20).fit(X, Y)
    hasher().fit(X, Y).save(path)
    old = path.read_bytes()

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(FileProblem, match="Input/output error"):
        other.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.kin"]


def test_one_door_opens_all_files(tmp_path):
    fitted = hasher().fit(X, Y)
    codes = fitted.encode(X, ids=[f"row {k}" for k in range(200)])
    kinhash.save_codes(codes, tmp_path / "c.kin")
    found = load(tmp_path / "c.kin")
    assert np.array_equal(found.packed, codes.packed)
    assert (found.ids[7], found.model_id, found.learned) == ("row 7", fitted.model_id_, False)
    kinhash.HammingIndex.from_codes(codes).save(tmp_path / "i.kin")
    index = load(tmp_path / "i.kin")
    assert np.array_equal(fitted.search(index, X[:5], 1).distances, np.zeros((5, 1)))


@pytest.mark.parametrize("what", ["missing", "folder", "empty", "text", "cut", "changed", "longer"])
def test_files_that_are_no_models(what, tmp_path):
    path = tmp_path / "m.kin"
    if what == "folder":
        path.mkdir()
    elif what != "missing":
        hasher().fit(X, Y).save(path)
        content = path.read_bytes()
        middle = len(content) // 2
        path.write_bytes(
            {
                "empty": b"",
                "text": b"hello\n" * 100,
                "cut": content[:middle],
                "changed": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
                "longer": content + b"x",
            }[what]
        )
    with pytest.raises(FileProblem):
        load(path)


# -- the same bits in every version ---------------------------------------------------------------------


def golden_rows():
    """Rows by formula, so that no library's random numbers matter."""
    i, j = np.ogrid[0:40, 0:6]
    return ((7 * i + 3 * j + i * j) % 11 - 5) / 4 + 3.0 * (i % 3 == j)


def golden_labels(kind):
    y = np.arange(40) % 3
    return [{f"t{c}", f"u{c % 2}"} for c in y] if kind == "tags" else y


@pytest.mark.parametrize("kind", ["classes", "tags"])
def test_models_of_every_version_give_these_bits(kind, tmp_path):
    loaded, codes = load(GOLDEN / f"model-{FORMAT}-{kind}.kin"), load(GOLDEN / f"codes-{FORMAT}-{kind}.kin")
    learned = load(GOLDEN / f"learned-{FORMAT}-{kind}.kin")
    assert np.array_equal(loaded.encode(golden_rows()).packed, codes.packed)
    assert np.array_equal(loaded.encode(golden_rows() * 2, view="twice").packed, codes.packed)
    assert np.array_equal(loaded.learned_codes(golden_rows(), golden_labels(kind)).packed, learned.packed)
    assert loaded.model_id_ == codes.model_id
    assert codes.ids.tolist() == [f"row {k}" for k in range(40)]
    assert 0.2 < codes.bits().mean() < 0.8
    loaded.save(tmp_path / "again.kin")
    assert (tmp_path / "again.kin").read_bytes() == (GOLDEN / f"model-{FORMAT}-{kind}.kin").read_bytes()


def write_golden():
    """Small models with a view of the same rows in another unit."""
    for kind in ("classes", "tags"):
        fitted = hasher().fit(golden_rows(), golden_labels(kind))
        fitted.views_["twice"] = fitted._blank_view("twice")
        half = fitted.model_.map.arrays()
        twice = hasher().fit(golden_rows() * 2, golden_labels(kind))
        assert half.keys() == twice.model_.map.arrays().keys()
        assert np.array_equal(twice.encode(golden_rows() * 2).packed, fitted.encode(golden_rows()).packed)
        view = fitted.views_["twice"]._adopt(replace(twice.model_, table=fitted.model_.table))
        view.n_features_in_ = 6
        fitted.save(GOLDEN / f"model-{FORMAT}-{kind}.kin")
        codes = fitted.encode(golden_rows(), ids=[f"row {k}" for k in range(40)])
        kinhash.save_codes(codes, GOLDEN / f"codes-{FORMAT}-{kind}.kin")
        learned = fitted.learned_codes(golden_rows(), golden_labels(kind))
        kinhash.save_codes(learned, GOLDEN / f"learned-{FORMAT}-{kind}.kin")


if __name__ == "__main__":
    write_golden()
