"""Bounds of a filter as numbers of a column's own type, so that comparing neither rounds nor converts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .._internal.types import Array
from .conditions import Between

__all__ = ["closed_bounds", "exactly"]


def closed_bounds(dtype: np.dtype[Any], wanted: Between) -> tuple[Any, Any] | None:
    """Smallest and largest values of ``dtype`` that pass; None if none do.

    Bounds are compared by value, as Python compares: 2.5 is between 2 and 3 in a column of integers, too.
    """
    low, high = _ends(dtype)
    if wanted.low is not None:
        low = _at_or_above(dtype, wanted.low, wanted.low_open)
    if wanted.high is not None:
        high = _at_or_below(dtype, wanted.high, wanted.high_open)
    return None if low is None or high is None or low > high else (low, high)


def exactly(dtype: np.dtype[Any], values: Iterable[Any]) -> Array:
    """The values that ``dtype`` can represent, as a sorted array."""
    found = []
    for value in values:
        bounds = None if value != value else closed_bounds(dtype, Between("", value, value))
        if bounds is not None:
            found.append(bounds[0])
    return np.unique(np.array(found, dtype))


def _ends(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype.kind == "f":
        return dtype.type(-np.inf), dtype.type(np.inf)
    limits = np.iinfo(dtype)
    return dtype.type(limits.min), dtype.type(limits.max)


def _at_or_above(dtype: np.dtype[Any], value: Any, beyond: bool) -> Any:
    """The least number of the type that is at least the value, or above it; None if there is none."""
    if dtype.kind == "f":
        near = _nearest_float(dtype, value)
        if float(near) < value or (beyond and float(near) == value):
            return None if near == np.inf else np.nextafter(near, dtype.type(np.inf))
        return near
    limits = np.iinfo(dtype)
    if value > limits.max or (beyond and value == limits.max):
        return None
    if value < limits.min:
        return dtype.type(limits.min)
    whole = math.ceil(value)
    return dtype.type(whole + 1 if beyond and whole == value else whole)


def _at_or_below(dtype: np.dtype[Any], value: Any, beyond: bool) -> Any:
    if dtype.kind == "f":
        below = _at_or_above(dtype, -value, beyond)
        return None if below is None else -below
    limits = np.iinfo(dtype)
    if value < limits.min or (beyond and value == limits.min):
        return None
    if value > limits.max:
        return dtype.type(limits.max)
    whole = math.floor(value)
    return dtype.type(whole - 1 if beyond and whole == value else whole)


def _nearest_float(dtype: np.dtype[Any], value: Any) -> Any:
    with np.errstate(over="ignore"):
        try:
            return dtype.type(float(value))
        except OverflowError:  # an integer or a fraction beyond all floats
            return dtype.type(np.inf if value > 0 else -np.inf)
