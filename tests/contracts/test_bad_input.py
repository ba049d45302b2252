"""Bad input, one table for all hashers: a clear error, or it works."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hasher_cases import ALL, OURS, TABLE, classes, make, needs_labels
from sklearn.exceptions import NotFittedError

from kinhash import Codes, EnergyHasher, HammingIndex
from kinhash.errors import InvalidInput, KinhashError, KinhashWarning

X, Y = classes()
pytestmark = pytest.mark.usefixtures("quick_fits")
DOUBTFUL = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


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
    "masked": (np.ma.masked_array(X, mask=np.arange(6) == [[3]] * 90), "90 values are masked"),
    "no rows": (X[:0], "0 sample"),
    "no columns": (X[:, :0], "0 feature"),
    "1-D": (X[:, 0], "1D"),
    "3-D": (X[None], "dim 3"),
    "strings": (np.full((90, 6), "a"), "."),
    "objects": (np.full((90, 6), {}, object), "."),
    "complex": (X + 1j, "[Cc]omplex"),
    "None": (None, "."),
}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("what", list(BAD_X))
def test_features_that_cannot_be_used(name, what):
    bad, says = BAD_X[what]
    with pytest.raises(InvalidInput, match=says):
        make(name).fit(bad, Y)


@DOUBTFUL  # the paper's letter collapses
@pytest.mark.parametrize("name", ALL)
def test_features_that_cannot_be_encoded(name):
    fitted = make(name).fit(X, Y)
    for bad in (X[:, :5], changed(X, 0, 0, np.nan), X[0], np.ma.masked_greater(X, 0)):
        for method in (fitted.encode, fitted.transform, fitted.decision_function):
            with pytest.raises(InvalidInput):
                method(bad)
    with pytest.raises(InvalidInput, match=r"5 features.*expecting 6"):
        fitted.encode(X[:, :5])
    assert fitted.encode(X[:0]).shape == (0, 1)
    assert np.array_equal(fitted.encode(np.ma.masked_array(X)), fitted.encode(X))


BAD_Y = {
    "too short": (Y[:50], "90 rows and the labels have 50"),
    "one class": (np.zeros(90, int), "one class"),
    "one class beside unknown": (np.where(np.arange(90) % 2, 1.0, np.nan), "one class"),
    "all unknown": (np.full(90, np.nan), "All 90 labels are missing"),
    "all unknown, None": ([None] * 90, "All 90 labels are missing"),
    "all unknown, tags": (np.full((90, 3), np.nan), "All 90 labels are missing"),
    "untagged": ([set()] * 90, "No row has a tag"),
    "untagged indicator": (np.zeros((90, 3)), "No row has a tag"),
    "one tag for all": ([{"a"}] * 90, "all rows are similar"),
    "infinite": (np.where(Y == 0, np.inf, 1.0), "infinity"),
    "numbers in 2-D": (np.full((90, 2), 3), "indicator"),
    "numbers and text": ([1, "1"] * 45, "mix"),
}


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("what", list(BAD_Y))
def test_labels_that_nothing_can_be_learned_from(name, what):
    bad, says = BAD_Y[what]
    if not needs_labels(make(name)) and name != "EnergyHasher":
        pytest.skip(f"{name} does not look at labels")
    with pytest.raises(InvalidInput, match=says):
        make(name).fit(X, bad)


@pytest.mark.parametrize("name", [name for name in TABLE if needs_labels(make(name))])
def test_methods_that_need_labels_say_so(name):
    with pytest.raises(InvalidInput, match="requires y"):
        make(name).fit(X)


BAD_PARAMETERS = [
    *(("n_bits", value) for value in (0, -3, 16_385, 8.0, "8", True, None)),
    *(("n_jobs", value) for value in (0, 1.5)),
    *(("random_state", value) for value in ("seed", -1)),
]


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize(("parameter", "value"), BAD_PARAMETERS)
def test_parameters_out_of_range_are_named(name, parameter, value):
    with pytest.raises(InvalidInput, match=parameter):
        make(name).set_params(**{parameter: value}).fit(X, Y)


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("weights", [np.ones(5), -np.ones(90), np.zeros(90), np.full(90, np.nan)])
def test_weights_that_cannot_be_used(name, weights):
    with pytest.raises(InvalidInput, match="sample_weight"):
        make(name).fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize("name", TABLE)
def test_an_unfitted_hasher_says_so(name):
    hasher = make(name)
    for use in (
        hasher.encode,
        hasher.transform,
        hasher.decision_function,
        lambda X: hasher.codes_,
        lambda X: hasher.save("nowhere"),
        lambda X: hasher.score(X, Y),
    ):
        with pytest.raises(NotFittedError):
            use(X)


def test_errors_are_three_sentences_and_survive_pickling():
    with pytest.raises(KinhashError) as caught:
        EnergyHasher(0).fit(X, Y)
    message = str(caught.value)
    assert message == "n_bits is 0. Expected an integer from 1 to 16384. Set n_bits within that range."
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


MASKED = np.ma.masked_array(np.arange(90), mask=np.arange(90) == 3)
CODES = Codes(np.arange(90, dtype=np.uint8)[:, None], 8)
ONE_MASKED = {
    "sample_weight": lambda: make("EnergyHasher").fit(X, Y, MASKED),
    "codes": lambda: HammingIndex.from_codes(MASKED.astype(np.uint8)[:, None]),
    "queries": lambda: HammingIndex.from_codes(CODES).search(MASKED.astype(np.uint8)[:, None], 1),
    "packed": lambda: Codes(MASKED.astype(np.uint8)[:, None], 8),
    "ids": lambda: HammingIndex.from_codes(CODES, ids=MASKED),
    "payload": lambda: HammingIndex.from_codes(CODES, payload={"year": MASKED}),
    "left": lambda: make("EnergyHasher").fit_pairs(X, MASKED, np.arange(90)[::-1]),
    "verdicts": lambda: make("EnergyHasher").fit_pairs(X, Y, Y + 9, MASKED % 2),
    "weight": lambda: make("EnergyHasher").fit_pairs(X, Y, Y + 9, Y % 2 == 0, weight=MASKED),
    "S": lambda: make("EnergyHasher").fit_similarity(X[:9], np.ma.masked_less(np.eye(9), 0.5)),
}


@pytest.mark.parametrize("what", ONE_MASKED)
def test_what_is_masked_is_not_read_as_a_value(what):
    with pytest.raises(InvalidInput, match="masked array of which"):
        ONE_MASKED[what]()


def test_masked_ids_exclude_nothing():
    exclude = np.ma.masked_array(np.arange(90), mask=np.arange(90) > 3)
    nearest = HammingIndex.from_codes(CODES).search(CODES, 1, exclude=exclude).ids[:, 0]
    assert ((nearest == np.arange(90)) == (np.arange(90) > 3)).all()


# -- doubtful, but it works -----------------------------------------------------------------------------


WORKS = {
    "constant columns": (np.column_stack([X, np.ones(90), np.zeros(90)]), Y),
    "nothing but constants": (np.ones((90, 3)), Y),
    "duplicate rows": (np.repeat(X[:45], 2, axis=0), np.repeat(Y[:45], 2)),
    "one column": (X[:, :1], Y),
    "huge values": (X * 1e30, Y),
    "tiny values": (X * 1e-30, Y),
    "huge values of another kind": (X * 1e150, Y),
    "tiny values of another kind": (X * 1e-200, Y),
    "fewer rows than bits": (X[:7], np.array([0, 1, 2, 3, 0, 1, 2])),
    "more columns than rows": (np.random.default_rng(0).normal(size=(12, 30)), np.arange(12) % 4),
    "unknown among others": (X, [None if i % 7 == 0 else int(c) for i, c in enumerate(Y)]),
    "untagged among others": (X, [set() if i % 7 == 0 else {int(c)} for i, c in enumerate(Y)]),
    "an integer -1": (X, Y - 1),
    "negative and positive zero": (np.where(X > 0, X, -0.0), Y),
}
KNOWN_TO_FAIL: set[tuple[str, str]] = set()


@DOUBTFUL
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "MMC")) for n in TABLE])
@pytest.mark.parametrize("what", list(WORKS))
def test_odd_but_usable_input_works(name, what):
    if what == "nothing but constants" and name not in OURS:
        pytest.skip("rivals may refuse")
    features, labels = WORKS[what]
    fitted = make(name).fit(features, labels)
    assert np.isfinite(fitted.decision_function(features)).all()
    assert fitted.codes_.shape == fitted.encode(features).shape


@DOUBTFUL
@pytest.mark.parametrize("name", ALL)
def test_codes_of_one_bit_and_of_more_bits_than_rows(name):
    fitted = make(name).set_params(n_bits=1).fit(X, Y)
    assert fitted.encode(X).shape == (90, 1)
    assert set(np.unique(fitted.encode(X))) <= {0, 128}
    some = np.arange(20)
    fitted = make(name).set_params(n_bits=1 if name == "EMSPLH" else 24).fit(X[some], Y[some])
    assert np.isfinite(fitted.decision_function(X)).all()


@DOUBTFUL
@pytest.mark.parametrize("name", TABLE)
def test_rows_far_outside_the_training_range_have_finite_margins(name):
    fitted = make(name).fit(X, Y)
    with np.errstate(all="ignore"):
        assert np.isfinite(fitted.decision_function(X * 1e40)).all()


@DOUBTFUL
@pytest.mark.parametrize(
    "name", [name for name in TABLE if needs_labels(make(name)) or name == "EnergyHasher"]
)
def test_labels_that_are_all_different_are_doubtful(name):
    if name not in OURS:
        pytest.skip("rivals may say so in their own words")
    with pytest.warns(KinhashWarning, match="No two rows share a class"):
        make(name).fit(X, np.arange(90))
