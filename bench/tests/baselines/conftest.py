"""The rivals' tests look at maps before they are rounded to whole numbers."""

from __future__ import annotations

import pytest

from kinhash.base import Hasher


@pytest.fixture(autouse=True)
def _keep_learned_maps(monkeypatch):
    """A fit leaves its map in floating point as ``unrounded``."""
    install = Hasher._install

    def keep(self, learned, training):
        install(self, learned, training)
        self.unrounded = learned.map

    monkeypatch.setattr(Hasher, "_install", keep)
