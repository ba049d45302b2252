"""Bad input, one table for all estimators: a clear error, or it works (RELIABILITY.md section 1)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hasher_cases import ALL, TABLE, classes, is_rival, make, needs_labels, with_known
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from kinhash import EMSPLH, EnergyHasher
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.features import RBF, Plain
from kinhash.encoders.regressor import Regressor
from kinhash.encoders.ridge import Ridge
from kinhash.errors import InvalidInput, KinhashError, KinhashWarning, UnknownName
from kinhash.solvers.columns import Columns
from kinhash.solvers.coordinate import Coordinate, Polished
from kinhash.solvers.linearized import Linearized
from kinhash.solvers.mean_field import MeanField
from kinhash.solvers.spectral import Spectral

X, Y = classes()


def changed(matrix, row, column, value):
    out = matrix.copy()
    out[row, column] = value
    return out


BAD_X = {
    "NaN": (changed(X, 3, 2, np.nan), "NaN.*row 3, column 2"),
    "infinity": (changed(X, 7, 0, np.inf), "infinity.*row 7, column 0"),
    "minus infinity": (changed(X, 7, 1, -np.inf), "infinity.*row 7, column 1"),
    "NaN in float16": (changed(X, 3, 2, np.nan).astype(np.float16), "row 3, column 2"),
    "NaN in sparse": (sp.csr_array(changed(X, 3, 2, np.nan)), "row 3, column 2"),
    "no rows": (X[:0], "0 sample"),
    "no columns": (X[:, :0], "0 feature"),
    "1-D": (X[:, 0], "1D"),
    "3-D": (X[None], "dim 3"),
    "strings": (np.full((90, 6), "a"), "."),
    "objects": (np.full((90, 6), {}, object), "."),
    "complex": (X + 1j, "[Cc]omplex"),
    "None": (None, "."),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("what", list(BAD_X))
def test_features_that_cannot_be_used(name, what):
    bad, says = BAD_X[what]
    with pytest.raises(InvalidInput, match=says):
        make(name).fit(bad, Y)


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")  # the paper's letter collapses
@pytest.mark.parametrize("name", ALL)
def test_features_that_cannot_be_encoded(name):
    fitted = make(name).fit(X, Y)
    for bad in (X[:, :5], changed(X, 0, 0, np.nan), X[0], X[:0]):
        for method in (fitted.encode, fitted.transform, fitted.decision_function):
            with pytest.raises(InvalidInput):
                method(bad)
    with pytest.raises(InvalidInput, match=r"5 features.*expecting 6"):
        fitted.encode(X[:, :5])


BAD_Y = {
    "too short": (Y[:50], "90 rows and the labels have 50"),
    "missing": (None, "requires y"),
    "one class": (np.zeros(90, int), "one class"),
    "one class beside unknown": (np.where(np.arange(90) % 2, 1.0, np.nan), "one class"),
    "all unknown": (np.full(90, np.nan), "All 90 labels are missing"),
    "all unknown, None": ([None] * 90, "All 90 labels are missing"),
    "all unknown, tags": (np.full((90, 3), np.nan), "All 90 labels are missing"),
    "untagged": ([set()] * 90, "No row has a tag"),
    "untagged indicator": (np.zeros((90, 3)), "No row has a tag"),
    "one tag for all": ([{"a"}] * 90, "all rows are similar"),
    "one tag among others for all": ([{"a", str(i)} for i in range(90)], "all rows are similar"),
    "infinite": (np.where(Y == 0, np.inf, 1.0), "infinity"),
    "numbers in 2-D": (np.full((90, 2), 3), "indicator"),
}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("what", list(BAD_Y))
def test_labels_that_nothing_can_be_learned_from(name, what):
    bad, says = BAD_Y[what]
    hasher = make(name)
    if not needs_labels(hasher):
        pytest.skip(f"{name} does not look at labels")
    if hasattr(hasher, "kinship"):
        hasher.set_params(kinship="any")  # graded, the other tags would tell rows apart
    with pytest.raises(InvalidInput, match=says):
        hasher.fit(X, bad)


def test_rows_with_equal_tags_have_nothing_to_tell_apart():
    with pytest.raises(InvalidInput, match="all rows are similar"):
        make("EnergyHasher").fit(X, [{"a"}] * 90)


BAD_PARAMETERS = [
    ("n_bits", 0),
    ("n_bits", -3),
    ("n_bits", 1025),
    ("n_bits", 8.0),
    ("n_bits", "8"),
    ("n_bits", True),
    ("n_bits", None),
    ("clip", 2.5997),
    ("clip", 0.0),
    ("clip", -1),
    ("clip", "2"),
    ("n_anchors", 1),
    ("n_anchors", 10.5),
    ("alpha", -1.0),
    ("alpha", "aut"),
    ("alpha", np.nan),
    ("rounding", "zeros"),
    ("renormalize", "rows"),
    ("n_sweeps", 0),
    ("anchors", [0, 500]),
    ("anchors", [0.5, 1.5]),
    ("n_jobs", 0),
    ("n_jobs", 1.5),
    ("random_state", "seed"),
    ("random_state", -1),
]


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize(("parameter", "value"), BAD_PARAMETERS)
def test_parameters_out_of_range_are_named(name, parameter, value):
    hasher = make(name)
    common = ("n_bits", "n_jobs", "random_state")
    if parameter not in (common if is_rival(hasher) else hasher.get_params()):
        pytest.skip(f"{name} has no {parameter}, or its own range for it")
    with pytest.raises(InvalidInput, match=parameter):
        hasher.set_params(**{parameter: value}).fit(X, Y)


BAD_SETTINGS = [
    ({"energy": "khs"}, "Did you mean 'ksh'"),
    ({"energy": 3}, "energy"),
    ({"solver": "spectrla"}, "Did you mean 'spectral'"),
    ({"solver": 3}, "solver is 3"),
    ({"solver": Spectral}, "solver is"),
    ({"encoder": "rigde"}, "Did you mean 'ridge'"),
    ({"encoder": 3}, "encoder is 3"),
    ({"encoder": KNeighborsRegressor()}, "encoder is"),
    ({"encoder": "regressor"}, "estimator is None"),
    ({"encoder": Regressor(estimator=3)}, "estimator is 3"),
    ({"alike": "no"}, "alike"),
    ({"alike": 1.0}, "alike"),
    ({"kin_weight": 0}, "kin_weight"),
    ({"alike": "half"}, "alike"),
    ({"kin_weight": 16}, "kin_weight"),
    ({"kin_weight": 1.5}, "kin_weight"),
    ({"kin_weight": "auto"}, "kin_weight"),
    ({"trust": -0.1}, "trust"),
    ({"trust": 1.1}, "trust"),
    ({"trust": "labels"}, "trust"),
    ({"trust": float("nan")}, "trust"),
    ({"kinship": "gradd"}, "Did you mean 'graded'"),
    ({"kinship": 3}, "kinship is a int"),
    ({"kinship": None}, "kinship is a NoneType"),
    ({"kinship": np.eye(4)}, "there are 5 classes"),
    ({"kinship": "graded"}, "came with classes"),
    ({"solver": Spectral(targets="balancd")}, "Did you mean 'balanced'"),
    ({"solver": Spectral(rounding="zeros")}, "Did you mean 'zero'"),
    ({"solver": Spectral(n_anchors=1)}, "n_anchors"),
    ({"solver": Spectral(anchors=[0, 500])}, "anchors"),
    ({"solver": Spectral(rotation="map")}, "rotation"),
    ({"solver": Spectral(n_rounds=-1)}, "n_rounds"),
    ({"solver": Spectral(balance="yes")}, "balance"),
    ({"solver": Spectral(balance=0.5)}, "balance"),
    ({"solver": Coordinate(n_sweeps=0)}, "n_sweeps"),
    ({"solver": Coordinate(curvature=0.0)}, "curvature"),
    ({"solver": Coordinate(merge="yes")}, "merge"),
    ({"solver": Coordinate(sums="some")}, "sums"),
    ({"solver": Linearized(clip=2.5997)}, "clip"),
    ({"solver": Linearized(renormalize="rows")}, "Did you mean 'row'"),
    ({"solver": Linearized(blocks="atonce")}, "Did you mean 'at_once'"),
    ({"solver": MeanField(order="paralell")}, "Did you mean 'parallel'"),
    ({"solver": Columns(which="larges")}, "Did you mean 'largest'"),
    ({"solver": Columns(method="dens")}, "Did you mean 'dense'"),
    ({"solver": Polished(first="spectral")}, "first"),
    ({"encoder": ExpectedLabels(label_model="logistik")}, "Did you mean 'logistic'"),
    ({"encoder": ExpectedLabels(label_model=3)}, "predict_proba"),
    ({"encoder": ExpectedLabels(penalty=0.0)}, "penalty"),
    ({"encoder": ExpectedLabels(penalty="gcv")}, "penalty"),
    ({"encoder": ExpectedLabels(temperature=0)}, "temperature"),
    ({"encoder": ExpectedLabels(features="plian")}, "Did you mean 'plain'"),
    ({"encoder": ExpectedLabels(label_model="ridge")}, "label model called 'ridge'"),
    ({"encoder": ExpectedLabels(features=RBF(n_centers=0))}, "n_centers"),
    ({"encoder": ExpectedLabels(features=RBF(n_centers=None))}, "n_centers"),
    ({"encoder": Ridge(features=RBF(width=0.0))}, "width"),
    ({"encoder": Ridge(features="auto")}, "kind of features"),
    ({"encoder": Ridge(features=Plain(standardize="no"))}, "standardize"),
    ({"encoder": Ridge(alpha="aut")}, "Did you mean 'auto'"),
    ({"encoder": Ridge(alpha=-1.0)}, "alpha"),
]


@pytest.mark.parametrize(("settings", "says"), BAD_SETTINGS, ids=repr)
def test_settings_of_the_product_out_of_range_are_named(settings, says):
    with pytest.raises(InvalidInput, match=says):
        EnergyHasher(8, **settings).fit(X, Y)


NO_EFFECT = [
    ({"solver": "spectral", "energy": "lfh"}, "ksh or bre"),
    ({"solver": "columns"}, "splh"),
    ({"solver": Spectral(rounding="mean")}, "rotation='predictions'"),
    ({"solver": Coordinate(rounding="mean")}, "rounding"),
    ({"solver": Spectral(rounding="mean", rotation="codes")}, "rounding"),
    ({"encoder": ExpectedLabels(label_model=LogisticRegression(), penalty=1.0)}, "penalty"),
    ({"encoder": ExpectedLabels(label_model=LogisticRegression(), temperature=2.0)}, "temperature"),
    ({"solver": Polished(first=Linearized(curvature=2.0))}, "curvature"),
]


@pytest.mark.parametrize(("settings", "says"), NO_EFFECT, ids=repr)
def test_settings_that_would_have_no_effect_are_refused(settings, says):
    with pytest.raises(InvalidInput, match=says):
        EnergyHasher(8, **settings).fit(X, Y)


@pytest.mark.filterwarnings("ignore:.*pairs")
def test_expected_labels_need_labels():
    left, right = np.arange(0, 80), np.arange(10, 90)
    verdict = np.where(Y[left] == Y[right], 1, -1)
    same = np.where(Y[:, None] == Y, 1.0, -1.0)
    hasher = EnergyHasher(8, encoder="expected", alike=0, random_state=0)
    with pytest.raises(InvalidInput, match=r"pairs or similarities.*encoder='ridge'"):
        hasher.fit_pairs(X, left, right, verdict)
    with pytest.raises(InvalidInput, match=r"pairs or similarities.*encoder='ridge'"):
        hasher.fit_similarity(X, same)
    hasher.set_params(encoder="auto")
    for fitted in (hasher.fit_pairs(X, left, right, verdict), hasher.fit_similarity(X, same)):
        assert fitted.fitted_.unrounded.kind == "linear"


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("weights", [np.ones(5), -np.ones(90), np.zeros(90), np.full(90, np.nan)])
def test_weights_that_cannot_be_used(name, weights):
    with pytest.raises(InvalidInput, match="sample_weight"):
        make(name).fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("name", TABLE)
def test_an_unfitted_hasher_says_so(name):
    from sklearn.exceptions import NotFittedError

    hasher = make(name)
    for use in (
        hasher.encode,
        hasher.transform,
        hasher.decision_function,
        lambda X: hasher.codes_,
        lambda X: hasher.marginals_,
        lambda X: hasher.save("nowhere"),
        lambda X: hasher.score(X, Y),
    ):
        with pytest.raises(NotFittedError):
            use(X)


def test_errors_are_three_sentences_and_survive_pickling():
    import pickle

    with pytest.raises(KinhashError) as caught:
        EnergyHasher(0).fit(X, Y)
    message = str(caught.value)
    assert message == "n_bits is 0. Expected an integer from 1 to 1024. Set n_bits within that range."
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


# -- doubtful, but it works -------------------------------------------------------------------------


WORKS = {
    "constant columns": (np.column_stack([X, np.ones(90), np.zeros(90)]), Y),
    "duplicate rows": (np.repeat(X[:45], 2, axis=0), np.repeat(Y[:45], 2)),
    "one column": (X[:, :1], Y),
    "huge values": (X * 1e30, Y),
    "tiny values": (X * 1e-30, Y),
    "huge values of another kind": (X * 1e150, Y),
    "fewer rows than bits": (X[:7], np.array([0, 1, 2, 3, 0, 1, 2])),
    "more columns than rows": (np.random.default_rng(0).normal(size=(12, 30)), np.arange(12) % 4),
    "unknown among others": (X, [None if i % 7 == 0 else int(c) for i, c in enumerate(Y)]),
    "untagged among others": (X, [set() if i % 7 == 0 else {int(c)} for i, c in enumerate(Y)]),
    "an integer -1": (X, Y - 1),
    "negative and positive zero": (np.where(X > 0, X, -0.0), Y),
}


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "MMC")) for name in TABLE]
)
@pytest.mark.parametrize("what", list(WORKS))
def test_odd_but_usable_input_works(name, what):
    features, labels = WORKS[what]
    fitted = make(name).fit(features, labels)
    margins = fitted.decision_function(features)
    assert np.isfinite(margins).all()
    assert fitted.codes_.shape == fitted.encode(features).shape


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("name", [name for name in ALL if "alike" not in name])
def test_fact_12_one_bit_codes_work(name):
    fitted = make(name).set_params(n_bits=1).fit(X, Y)
    assert fitted.encode(X).shape == (90, 1)
    assert set(np.unique(fitted.encode(X))) <= {0, 128}
    assert np.isfinite(fitted.decision_function(X)).all()
    if not is_rival(fitted):
        assert np.isfinite(fitted.marginals_).all()


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("name", ALL)
def test_fact_12_more_bits_than_rows_and_more_anchors_than_rows_work(name):
    bits = 1 if name == "EMSPLH" else 24
    hasher = with_known(make(name), n_bits=bits, n_anchors=10_000)
    some = np.arange(20)
    fitted = hasher.fit(X[some], Y[some])
    assert np.isfinite(fitted.decision_function(X)).all()


def test_bits_that_never_change_are_reported_and_warned_of():
    """Coordinate descent leaves bits constant where one row is all of its class."""
    alone = np.arange(len(X)) == 0
    with pytest.warns(KinhashWarning, match="constant on the training rows"):
        fitted = EnergyHasher(16, solver="coordinate", encoder="ridge", alike=0, random_state=0).fit(X, alone)
    assert fitted.report_.dead_bits
    bits = np.unpackbits(fitted.codes_, axis=1)
    assert fitted.report_.dead_bits == np.flatnonzero(np.ptp(bits, axis=0) == 0).tolist()


def test_labels_that_are_all_different_are_doubtful():
    with pytest.warns(KinhashWarning, match="No two rows share a class"):
        clone(make("EMKSH")).fit(X, np.arange(90))


@pytest.mark.parametrize("name", ["EMKSH", "EMSPLH", "EMLFH", "EMBRE", "EMExpH"])
def test_a_misspelt_penalty_is_refused_before_any_work(name, monkeypatch):
    hasher = clone(make(name)).set_params(alpha="gvc")
    monkeypatch.setattr(type(hasher), "_learn", lambda self, training: pytest.fail("learned too early"))
    with pytest.raises(UnknownName, match="Did you mean 'gcv'"):
        hasher.fit(X, Y)


def test_splh_says_that_it_has_one_bit():
    with pytest.warns(KinhashWarning, match="all 3 bits will be the same"):
        fitted = clone(make("EMSPLH")).set_params(n_bits=3).fit(X, Y)
    bits = fitted.transform(X)
    assert (bits == bits[:, :1]).all()


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("name", TABLE)
def test_rows_far_outside_the_training_range_have_finite_margins(name):
    fitted = make(name).fit(X, Y)
    with np.errstate(all="ignore"):
        assert np.isfinite(fitted.decision_function(X * 1e40)).all()


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e30, 1e150])
def test_huge_and_tiny_values_do_not_overflow(name, size):
    fitted = make(name).fit(X * size, Y)
    assert np.isfinite(fitted.decision_function(X * size)).all()


@pytest.mark.filterwarnings("ignore:.* share their code")
def test_more_bits_than_an_energy_can_tell_apart_are_warned_of():
    for hasher in (
        EMSPLH(8, random_state=0),
        EnergyHasher(8, energy="splh", solver="columns", random_state=0),
    ):
        with pytest.warns(KinhashWarning, match="one"):
            hasher.fit(X, Y)


def test_explain_takes_one_row_on_each_side():
    fitted = clone(make("EMKSH")).fit(X, Y)
    for left, right in ((X[:2], X[1]), (X[0], X[1, :3])):
        with pytest.raises(InvalidInput):
            fitted.explain(left, right)
