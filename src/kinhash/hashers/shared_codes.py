"""Classes that got the same learned code: no search can tell them apart."""

from __future__ import annotations

import numpy as np

from ..codes import Codes
from ..solvers.codewords import bits_for, comfortable
from ..supervision import ClassSupervision, Supervision

__all__ = ["classes_sharing_codes", "shared_codes_warning"]


def classes_sharing_codes(codes: Codes, supervision: Supervision) -> int:
    """How many classes have the code of another class; 0 for tags and pairs, and where rows of one class
    have several codes."""
    if not isinstance(supervision, ClassSupervision):
        return 0
    group = supervision.group_of_row
    classes, first = np.unique(group, return_index=True)
    place = np.searchsorted(classes, group)
    known = group >= 0
    if not np.array_equal(codes.packed[first[place]][known], codes.packed[known]):
        return 0
    own = codes.packed[first[classes >= 0]]
    counts = np.unique(own, axis=0, return_counts=True)[1]
    return int(counts[counts > 1].sum())


def shared_codes_warning(sharing: int, n_classes: int, n_bits: int) -> str:
    """What to say of them."""
    return (
        f"{sharing:,} of {n_classes:,} classes share their code with another class and cannot be told apart. "
        f"{n_bits} bits hold {comfortable(n_bits):,} classes well. Use n_bits={bits_for(n_classes)}."
    )
