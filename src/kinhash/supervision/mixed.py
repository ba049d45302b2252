"""Several kinds of supervision at once: pairs beside labels of some rows, say. One energy, a weight each."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from .._internal.types import Floats, Ints, Rng
from ..errors import InvalidInput, KinhashWarning
from .base import UNKNOWN, Supervision
from .examples import ENOUGH, Examples, PairExamples

__all__ = ["MixedSupervision"]

LABEL_PAIRS = 20_000  # pairs sampled from labels


class MixedSupervision(Supervision):
    """Examples of all parts; labels become sampled pairs. There is no one S to ask for.

    A part from which nothing can be learned is left out with a warning.
    """

    complete = False

    def __init__(self, parts: tuple[Supervision, ...], weights: tuple[float, ...], rng: Rng) -> None:
        kept, examples, lacking = list[Supervision](), list[Examples](), list[str]()
        for part, weight in zip(parts, weights, strict=True):
            try:
                found = _examples_of(part, rng)
            except InvalidInput as problem:
                lacking.append(f"The {_kind(part)} were left out: {problem.wrong}.")
                continue
            kept.append(part)
            examples += [replace(one, weight=weight * one.weight) for one in found]  # type: ignore[type-var]
        if not kept:
            raise InvalidInput(
                f"Nothing can be learned. {' '.join(lacking)}",
                "some similar rows and some dissimilar ones",
                "Pass pairs of both kinds, or labels of several classes",
            )
        for text in lacking:
            others = " and ".join(_kind(part) for part in kept)
            warnings.warn(f"{text} The fit uses the {others} alone.", KinhashWarning, stacklevel=7)
        self.examples = tuple(examples)
        named = np.zeros(parts[0].n_rows, bool)
        for part in kept:
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


def _examples_of(part: Supervision, rng: Rng) -> tuple[Examples, ...]:
    """The examples of a part, or pairs sampled from it; raises InvalidInput if they are too few.

    A kind counts as much as the others, however few its examples are. So pairs of labels must be enough to
    check on held-out ones whether they help.
    """
    part.check(None)
    if not part.examples:
        pairs = _distinct(part.sampled_pairs(LABEL_PAIRS, rng))
        _require(pairs, ENOUGH, pairs.is_enough(to_score=True))
        return (pairs,)
    for one in part.examples:
        if isinstance(one, PairExamples):
            _require(one, 1, one.is_enough())
    return part.examples


def _require(pairs: PairExamples, fewest: int, enough: bool) -> None:
    if not enough:
        similar = int((pairs.similarity > 0).sum())
        raise InvalidInput(
            f"They have {similar:,} similar and {len(pairs.left) - similar:,} dissimilar pairs of rows, and "
            f"at least {fewest} of each are needed",
            "similar pairs and dissimilar ones",
            "Pass more of both",
        )


def _distinct(pairs: PairExamples) -> PairExamples:
    """Every pair once, weighted by how often it was drawn: repeated ones would look like more evidence."""
    ends = np.sort(pairs.ends, axis=1)
    _, first, counts = np.unique(ends, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    return replace(pairs.subset(first[order]), weights=counts[order].astype(np.float64))


def _kind(part: Supervision) -> str:
    """What a message calls a part."""
    if part.examples:
        return part.examples[0].kind
    return "similarities" if part.labels is None else "labels"
