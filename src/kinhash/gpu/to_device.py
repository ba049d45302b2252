"""Records of arrays, on a card."""

from __future__ import annotations

from copy import copy
from dataclasses import is_dataclass
from typing import Any

import numpy as np

__all__ = ["moved"]


def moved(thing: Any, card: Any) -> Any:
    """The same with arrays of the card in place of those of NumPy, derived ones as well."""
    if isinstance(thing, np.ndarray):
        return card.put(thing)
    if isinstance(thing, tuple):
        return tuple(moved(each, card) for each in thing)
    if is_dataclass(thing) and not isinstance(thing, type):
        other = copy(thing)
        for name, value in vars(thing).items():
            other.__dict__[name] = moved(value, card)
        return other
    return thing
