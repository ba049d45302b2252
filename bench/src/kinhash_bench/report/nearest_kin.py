"""What a person sees of a ranking: near-kin mAP, the ten nearest kin, and how many different answers come."""

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

__all__ = ["nearest_kin"]

LONGEST = 64
NOTE = (
    "Near kin of a query are the 20 of its kin most alike by the cosine of the features, around their mean "
    "over the database. near-kin: mean average precision of these; r100: share of the ten nearest among the "
    "first hundred answers; distinct: how many different first tens come, of at most 500 queries. "
    "A list of classes alone has good kin mAP and few distinct answers. –: not recorded."
)
FIGURES: dict[str, Callable[[Score], float | None]] = {
    "near-kin": lambda score: score.near_kin,
    "r100": lambda score: score.nearest_found,
    "distinct": lambda score: score.distinct,
}


def nearest_kin(results: Sequence[Result]) -> Section:
    """A table for every setting at its longest code up to 64 bits, float rankings below; others folded."""
    title = "Nearest kin, and distinct answers"
    shown = [r for r in results if r.n_bits != 1 and is_plain(r)]
    parts: list[Part] = []
    for setting, some in settings(shown).items():
        if any(_known(r) for r in some):
            parts.append(Part.fold(setting.name, _setting_parts(setting, some)))
    if not parts:
        words = "No results that say how well the nearest kin are found."
        return Section("nearest-kin", title, (), ((words, "kinhash bench network"),))
    return Section("nearest-kin", title, tuple(parts))


def _known(result: Result) -> bool:
    scores = (getattr(result, kind) for kind in KINDS)
    return any(score is not None and score.near_kin is not None for score in scores)


def _setting_parts(setting: Setting, some: Sequence[Result]) -> list[Part]:
    lengths = sorted({r.n_bits for r in some if r.n_bits is not None and _known(r)})
    floats = [r for r in some if r.n_bits is None]
    if not lengths:
        return [Part.table(_table(setting, None, floats))]
    longest = max((n for n in lengths if n <= LONGEST), default=lengths[0])
    at = {n: [r for r in some if r.n_bits == n] for n in lengths}
    parts = [Part.table(_table(setting, longest, [*at.pop(longest), *floats]))]
    if at:
        others = [_table(setting, n, rows) for n, rows in at.items()]
        parts.append(Part.folded(f"{setting.name}: other lengths", *others))
    return parts


def _table(setting: Setting, n_bits: int | None, some: Sequence[Result]) -> ResultTable:
    groups = {label: Group.of(rows) for label, rows in group_by(some, lambda r: r.label).items()}
    kinds = [kind for kind in KINDS if any(group.scores(kind) for group in groups.values())]
    names = ("kin", *FIGURES)
    columns = (Column("bytes"), *(Column(name, kind) for kind in kinds for name in names))
    rows = [(label, _entries(group, kinds)) for label, group in groups.items()]
    heading = "float rankings" if n_bits is None else bits_of([n_bits])[n_bits]
    length = "float" if n_bits is None else str(n_bits)
    return ResultTable(
        f"nearest-kin-{setting.dataset}-{setting.protocol}-{setting.digest[:6]}-{length}",
        f"{setting.name}, {heading}: kin mAP and nearest kin",
        "method",
        columns,
        tuple(sorted(rows, key=lambda row: _order(row[1], names.index("near-kin"), len(names)))),
        (NOTE,),
        command_of(some, *MADE_BY),
    )


def _order(entries: Sequence[Entry], first: int, step: int) -> float:
    """Rows with the best near-kin first, by the mean over the kinds of database that they have."""
    known = [one.value for one in entries[1 + first :: step] if one.value is not None]
    return -float(np.mean(known)) if known else 1.0


def _entries(group: Group, kinds: Sequence[str]) -> tuple[Entry, ...]:
    sizes = {r.bytes_per_item for r in group.ok if r.bytes_per_item is not None}
    found = [Entry(text=f"{max(sizes):,}") if sizes else Entry(text="–")]
    for kind in kinds:
        found.append(without_band(entry(group, kind)))
        found += [_figure(group, kind, name) for name in FIGURES]
    return tuple(found)


def _figure(group: Group, kind: str, name: str) -> Entry:
    read = (FIGURES[name](score) for score in group.scores(kind).values())
    values = [float(value) for value in read if value is not None]
    if not values:
        return failure(group) if group.failed and not group.ok else Entry(text="–")
    digits = 0 if name == "distinct" else 4
    return Entry(float(np.mean(values)), deviation(values), n=len(values), digits=digits)
