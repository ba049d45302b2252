"""What a person sees of a ranking: the first answers, the nearest kin, how many different answers come."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..tasks.result import Result, Score
from .all_methods import MADE_BY, Setting, settings
from .commands import command_of
from .paper_tables import bits_of
from .result_table import Column, Entry, ResultTable
from .rows import KINDS, Group, entry, figure_entry, group_by, is_plain, without_band
from .sections import Part, Section

__all__ = ["first_answers", "nearest_kin"]

Figures = dict[str, Callable[[Score], float | None]]

LONGEST = 64
FIRST_NOTE = (
    "±: deviation over partitions. P@N: share of relevant rows among the first N. radius 2: precision of a "
    "look-up of all rows at two differing bits or fewer, an empty one counting 0; empty: their share. mAP@K "
    "looks at the first K rows: by kin divides by the most kin that can stand there, min(kin, K); by found "
    "divides by those that do stand there, as HashNet's program and many after it do, which is never less. "
    "–: not recorded, or the database has no more than K rows."
)
NEAREST_NOTE = (
    "Near kin of a query are the 20 of its kin most alike by the cosine of the features, around their mean "
    "over the database. near-kin: mean average precision of these; r100: share of the ten nearest among the "
    "first hundred answers; distinct: how many different first tens come, of at most 500 queries. "
    "A list of classes alone has good kin mAP and few distinct answers. –: not recorded."
)
NEAREST: Figures = {
    "near-kin": lambda score: score.near_kin,
    "r100": lambda score: score.nearest_found,
    "distinct": lambda score: score.distinct,
}


def first_answers(results: Sequence[Result]) -> Section:
    """A folded table for every setting, lengths below each other."""
    title = "The first answers: P@N, radius 2, mAP@K"
    shown = [r for r in results if r.n_bits not in (None, 1) and _known(r, "within_radius")]
    parts = [
        Part.fold(setting.name, [Part.table(_first_table(setting, n, rows)) for n, rows in _by_length(some)])
        for setting, some in settings(shown).items()
    ]
    words = "No results that say what the first answers are."
    return Section.of("first-answers", title, parts, words, "kinhash bench field")


def nearest_kin(results: Sequence[Result]) -> Section:
    """A table for every setting at its longest code up to 64 bits, float rankings below; others folded."""
    title = "Nearest kin, and distinct answers"
    shown = settings([r for r in results if r.n_bits != 1 and is_plain(r)])
    parts = [
        Part.fold(setting.name, _nearest_parts(setting, some))
        for setting, some in shown.items()
        if any(_known(r, "near_kin") for r in some)
    ]
    words = "No results with figures on the nearest kin."
    return Section.of("nearest-kin", title, parts, words, "kinhash bench network")


def _known(result: Result, name: str) -> bool:
    return is_plain(result) and any(getattr(score, name) is not None for score in _scores(result))


def _scores(result: Result) -> list[Score]:
    return [score for kind in KINDS if (score := getattr(result, kind)) is not None]


def _by_length(some: Sequence[Result]) -> list[tuple[int, list[Result]]]:
    return sorted(group_by(some, lambda r: r.n_bits or 0).items(), reverse=True)


def _first_figures(some: Sequence[Result]) -> Figures:
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


def _first_table(setting: Setting, n_bits: int, some: Sequence[Result]) -> ResultTable:
    name, caption = _named("first-answers", setting, str(n_bits)), f"{_length(n_bits)}: the first answers"
    return _table(name, setting, caption, some, "mAP", _first_figures(some), 0, FIRST_NOTE)


def _nearest_parts(setting: Setting, some: Sequence[Result]) -> list[Part]:
    def table(n_bits: int | None, rows: Sequence[Result]) -> ResultTable:
        name = _named("nearest-kin", setting, "float" if n_bits is None else str(n_bits))
        caption = f"{_length(n_bits)}: kin mAP and nearest kin"
        return _table(name, setting, caption, rows, "kin", NEAREST, 1, NEAREST_NOTE, sizes=True)

    floats = [r for r in some if r.n_bits is None]
    lengths = sorted({r.n_bits for r in some if r.n_bits is not None and _known(r, "near_kin")})
    if not lengths:
        return [Part.table(table(None, floats))]
    longest = max((n for n in lengths if n <= LONGEST), default=lengths[0])
    at = {n: [r for r in some if r.n_bits == n] for n in lengths}
    parts = [Part.table(table(longest, [*at.pop(longest), *floats]))]
    if at:
        parts.append(
            Part.folded(f"{setting.name}: other lengths", *(table(n, rows) for n, rows in at.items()))
        )
    return parts


def _named(section: str, setting: Setting, length: str) -> str:
    return f"{section}-{setting.dataset}-{setting.protocol}-{setting.digest[:6]}-{length}"


def _length(n_bits: int | None) -> str:
    return "float rankings" if n_bits is None else bits_of([n_bits])[n_bits]


def _table(
    name: str,
    setting: Setting,
    caption: str,
    some: Sequence[Result],
    main: str,
    figures: Figures,
    order: int,
    note: str,
    sizes: bool = False,
) -> ResultTable:
    """A row for every method, best first by the figure number ``order`` of its kinds of database."""
    groups = {label: Group.of(rows) for label, rows in group_by(some, lambda r: r.label).items()}
    kinds = [kind for kind in KINDS if any(group.scores(kind) for group in groups.values())]
    names = (main, *figures)
    columns = [Column(head, kind) for kind in kinds for head in names]
    rows = []
    for label, group in groups.items():
        entries: list[Entry] = []
        for kind in kinds:
            entries.append(without_band(entry(group, kind)))
            entries += [
                figure_entry(group, kind, read, 0 if head == "distinct" else 4)
                for head, read in figures.items()
            ]
        known = [one.value for one in entries[order :: len(names)] if one.value is not None]
        best = -float(np.mean(known)) if known else 1.0
        size = {r.bytes_per_item for r in group.ok if r.bytes_per_item is not None}
        first = [Entry(text=f"{max(size):,}" if size else "–")] if sizes else []
        rows.append((best, label, (*first, *entries)))
    ordered = tuple((label, entries) for _, label, entries in sorted(rows, key=lambda row: row[:2]))
    heads = (*[Column("bytes")] * sizes, *columns)
    command = command_of(some, *MADE_BY)
    return ResultTable(name, f"{setting.name}, {caption}", "method", heads, ordered, (note,), command)
