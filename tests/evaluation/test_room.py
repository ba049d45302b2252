"""The room and its two public doors give the same things under the same names."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

from kinhash import evaluation, metrics, protocols


@pytest.mark.parametrize("door", [metrics, protocols], ids=lambda door: door.__name__)
def test_a_door_adds_nothing_of_its_own(door):
    assert set(door.__all__) <= set(evaluation.__all__)
    for name in door.__all__:
        assert getattr(door, name) is getattr(evaluation, name)
    assert set(door.__all__) <= set(dir(door))


def test_every_name_of_the_room_is_a_thing_and_not_a_module():
    for name in evaluation.__all__:
        assert not isinstance(getattr(evaluation, name), ModuleType), name
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        evaluation.evalute  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        protocols.evalute  # noqa: B018


def test_a_protocol_needs_neither_numba_nor_scikit_learn():
    code = (
        "import sys; from kinhash.protocols import PROTOCOLS; PROTOCOLS['paper'].partition(100); "
        "print([name for name in ('numba', 'sklearn') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
