"""What is in a table is real: every row keeps its room's contract."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hasher_cases import ALL, make, tags

from kinhash.errors import UnknownName
from kinhash.files import HASHERS
from kinhash.paper import ENERGIES, Energy
from kinhash.testing import check_energy, check_hasher

pytestmark = [
    # On sixty rows of three classes some methods have a bit to spare, and say so.
    pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning"),
    pytest.mark.usefixtures("quick_fits"),
]


@pytest.mark.parametrize("name", list(ENERGIES))
def test_every_energy(name):
    assert issubclass(ENERGIES[name], Energy)
    check_energy(ENERGIES.make(name))


@pytest.mark.parametrize("name", ALL)
def test_every_hasher(name):
    check_hasher(make(name))


@pytest.mark.parametrize("name", ALL)
def test_every_hasher_on_tags(name):
    X, y = tags()
    y = np.array([[tag in row for tag in range(7)] for row in y], np.int8)
    check_hasher(make(name), X, y)


@pytest.mark.parametrize("table", [ENERGIES, HASHERS], ids=lambda table: table.kind)
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
        def encode(self, X, **how):
            codes = super().encode(X, **how)
            return replace(codes, packed=codes.packed ^ np.uint8(len(X) == 1))

    with pytest.raises(AssertionError, match="alone and in a batch"):
        check_hasher(Forgetful(8))
