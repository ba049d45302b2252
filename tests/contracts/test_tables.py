"""What is in a table is real: every row keeps its room's contract."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hasher_cases import ALL, make, tags
from sklearn.neighbors import KNeighborsRegressor

from kinhash.encoders import ENCODERS, Encoder
from kinhash.energies import ENERGIES, Energy
from kinhash.energies.splh import SPLH
from kinhash.errors import UnknownName
from kinhash.hashers.model_file import HASHERS
from kinhash.solvers import SOLVERS, Solver
from kinhash.testing import check_encoder, check_energy, check_hasher, check_solver

# On sixty rows of three classes some methods have a bit to spare, and say so.
ENCODER_NEEDS = {"regressor": {"estimator": KNeighborsRegressor(3)}}
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


@pytest.mark.parametrize("name", list(ENERGIES))
def test_every_energy(name):
    assert issubclass(ENERGIES[name], Energy)
    check_energy(ENERGIES.make(name))


@pytest.mark.parametrize("name", list(SOLVERS))
def test_every_solver(name):
    assert issubclass(SOLVERS[name], Solver)
    check_solver(SOLVERS.make(name), SPLH() if name == "columns" else None)


@pytest.mark.parametrize("name", list(ENCODERS))
def test_every_encoder(name):
    assert issubclass(ENCODERS[name], Encoder)
    check_encoder(ENCODERS[name](**ENCODER_NEEDS.get(name, {})))


@pytest.mark.parametrize("name", ALL)
def test_every_hasher(name):
    check_hasher(make(name))


@pytest.mark.parametrize("name", ALL)
def test_every_hasher_on_tags(name):
    X, y = tags()
    y = np.array([[tag in row for tag in range(7)] for row in y], np.int8)
    check_hasher(make(name), X, y)


@pytest.mark.parametrize("table", [ENERGIES, SOLVERS, ENCODERS, HASHERS], ids=lambda table: table.kind)
def test_every_table_says_what_it_holds(table):
    assert len(table) == len(list(table)) > 0
    assert all(name in table for name in table)
    some = next(iter(table))
    with pytest.raises(UnknownName, match=f"no {table.kind} called '{some}x'.*Did you mean"):
        table[some + "x"]
    with pytest.raises(UnknownName):
        table[3]
    thing = object()
    assert table.make(thing) is thing


def test_a_hasher_that_breaks_its_promise_is_caught():
    class Forgetful(HASHERS["EMKSH"]):
        def encode(self, X):
            codes = super().encode(X)
            return replace(codes, packed=codes.packed ^ np.uint8(len(X) == 1))

    with pytest.raises(AssertionError, match="alone and in a batch"):
        check_hasher(Forgetful(8))


def test_a_solver_that_breaks_its_promise_is_caught():
    class Moody(SOLVERS["linearized"]):
        def minimize(self, problem, rng, start=None):
            return super().minimize(problem, np.random.default_rng(), start)

    with pytest.raises(AssertionError, match="repeatable"):
        check_solver(Moody())


def test_a_readout_that_breaks_its_promise_is_caught():
    class Blank(SOLVERS["linearized"]):
        def readout(self, problem, targets, minimum):
            found = super().readout(problem, targets, minimum)
            return replace(found, matrix=np.full_like(found.matrix, np.nan))

    with pytest.raises(AssertionError, match="not finite"), np.errstate(all="ignore"):
        check_solver(Blank())


def test_an_encoder_that_breaks_its_promise_is_caught():
    class Moody(ENCODERS["ridge"]):
        def fit(self, training, solution):
            found = super().fit(training, solution)
            noise = np.random.default_rng().normal(size=found.map.weights.shape).astype(np.float32)
            return replace(found, map=replace(found.map, weights=noise))

    class Meddling(ENCODERS["ridge"]):
        def fit(self, training, solution):
            self.alpha = 3.0
            return super().fit(training, solution)

    class Short(ENCODERS["ridge"]):
        def fit(self, training, solution):
            found = super().fit(training, solution)
            fewer = replace(
                found.map, weights=found.map.weights[:, :7].copy(), intercept=found.map.intercept[:7].copy()
            )
            return replace(found, map=fewer)

    for broken, says in ((Moody(), "repeatable"), (Meddling(), "own settings"), (Short(), "7 bits")):
        with pytest.raises(AssertionError, match=says):
            check_encoder(broken)
