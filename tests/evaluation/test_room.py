"""The room and its public door give the same things under the same names."""

from __future__ import annotations

from types import ModuleType

import pytest

from kinhash import evaluation, metrics


def test_the_door_adds_nothing_of_its_own():
    assert set(metrics.__all__) <= set(evaluation.__all__)
    for name in metrics.__all__:
        assert getattr(metrics, name) is getattr(evaluation, name)


def test_every_name_of_the_room_is_a_thing_and_not_a_module():
    for name in evaluation.__all__:
        assert not isinstance(getattr(evaluation, name), ModuleType), name
    with pytest.raises(AttributeError, match="no attribute 'cosin'"):
        evaluation.cosin  # noqa: B018
