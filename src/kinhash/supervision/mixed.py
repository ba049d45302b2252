"""Several kinds of supervision at once: pairs beside labels of some rows, say. One energy, a weight each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._internal.types import Floats, Ints, Rng
from ..errors import InvalidInput
from .base import UNKNOWN, Supervision

__all__ = ["MixedSupervision"]

LABEL_PAIRS = 20_000  # pairs sampled from labels


class MixedSupervision(Supervision):
    """Examples of all parts; labels become sampled pairs. There is no one S to ask for."""

    complete = False

    def __init__(self, parts: tuple[Supervision, ...], weights: tuple[float, ...], rng: Rng) -> None:
        self.examples = tuple(
            replace(one, weight=weight * one.weight)  # type: ignore[type-var]
            for part, weight in zip(parts, weights, strict=True)
            for one in part.examples or (part.sampled_pairs(LABEL_PAIRS, rng),)
        )
        named = np.zeros(parts[0].n_rows, bool)
        for part in parts:
            named |= part.group_of_row >= 0
        self.n_groups = int(named.sum())
        self.group_of_row = np.full(len(named), UNKNOWN, np.int64)
        self.group_of_row[named] = np.arange(self.n_groups)

    def similarity(self, left: Ints, right: Ints) -> Floats:
        raise InvalidInput(
            "Pairs beside labels came to a method that takes one of them",
            "pairs or labels",
            "Use EnergyHasher",
        )

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        return self.similarity(left, right)
