"""Who is first, and who is level with the first: differences on the same queries and partitions.

The standard error is that of the mean difference over all queries of all shared partitions, pooled. It covers
the choice of queries, and of partitions only where their queries differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from .result_table import Entry
from .rows import Group

__all__ = ["Difference", "difference", "first_of", "gap", "mark_first", "shared"]

LEVEL = 1.959964  # standard errors on either side of a mean: 95 % of a normal distribution


@dataclass(frozen=True)
class Difference:
    """Mean of left − right over the queries both have, its standard error, and what it rests on."""

    mean: float
    error: float
    n_queries: int
    n_partitions: int

    @property
    def entry(self) -> Entry:
        """As a cell: the difference and its 95 % interval."""
        reach = LEVEL * self.error
        return Entry(
            self.mean, low=self.mean - reach, high=self.mean + reach, n=self.n_partitions, signed=True
        )


def difference(left: Group | None, right: Group | None, kind: str) -> Difference | None:
    """Compare two cells query by query; None where they share no partition with scores."""
    if left is None or right is None:
        return None
    ours, theirs = left.scores(kind), right.scores(kind)
    pairs = [
        (ours[partition].per_query, theirs[partition].per_query)
        for partition in sorted(ours.keys() & theirs.keys())
        if len(ours[partition].per_query) == len(theirs[partition].per_query)
    ]
    apart = np.concatenate([a - b for a, b in pairs]) if pairs else np.empty(0)
    apart = apart[~np.isnan(apart)]
    if not len(apart):
        return None
    error = float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else 0.0
    return Difference(float(apart.mean()), error, len(apart), len(pairs))


def gap(left: Group | None, right: Group | None, kind: str) -> Entry:
    """Left minus right as a cell, ± one paired standard error."""
    apart = difference(left, right, kind)
    return Entry(apart.mean, apart.error, n=apart.n_partitions, signed=True) if apart else Entry(text="–")


def first_of(groups: Mapping[str, Group], kind: str) -> str | None:
    """The best row of a cell: the one that no other is ahead of, on the partitions both have.

    Rows were not all run equally often, and nobody is first because others were run less, or on easier
    partitions. Of several such rows, or where there is none, the one with the most partitions, then the
    highest mean.
    """
    means = {name: group.mean(kind) for name, group in groups.items()}
    known = {name: mean for name, mean in means.items() if mean is not None}
    if not known:
        return None

    def is_behind(name: str, other: str) -> bool:
        apart = difference(groups[other], groups[name], kind)
        return apart is not None and apart.mean > 0

    unbeaten = [name for name in known if not any(is_behind(name, other) for other in known)]
    return max(unbeaten or known, key=lambda name: (len(groups[name].scores(kind)), known[name]))


def is_level(group: Group, first: Group, kind: str) -> bool:
    """Within one paired standard error of the first."""
    apart = difference(first, group, kind)
    return apart is not None and apart.mean <= apart.error


def mark_first(entries: dict[str, Entry], groups: Mapping[str, Group], kind: str) -> dict[str, Entry]:
    """The entries of one column with "first" and "level" written to those that are."""
    first = first_of(groups, kind)
    if first is None or len([name for name in groups if groups[name].scores(kind)]) < 2:
        return entries
    marked = {}
    for name, entry in entries.items():
        mark = entry.mark
        if name == first:
            mark = "first"
        elif name in groups and entry.value is not None and is_level(groups[name], groups[first], kind):
            mark = "level"
        marked[name] = replace(entry, mark=mark)
    return marked


def shared(left: Group, right: Group, kind: str) -> tuple[Group, Group]:
    """Both cells on the partitions both have scores for; as they are where there is none."""
    both = left.scores(kind).keys() & right.scores(kind).keys()
    return (left.on(both), right.on(both)) if both else (left, right)
