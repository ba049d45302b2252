"""Models: fitted maps as arrays of whole numbers and a short list of steps.

A fit learns a map in floating point. At its end the map is rounded once (`Map.whole`), and everything else
uses the rounded one: it gives a row the same bits on every machine, alone or in any batch, in NumPy, on a
graphics card, in ONNX and in a browser.
"""

from __future__ import annotations

from .base import Arrays, Map
from .bounds import Bound, Inexact, Unsupported
from .builder import Builder
from .seen import Seen, Watch
from .whole import WholeMap, require_whole

__all__ = [
    "Arrays",
    "Bound",
    "Builder",
    "Inexact",
    "Map",
    "Seen",
    "Unsupported",
    "Watch",
    "WholeMap",
    "require_whole",
]
