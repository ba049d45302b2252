"""How similar two rows should be, whatever the user handed in, and the checked input of a fit.

The similarity ``S`` of two rows lies in [−1, 1]: +1 for the same kind, −1 for nothing in common, 0 for
unknown, and grades in between. It is never formed for all pairs. Rows with the same supervision have the
same row of ``S``, so everything happens between *groups* of such rows. One file for each
kind: `labeled` (classes and tags), `tree`, `pairs`, `kin_only`, `triplets`, `similarity_matrix` and
`partners`; `mixed` joins some.

Memory: the groups and what they were built from, O(rows + tags); blocks are as large as asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from .._internal.blocks import block_slices
from .._internal.rows import Rows
from .._internal.stages import Stages
from .._internal.types import Floats, Ints, Numbers, Rng
from ..errors import InvalidInput
from .examples import Examples, PairExamples
from .labels import Labels

__all__ = ["UNKNOWN", "Supervision", "Training", "blocked_product", "require_some", "row_numbers"]

UNKNOWN = -1  # the group of rows nothing is known about


class Supervision(ABC):
    """Rows in groups of equal supervision, and the similarity between groups.

    ``group_of_row`` (n,) is −1 for rows nothing is known about; ``complete`` says that every pair
    of known rows has a verdict; ``anchors`` are the rows the user fixed as anchors, if any.
    """

    group_of_row: Ints
    n_groups: int
    complete: bool = True
    every_group_counts: bool = False  # all groups are sampled, however many there are
    anchors: Ints | None = None
    labels: Labels | None = None
    examples: tuple[Examples, ...] = ()  # of kinds between rows: pairs, clicks or triplets

    @property
    def n_rows(self) -> int:
        """Number of rows, known or not."""
        return len(self.group_of_row)

    @abstractmethod
    def similarity(self, left: Ints, right: Ints) -> Floats:
        """Block of S (len(left), len(right)) between two lists of groups.

        The similarity of a group with itself is that of two different rows in it.
        """

    @abstractmethod
    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        """``similarity(left, right) @ values`` without holding the whole block."""

    def some_pairs(self, most: int, rng: Rng) -> tuple[Ints, Ints, Floats]:
        """Random pairs of rows and their similarity: left, right and S, at most ``most`` of each."""
        known = np.flatnonzero(self.group_of_row >= 0)
        columns = known if self.anchors is None else self.anchors
        left, right = rng.choice(known, most), rng.choice(columns, most)
        left, right = left[left != right], right[left != right]
        return left, right, self.pairwise(self.group_of_row[left], self.group_of_row[right])

    def pairwise(self, left: Ints, right: Ints) -> Floats:
        """Similarities (m,) of pairs of groups."""
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return np.array([self.similarity(np.array([i]), np.array([j]))[0, 0] for i, j in pairs], np.float64)

    def sampled_pairs(self, most: int, rng: Rng) -> PairExamples:
        """Random pairs of known rows as examples."""
        return PairExamples(*self.some_pairs(most, rng))

    def check(self, row_weights: Floats | None) -> None:
        """Refuse supervision from which nothing can be learned."""
        if self.n_rows < 2:
            raise InvalidInput(
                f"There is only one sample (n_samples={self.n_rows})",
                "at least two rows, of which some are similar",
                "Pass more rows",
            )
        if self.labels is not None and not self.labels.known.any():
            raise InvalidInput(
                f"All {self.n_rows:,} labels are missing (None, NaN or empty text)",
                "a label on some rows",
                "Pass labels, or use codes that need none, such as ITQ",
            )

    def suited_to(self, n_classes: int) -> Supervision:
        """The same for codes that hold ``n_classes`` classes with a direction each."""
        return self

    def of_rows(self, rows: Ints) -> Supervision | None:
        """The supervision of some rows alone; None for kinds between rows, such as pairs."""
        return None

    def group_weights(self, row_weights: Floats | None = None) -> Floats:
        """Rows per group, or the sum of their weights."""
        known = self.group_of_row >= 0
        weights = None if row_weights is None else row_weights[known]
        return np.bincount(self.group_of_row[known], weights, self.n_groups).astype(np.float64)


@dataclass(frozen=True)
class Training:
    """The input of one fit. ``weights`` (n,) is None where every row counts once.

    ``looks`` (n, any width) says who looks alike, where that is not by the features.
    """

    rows: Rows
    supervision: Supervision
    weights: Floats | None
    rng: Rng
    stages: Stages
    n_jobs: int | None = None
    looks: Rows | None = None

    @property
    def known_weights(self) -> Floats | None:
        """Row weights with zero for rows nothing is known about; None where every row counts once."""
        known = self.supervision.group_of_row >= 0
        if known.all():
            return self.weights
        return known.astype(np.float64) if self.weights is None else self.weights * known

    @property
    def known_rows(self) -> Ints:
        """Numbers of the rows with supervision and weight, in order."""
        weights = self.known_weights
        return np.arange(len(self.rows)) if weights is None else np.flatnonzero(weights > 0)

    def some_known_rows(self, rng: Rng, most: int) -> Ints:
        """At most ``most`` of them, drawn at random, in order."""
        rows = self.known_rows
        return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))


def blocked_product(supervision: Supervision, left: Ints, right: Ints, values: Floats) -> Floats:
    """S @ values in blocks of left groups; peak memory about 32 MB beyond the result."""
    out = np.empty((len(left), values.shape[1]))
    for rows in block_slices(len(left), max(1, 4_000_000 // max(1, len(right)))):
        out[rows] = supervision.similarity(left[rows], right) @ values
    return out


def require_some(what: str, **ends: Numbers) -> None:
    """Refuse lists of row numbers that are all empty."""
    if not any(np.size(rows) for rows in ends.values()):
        *first, last = ends
        raise InvalidInput(
            f"There are no {what}: {', '.join(first)} and {last} are empty",
            f"row numbers of some {what}",
            f"Pass {what}, or learn from labels with fit(X, y)",
        )


def row_numbers(rows: Numbers, name: str, n_rows: int) -> Ints:
    """Positions of rows that a user handed in, checked."""
    array = np.asarray(rows)
    words = [] if array.dtype.kind not in "USTO" else [x for x in array.flat if isinstance(x, str | bytes)]
    if words:
        raise InvalidInput(
            f"{name} holds {str(words[0])[:40]!r}; {len(words):,} of {array.size:,} are text",
            f"row numbers, counted from 0 to {n_rows - 1}, not names or ids of rows",
            "Look them up: number = {name: k for k, name in enumerate(names_of_rows)}",
        )
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidInput(
            f"{name} has dtype {array.dtype} and shape {array.shape}",
            "a 1-D array of integer row numbers",
            "Pass positions of rows in X, counted from 0",
        )
    wrong = (array < 0) | (array >= n_rows)
    if wrong.any():
        bad, from_one = int(wrong.argmax()), array.min() == 1 and array.max() == n_rows
        raise InvalidInput(
            f"{name}[{bad}] is {array[bad]}, but X has {n_rows} rows; {int(wrong.sum()):,} of {len(array):,} "
            "are out of range",
            f"row numbers from 0 to {n_rows - 1}",
            "Subtract 1: they seem to be counted from 1"
            if from_one
            else "Pass positions of rows in X, counted from 0",
        )
    return array.astype(np.int64)
