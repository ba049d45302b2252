"""Which rows are measured on, and which are kept out when."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..labels import Labels

__all__ = ["Fold", "choose_rows", "deal_folds", "label_counts", "rows_for"]

FEWEST_ROWS = 50
FEWEST_SAMPLED = 2_000
MOST_WORK = 1_000_000_000  # rows · columns · labels of one fit: a minute or less on two cores

Rows = npt.NDArray[np.int64]


class Fold(NamedTuple):
    """Positions among the chosen rows: those to fit on, and those kept out."""

    train: Rows
    kept_out: Rows


def rows_for(labels: Labels, n_columns: int, most: int) -> int:
    """How many rows to use: ``most``, or fewer where columns times labels make a fit long."""
    n_labels = max(1, len(labels.names))
    affordable = max(FEWEST_SAMPLED, MOST_WORK // max(1, n_columns * n_labels))
    return int(min(most, affordable, labels.known.sum()))


def choose_rows(labels: Labels, n_wanted: int, rng: np.random.Generator) -> Rows:
    """Rows of known label, drawn evenly over the labels, neighbours in the list being alike.

    Rows are sorted by stratum, at random within it, and every (n / n_wanted)-th is taken, so each stratum
    keeps its share to within one row. The order is what `deal_folds` deals from.
    """
    known = np.flatnonzero(labels.known)
    if len(known) < FEWEST_ROWS:
        raise InvalidInput(
            f"{len(known)} rows have a known label",
            f"at least {FEWEST_ROWS}, so that some can be kept out",
            "Pass more labelled rows",
        )
    order = known[np.lexsort((rng.random(len(known)), _strata(labels[known])))]
    return order[(np.arange(n_wanted) * len(order)) // n_wanted]


def _strata(labels: Labels) -> Rows:
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


def deal_folds(n_rows: int, n_folds: int) -> list[Fold]:
    """Row i of the order goes to fold ``i mod n_folds``: every stratum is spread over all of them."""
    fold = np.arange(n_rows) % n_folds
    return [Fold(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def label_counts(labels: Labels) -> Rows:
    """Rows that carry each label."""
    return np.bincount(labels.indicator().indices, minlength=len(labels.names))
