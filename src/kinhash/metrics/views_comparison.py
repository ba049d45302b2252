"""What rows of one view find among rows of another: texts among pictures, and pictures among texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.types import Facts, Ints, Matrix
from ..codes import Codes
from ..supervision import Labels
from .answers import FIRST, AnswerSheet
from .comparison import AnyHasher

__all__ = ["Crossing", "compare_views"]

MOST_DATABASE = 10_000  # rows that are searched, as in the other comparisons
MEASURES = ("mAP", "p10")


@dataclass(frozen=True)
class Crossing:
    """Mean scores of ``queries`` held-out rows of one view among ``rows`` rows of another.

    ``scores`` and ``chance`` (random order) have "mAP" and "p10", the share of relevant rows among the first
    ten, where labels are known, and "own": the share of queries whose own row is among the first ten of the
    held-out rows. ``asked`` and ``searched`` are names of views, None for the first one.
    """

    asked: str | None
    searched: str | None
    queries: int
    rows: int
    scores: dict[str, float]
    chance: dict[str, float]

    def as_dict(self) -> Facts:
        """For JSON."""
        return vars(self)


def compare_views(
    hasher: AnyHasher, name: str, rows: tuple[Matrix, Matrix], labels: Labels | None, train: Ints, held: Ints
) -> tuple[Crossing, Crossing]:
    """Both directions between the first view and the view ``name``; ``rows`` of the two belong together.

    ``held`` were in no fit; they search at most 10,000 of ``train``, mapped codes on both sides. Bits that
    the view does not know do not count.
    """
    known = train if labels is None else train[labels.known[train]]
    database = known[np.unique(np.linspace(0, len(known) - 1, min(len(known), MOST_DATABASE)).astype(int))]
    new, old = (
        [hasher.encode(X[some], view=view) for X, view in zip(rows, (None, name), strict=True)]
        for some in (held, database)
    )
    if not all(codes.knows_looks for codes in new):
        new, old = ([codes.kin_alone() for codes in side] for side in (new, old))
    sides = None if labels is None else (labels[held], labels[database])
    return _crossing(None, name, new, old, sides), _crossing(name, None, new[::-1], old[::-1], sides)


def _crossing(
    asked: str | None,
    searched: str | None,
    new: list[Codes],
    old: list[Codes],
    labels: tuple[Labels, Labels] | None,
) -> Crossing:
    """Queries are the first of ``new``."""
    n = len(new[0])
    itself = Labels(np.arange(n), np.ones(n, bool), classes=np.arange(n))
    sheet = AnswerSheet(itself, itself)
    found = {"own": FIRST * sheet.of_codes(new[0], new[1])["p10"]}
    chance = {"own": np.array([min(1.0, FIRST / n)])}
    if labels is not None:
        of_labels = AnswerSheet(*labels)
        measured, random = of_labels.of_codes(new[0], old[1]), of_labels.of_random_order()
        found |= {name: measured[name] for name in MEASURES}
        chance |= {name: random[name] for name in MEASURES}
    scores, by_chance = (
        {name: float(np.nanmean(each)) for name, each in one.items() if not np.isnan(each).all()}
        for one in (found, chance)
    )
    return Crossing(asked, searched, n, len(old[1]), scores, by_chance)
