"""How many codes there are, and classes that got the same one: no search can tell those apart."""

from __future__ import annotations

import numpy as np

from .._types import Bytes, Ints
from ..codes import pack_bits
from ..encoders import Fitted
from ..solvers.codewords import bits_for, comfortable
from ..supervision import ClassSupervision, Supervision

__all__ = ["classes_sharing_codes", "count_distinct", "shared_codes_warning"]


def classes_sharing_codes(fitted: Fitted, supervision: Supervision) -> int:
    """How many classes have the kin bits of another class, by their labels alone; 0 for tags and pairs."""
    if not isinstance(supervision, ClassSupervision) or fitted.scores is None:
        return 0
    present = np.unique(supervision.group_of_row)
    own = pack_bits(fitted.scores[present[present >= 0]] > 0)
    counts = np.unique(own, axis=0, return_counts=True)[1]
    return int(counts[counts > 1].sum())


def shared_codes_warning(sharing: int, n_classes: int, n_bits: int, n_alike: int = 0) -> str:
    """What to say of them, where ``n_alike`` of the bits say nothing of classes."""
    enough = bits_for(n_classes)
    advice = "Use more bits" if n_bits >= enough else f"Use n_bits={enough}"
    if n_alike and n_bits >= enough:
        advice = "Fit with alike=0, so that all bits tell classes apart"
    return (
        f"{sharing:,} of {n_classes:,} classes share their code with another class and cannot be told apart. "
        f"{n_bits} bits hold {comfortable(n_bits):,} classes well. {advice}."
    )


def count_distinct(codes: Bytes, group: Ints | None) -> int:
    """Distinct packed codes; rows of one group share theirs, so one row of each is enough to look at."""
    if group is not None and (group >= 0).all() and len(group) > 10_000:
        first = np.zeros(int(group.max()) + 1, np.int64)
        first[group[::-1]] = np.arange(len(group))[::-1]
        shared = codes[first[group]]
        if np.array_equal(shared, codes):
            codes = codes[np.unique(first[group])]
    whole = np.ascontiguousarray(codes).view(f"V{codes.shape[1]}")  # compared as one piece, and not by byte
    return len(np.unique(whole))
