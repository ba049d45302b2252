"""Maps: from features to scores of bits.

Add one: write ``maps/foo.py`` with a subclass of `Map` and put a row here.
"""

from __future__ import annotations

from .._table import Table
from ._base import Arrays, Map

__all__ = ["MAPS", "Map", "map_from_arrays"]

MAPS = Table(
    "map",
    {
        "expected": "kinhash.maps.expected:ExpectedMap",
        "linear": "kinhash.maps.linear:LinearMap",
        "periodic": "kinhash.maps.periodic:PeriodicMap",
        "regressor": "kinhash.maps.regressor:RegressorMap",
        "stacked": "kinhash.maps.stacked:StackedMap",
        "trees": "kinhash.maps.trees:TreesMap",
    },
    entry_points="kinhash.maps",
)


def map_from_arrays(kind: str, arrays: Arrays) -> Map:
    """Rebuild a stored map; its class is found through the table, never by import."""
    restored: Map = MAPS[kind].from_arrays(arrays)
    return restored
