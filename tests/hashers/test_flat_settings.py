"""Settings by flat names reach the parts of a hasher, and what is misspelt is said."""

from __future__ import annotations

import pytest

from kinhash import EnergyHasher
from kinhash.encoders.features import RBF
from kinhash.encoders.ridge import Ridge
from kinhash.errors import InvalidInput
from kinhash.hashers.model_file import HASHERS
from kinhash.hashers.settings import with_settings
from kinhash.solvers.coordinate import Coordinate


def test_names_become_objects_where_they_have_settings():
    plain = EnergyHasher(8, random_state=3)
    made = with_settings(
        plain,
        {
            "encoder__features__n_centers": 20,
            "encoder__features": "rbf",
            "encoder": "ridge",
            "solver": "coordinate",
            "solver__n_sweeps": 5,
            "alike": 0.25,
        },
    )
    assert (made.n_bits, made.random_state, made.alike) == (8, 3, 0.25)
    assert isinstance(made.encoder, Ridge)
    assert isinstance(made.encoder.features, RBF)
    assert made.encoder.features.n_centers == 20
    assert isinstance(made.solver, Coordinate)
    assert made.solver.n_sweeps == 5
    assert made.solver.n_anchors == Coordinate().n_anchors
    assert (plain.encoder, plain.solver, plain.alike) == ("auto", "auto", EnergyHasher().alike)


def test_objects_that_are_there_are_copied_not_changed():
    solver = Coordinate(n_anchors=50)
    made = with_settings(EnergyHasher(8, solver=solver), {"solver__n_sweeps": 5})
    assert (made.solver.n_anchors, made.solver.n_sweeps) == (50, 5)
    assert solver.n_sweeps == Coordinate().n_sweeps


@pytest.mark.parametrize("method", [HASHERS[name]() for name in HASHERS], ids=repr)
def test_every_method_takes_its_own_parameters(method):
    again = with_settings(method, {"random_state": 7})
    assert type(again) is type(method)
    assert repr(again.get_params(deep=False)) == repr({**method.get_params(deep=False), "random_state": 7})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"map": "linear"}, "parameter of EnergyHasher called 'map'"),
        ({"solvr": "spectral"}, "Did you mean 'solver'"),
        ({"solver": "spectrall", "solver__balance": False}, "Did you mean 'spectral'"),
        ({"solver": "spectral", "solver__n_sweeps": 5}, "parameter of Spectral called 'n_sweeps'"),
        ({"solver__n_sweeps": 5}, "solver is 'auto'.*Set solver too"),
        ({"encoder": "expected", "encoder__features__width": 1}, "features is 'auto'.*plain, rbf"),
        ({"n_bits__size": 5}, "n_bits has no settings of its own"),
    ],
    ids=str,
)
def test_what_is_wrong_is_named(settings, said):
    with pytest.raises(InvalidInput, match=said):
        with_settings(EnergyHasher(8), settings)
