"""The model on the page: its steps and arrays of whole numbers, which ``model.js`` runs in the browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._internal.types import Array, Facts, Matrix
from ..models import WholeMap

__all__ = ["LARGEST_MODEL", "ModelShown", "model_shown"]

LARGEST_MODEL = 8_000_000  # bytes that a model may add to a page
KINDS = ("i1", "u1", "i2", "u2", "i4")  # of whole numbers, the smallest first


@dataclass(frozen=True)
class ModelShown:
    """What a page says about its model, and the arrays of the model by name.

    ``facts["why"]`` is None, or says why the page cannot run the model; then there are no arrays.
    """

    facts: Facts
    arrays: dict[str, Array] = field(default_factory=dict)


def model_shown(model: Any, X: Matrix) -> ModelShown:
    """The model of a hasher, if a browser can run it and if it is small enough. X is what it encodes."""
    whole = model.fitted_.map
    if not isinstance(whole, WholeMap):
        return ModelShown({"why": f"The page cannot encode vectors: {whole.why_not_whole()}."})
    arrays = {f"{i}.{name}": _narrow(a) for i, s in enumerate(whole.steps_) for name, a in s.arrays().items()}
    n_bytes = sum(4 * -(-array.nbytes // 3) for array in arrays.values())  # in base64
    if n_bytes > LARGEST_MODEL:
        return ModelShown(
            {
                "why": f"The page cannot encode vectors: the model would add {n_bytes / 1e6:.1f} MB to it, "
                f"and {LARGEST_MODEL / 1e6:g} MB is the limit."
            }
        )
    facts = {
        "why": None,
        "steps": [[step.kind, list(step.inputs), step.numbers()] for step in whole.steps_],
        "kinds": {name: array.dtype.str[1:] for name, array in arrays.items()},
        "features": whole.n_features,
        "single": X.dtype == np.float32,
    }
    return ModelShown(facts, arrays)


def _narrow(array: Array) -> Array:
    """The same numbers in the smallest type that holds them and that JavaScript has."""
    if array.dtype.kind in "iu":
        low, high = array.min(initial=0), array.max(initial=0)
        for kind in KINDS:
            limits = np.iinfo(kind)
            if limits.min <= low and high <= limits.max:
                return array.astype(kind)
    return array.astype(np.float64)  # whole numbers of a model are below 2⁵³
