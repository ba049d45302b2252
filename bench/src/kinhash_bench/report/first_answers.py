"""The first answers: precision among the first N, within radius 2, and mAP@K by both of its definitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..tasks.result import Result, Score
from .commands import command_of
from .field import MADE_BY, Setting, settings
from .grid import Column, Entry, ResultTable
from .paper_tables import bits_of
from .rows import KINDS, Group, deviation, entry, failure, group_by, is_plain, without_band
from .sections import Part, Section

__all__ = ["first_answers"]

NOTE = (
    "±: deviation over partitions. P@N: share of kin among the first N. radius 2: precision of a look-up of "
    "all rows at two differing bits or fewer, an empty one counting 0; empty: their share. mAP@K looks at "
    "the first K rows: by kin divides by the most kin that can stand there, min(kin, K); by found divides by "
    "those that do stand there, as HashNet's program and many after it do, which is never less. –: not "
    "recorded, or the database has no more than K rows."
)


def first_answers(results: Sequence[Result]) -> Section:
    """A folded table for every setting, lengths below each other."""
    title = "The first answers: P@N, radius 2, mAP@K"
    shown = [r for r in results if r.n_bits not in (None, 1) and is_plain(r) and any(map(_known, _scores(r)))]
    parts = [
        Part.fold(setting.name, [Part.table(_table(setting, n, rows)) for n, rows in _by_length(some)])
        for setting, some in settings(shown).items()
    ]
    if not parts:
        words = "No results that say what the first answers are."
        return Section("first-answers", title, (), ((words, "kinhash bench field"),))
    return Section("first-answers", title, tuple(parts))


def _scores(result: Result) -> list[Score]:
    return [score for kind in KINDS if (score := getattr(result, kind)) is not None]


def _known(score: Score) -> bool:
    return score.within_radius is not None


def _by_length(some: Sequence[Result]) -> list[tuple[int, list[Result]]]:
    return sorted(group_by(some, lambda r: r.n_bits or 0).items(), reverse=True)


def _figures(some: Sequence[Result]) -> dict[str, Callable[[Score], float | None]]:
    """What the columns show, by the numbers of places that any result has."""

    def at(name: str, place: str) -> Callable[[Score], float | None]:
        return lambda score: getattr(score, name).get(place)

    def places(name: str) -> list[str]:
        return sorted({place for r in some for s in _scores(r) for place in getattr(s, name)}, key=int)

    found = {f"P@{place}": at("precision_at", place) for place in places("precision_at")}
    found |= {"radius 2": lambda score: score.within_radius, "empty": lambda score: score.empty}
    for place in places("map_at"):
        found[f"mAP@{place} by kin"] = at("map_at", place)
        found[f"mAP@{place} by found"] = at("map_at_found", place)
    return found


def _table(setting: Setting, n_bits: int, some: Sequence[Result]) -> ResultTable:
    groups = {label: Group.of(rows) for label, rows in group_by(some, lambda r: r.label).items()}
    kinds = [kind for kind in KINDS if any(group.scores(kind) for group in groups.values())]
    figures = _figures(some)
    rows = []
    for label, group in groups.items():
        entries: list[Entry] = []
        for kind in kinds:
            entries.append(without_band(entry(group, kind)))
            entries += [_figure(group, kind, read) for read in figures.values()]
        rows.append((label, tuple(entries)))
    rows.sort(key=lambda row: (-np.mean([e.value or 0.0 for e in row[1][:: 1 + len(figures)]]), row[0]))
    return ResultTable(
        f"first-answers-{setting.dataset}-{setting.protocol}-{setting.digest[:6]}-{n_bits}",
        f"{setting.name}, {bits_of([n_bits])[n_bits]}: the first answers",
        "method",
        tuple(Column(name, kind) for kind in kinds for name in ("mAP", *figures)),
        tuple(rows),
        (NOTE,),
        command_of(some, *MADE_BY),
    )


def _figure(group: Group, kind: str, read: Callable[[Score], float | None]) -> Entry:
    values = [value for score in group.scores(kind).values() if (value := read(score)) is not None]
    if not values:
        return failure(group) if group.failed and not group.ok else Entry(text="–")
    return Entry(float(np.mean(values)), deviation(values), n=len(values))
