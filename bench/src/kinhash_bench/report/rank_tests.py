"""Across data sets: mean ranks, Friedman's and Nemenyi's tests, Wilcoxon's signed ranks with Holm's steps.

Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006. A data set counts once
per method: the mean over the lengths and partitions that all methods of the comparison have on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinhash.plugins import Floats

from ..tasks.result import Result
from .all_methods import OURS
from .rows import Group, group_by
from .tables import Cells

__all__ = ["Against", "Comparison", "compare"]

LEAST_SETS, LEAST_METHODS = 4, 3
COVER = 0.8  # of our data sets; a method on fewer is left out, so that sets need not be


@dataclass(frozen=True)
class Against:
    """Ours against one rival over the data sets: wins and losses, median difference, p, and p by Holm."""

    rival: str
    wins: int
    losses: int
    median: float
    low: float
    high: float
    p: float
    holm: float


@dataclass(frozen=True)
class Comparison:
    """``scores`` (sets, methods), methods by mean rank; ``distance`` is the critical difference."""

    sets: tuple[str, ...]
    methods: tuple[str, ...]
    scores: Floats
    ranks: tuple[float, ...]
    friedman: float
    distance: float
    left_out: tuple[str, ...]
    against: tuple[Against, ...]


def compare(results: Sequence[Result], kind: str) -> Comparison | None:
    """Compare on the data sets of these results (of one protocol); None with too few sets or methods."""
    cells = {}
    for name, some in group_by(results, lambda r: r.dataset).items():
        alike = group_by(some, lambda r: r.protocol_digest)  # the usual settings of the protocol
        cells[name] = Cells.of(max(alike.values(), key=len))
    have = {name: _methods(one, kind) for name, one in cells.items()}
    sets = [name for name in sorted(have) if OURS in have[name]]
    every = sorted({label for name in sets for label in have[name]})
    chosen = [label for label in every if sum(label in have[name] for name in sets) >= COVER * len(sets)]
    sets = [name for name in sets if set(chosen) <= have[name]]
    table = {name: _means(cells[name], chosen, kind) for name in sets}
    known = {name: row for name, row in table.items() if row is not None}
    if len(known) < LEAST_SETS or len(chosen) < LEAST_METHODS:
        return None
    scores = np.array(list(known.values()))
    from scipy.stats import friedmanchisquare, rankdata

    order = np.argsort(rankdata(-scores, axis=1).mean(axis=0), kind="stable")
    chosen, scores = [chosen[i] for i in order], scores[:, order]
    return Comparison(
        tuple(known),
        tuple(chosen),
        scores,
        tuple(rankdata(-scores, axis=1).mean(axis=0).tolist()),
        float(friedmanchisquare(*scores.T).pvalue),
        _critical_distance(*scores.shape),
        tuple(label for label in every if label not in chosen),
        _against(chosen, scores),
    )


def _methods(cells: Cells, kind: str) -> set[str]:
    return {label for (label, _), group in cells.groups.items() if group.scores(kind)}


def _means(cells: Cells, methods: Sequence[str], kind: str) -> list[float] | None:
    """Mean of each method over the lengths and partitions that all of them have; None where there is none."""
    found = []
    for n_bits in cells.places:
        groups = cells.column(n_bits)
        if all(method in groups for method in methods):
            own: list[Group] = [groups[method] for method in methods]
            both = set.intersection(*(set(group.scores(kind)) for group in own))
            if both:
                found.append([group.on(both).mean(kind) or 0.0 for group in own])
    return np.mean(found, axis=0).tolist() if found else None


def _critical_distance(n_sets: int, n_methods: int) -> float:
    """Nemenyi's, at 5 %: mean ranks that differ by less do not differ significantly."""
    from scipy.stats import studentized_range

    reach = float(studentized_range.ppf(0.95, n_methods, np.inf)) / np.sqrt(2)
    return float(reach * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def _against(methods: Sequence[str], scores: Floats) -> tuple[Against, ...]:
    from scipy.stats import wilcoxon

    own = methods.index(OURS)
    rivals = [place for place in range(len(methods)) if place != own]
    apart = {place: scores[:, own] - scores[:, place] for place in rivals}
    p = [float(wilcoxon(apart[place]).pvalue) if apart[place].any() else 1.0 for place in rivals]
    return tuple(
        Against(
            methods[place],
            int((apart[place] > 0).sum()),
            int((apart[place] < 0).sum()),
            float(np.median(apart[place])),
            float(apart[place].min()),
            float(apart[place].max()),
            one,
            stepped,
        )
        for place, one, stepped in zip(rivals, p, holm(p), strict=True)
    )


def holm(p: Sequence[float]) -> list[float]:
    """p corrected for many tests: the i-th smallest times (k − i + 1), never falling, at most 1."""
    out, least = [0.0] * len(p), 0.0
    for place, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        least = max(least, min(1.0, (len(p) - place) * p[i]))
        out[i] = least
    return out
