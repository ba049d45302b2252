"""Pairs of rows with a verdict: similar or not, or a grade in between, and a weight each.

A pair that is listed twice, in either direction, is one pair with the mean of its verdicts.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .._internal.types import Floats, Ints, Numbers
from ..errors import InvalidInput
from .base import UNKNOWN, Supervision, require_some, row_numbers
from .examples import ENOUGH, PairExamples, named_rows, warn_of_examples

__all__ = ["PairSupervision", "from_pairs", "merged_pairs"]


class PairSupervision(Supervision):
    """Listed pairs alone, each once with ``left < right``; what is absent is unknown.

    Every row is its own group; rows without a listed pair are unknown. Memory: the pairs, and twice that
    where a solver asks for the matrix.
    """

    complete = False

    def __init__(
        self, left: Ints, right: Ints, similarity: Floats, n_rows: int, weights: Floats | None = None
    ) -> None:
        self.pairs = PairExamples(left, right, similarity, weights)
        self.examples = (self.pairs,)
        self.rows = named_rows(n_rows, left, right)
        self.n_groups = len(self.rows)
        self.group_of_row = np.full(n_rows, UNKNOWN, np.int64)
        self.group_of_row[self.rows] = np.arange(self.n_groups)

    @cached_property
    def listed(self) -> sp.csr_array:
        """S (n, n) in both directions, sparse."""
        pairs, n = self.pairs, self.n_rows
        rows = np.concatenate([pairs.left, pairs.right])
        columns = np.concatenate([pairs.right, pairs.left])
        matrix = sp.csr_array((np.tile(pairs.similarity, 2), (rows, columns)), shape=(n, n))
        matrix.sort_indices()
        return matrix

    def among_groups(self) -> sp.csr_array:
        """S between the rows that have a listed pair, sparse."""
        block = sp.csr_array(self.listed[self.rows][:, self.rows])
        block.sort_indices()
        return block

    def similarity(self, left: Ints, right: Ints) -> Floats:
        return self.listed[self.rows[left]][:, self.rows[right]].toarray().astype(np.float64)

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        return self.listed[self.rows[left]][:, self.rows[right]] @ values


def from_pairs(
    left: Numbers, right: Numbers, verdict: Numbers, n_rows: int, weights: Numbers | None = None
) -> PairSupervision:
    """Supervision from pairs of row numbers and their verdicts; pairs that are not listed are unknown.

    Verdicts are booleans, +1 and −1, or grades in [−1, 1]. A pair listed twice, in either direction, is one
    pair with the mean of its verdicts; where these contradict each other, a warning says how many do.
    """
    require_some("pairs", left=left, right=right)
    i, j = row_numbers(left, "left", n_rows), row_numbers(right, "right", n_rows)
    s, w = _verdicts(verdict, len(i)), _weights(weights, len(i))
    if len(i) != len(j):
        raise InvalidInput(
            f"left and right have lengths {len(i)} and {len(j)}", "two arrays of one length", "Pass both ends"
        )
    doubts = _scale_doubts(s)
    i, j, s, w = merged_pairs(i, j, s, w, n_rows)
    if not len(i):
        raise InvalidInput("No pair is left", "pairs of two different rows with a weight", "Pass such pairs")
    if s.min() == s.max():
        raise InvalidInput(
            f"All {len(s):,} pairs have the verdict {s[0]:g}",
            "pairs that differ: some similar, some not",
            "Add pairs of the other kind; leave the verdict out if all pairs are similar",
        )
    if not ((s > 0).any() and (s <= 0).any()):
        middle, reach, name = _middle(s)
        doubts.append(f"All verdicts have one sign: pairs above {name}, {middle:g}, count as similar.")
        s = np.clip((s - middle) / reach, -1, 1)
    if doubts:
        warn_of_examples(" ".join(doubts), stacklevel=5)
    return PairSupervision(i, j, s, n_rows, w)


def _scale_doubts(verdicts: Floats) -> list[str]:
    """What to say of verdicts that are never below 0: it is the middle of the scale, and not its end."""
    if verdicts.min() < 0:
        return []
    if np.isin(verdicts, (0, 1)).all():
        remedy = "If 0 means not similar, pass booleans, or 1 and −1."
    else:
        remedy = "If their scale is from 0 to 1, rescale them: 2 * grade - 1."
    return [
        "No verdict is below 0: grades are read from −1 (dissimilar) to 1 (similar); 0 is halfway. These go "
        f"from {verdicts.min():g} to {verdicts.max():g}. {remedy}"
    ]


def _middle(similarity: Floats) -> tuple[float, float, str]:
    """A number with similarities on both sides, what differences from it are divided by, and its name.

    It is the median, unless that is the highest or the lowest similarity. Then it lies between the two
    nearest ones, and differences are scaled to reach 1: two grades are learned like verdicts.
    """
    values, middle = np.unique(similarity), float(np.median(similarity))
    if values[0] < middle < values[-1]:
        return middle, 1.0, "their median"
    name, nearest = ("highest", values[-2:]) if middle == values[-1] else ("lowest", values[:2])
    middle = float(nearest.mean())
    return middle, float(np.abs(values - middle).max()), f"the middle of the two {name}"


def merged_pairs(
    left: Ints, right: Ints, similarity: Floats, weights: Floats | None, n_rows: int
) -> tuple[Ints, Ints, Floats, Floats | None]:
    """Every pair once, ``left < right``, with the mean of its similarities and the sum of its weights.

    Rows paired with themselves are left out. A warning says how many pairs were, and how many contradict.
    """
    itself = left == right
    if itself.any():
        warn_of_examples(
            f"{int(itself.sum()):,} of {len(left):,} pairs are of a row with itself and were left out.",
            stacklevel=6,
        )
    w = np.ones(len(left)) if weights is None else weights
    keep = ~itself & (w > 0)
    i, j = np.minimum(left, right)[keep], np.maximum(left, right)[keep]
    s, w = similarity[keep], w[keep]
    _warn_of_one_row(i, j)
    key, place = np.unique(i * n_rows + j, return_inverse=True)
    total = np.bincount(place, w, len(key))
    mean = np.bincount(place, w * s, len(key)) / total
    clash = np.bincount(place, (s > 0), len(key)) * np.bincount(place, (s < 0), len(key)) > 0
    if clash.any():
        warn_of_examples(
            f"{int(clash.sum()):,} of {len(key):,} pairs are listed with contradicting verdicts. Each counts "
            "with their mean.",
            stacklevel=6,
        )
    plain = weights is None and total.max(initial=1) == 1
    return key // n_rows, key % n_rows, mean, None if plain else total.astype(np.float64)


def _warn_of_one_row(left: Ints, right: Ints) -> None:
    """Say that all pairs name the same row, which tells nothing about the others beside each other."""
    for row in (left[0], right[0]) if len(left) >= ENOUGH else ():
        if ((left == row) | (right == row)).all() and (left.min() < left.max() or right.min() < right.max()):
            warn_of_examples(
                f"All {len(left):,} pairs name row {row}. They say little about how other rows belong "
                "together.",
                stacklevel=7,
            )
            return


def _verdicts(verdict: Numbers, n_pairs: int) -> Floats:
    s = np.asarray(verdict)
    if s.dtype == bool:
        s = np.where(s, 1.0, -1.0)
    if s.shape != (n_pairs,) or s.dtype.kind not in "iuf":
        raise InvalidInput(
            f"verdict has dtype {s.dtype} and shape {s.shape}, and there are {n_pairs} pairs",
            "one number or boolean per pair",
            "Pass one verdict per pair",
        )
    s = s.astype(np.float64)
    wrong = ~(np.abs(s) <= 1)
    if wrong.any():
        bad = int(wrong.argmax())
        raise InvalidInput(
            f"The verdict of pair {bad} is {s[bad]:g}; {int(wrong.sum()):,} of {len(s):,} are outside "
            "[−1, 1]",
            "numbers in [−1, 1]: 1 similar, −1 not; or booleans",
            "Rescale grades: 2 · (grade − lowest) / (highest − lowest) − 1",
        )
    return s


def _weights(weights: Numbers | None, n_pairs: int) -> Floats | None:
    if weights is None:
        return None
    w = np.asarray(weights)
    if w.shape != (n_pairs,) or w.dtype.kind not in "iufb":
        raise InvalidInput(
            f"weight has dtype {w.dtype} and shape {w.shape}, and there are {n_pairs} pairs",
            "one number per pair, 0 or more",
            "Pass one weight per pair",
        )
    w = w.astype(np.float64)
    wrong = ~(np.isfinite(w) & (w >= 0))
    if wrong.any():
        bad = int(wrong.argmax())
        raise InvalidInput(
            f"The weight of pair {bad} is {w[bad]:g}; {int(wrong.sum()):,} of {len(w):,} are negative or not "
            "finite",
            "finite numbers, 0 or more: how much a pair counts",
            "Leave such pairs out; a verdict of −1 says that rows are not similar",
        )
    return w
