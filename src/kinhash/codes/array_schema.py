"""What the arrays of a file must look like, said as data and checked before any of them is used.

    FORMS = {"weights": Form("f4", "qd"), "intercept": Form("f4", "d")}

A letter in a shape stands for one length in all arrays of a file: a small letter for at least 1, a capital
for at least 0. A digit stands for itself, and ``*`` for any length. The letter ``d`` is the number of bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .._internal.types import Array
from .packed import MAX_BITS

__all__ = ["POSITIVE", "Form", "Forms", "check_forms"]

LARGEST = float(np.finfo(np.float64).max)
POSITIVE = 5e-324  # the least number above zero


class Form(NamedTuple):
    """One array: its dtype as NumPy writes it, its shape, and the range of its values, ends included."""

    dtype: str
    shape: str
    low: float = -LARGEST
    high: float = LARGEST


Forms = dict[str, Form]


def check_forms(arrays: Mapping[str, Array], forms: Mapping[str, Form]) -> dict[str, int]:
    """The length each letter stands for; a ValueError where an array is missing, unknown or of another form.

    Values are looked at only after all shapes are known to fit. Allocates nothing to speak of.
    """
    if odd := sorted(arrays.keys() ^ forms.keys()):
        raise ValueError(f"arrays that are missing or unknown: {', '.join(odd[:5])}")
    lengths: dict[str, int] = {}
    for name, form in forms.items():
        array = arrays[name]
        if array.dtype.str[1:] != form.dtype or not _fits(array.shape, form.shape, lengths):
            known = ", ".join(f"{letter} = {length}" for letter, length in lengths.items())
            found = f"{array.dtype.str[1:]} of shape {array.shape}"
            raise ValueError(f"{name} is {found} and not {form.dtype} of shape {tuple(form.shape)}, {known}")
    if lengths.get("d", 1) > MAX_BITS:
        raise ValueError(f"{lengths['d']} bits, and codes have at most {MAX_BITS}")
    for name, form in forms.items():
        array = arrays[name]
        # NaN is in no range: it must fail the comparison, not pass it.
        if array.size and not (form.low <= array.min().item() and array.max().item() <= form.high):
            raise ValueError(f"{name} holds values that are not from {form.low:g} to {form.high:g}")
    return lengths


def _fits(shape: tuple[int, ...], form: str, lengths: dict[str, int]) -> bool:
    if len(shape) != len(form):
        return False
    for letter, length in zip(form, shape, strict=True):
        if letter == "*":
            continue
        wanted = int(letter) if letter.isdigit() else lengths.setdefault(letter, length)
        if length != wanted or (length < 1 and not letter.isupper()):
            return False
    return True
