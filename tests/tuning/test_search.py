"""What is left open is chosen on held-out rows; what is given stays."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from tuning_data import classes, tags, training

from kinhash import EnergyHasher
from kinhash.encoders.expected_labels import ExpectedLabels, fit_label_model, label_patterns
from kinhash.encoders.features import RBF, Both, Plain
from kinhash.encoders.ridge import Ridge
from kinhash.energies.ksh import KSH
from kinhash.solvers.coordinate import Coordinate
from kinhash.solvers.readout import PolishReadout
from kinhash.solvers.spectral import Spectral
from kinhash.tuning import choose, search, tune
from kinhash.tuning.recoding import recoding_gain
from kinhash.tuning.scores import Judge, Score
from kinhash.tuning.splits import validation_split


def solved(given, solver=None):
    return (solver or Spectral()).solve(given.supervision, KSH(), 8, np.random.default_rng(0))


def tagged(data):
    X, y = data
    return X[y.any(axis=1)], y[y.any(axis=1)]


GIVEN = [
    {"penalty": 7.0},
    {"temperature": 3.0},
    {"features": Plain(standardize=False)},
    {"features": RBF(n_centers=11, width=0.7)},
    {"recode": 0.25},
    {"database": "later"},
    {"label_model": "logistic"},
    {"label_model": "ridge"},
    {"label_model": "ridge", "penalty": 5.0, "features": Plain()},
    {"label_model": KNeighborsClassifier(3), "features": Plain()},
    {"penalty": 7.0, "temperature": 3.0, "recode": 0.0},
]


@pytest.mark.parametrize("settings", GIVEN, ids=str)
@pytest.mark.parametrize("data", [classes, tags])
def test_what_is_given_stays_and_the_rest_is_settled(settings, data):
    given = training(*data())
    encoder = ExpectedLabels(**settings)
    before = encoder.get_params()
    chosen = choose(given, [solved(given)], encoder)
    found = chosen.encoder.get_params(deep=False)
    for name, value in settings.items():
        assert repr(found[name]) == repr(value)
    assert "auto" not in (found["features"], found["temperature"], found["recode"])
    assert not isinstance(found["label_model"], str) or found["label_model"] in ("logistic", "ridge")
    assert (found["penalty"] == "auto") == (found["label_model"] != "logistic" and "penalty" not in settings)
    assert 0 < chosen.value <= 1
    assert encoder.get_params() == before  # the user's object is left alone


def best(data, **settings):
    """The best candidate, by the same rows and the same random numbers every time."""
    given = training(*data)
    return search._search(given, [solved(given)], ExpectedLabels(**settings)).best


@pytest.mark.parametrize("features", ["plain", "rbf"])
@pytest.mark.parametrize("data", [classes(), tags()], ids=["classes", "tags"])
def test_the_label_model_is_the_better_of_two(data, features):
    logistic, ridge, auto = (
        best(data, features=features, label_model=kind) for kind in ("logistic", "ridge", "auto")
    )
    asked = min(search.SLACK, search.SLACK_SHARE * (1 - logistic.value))
    better = ridge if ridge.value > logistic.value + asked else logistic
    assert (auto.kind, auto.value) == (better.kind, better.value)


@pytest.mark.parametrize("winner", ["logistic", "ridge"])
def test_either_label_model_can_win(winner, monkeypatch):
    """The other one is made to know nothing."""

    def fit(kind, rows, *args, **limits):
        model = fit_label_model(kind, rows, *args, **limits)
        return model if kind == winner else replace(model, weights=0 * model.weights)

    monkeypatch.setattr(search, "fit_label_model", fit)
    given = training(*classes())
    chosen = choose(given, [solved(given)], ExpectedLabels())
    assert chosen.encoder.label_model == winner
    assert chosen.fit(given).facts["label_model"] == winner


def test_a_database_that_comes_later_rewards_no_map_that_remembers():
    """Labels that the columns say nothing of can only be remembered; on the whole, few rows being noisy."""
    stronger = 0.0
    for seed in range(8):
        X, Y = tags(p=20, seed=seed)
        data = X, np.random.default_rng(1).permutation(Y)
        remembered = best(data, features="rbf", label_model="logistic")
        later = best(data, features="rbf", label_model="logistic", database="later")
        stronger += np.log10(later.penalty / remembered.penalty)
    assert stronger > 1


@pytest.mark.parametrize(("most", "penalty"), [(20_000, 100.0), (300, 10.0)])
def test_a_stronger_penalty_of_many_rows_must_gain_more(most, penalty, monkeypatch):
    """Most of them were not tried on, and more rows need less of it: here it gains .009."""
    values = {1.0: 0.7, 10.0: 0.8, 100.0: 0.809, 1000.0: 0.75}

    def attempt(self, kind, penalty, *_):
        return search.Candidate(self.trial, kind, None, penalty, 1.0, Score(values[penalty], 0.0))

    monkeypatch.setattr(search._Path, "_attempt", attempt)
    monkeypatch.setattr(search._Path, "refined", lambda self, best: best)
    monkeypatch.setattr(search, "MANY_ROWS", most)
    assert best(classes(), features="plain", label_model="logistic").penalty == penalty


@pytest.mark.parametrize(
    ("columns_need", "both_gain", "tried"),
    [
        (1.0, 0.0, [30.0]),
        (10.0, 0.0, [30.0]),
        (100.0, 0.0, [30.0, 300.0]),
        (1000.0, 0.0, [30.0, 1000.0]),
        (100.0, 0.05, [30.0, 3.0, 300.0]),  # ahead at once: its own path
    ],
)
def test_columns_beside_similarities_may_need_as_strong_a_penalty(
    columns_need, both_gain, tried, monkeypatch
):
    """Else columns at their best stand against both at a penalty that is too weak, and win."""
    seen = []

    def attempt(self, kind, penalty, *_):
        seen.append((self.trial.features.name, penalty))
        value = 0.8 - 0.01 * abs(np.log10(penalty / columns_need))
        value += both_gain * (self.trial.features.name == "both")
        return search.Candidate(self.trial, kind, None, penalty, 1.0, Score(value, value))

    monkeypatch.setattr(search._Path, "_attempt", attempt)
    monkeypatch.setattr(search._Path, "refined", lambda self, best: best)
    best(classes())
    assert [penalty for name, penalty in seen if name == "both"][: len(tried)] == pytest.approx(tried)


@pytest.mark.parametrize(
    ("plain", "both", "rbf", "chosen", "tried"),
    [
        (0.80, 0.805, 0.95, "both", 2),  # little gain beside the columns: not tried without them
        (0.80, 0.802, 0.95, "plain", 2),
        (0.95, 0.952, 0.96, "rbf", 3),
        (0.95, 0.952, 0.95, "plain", 3),
        (0.80, 0.821, 0.823, "both", 3),
        (0.80, 0.821, 0.825, "rbf", 3),
        (0.80, 0.821, (0.825, 0.81), "both", 3),  # gains by remembering rows alone
    ],
)
def test_similarities_must_earn_their_cost(plain, both, rbf, chosen, tried, monkeypatch):
    scores, seen = {"plain": plain, "both": both, "rbf": rbf}, []
    scores = {name: Score(*(one if isinstance(one, tuple) else (one, one))) for name, one in scores.items()}

    def attempt(self, kind, penalty, *_):
        seen.append(self.trial.features.name)
        return search.Candidate(self.trial, kind, None, penalty, 1.0, scores[self.trial.features.name])

    monkeypatch.setattr(search._Path, "_attempt", attempt)
    assert best(classes(), penalty=7.0).trial.features.name == chosen
    assert seen == ["plain", "both", "rbf"][:tried]


@pytest.mark.parametrize(
    ("most", "database", "both", "chosen"),
    [
        (300, "later", 0.792, "both"),
        (300, "later", 0.788, "plain"),
        (300, "fitted", 0.792, "plain"),
        (20_000, "later", 0.792, "plain"),
    ],
)
def test_of_many_rows_that_come_later_both_may_be_a_little_behind(most, database, both, chosen, monkeypatch):
    """Candidates see a part of the rows, of which columns alone make more."""
    scores = {"plain": 0.8, "both": both}

    def attempt(self, kind, penalty, *_):
        value = scores[self.trial.features.name]
        return search.Candidate(self.trial, kind, None, penalty, 1.0, Score(value, value))

    monkeypatch.setattr(search._Path, "_attempt", attempt)
    monkeypatch.setattr(search, "MANY_ROWS", most)
    assert best(classes(), penalty=7.0, database=database).trial.features.name == chosen


@pytest.mark.parametrize(("most", "kinds"), [(20_000, ["logistic", "ridge"]), (300, ["logistic"])])
def test_ridge_is_for_few_rows(most, kinds, monkeypatch):
    tried, real = [], search.fit_label_model
    monkeypatch.setattr(
        search, "fit_label_model", lambda kind, *a, **b: tried.append(kind) or real(kind, *a, **b)
    )
    monkeypatch.setattr(search, "MANY_ROWS", most)
    best(classes(), features="plain")
    assert sorted(set(tried)) == kinds


def test_pictures_are_told_apart_by_similarities():
    """Columns beside them need so strong a penalty that both together gain little at first."""
    X, y = load_digits(return_X_y=True)
    some = np.random.default_rng(1).permutation(len(X))[:1200]
    assert best((X[some], y[some])).trial.features.name == "rbf"


def test_only_the_best_kind_of_features_is_looked_into(monkeypatch):
    seen, real = [], search._Path.refined
    monkeypatch.setattr(
        search._Path, "refined", lambda self, found: seen.append(self.trial.features) or real(self, found)
    )
    found = best(classes())
    assert seen == [found.trial.features]


@pytest.mark.parametrize("data", [classes, tags])
def test_nothing_is_tried_where_nothing_is_open_or_rows_are_few(data):
    given, few = training(*data()), training(*data(n=200))
    fixed = ExpectedLabels(penalty=7.0, temperature=3.0, features="plain", recode=0.0)
    for rows, encoder in ((given, fixed), (few, ExpectedLabels()), (given, Ridge())):
        solution = solved(rows)
        chosen = choose(rows, [solution], encoder)
        assert chosen.encoder is encoder
        assert chosen.solution is solution
        assert chosen.value is None
        assert "tuning" not in rows.stages.seconds


@pytest.mark.parametrize(
    ("data", "solver", "n_bits", "n"),
    [
        (lambda: tagged(tags()), Spectral(n_anchors=10), 8, 3),
        (lambda: tagged(tags()), Spectral(n_anchors=10), 65, 2),
        (tags, Spectral(n_anchors=10), 8, 2),
        (lambda: tags(t=8), Spectral(n_anchors=10), 8, 2),
        (tags, Spectral(rarity=0.25), 8, 1),
        (classes, Spectral(), 8, 1),
        (tags, Coordinate(), 8, 1),
    ],
    ids=["tags", "long codes", "rows without tags", "many tag sets", "rarity given", "classes", "another"],
)
def test_other_solvers_are_tried_for_tags_only_and_where_they_are_open(data, solver, n_bits, n, monkeypatch):
    seen = []
    monkeypatch.setattr(search, "_search", lambda training, solutions, *_: seen.extend(solutions))
    tune(training(*data()), KSH(), n_bits, solver, ExpectedLabels(), any_solver=True)
    assert len(seen) == n
    for other in seen[1:]:
        np.testing.assert_array_equal(other.sample.groups, seen[0].sample.groups)  # the same anchors
        assert not np.allclose(other.readout.matrix, seen[0].readout.matrix)
    if n == 3:
        assert isinstance(seen[2].readout, PolishReadout)
        seen.clear()
        tune(training(*data()), KSH(), n_bits, solver, ExpectedLabels())
        assert len(seen) == 2  # a solver that was asked for stays


def test_bits_are_shared_also_where_codes_by_coordinate_descent_are_taken(monkeypatch):
    monkeypatch.setattr(search, "GAIN", -1.0)  # the last solver that is tried is taken
    X, y = tagged(tags(n=600))
    hasher = EnergyHasher(24, encoder=ExpectedLabels(features="plain"), random_state=0).fit(X, y)
    fields = hasher.codes_.fields
    assert hasher.report_["solver"] == "polished"
    assert fields.alike > 0
    kin = hasher.fitted_.map.parts[0]
    assert isinstance(kin.readout, PolishReadout)
    assert kin.n_bits == fields.kin(24)
    given = EnergyHasher(24, solver="spectral", encoder=ExpectedLabels(features="plain"), random_state=0)
    assert "solver" not in given.fit(X, y).report_


def test_a_better_solution_is_taken_and_a_worse_one_is_not():
    X, y = tags()
    given = training(X, y)
    good = solved(given)
    bad = solved(training(X, np.random.default_rng(0).permutation(y)))
    encoder = ExpectedLabels(features="plain")
    assert choose(given, [good, bad], encoder).solution is good
    weak = Spectral(n_rounds=0, rotation="codes")  # nothing turns its codes
    plain, better = solved(given, weak), good
    judged = choose(given, [plain, better], encoder)
    alone = choose(training(X, y), [plain], encoder)
    assert (judged.solution is better) == (judged.value > alone.value)


def test_all_candidates_are_fitted_on_the_same_rows_and_centres_are_among_them(monkeypatch):
    given = training(*classes())
    seen, made = [], search.labelled_set
    monkeypatch.setattr(search, "labelled_set", lambda *args: seen.append(made(*args)) or seen[-1])
    held = []
    judged = search.Judge.of
    monkeypatch.setattr(search.Judge, "of", lambda *args: held.append(args[3].held) or judged(*args))
    choose(given, [solved(given)], ExpectedLabels())
    plain, both, *_ = seen
    np.testing.assert_array_equal(plain.rows, both.rows)
    assert not set(plain.rows) & set(held[0])
    centres = both.preparation.rbf.centers
    unit = given.rows.X / np.linalg.norm(given.rows.X, axis=1, keepdims=True)
    nearest = (centres @ unit.T).argmax(axis=1)
    assert set(nearest) <= set(plain.rows)  # a held-out row is nobody's centre, its own least of all


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_rows_that_are_mostly_zeros_keep_their_columns(container):
    X, y = classes(p=30)
    full, empty = (training(container(rows), y) for rows in (X, X * (np.abs(X) > 2)))
    assert [type(features) for features in search._kinds(full, "auto")] == [Plain, Both, RBF]
    assert [type(features) for features in search._kinds(empty, "auto")] == [Plain, Both]


def case(predicted):
    """Rows of tags, a label model that predicts ``predicted(Y)``, and the judge of both."""
    X, Y = tags(n=600, t=6)
    given = training(X, Y)
    solution = solved(given)
    patterns = label_patterns(given.supervision.labels, solution.sample, given.supervision.group_of_row)
    judge = Judge.of(given, solution, patterns, validation_split(given, np.random.default_rng(0)))
    chances = predicted(Y.astype(np.float32))
    candidate = SimpleNamespace(
        softened=SimpleNamespace(probabilities=lambda chances: chances),
        trial=SimpleNamespace(
            labelled=SimpleNamespace(features=chances[judge.split.part]), held=chances[judge.split.held]
        ),
    )
    return given, solution, judge, candidate


def test_recoding_gains_where_the_map_errs_alike_and_not_where_it_is_right():
    """A model that takes every tag for the next one gives kin like codes, but not those learned."""
    mixed_up = recoding_gain(*case(lambda Y: 0.9 * np.roll(Y, 1, axis=1) + 0.05), 1.5)
    right = recoding_gain(*case(lambda Y: 0.98 * Y + 0.01), 1.5)
    assert mixed_up > 0.1
    assert right < 0.01
