"""scikit-learn's own checks on every hasher, and life among its tools."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kinhash import EMBRE, EMKSH, EMLFH, EMSPLH, EMExpH, EnergyHasher
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.features import RBF, Plain
from kinhash.encoders.regressor import Regressor
from kinhash.encoders.ridge import Ridge
from kinhash.errors import InvalidInput
from kinhash.hashers.model_file import HASHERS
from kinhash.solvers.coordinate import Coordinate, Polished
from kinhash.solvers.linearized import Linearized

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


def instances():
    return [
        *(cls(8) for cls in (EMKSH, EMLFH, EMBRE, EMExpH, EnergyHasher)),
        EMSPLH(1),
        EnergyHasher(8, encoder="ridge"),
        EnergyHasher(8, solver="linearized", encoder=Ridge(features=RBF(n_centers=10))),
        EnergyHasher(8, solver=Coordinate(n_sweeps=3)),
        EnergyHasher(16, alike=0.5),
        EnergyHasher(8, encoder=ExpectedLabels(label_model=LogisticRegression(max_iter=500))),
    ]


@parametrize_with_checks(instances())
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def rivals():
    """Every row of the table but our own methods, those of kinhash-bench too where it is installed."""
    own = ("EnergyHasher", "EMBRE", "EMExpH", "EMKSH", "EMLFH", "EMSPLH")
    return [HASHERS[name]().set_params(n_bits=8) for name in HASHERS if name not in own]


@pytest.mark.slow
@parametrize_with_checks(rivals())
def test_scikit_learns_checks_on_rivals(estimator, check):
    check(estimator)


def data(n=120, k=4, p=6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    return rng.normal(size=(n, p)) + 3 * rng.normal(size=(k, p))[y], y


X, Y = data()


@pytest.mark.parametrize("name", list(HASHERS))
def test_copies_of_all_kinds_encode_alike(name, tmp_path):
    hasher = HASHERS[name](random_state=0).set_params(n_bits=1 if name == "EMSPLH" else 8).fit(X, Y)
    expected = hasher.encode(X)
    assert np.array_equal(pickle.loads(pickle.dumps(hasher)).encode(X), expected)
    buffer = io.BytesIO()
    joblib.dump(hasher, buffer)
    buffer.seek(0)
    again = joblib.load(buffer)
    assert np.array_equal(again.encode(X), expected)
    assert np.array_equal(again.codes_, hasher.codes_)
    copy = clone(hasher)
    assert not hasattr(copy, "report_")
    assert np.array_equal(copy.fit(X, Y).encode(X), expected)


def test_a_pipeline_searches_its_settings():
    pipeline = make_pipeline(
        StandardScaler(),
        EnergyHasher(n_bits=8, encoder=Ridge(), random_state=0),
        KNeighborsClassifier(3, metric="hamming"),
    )
    search = GridSearchCV(
        pipeline, {"energyhasher__n_bits": [2, 8], "energyhasher__encoder__alpha": [0.1, "auto"]}, cv=3
    )
    search.fit(X, Y)
    assert search.best_score_ > 0.9
    scores = cross_val_score(EMKSH(8, random_state=0), X, Y, cv=3)  # the hasher's own score: mAP
    assert (scores > 0.7).all()


def test_a_regressor_inside_is_a_parameter_like_any_other():
    hasher = EnergyHasher(8, encoder=Regressor(estimator=KNeighborsRegressor(3)), random_state=0)
    name = "encoder__estimator__n_neighbors"
    assert hasher.get_params()[name] == 3
    search = GridSearchCV(hasher, {name: [1, 5]}, cv=2).fit(X, Y)
    assert search.best_score_ > 0.7
    # What the user passed is left alone.
    assert hasher.encoder.estimator.__dict__ == KNeighborsRegressor(3).__dict__


@pytest.mark.parametrize(("kind", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_output_as_frames(kind, frame):
    hasher = EMKSH(5, random_state=0).fit(X, Y)
    bits = hasher.transform(X)
    out = hasher.set_output(transform=kind).transform(X)
    assert isinstance(out, frame)
    assert list(out.columns) == hasher.get_feature_names_out().tolist() == [f"emksh{i}" for i in range(5)]
    assert np.array_equal(out.to_numpy(), bits)


def test_column_names_are_remembered_and_checked(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    hasher = EMKSH(8, random_state=0).fit(frame, Y)
    assert hasher.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(InvalidInput, match="feature names"):
        hasher.encode(frame.rename(columns={"a": "z"}))
    with pytest.warns(UserWarning, match="feature names"):
        hasher.encode(X)
    hasher.save(tmp_path / "m.kin")
    from kinhash import load

    again = load(tmp_path / "m.kin")
    assert again.feature_names_in_.tolist() == list("abcdef")
    assert again.n_features_in_ == 6
    with pytest.raises(InvalidInput, match="feature names"):
        again.encode(frame.rename(columns={"a": "z"}))
    assert np.array_equal(again.encode(frame[list("fedcba")]), hasher.encode(frame))


def test_what_fit_leaves_behind():
    hasher = EMKSH(8, n_sweeps=4, random_state=0).fit(X, Y)
    report = hasher.report_
    bits = np.unpackbits(hasher.codes_, axis=1)
    assert report.n_rows == 120
    assert report.n_groups == 4
    assert report.unique_codes == len(np.unique(hasher.codes_, axis=0))
    np.testing.assert_allclose(report.bit_balance, bits.mean(axis=0))
    assert len(report.facts["energy"]) == 4  # one per sweep
    assert report.seconds
    assert all(spent >= 0 for spent in report.seconds.values())
    phi = hasher.marginals_
    assert phi.shape == (120, 8)
    assert ((phi > 0) & (phi < 1)).all()
    assert np.array_equal(bits, phi > phi.mean(axis=0))  # the paper rounds at each bit's mean


def test_explain_counts_the_differing_bits():
    hasher = EMKSH(8, random_state=0).fit(X, Y)
    bits, margins = hasher.transform(X), hasher.decision_function(X)
    told = hasher.explain(X[0], X[1])
    assert told.distance == (bits[0] != bits[1]).sum()
    assert told.differing.tolist() == np.flatnonzero(bits[0] != bits[1]).tolist()
    assert np.array_equal(told.margins, margins[:2])
    assert str(told).startswith(f"{told.distance} of 8 bits differ")
    assert len(str(told).splitlines()) == 1 + told.distance
    assert hasher.explain(sp.csr_array(X[:1]), X[1:2].tolist()).distance == told.distance
    assert hasher.explain(X[0], X[0]).distance == 0


def test_score_is_the_expected_mean_average_precision():
    """Each row asks the others, its own left out, and the mean is the score."""
    from kinhash.metrics import mean_average_precision

    hasher = EMKSH(8, random_state=0).fit(X, Y)
    codes = hasher.encode(X)
    each = []
    for i in range(len(X)):
        others = np.delete(np.arange(len(X)), i)
        each.append(float(mean_average_precision(codes[i], codes[others], Y[[i]], Y[others])))
    assert hasher.score(X, Y) == pytest.approx(np.mean(each))


def test_codes_know_their_model():
    one = EMKSH(8, random_state=0).fit(X, Y)
    codes = one.encode(X[:3], ids=["a", "b", "c"])
    assert codes.model_id == one.model_id_
    assert codes.n_bits == 8
    assert codes.ids.tolist() == ["a", "b", "c"]
    other = EMKSH(8, random_state=1).fit(X, Y)
    with pytest.raises(InvalidInput, match="one model"):
        codes.require_same_kind(other.encode(X[:3]))


def test_callbacks_of_newer_scikit_learn():
    pytest.importorskip("sklearn.callback")
    from sklearn.callback import ProgressBar

    hasher = EMKSH(8, random_state=0).set_callbacks(ProgressBar())
    assert np.array_equal(hasher.fit(X, Y).codes_, EMKSH(8, random_state=0).fit(X, Y).codes_)


# -- files --------------------------------------------------------------------------------------------


STORED = [
    EMKSH(12, random_state=0),
    EMSPLH(random_state=0),
    EMLFH(8, random_state=0),
    EnergyHasher(12, random_state=0),
    EnergyHasher(8, encoder="ridge", random_state=0),
    EnergyHasher(8, encoder=Ridge(features=RBF(n_centers=20)), random_state=0),
    EnergyHasher(8, encoder=Ridge(alpha=2.0, features=Plain(standardize=False)), random_state=0),
    EnergyHasher(8, encoder=ExpectedLabels(penalty=3.0, temperature=2.0, features="rbf"), random_state=0),
    EnergyHasher(8, solver="coordinate", random_state=0),
    EnergyHasher(8, solver=Coordinate(n_sweeps=3, curvature=1.5), random_state=0),
    EnergyHasher(8, solver=Polished(first=Linearized(n_sweeps=2, clip=1.5)), random_state=0),
    EnergyHasher(8, solver="linearized", random_state=0),
    EnergyHasher(8, energy="lfh", random_state=0),
    EnergyHasher(8, energy="exph", random_state=0),
    EnergyHasher(8, alike=0, trust=1, random_state=0),
    EnergyHasher(16, alike=0.5, random_state=0),
]


@pytest.mark.parametrize("hasher", STORED, ids=repr)
def test_a_saved_model_encodes_exactly_as_before(hasher, tmp_path):
    from kinhash import load

    fitted = clone(hasher).fit(X, Y)
    fitted.save(tmp_path / "model.kin")
    again = load(tmp_path / "model.kin")
    assert type(again) is type(fitted)
    assert repr(again.get_params()) == repr(fitted.get_params())
    assert np.array_equal(again.encode(X), fitted.encode(X))
    assert np.array_equal(again.decision_function(X), fitted.decision_function(X))
    assert again.model_id_ == fitted.model_id_
    assert again.fitted_.map.id() == fitted.model_id_
    assert again.get_feature_names_out().tolist() == fitted.get_feature_names_out().tolist()
    for gone in ("codes_", "marginals_"):
        with pytest.raises(AttributeError, match="after fit"):
            getattr(again, gone)
    again.save(tmp_path / "again.kin")
    assert (tmp_path / "again.kin").read_bytes() == (tmp_path / "model.kin").read_bytes()


def test_models_that_hold_a_strangers_object_are_kept_with_joblib(tmp_path):
    for hasher in (
        EnergyHasher(8, encoder=Regressor(estimator=KNeighborsRegressor(3)), random_state=0),
        EnergyHasher(8, encoder=ExpectedLabels(label_model=LogisticRegression(max_iter=500)), random_state=0),
    ):
        fitted = hasher.fit(X, Y)
        assert fitted.model_id_ is None
        with pytest.raises(InvalidInput, match="joblib"):
            fitted.save(tmp_path / "model.kin")
        assert not list(tmp_path.iterdir())


def test_a_model_file_holds_no_class_name_and_no_training_row(tmp_path):
    names = np.array(["zebra-secret", "lion-secret", "ape-secret", "owl-secret"])
    marked = X.copy()
    marked[:, 0] += np.pi * 1e3
    fitted = EnergyHasher(8, random_state=0).fit(marked, names[Y])
    fitted.save(tmp_path / "m.kin")
    content = (tmp_path / "m.kin").read_bytes()
    assert b"secret" not in content
    for row in marked[:20]:
        assert row.astype(np.float64).tobytes() not in content
        assert row.astype(np.float32).tobytes() not in content


def test_a_hasher_outside_the_table_is_not_saved(tmp_path):
    class Mine(EMKSH):
        pass

    with pytest.raises(InvalidInput, match="in no table"):
        Mine(8, random_state=0).fit(X, Y).save(tmp_path / "m.kin")


# -- the example --------------------------------------------------------------------------------------


def test_the_example_of_an_own_energy_runs():
    pytest.importorskip("matplotlib")
    script = Path(__file__).parents[1] / "examples" / "plot_own_energy.py"
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert len(lines) == 2
    assert all(float(line.rsplit(" ", 1)[1]) > 0.7 for line in lines)
