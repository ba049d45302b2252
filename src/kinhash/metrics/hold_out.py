"""Rows and pairs held out of a fit, to measure on: one random draw, or folds of a stratified sample.

(The row numbers of a named protocol are drawn in `partition`.)
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar, cast

import numpy as np

from .._internal.types import Ints, Rng
from ..encoders import folded
from ..errors import InvalidInput
from ..supervision import Examples, Labels

__all__ = [
    "FEWEST_FOLD_ROWS",
    "FEWEST_ROWS",
    "MOST_HELD_OUT",
    "SHARE_HELD_OUT",
    "Split",
    "folds",
    "hold_out_examples",
    "hold_out_rows",
    "label_counts",
    "stratified_rows",
]

MOST_HELD_OUT, SHARE_HELD_OUT = 1_000, 0.1  # what `kinhash fit` and `kinhash advise` hold out
FEWEST_ROWS = 20  # with fewer, no row is held out
SHARES_OF_EXAMPLES = (0.1, 0.2, 0.3)
MOST_EXAMPLES = 10_000
FEWEST_FOLD_ROWS = 50

E = TypeVar("E", bound=Examples)


class Split(NamedTuple):
    """Row numbers to fit on, and row numbers held out."""

    train: Ints
    held_out: Ints


def hold_out_rows(labels: Labels, most: int, share: float, rng: Rng) -> Split:
    """Hold out random rows that carry a label, and never the last one of a class.

    At most ``most`` rows and the ``share`` of the rows that carry a label; none where there are too few.
    """
    everything = np.arange(len(labels))
    carrying = np.flatnonzero(labels.known & (np.diff(labels.indicator().indptr) > 0))
    wanted = min(most, int(share * len(carrying)))
    if len(labels) < FEWEST_ROWS or wanted < 1:
        return Split(everything, np.empty(0, np.int64))
    order = rng.permutation(carrying)
    if labels.classes is not None:  # the first of each class in this order stays with the fit
        order = np.delete(order, np.unique(labels.classes[order], return_index=True)[1])
    held_out = np.sort(order[:wanted])
    return Split(np.setdiff1d(everything, held_out, assume_unique=True), held_out)


def hold_out_examples(examples: E, n_rows: int, rng: Rng, most: int = MOST_EXAMPLES) -> tuple[E, E] | None:
    """Pairs or triplets to learn from and others held out, in random order; None where there are too few.

    A tenth is held out, or more where a tenth is too few to judge by. The others name none of the held-out
    rows; where nearly all pairs hang together they name one end of some held-out pairs.
    """
    for share in SHARES_OF_EXAMPLES:
        part = min(share, most / max(1, len(examples.ends)))
        for (learn,), (held_out,) in folded([examples], n_rows, rng, part, 1):
            return cast(E, learn), cast(E, held_out)
    return None


def stratified_rows(labels: Labels, n_wanted: int, rng: Rng) -> Ints:
    """Rows of known label, drawn evenly over the labels, neighbors in the list being alike.

    Rows are sorted by stratum, at random within it, and every (n / n_wanted)-th is taken, so each stratum
    keeps its share to within one row. In this order, `folds` spreads every stratum over all folds.
    """
    known = np.flatnonzero(labels.known)
    if len(known) < FEWEST_FOLD_ROWS:
        raise InvalidInput(
            f"{len(known)} rows have a known label",
            f"at least {FEWEST_FOLD_ROWS}, so that some can be held out",
            "Pass more labeled rows",
        )
    order = known[np.lexsort((rng.random(len(known)), _strata(labels[known])))]
    return order[(np.arange(n_wanted) * len(order)) // n_wanted]


def _strata(labels: Labels) -> Ints:
    """A number per row that rows with like labels share: the class, or the rarest of its tags."""
    if labels.classes is not None:
        return labels.classes
    assert labels.tags is not None
    rarity = np.argsort(np.argsort(label_counts(labels), kind="stable"))
    out = np.full(len(labels), len(labels.names), np.int64)
    tagged = np.diff(labels.tags.indptr) > 0
    if tagged.any():
        first = labels.tags.indptr[:-1][tagged]
        out[tagged] = np.minimum.reduceat(rarity[labels.tags.indices], first)
    return out


def folds(n_rows: int, n_folds: int) -> list[Split]:
    """Hold out each fold once; row i belongs to fold ``i mod n_folds``."""
    fold = np.arange(n_rows) % n_folds
    return [Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def label_counts(labels: Labels) -> Ints:
    """Rows that carry each label."""
    return np.bincount(labels.indicator().indices, minlength=len(labels.names))
