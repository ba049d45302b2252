"""Labels, pairs, similarities, weights, unknown rows: every way into an estimator, and what comes out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model import Ridge as RidgeRegressor
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, LinearSVR
from small_data import classes, similarity, tags, training

from kinhash import EMBRE, EMKSH, EMLFH, EMSPLH, EMExpH, EnergyHasher
from kinhash.encoders.expected_labels import PENALTIES, ExpectedLabels
from kinhash.encoders.features import FEATURES, RBF, Plain
from kinhash.encoders.regressor import Regressor
from kinhash.encoders.ridge import Ridge
from kinhash.energies import ENERGIES, Energy, PairTerms
from kinhash.errors import InvalidInput, KinhashWarning
from kinhash.solvers.columns import Columns
from kinhash.solvers.coordinate import Coordinate, Polished
from kinhash.solvers.linearized import Linearized
from kinhash.solvers.mean_field import MeanField
from kinhash.solvers.spectral import Spectral
from kinhash.supervision import from_labels

X, Y = classes()
PAPER = [EMKSH, EMLFH, EMBRE, EMExpH]


def bits(hasher, packed=None):
    packed = hasher.codes_ if packed is None else packed
    return np.unpackbits(packed, axis=1, count=hasher.n_bits)


def learned_map(hasher, y):
    """mAP of learned codes among themselves."""
    from kinhash.metrics import mean_average_precision

    return float(mean_average_precision(hasher.codes_, hasher.codes_, y, y, exclude_self=True))


# -- weights -----------------------------------------------------------------------------------------


WEIGHTED = {
    "default": {},
    "spectral": {"encoder": "ridge", "solver": "spectral"},
    "coordinate": {"encoder": "ridge", "solver": "coordinate"},
    "expected": {"alike": 0, "encoder": ExpectedLabels(penalty=1.0)},
}


@pytest.mark.parametrize("name", list(WEIGHTED))
@pytest.mark.parametrize("kind", [classes, tags])
def test_weights_count_rows(name, kind):
    """Weight k is the row k times in any order, weight 0 is no row: the same model, to the bit."""
    X, y = kind(n=100)
    w = np.random.default_rng(0).integers(0, 4, 100)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(100), w))
    hasher = EnergyHasher(8, random_state=0).set_params(**WEIGHTED[name])
    weighted, repeated = clone(hasher).fit(X, y, sample_weight=w), hasher.fit(X[rows], [y[i] for i in rows])
    assert weighted.model_id_ == repeated.model_id_
    assert np.array_equal(weighted.decision_function(X), repeated.decision_function(X))
    assert np.array_equal(weighted.codes_[rows], repeated.codes_)


@pytest.mark.parametrize(
    "hasher", [EMKSH(8), EMSPLH(), EnergyHasher(8), EnergyHasher(8, encoder="ridge")], ids=repr
)
def test_rows_of_weight_zero_might_as_well_not_be_there(hasher):
    hasher = hasher.set_params(random_state=0)
    kept = np.arange(150) % 3 > 0
    weighted = hasher.fit(X, Y, sample_weight=kept.astype(float)).decision_function(X)
    removed = hasher.fit(X[kept], Y[kept]).decision_function(X)
    assert np.array_equal(weighted, removed)


def test_equal_weights_are_no_weights():
    plain = EMKSH(8, random_state=0).fit(X, Y)
    for weights in (np.ones(150), 1.0):
        weighted = EMKSH(8, random_state=0).fit(X, Y, sample_weight=weights)
        assert np.array_equal(weighted.codes_, plain.codes_)
        np.testing.assert_allclose(
            weighted.fitted_.unrounded.scores(X), plain.fitted_.unrounded.scores(X), atol=1e-4
        )


# -- unknown labels -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hasher",
    [
        EMKSH(8),
        EMSPLH(),
        EMLFH(8),
        EnergyHasher(8, alike=0),
        EnergyHasher(8, alike=0, trust=1),
        EnergyHasher(8, alike=0, encoder="ridge"),
        EnergyHasher(16),
    ],
    ids=repr,
)
def test_rows_without_labels_take_the_maps_code_and_have_no_say(hasher):
    """METHODS A13: S = 0 for them."""
    hasher = hasher.set_params(random_state=0)
    unknown = np.arange(150) % 4 == 0
    labels = [None if unknown[i] else int(c) for i, c in enumerate(Y)]
    fitted = hasher.fit(X, labels)
    assert np.array_equal(fitted.codes_[unknown], fitted.encode(X[unknown]))
    assert np.isnan(fitted.marginals_[unknown]).all()
    assert np.isfinite(fitted.marginals_[~unknown]).all()
    moved = X.copy()
    moved[unknown] = np.random.default_rng(1).normal(size=(unknown.sum(), 6)) * 5
    other = hasher.fit(moved, labels)
    if getattr(hasher, "alike", 0) == 0:  # alike bits do look at all rows
        assert np.array_equal(other.codes_[~unknown], fitted.codes_[~unknown])


# -- pairs -----------------------------------------------------------------------------------------------


def listed_pairs(y, n_pairs=1500, seed=0):
    rng = np.random.default_rng(seed)
    i, j = rng.integers(0, len(y), (2, n_pairs))
    i, j = i[i != j], j[i != j]
    return i, j, np.where(np.asarray(y)[i] == np.asarray(y)[j], 1, -1)


@pytest.mark.parametrize(
    "hasher",
    [cls(8) for cls in PAPER]
    + [EMSPLH()]
    + [
        EnergyHasher(8),
        EnergyHasher(8, encoder="ridge"),
        EnergyHasher(8, solver="coordinate"),
        EnergyHasher(8, solver="spectral"),
        EnergyHasher(8, energy="lfh"),
        EnergyHasher(16, alike=0.5),
        EnergyHasher(8, encoder=Regressor(estimator=KNeighborsRegressor(3))),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_pairs_teach_what_they_say(hasher):
    i, j, verdict = listed_pairs(Y)
    fitted = hasher.set_params(random_state=0).fit_pairs(X, i, j, verdict)
    distance = (bits(fitted)[i] != bits(fitted)[j]).mean(axis=1)
    assert distance[verdict > 0].mean() < distance[verdict < 0].mean() - 0.1
    assert np.isfinite(fitted.decision_function(X)).all()
    shuffled = np.random.default_rng(1).permutation(len(i))
    again = hasher.fit_pairs(X, j[shuffled], i[shuffled], verdict[shuffled])
    assert np.array_equal(again.codes_, fitted.codes_)  # neither order nor direction matters


@pytest.mark.filterwarnings("ignore:.*pairs")
@pytest.mark.parametrize(
    "hasher", [EMKSH(8), EnergyHasher(8), EnergyHasher(8, solver="coordinate")], ids=repr
)
def test_rows_in_no_pair_take_the_maps_code(hasher):
    i, j, verdict = listed_pairs(Y[:100])
    fitted = hasher.set_params(random_state=0).fit_pairs(X, i, j, verdict)
    assert np.array_equal(fitted.codes_[100:], fitted.encode(X[100:]))


def test_pairs_as_booleans():
    i, j, verdict = listed_pairs(Y)
    plain = EMKSH(8, random_state=0).fit_pairs(X, i, j, verdict)
    booleans = EMKSH(8, random_state=0).fit_pairs(X, i, j, verdict > 0)
    assert np.array_equal(plain.codes_, booleans.codes_)


# -- similarities -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", PAPER)
def test_a_full_similarity_matrix_is_the_same_as_labels(cls):
    """The same sample, the same S, hence the same codes."""
    anchors = np.arange(0, 150, 2)
    by_labels = cls(8, anchors=anchors, random_state=0).fit(X, Y)
    S = similarity(Y)
    for given, columns in ((S, None), (S.astype(np.int8), None), (S[:, anchors], anchors)):
        fitted = cls(8, anchors=anchors, random_state=0).fit_similarity(X, given, anchors=columns)
        assert np.array_equal(fitted.codes_, by_labels.codes_)
        assert np.array_equal(fitted.encode(X), by_labels.encode(X))


def test_listed_entries_are_the_same_as_pairs():
    i, j, verdict = listed_pairs(Y)
    S = np.zeros((150, 150))
    S[i, j] = S[j, i] = verdict
    by_pairs = EMKSH(8, random_state=0).fit_pairs(X, i, j, verdict)
    for given in (S, sp.csr_array(S), sp.csc_matrix(S)):
        fitted = EMKSH(8, random_state=0).fit_similarity(X, given)
        assert np.array_equal(fitted.codes_, by_pairs.codes_)


@pytest.mark.filterwarnings("ignore:.*pairs")
@pytest.mark.parametrize(
    "hasher",
    [EnergyHasher(8), EnergyHasher(8, solver="coordinate"), EnergyHasher(8, encoder="ridge"), EMBRE(8)],
    ids=repr,
)
def test_graded_similarities_order_codes(hasher):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(120, 3))
    features = Z @ rng.normal(size=(3, 6))
    unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    S = np.clip(unit @ unit.T, -1, 1)
    anchors = np.arange(0, 120, 2)
    for given, columns in ((S, None), (S[:, anchors], anchors)):
        fitted = hasher.set_params(random_state=0).fit_similarity(features, given, anchors=columns)
        for packed in (fitted.codes_, fitted.encode(features)):
            inner = 1 - 2 * (bits(fitted, packed)[:, None] != bits(fitted, packed)).mean(-1)
            assert np.corrcoef(inner[np.triu_indices(120, 1)], S[np.triu_indices(120, 1)])[0, 1] > 0.6


@pytest.mark.filterwarnings("ignore:.*pairs")
def test_the_diagonal_of_s_is_ignored():
    S = similarity(Y) * np.random.default_rng(0).uniform(0.2, 1, (150, 150))
    S = (S + S.T) / 2
    for make in (lambda: EMKSH(8, random_state=0), lambda: EnergyHasher(8, random_state=0)):
        codes = []
        for value in (-1.0, 0.0, 0.3, 1.0):
            np.fill_diagonal(S, value)
            codes.append(make().fit_similarity(X, S).codes_)
        assert all(np.array_equal(codes[0], other) for other in codes)


# -- the paper's methods ----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 4, 16])
def test_fact_5_embre_is_emksh_bit_for_bit(d):
    ksh, bre = EMKSH(d, random_state=3).fit(X, Y), EMBRE(d, random_state=3).fit(X, Y)
    assert np.array_equal(ksh.codes_, bre.codes_)
    assert np.array_equal(ksh.decision_function(X), bre.decision_function(X))
    assert ksh.model_id_ == bre.model_id_


@pytest.mark.parametrize("cls", PAPER)
def test_the_papers_methods_bring_kin_together(cls):
    fitted = cls(16, n_sweeps=3, random_state=0).fit(X, Y)
    assert learned_map(fitted, Y) > 0.9
    assert fitted.score(X, Y) > 0.7
    assert len(fitted.report_.facts["energy"]) == 3


def test_fact_9_emsplh_is_the_sign_of_the_top_eigenvector():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [20, 35, 60])
    features = rng.normal(size=(115, 4)) + rng.normal(size=(3, 4))[y] * 3
    fitted = EMSPLH(rounding="half", random_state=0).fit(features, y)
    S = similarity(y) - np.eye(115)
    vector = np.linalg.eigh(S)[1][:, -1]
    vector = vector * np.sign(vector[np.abs(vector).argmax()])
    assert np.array_equal(bits(fitted).ravel(), (vector > 0).astype(np.uint8))


def test_fact_9_the_literal_eigenvector_differs_for_ten_balanced_classes():
    y = np.arange(100) % 10
    features = np.random.default_rng(0).normal(size=(100, 5))
    largest = EMSPLH(random_state=0).fit(features, y)
    assert len(np.unique(largest.codes_)) == 2
    with pytest.warns(KinhashWarning, match="1 of 1 bits are constant"):
        EMSPLH(which="literal", random_state=0).fit(features, y)  # the vector of ones


@pytest.mark.parametrize(
    ("energy", "cls"), [("ksh", EMKSH), ("lfh", EMLFH), ("bre", EMBRE), ("exph", EMExpH)]
)
def test_the_papers_methods_are_a_solver_and_an_encoder(energy, cls):
    method = cls(8, random_state=0).fit(X, Y)
    given = training(X, Y)
    solver = Linearized(n_sweeps=10, targets="given", rounding="mean", merge=False)
    solution = solver.solve(given.supervision, ENERGIES.make(energy), 8, given.rng)
    fitted = Ridge().fit(given, solution)
    assert np.array_equal(method.codes_, fitted.codes)
    np.testing.assert_allclose(method.fitted_.unrounded.scores(X), fitted.map.scores(X), atol=1e-5)
    assert method.report_.facts["energy"] == solution.minimum.energies


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("cls", PAPER)
def test_the_papers_letter_runs_for_every_energy_and_keeps_the_samples_marginals(cls):
    fitted = cls(8, literal=True, n_anchors=40, random_state=0).fit(X, Y)
    assert len(np.unique(fitted.marginals_, axis=0)) > 5 + 30  # Φ₁ row by row, not one per class
    assert np.isfinite(fitted.decision_function(X)).all()


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_the_papers_letter_rounds_and_learns_all_of_phi():
    """Threshold and ridge targets are those of [Φ₁, Φ₂], row by row."""
    n, p = X.shape
    letter = EMKSH(5, literal=True, n_anchors=n // 2, random_state=0).fit(X, Y)
    phi = letter.marginals_.astype(np.float64)
    assert np.array_equal(bits(letter), (phi > phi.mean(axis=0)).astype(np.uint8))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    W = np.linalg.solve(Z.T @ Z + n / p * np.eye(p), Z.T @ (phi - phi.mean(axis=0)))
    np.testing.assert_allclose(letter.fitted_.unrounded.scores(X), Z @ W, atol=2e-5)


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_the_letter_of_emsplh_stretches_by_min_and_max():
    y = np.repeat([0, 1, 2], [20, 35, 60])
    features = np.random.default_rng(0).normal(size=(115, 4))
    letter = EMSPLH(which="literal", random_state=0).fit(features, y)
    vector = np.linalg.eigh(similarity(y) - np.eye(115))[1]
    u = vector[:, -1] * np.sign(vector[:, -1][np.abs(vector[:, -1]).argmax()])
    c = 2.0
    stretched = c * (2 * (u - u.min()) / (u.max() - u.min()) - 1)
    phi = 1 / (1 + np.exp(-stretched))
    given = training(features, y)
    solver = Columns(which="literal", targets="given")
    means = solver.solve(given.supervision, ENERGIES.make("splh"), 1, given.rng).minimum.means
    np.testing.assert_allclose(np.sort((1 + means[:, 0]) / 2), np.unique(np.round(phi, 9)), atol=1e-8)
    np.testing.assert_allclose(letter.marginals_[:, 0], phi, atol=0.01)  # a power step, with S_ii
    assert np.array_equal(bits(letter).ravel(), (phi > phi.mean()).astype(np.uint8))


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_the_papers_letter_collapses_and_our_reading_does_not():
    ours = EMKSH(16, random_state=0).fit(X, Y)
    letter = EMKSH(16, literal=True, n_anchors=len(Y) // 2, random_state=0).fit(X, Y)
    assert learned_map(letter, Y) < learned_map(ours, Y) - 0.1


# -- the product ------------------------------------------------------------------------------------------


class OwnEnergy(Energy):
    """KSH with targets that reach only half way."""

    def loss(self, r, s, n_bits):
        return (r - n_bits * s / 2) ** 2

    def terms(self, s, n_bits, xi=None):
        return PairTerms(-n_bits * s, 1.0)


@pytest.mark.filterwarnings("ignore:.*bits are constant")
@pytest.mark.parametrize("solver", ["auto", "spectral", "coordinate", "linearized", "mean_field"])
@pytest.mark.parametrize("kind", [classes, tags])
def test_every_solver_learns_and_its_map_generalizes(solver, kind):
    X, y = kind(n=200)
    train, test = slice(0, 150), slice(150, 200)
    supervision = from_labels(y)
    group = supervision.group_of_row[test]
    chance = (supervision.similarity(group, group) > 0).mean()  # share of kin
    for energy in ("ksh", OwnEnergy()):
        for encoder in ("expected", "ridge"):
            settings = {"solver": solver, "energy": energy, "encoder": encoder, "random_state": 0}
            fitted = EnergyHasher(16, **settings).fit(X[train], y[train])
            assert fitted.score(X[test], y[test]) > chance + 0.1
            alone = EnergyHasher(16, alike=0, trust=1, kinship="any", **settings).fit(X[train], y[train])
            assert learned_map(alone, y[train]) > 0.8


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")  # all at once, bits collapse
@pytest.mark.parametrize(
    "solver",
    [
        MeanField(n_sweeps=5, order="parallel"),
        Linearized(n_sweeps=3, blocks="at_once"),
        Polished(first=Linearized(n_sweeps=2)),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_solvers_may_be_objects(solver):
    fitted = EnergyHasher(8, solver=solver, encoder="ridge", random_state=0).fit(X, Y)
    assert fitted.codes_.shape == (150, 1)
    assert fitted.report_.facts["energy"]


def test_mean_field_reports_its_divergence():
    fitted = EnergyHasher(8, solver="mean_field", encoder="ridge", random_state=0).fit(X, Y)
    divergence = fitted.report_.facts["divergence"]
    assert len(divergence) == 10
    assert (np.diff(divergence) <= 1e-9 * np.abs(divergence[:-1]) + 1e-9).all()


@pytest.mark.parametrize(
    "label_model",
    [
        "logistic",
        LogisticRegression(max_iter=500),
        KNeighborsClassifier(5),
        RandomForestClassifier(20, random_state=0),
        SVC(probability=True, random_state=0),
    ],
    ids=lambda model: model if isinstance(model, str) else type(model).__name__,
)
@pytest.mark.parametrize("kind", [classes, tags])
@pytest.mark.filterwarnings("ignore:.*probability.*:FutureWarning")
def test_label_models(label_model, kind):
    X, y = kind(n=150)
    fitted = EnergyHasher(16, encoder=ExpectedLabels(label_model=label_model), random_state=0).fit(
        X[:110], y[:110]
    )
    baseline = EMSPLH(random_state=0).fit(X[:110], y[:110]).score(X[110:], y[110:])
    assert fitted.score(X[110:], y[110:]) > baseline


@pytest.mark.filterwarnings("ignore:.*pairs")
@pytest.mark.parametrize(
    "regressor", [RidgeRegressor(), KNeighborsRegressor(5), LinearSVR(max_iter=20_000)], ids=repr
)
def test_regressors_as_maps(regressor):
    fitted = EnergyHasher(8, encoder=Regressor(estimator=regressor), random_state=0).fit(X, Y)
    assert fitted.score(X, Y) > 0.8
    pairs = EnergyHasher(8, encoder=Regressor(estimator=regressor), random_state=0).fit_pairs(
        X, *listed_pairs(Y)
    )
    assert pairs.encode(X).shape == (150, 1)


def test_small_kin_weights_hold_on_classes_never_trained_on():
    rng = np.random.default_rng(3)
    centers = rng.normal(size=(8, 12)) * 2.5
    y = np.arange(400) % 8
    features = centers[y] + rng.normal(size=(400, 12))
    seen = y < 4
    closed = EnergyHasher(32, alike=0, random_state=0).fit(features[seen], y[seen])
    opened = EnergyHasher(32, alike=0.6, kin_weight=1, random_state=0).fit(features[seen], y[seen])
    assert opened.score(features[~seen], y[~seen]) > closed.score(features[~seen], y[~seen]) + 0.05


def test_choices_are_made_on_held_out_rows_and_reported():
    X, y = tags(n=300)
    fitted = EnergyHasher(16, random_state=0).fit(X, y)
    assert fitted.report_.facts["penalty"] in PENALTIES
    assert fitted.report_.facts["features"] in FEATURES
    assert fitted.report_.facts["temperature"] == 1
    assert "tuning" in fitted.report_.seconds
    some = EnergyHasher(16, encoder=ExpectedLabels(penalty=3.0), random_state=0).fit(X, y)
    assert some.report_.facts["penalty"] == 3.0
    encoder = ExpectedLabels(penalty=3.0, temperature=2.5, features="rbf")
    fixed = EnergyHasher(16, encoder=encoder, random_state=0).fit(X, y).report_.facts
    told = {name: fixed[name] for name in ("label_model", "penalty", "temperature", "features")}
    assert told == {"label_model": "logistic", "penalty": 3.0, "temperature": 2.5, "features": "rbf"}
    few = EnergyHasher(16, random_state=0).fit(X[:200], y[:200]).report_.facts
    assert (few["penalty"], few["features"]) == (1.0, "plain")  # too few rows to hold any out
    theirs = ExpectedLabels(label_model=KNeighborsClassifier(5), features="plain")
    assert EnergyHasher(16, encoder=theirs).fit(X, y).report_.facts["label_model"] == "KNeighborsClassifier"


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_settings_change_what_they_should():
    def fitted(solver="auto", encoder="ridge", random_state=0):
        return EnergyHasher(8, solver=solver, encoder=encoder, random_state=random_state).fit(X, Y)

    seen = [
        fitted(),
        fitted(encoder=Ridge(alpha=1000.0)),
        fitted(encoder=Ridge(features=Plain(standardize=False))),
        fitted(encoder=Ridge(features=RBF(n_centers=10))),
        fitted(encoder=Ridge(features=RBF(n_centers=10, width=2.0))),
        fitted(solver=Spectral(rotation="codes")),
        fitted(solver="coordinate"),
        fitted(solver=Coordinate(targets="given")),
        fitted(solver=Coordinate(curvature=3.0)),
        fitted(solver=Coordinate(rounding="median")),
        fitted(random_state=1),
        fitted(encoder="expected"),
        fitted(encoder=ExpectedLabels(penalty=50.0)),
        fitted(encoder=ExpectedLabels(temperature=4.0)),
    ]
    assert len({one.model_id_ for one in seen}) == len(seen)


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        (ExpectedLabels(label_model=KNeighborsClassifier(5), penalty=3.0), "penalty=3.0"),
        (ExpectedLabels(label_model=KNeighborsClassifier(5), temperature=2.0), "temperature=2.0"),
        (ExpectedLabels(label_model="logit"), "label model called 'logit'"),
        (ExpectedLabels(features="rfb"), "Did you mean 'rbf'"),
        (Regressor(), "estimator is None"),
        (Ridge(alpha="gvc"), "Did you mean 'gcv'"),
    ],
    ids=repr,
)
def test_settings_that_would_have_no_effect_or_make_no_sense_are_refused(encoder, said):
    with pytest.raises(InvalidInput, match=said):
        EnergyHasher(8, encoder=encoder).fit(X, Y)


def test_expected_labels_need_labels():
    with pytest.raises(InvalidInput, match=r"pairs or similarities.*encoder='ridge'"):
        EnergyHasher(8, encoder="expected").fit_pairs(X, *listed_pairs(Y))
    with pytest.raises(InvalidInput, match=r"rounding='mean'.*expected labels"):
        EnergyHasher(8, solver=Coordinate(rounding="mean"), encoder="expected").fit(X, Y)


@pytest.mark.filterwarnings("ignore:Features hardly predict")  # plain ones
@pytest.mark.parametrize("n", [400, 4400], ids=["all rows are tried", "a part is tried"])
def test_auto_features_are_similarities_where_only_distances_tell_the_classes_apart(n):
    rng = np.random.default_rng(0)
    angle, ring = rng.uniform(0, 2 * np.pi, n + 200), rng.integers(0, 3, n + 200)
    # Rows are brought to unit length before they are compared, so the rings lie around a far-off point.
    X = np.c_[ring * np.cos(angle), ring * np.sin(angle), np.full(n + 200, 3.0)]
    X += 0.05 * rng.normal(size=X.shape)
    plain = EnergyHasher(8, encoder=ExpectedLabels(features="plain"), random_state=0).fit(X[:n], ring[:n])
    auto = EnergyHasher(8, random_state=0).fit(X[:n], ring[:n])
    assert auto.report_.facts["features"] in ("rbf", "both")
    assert plain.report_.facts["features"] == "plain"
    assert auto.score(X[n:], ring[n:]) > plain.score(X[n:], ring[n:]) + 0.1


def test_auto_features_keep_the_columns_where_a_line_does_or_rows_are_mostly_zeros():
    for n in (4400, 400):
        X, y = classes(n=n)
        X = X + 2 * np.random.default_rng(1).normal(size=X.shape)  # classes that overlap, divided by lines
        assert EnergyHasher(8, random_state=0).fit(X, y).report_.facts["features"] == "plain"
    words = (np.random.default_rng(1).random((400, 60)) < 0.05) * 1.0
    words[np.arange(400), y] = 1.0
    assert EnergyHasher(8, random_state=0).fit(words, y).report_.facts["features"] in ("plain", "both")
    sparse = EnergyHasher(8, random_state=0).fit(sp.csr_array(words), y)
    np.testing.assert_array_equal(sparse.codes_, EnergyHasher(8, random_state=0).fit(words, y).codes_)
