"""Solvers, encoders and feature maps as settings: copied, searched, named, plugged in, and never ignored."""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hasher_cases import classes, tags
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor

import kinhash
from kinhash import EnergyHasher
from kinhash.encoders import ENCODERS, Amortized
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.features import FEATURES, RBF, Both, Plain
from kinhash.encoders.regressor import Regressor
from kinhash.encoders.ridge import Ridge
from kinhash.energies import PairTerms
from kinhash.energies.ksh import KSH
from kinhash.errors import InvalidInput
from kinhash.solvers import SOLVERS
from kinhash.solvers.columns import Columns
from kinhash.solvers.coordinate import Coordinate, Polished
from kinhash.solvers.linearized import Linearized
from kinhash.solvers.mean_field import MeanField
from kinhash.solvers.spectral import Spectral

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")

NAMED = [(table, name) for table in (SOLVERS, ENCODERS) for name in table]
SETTINGS = [*(table[name] for table, name in NAMED), *FEATURES.values()]


def of_name(case):
    return case[1] if isinstance(case, tuple) else case.__name__


def learned(hasher, X, y):
    """Digest of all that a fit decides: learned codes and margins."""
    fitted = hasher.fit(X, y)
    found = fitted.codes_.packed.tobytes() + fitted.decision_function(X).tobytes()
    return hashlib.sha256(found + repr(fitted.codes_.fields).encode()).hexdigest()


# -- as scikit-learn has them ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SETTINGS, ids=of_name)
def test_settings_make_the_round_trip(kind):
    plain = kind()
    names = set(inspect.signature(kind).parameters)
    assert plain.get_params().keys() == names
    marked = {name: object() for name in names}  # constructors keep what they are given, and check at fit
    given = kind(**marked)
    assert all(given.get_params(deep=False)[name] is value for name, value in marked.items())
    assert repr(clone(plain).get_params()) == repr(plain.get_params())
    assert clone(plain) is not plain
    changed = plain.set_params(**marked)
    assert changed is plain
    assert all(getattr(plain, name) is value for name, value in marked.items())


@pytest.mark.parametrize("kind", SETTINGS, ids=of_name)
def test_settings_are_given_by_name_only(kind):
    ways = {parameter.kind for parameter in inspect.signature(kind).parameters.values()}
    assert ways <= {inspect.Parameter.KEYWORD_ONLY}


def test_the_product_has_few_parameters():
    assert len(inspect.signature(EnergyHasher).parameters) <= 10


@pytest.mark.parametrize("case", NAMED, ids=of_name)
def test_a_name_is_the_object_with_its_defaults(case):
    table, name = case
    X, y = classes(n=300)  # enough rows for something to be chosen
    more = {"n_bits": 1, "energy": "splh"} if name == "columns" else {"n_bits": 8}
    by_name = EnergyHasher(**more, **{table.kind: name}, random_state=0)
    by_object = EnergyHasher(**more, **{table.kind: table[name]()}, random_state=0)
    if name == "regressor":  # there is none by default
        for hasher in (by_name, by_object):
            with pytest.raises(InvalidInput, match="estimator"):
                hasher.fit(X, y)
        return
    assert learned(by_name, X, y) == learned(by_object, X, y)
    assert by_name.model_id_ == by_object.model_id_


