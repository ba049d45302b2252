"""Encoders: from features to scores of bits.

An *encoder* holds settings and learns (``fit(training, solution)``); what it learns is a *map*, plain arrays
that give any row its scores. A fit rounds it to whole numbers (`kinhash.models`).

Add one: write ``encoders/foo.py`` with a subclass of `Encoder`, and of `Map` if none of ours fits, and put a
row into each table; other packages use the entry point groups "kinhash.encoders" and "kinhash.maps".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._table import Table
from ..models import Arrays, Map
from .base import Encoder, Fitted

if TYPE_CHECKING:
    from .expected_labels import ExpectedLabels as ExpectedLabels
    from .features import RBF as RBF
    from .features import Both as Both
    from .features import Plain as Plain
    from .regressor import Regressor as Regressor
    from .ridge import Ridge as Ridge

__all__ = ["ENCODERS", "MAPS", "RBF", "Both", "Encoder", "Fitted", "Map", "Plain", "map_from_arrays"]

ENCODERS = Table(
    "encoder",
    {
        "expected": "kinhash.encoders.expected_labels:ExpectedLabels",
        "regressor": "kinhash.encoders.regressor:Regressor",
        "ridge": "kinhash.encoders.ridge:Ridge",
    },
    entry_points="kinhash.encoders",
)

MAPS = Table(
    "map",
    {
        "expected": "kinhash.encoders.expected:ExpectedMap",
        "linear": "kinhash.encoders.linear:LinearMap",
        "periodic": "kinhash.encoders.periodic:PeriodicMap",
        "regressor": "kinhash.encoders.regressor:RegressorMap",
        "stacked": "kinhash.encoders.stacked:StackedMap",
        "trees": "kinhash.encoders.trees:TreesMap",
        "whole": "kinhash.models.whole:WholeMap",
    },
    entry_points="kinhash.maps",
)


def map_from_arrays(kind: str, arrays: Arrays) -> Map:
    """Rebuild a stored map; its class is found through the table, never by import."""
    restored: Map = MAPS[kind].from_arrays(arrays)
    return restored


def __getattr__(name: str) -> Any:
    if name in ("Both", "Plain", "RBF"):
        from . import features

        return getattr(features, name)
    return ENCODERS.class_named(name, __name__)
