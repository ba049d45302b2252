"""Encoding on a graphics card: the map's own formulas, on arrays of the card, in the arithmetic that decides.

On the processor most rows are computed fast, and those near zero again in one written order. A card
does all rows in that order in about the time it takes to copy them there, so there is nothing to doubt.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arithmetic import FIXED
from .._blocks import block_slices
from .._types import Bytes
from ..codes import n_bytes
from ..gpu.moved import moved
from ..rows import Rows
from ..solvers.readout import LinearReadout
from .base import Map
from .expected import ExpectedMap, LabelSimilarity, RegressedSimilarity
from .label_models import LinearLabels
from .linear import LinearMap
from .preparation import UnitRBF
from .stacked import StackedMap

__all__ = ["codes_on", "knows"]

BLOCK_BYTES = 1 << 28  # of prepared rows on the card; a few such arrays are there at a time


def knows(map_: Map) -> bool:
    """Whether all formulas of a map can be computed on a card."""
    if isinstance(map_, StackedMap):
        return all(map(knows, map_.parts))
    if isinstance(map_, ExpectedMap):
        expected = map_.expected
        of_labels = isinstance(expected, LabelSimilarity) and isinstance(expected.model, LinearLabels)
        known = of_labels or isinstance(expected, RegressedSimilarity)
        return known and isinstance(map_.readout, LinearReadout) and _knows_features(map_)
    return isinstance(map_, LinearMap) and _knows_features(map_)


def _knows_features(map_: Any) -> bool:
    return map_.preparation.rbf is None or isinstance(map_.preparation.rbf, UnitRBF)


def codes_on(card: Any, map_: Map, rows: Rows) -> Bytes:
    """Packed codes (n, bytes) of rows. Memory on the card: the map, and about six blocks of `BLOCK_BYTES`."""
    map_.evaluate(np.zeros((1, rows.shape[1])), FIXED)  # what is derived of the arrays is derived here
    by = card.fixed()
    packed = np.empty((len(rows), n_bytes(map_.n_bits)), np.uint8)
    there = moved(map_, card)
    widest = max(rows.shape[1], _width(map_))
    for part in block_slices(len(rows), max(1024, BLOCK_BYTES // (8 * widest))):
        with card.active():
            block = card.put(rows.plain(part)).astype(np.float64)
            packed[part] = card.packed_bits(there.evaluate(block, by)[0] > 0)
    return packed


def _width(map_: Any) -> int:
    """The widest array that a row turns into."""
    if isinstance(map_, StackedMap):
        return max(map(_width, map_.parts))
    anchors = len(map_.readout.matrix) if isinstance(map_, ExpectedMap) else 0
    return max(len(map_.preparation.mean), anchors)