def test_a_search_reaches_the_settings_inside():
    X, y = classes()
    hasher = EnergyHasher(8, solver=Coordinate(), encoder=Ridge(features=RBF(n_centers=20)), random_state=0)
    grid = {
        "solver__n_sweeps": [1, 5],
        "encoder__features__width": [0.2, 0.4],
        "encoder": [Ridge(features=RBF(n_centers=20)), Ridge(features=RBF(n_centers=40))],
    }
    search = GridSearchCV(hasher, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    assert search.best_score_ > 0.7
    best = search.best_estimator_
    assert best.solver.n_sweeps == search.best_params_["solver__n_sweeps"]
    assert best.encoder.features.width == search.best_params_["encoder__features__width"]
    assert hasher.solver.n_sweeps == 10  # what the user passed is left alone


def test_a_fit_leaves_the_settings_as_they_were():
    X, y = tags(n=300)
    hasher = EnergyHasher(8, solver=Spectral(), encoder=ExpectedLabels(), random_state=0)
    before = repr(hasher.get_params())
    hasher.fit(X, y)
    assert repr(hasher.get_params()) == before


# -- plugins -----------------------------------------------------------------------------------------


@dataclass(repr=False, kw_only=True)
class Reversed(Coordinate):
    """Coordinate descent from the opposite of a start."""

    strength: float = 1.0

    def minimize(self, problem, rng, start=None):
        start = rng.uniform(-1, 1, (problem.n_entries, problem.n_bits)) if start is None else start
        return super().minimize(problem, rng, -self.strength * start)


@dataclass(repr=False, kw_only=True)
class Louder(Ridge):
    """Ridge with all margins multiplied."""

    factor: float = 2.0

    def fit(self, training, solution):
        found = super().fit(training, solution)
        weights, intercept = found.map.weights * self.factor, found.map.intercept * self.factor
        return replace(found, map=replace(found.map, weights=weights, intercept=intercept))


@pytest.fixture
def plugged(monkeypatch):
    """Another package's solver and encoder, found through its entry points."""
    offered = {"kinhash.solvers": "Reversed", "kinhash.encoders": "Louder"}

    others = importlib.metadata.entry_points

    def entry_points(**selection):
        group = selection.get("group")
        if group not in offered:
            return others(**selection)
        value = f"{__name__}:{offered[group]}"
        return [importlib.metadata.EntryPoint(offered[group].lower(), value, group)]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    for table, group in ((SOLVERS, "kinhash.solvers"), (ENCODERS, "kinhash.encoders")):
        monkeypatch.setattr(table, "_rows", dict(table._rows))
        monkeypatch.setattr(table, "_entry_points", group)


@pytest.mark.usefixtures("plugged")
def test_solvers_and_encoders_of_other_packages_have_names(tmp_path):
    X, y = tags()
    named = EnergyHasher(8, solver="reversed", encoder="louder", alike=0, random_state=0)
    by_object = EnergyHasher(8, solver=Reversed(), encoder=Louder(), alike=0, random_state=0)
    assert learned(named, X, y) == learned(by_object, X, y)
    quiet = EnergyHasher(8, solver=Reversed(), encoder=Ridge(), alike=0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(named.decision_function(X), 2 * quiet.decision_function(X))
    for fitted in (named, by_object):
        fitted.save(tmp_path / "m.kin")
        again = kinhash.load(tmp_path / "m.kin")
        assert repr(again.get_params()) == repr(fitted.get_params())
        assert np.array_equal(again.encode(X), fitted.encode(X))
    with pytest.raises(InvalidInput, match="Did you mean 'louder'"):
        EnergyHasher(8, encoder="loudr").fit(X, y)


# -- energies ----------------------------------------------------------------------------------------


class Offset(KSH):
    """KSH with a price on agreement: its linear term is no multiple of s."""

    def loss(self, r, s, n_bits):
        return super().loss(r, s, n_bits) + 0.1 * n_bits * r

    def terms(self, s, n_bits, xi=None):
        terms = super().terms(s, n_bits, xi)
        return PairTerms(terms.linear + 0.1 * n_bits, terms.quadratic)


def test_an_energy_whose_linear_term_has_an_offset_is_not_for_the_spectral_solver():
    X, y = classes()
    with pytest.raises(InvalidInput, match="multiple of S"):
        EnergyHasher(8, energy=Offset(), solver="spectral").fit(X, y)
    automatic = EnergyHasher(8, energy=Offset(), random_state=0)
    by_name = EnergyHasher(8, energy=Offset(), solver="coordinate", random_state=0)
    assert learned(automatic, X, y) == learned(by_name, X, y)


# -- every setting has an effect ---------------------------------------------------------------------

FIXED = ExpectedLabels(penalty=1.0, temperature=1.0, features="plain")
BASE = EnergyHasher(8, solver="coordinate", encoder="ridge", alike=0, random_state=0)
SOLVER = {"targets": "balanced", "rounding": "mean", "n_anchors": 20, "anchors": np.arange(0, 90, 3)}
SWEEPS = {"n_sweeps": 1, "curvature": 3.0, "merge": False, "sums": "all"}
FAR, BESIDE = RBF(n_centers=30), Both(n_centers=30)

# Where each class of settings is used, and another value of each of its settings.
OTHER = [
    (Spectral(), "solver", SOLVER | {"rotation": "codes", "n_rounds": 2, "balance": False}),
    (Coordinate(), "solver", SOLVER | SWEEPS),
    (
        Linearized(n_sweeps=3),
        "solver",
        SOLVER | SWEEPS | {"clip": 1.0, "renormalize": "symmetric", "blocks": "at_once"},
    ),
    (MeanField(n_sweeps=3), "solver", SOLVER | SWEEPS | {"order": "parallel"}),
    (Polished(), "solver", SOLVER | SWEEPS | {"first": MeanField(n_sweeps=1)}),
    (Columns(targets="given"), "solver", SOLVER | {"n_anchors": 6, "clip": 1.0, "which": "literal"}),
    (Amortized(pull=0.001, scale="common"), "encoder", {"pull": 0.1, "scale": "columns"}),
    (Ridge(), "encoder", {"alpha": 1e4, "features": "rbf"}),
    (
        Regressor(estimator=KNeighborsRegressor(3)),
        "encoder",
        {"estimator": KNeighborsRegressor(30), "features": "rbf"},
    ),
    (
        FIXED,
        "encoder",
        {"label_model": LogisticRegression(), "penalty": 1e3, "temperature": 5.0, "features": "rbf"},
    ),
    (Plain(), "encoder__features", {"standardize": False}),
    (FAR, "encoder__features", {"n_centers": 12, "width": 3.0, "standardize": False}),
    (BESIDE, "encoder__features", {"n_centers": 12, "width": 3.0, "standardize": False}),
    (BASE, None, {"n_bits": 9, "energy": "lfh", "solver": "mean_field", "encoder": "expected"}),
    (BASE, None, {"alike": 0.5, "random_state": 1, "trust": 1.0, "kinship": "any"}),
    (clone(BASE).set_params(alike=0.5), None, {"kin_weight": 2}),
]
# These say how the work is done, or (partners) matter for pairs alone; of labels all give the same.
ONLY_HOW = {"Columns": {"method": "dense"}, "EnergyHasher": {"n_jobs": 2}, "Amortized": {"partners": 3.0}}
CASES = [(thing, place, name, value) for thing, place, others in OTHER for name, value in others.items()]


def hasher_with(thing, place):
    if place is None:
        return clone(thing)
    hasher = clone(BASE)
    if place == "encoder__features":
        hasher.set_params(encoder=Ridge())
    if isinstance(thing, Columns):
        hasher.set_params(n_bits=1, energy="splh")
    return hasher.set_params(**{place: clone(thing)})


def rows_for(thing, name=None):
    """Tags; the eigenvectors of columns differ where there are many balanced classes, who all are anchors.

    Of more than three classes a bit, balance gives each a codeword.
    """
    if name == "balance":
        return classes(n=120, k=40)
    return classes(n=100, k=10) if isinstance(thing, Columns) and name != "n_anchors" else tags()


@pytest.mark.parametrize(
    ("thing", "place", "name", "value"), CASES, ids=[f"{type(c[0]).__name__}.{c[2]}" for c in CASES]
)
def test_every_setting_has_an_effect(thing, place, name, value):
    base = clone(thing)
    if isinstance(thing, Spectral) and name == "rounding":
        base.set_params(rotation="codes")  # rotated predictions are rounded at zero, and it is said
    if name == "sums":
        base.set_params(n_anchors=20)  # with all rows in the sample there are no others
    if name == "label_model":
        base.set_params(penalty="auto", temperature="auto")  # a classifier has its own
    changed = clone(base).set_params(**{name: value})
    X, y = rows_for(thing, name)
    assert learned(hasher_with(base, place), X, y) != learned(hasher_with(changed, place), X, y)


@pytest.mark.parametrize("kind", list(ONLY_HOW))
def test_settings_that_say_how_do_not_change_what(kind):
    thing, place = next((thing, place) for thing, place, _ in OTHER if type(thing).__name__ == kind)
    X, y = rows_for(thing)
    plain = hasher_with(thing, place).fit(X, y)
    for name, value in ONLY_HOW[kind].items():
        other = hasher_with(clone(thing).set_params(**{name: value}), place).fit(X, y)
        assert np.array_equal(other.codes_, plain.codes_)


@pytest.mark.parametrize("kind", [*SETTINGS, EnergyHasher], ids=of_name)
def test_no_setting_is_forgotten_here(kind):
    tried = set(ONLY_HOW.get(kind.__name__, {}))
    for thing, _, others in OTHER:
        if type(thing) is kind:
            tried |= others.keys()
    assert tried == set(inspect.signature(kind).parameters)
