"""Settings as scikit-learn has them: copied, named, and never ignored."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hasher_cases import TABLE, classes, make, tags
from sklearn.base import clone

from kinhash import EnergyHasher
from kinhash.files import HASHERS

pytestmark = [
    pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning"),
    pytest.mark.usefixtures("quick_fits"),
]
BASE = EnergyHasher(8, random_state=0)
OTHER = {  # another value of every setting, and where it matters
    "n_bits": 9,
    "energy": "lfh",
    "kinship": "any",
    "looks": 0.1,
    "trust": 1.0,
    "random_state": 1,
}
ONLY_HOW = {"n_jobs": 2}


def learned(hasher):
    X, y = tags()
    fitted = hasher.fit(X, y)
    return fitted.codes_.packed.tobytes() + fitted.decision_function(X).tobytes()


@pytest.mark.parametrize("name", OTHER)
def test_every_setting_has_an_effect(name):
    assert learned(clone(BASE)) != learned(clone(BASE).set_params(**{name: OTHER[name]}))


def test_settings_that_say_how_do_not_change_what():
    for name, value in ONLY_HOW.items():
        assert learned(clone(BASE)) == learned(clone(BASE).set_params(**{name: value}))


def test_no_setting_is_forgotten_here():
    assert {*OTHER, *ONLY_HOW} == set(inspect.signature(EnergyHasher).parameters)


ARGUMENTS = {  # arguments of methods, where they matter: with and without
    "sample_weight": lambda h, X, y: (h.fit(X, y), h.fit(X, y, sample_weight=1.0 + np.arange(len(X)))),
    "looks_from": lambda h, X, y: (h.fit(X, y), h.fit(X, y, looks_from=X[:, :2])),
    "y": lambda h, X, y: (h.fit(X), h.fit(X, y)),
    "y of pairs": lambda h, X, y: (
        h.fit_pairs(X, [0, 1, 2], [3, 4, 5]),
        h.fit_pairs(X, [0, 1, 2], [3, 4, 5], y=y),
    ),
    "y_weight": lambda h, X, y: (
        h.fit_triplets(X, [0], [1], [2], y=y),
        h.fit_triplets(X, [0], [1], [2], y=y, y_weight=5.0),
    ),
    "weight": lambda h, X, y: (
        h.fit_pairs(X, [0, 1, 2, 3], [4, 5, 6, 7], [1, 1, -1, -1]),
        h.fit_pairs(X, [0, 1, 2, 3], [4, 5, 6, 7], [1, 1, -1, -1], weight=[1, 9, 1, 9]),
    ),
    "same": lambda h, X, y: (
        h.fit_pairs(X, [0, 1, 2, 3], [4, 5, 6, 7]),
        h.fit_pairs(X, [0, 1, 2, 3], [4, 5, 6, 7], [1, 1, -1, -1]),
    ),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_argument_has_an_effect(name, monkeypatch):
    X, y = classes()
    models = []
    install = EnergyHasher._install
    monkeypatch.setattr(
        EnergyHasher,
        "_install",
        lambda self, *given: (install(self, *given), models.append(self.model_id_))[0],
    )
    ARGUMENTS[name](clone(BASE), X, y)
    assert len(set(models)) == 2


@pytest.mark.parametrize("name", TABLE)
def test_settings_make_the_round_trip(name):
    kind = HASHERS[name]
    names = set(inspect.signature(kind).parameters)
    assert kind().get_params(deep=False).keys() == names
    marked = {name: object() for name in names}  # constructors keep what they are given, and check at fit
    assert all(kind(**marked).get_params(deep=False)[name] is value for name, value in marked.items())
    changed = kind().set_params(**marked)
    assert all(getattr(changed, name) is value for name, value in marked.items())
    ways = [parameter.kind for parameter in inspect.signature(kind).parameters.values()]
    assert set(ways[1:]) <= {inspect.Parameter.KEYWORD_ONLY}
    assert repr(clone(make(name)).get_params()) == repr(make(name).get_params())


def test_the_product_has_few_settings():
    assert len(inspect.signature(EnergyHasher).parameters) <= 8
