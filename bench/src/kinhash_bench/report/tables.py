"""Tables of methods: a row for each, columns for each length, the paper's numbers beside ours if any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..tasks.result import Result
from .paired import difference, mark_first
from .result_table import Column, Entry, ResultTable
from .rows import KINDS, Group, entry, group_by, seconds_entry, usual_partitions
from .sections import Part

__all__ = ["Cells", "Printed", "method_parts", "method_table", "standard_notes"]

# What the paper prints: method → columns (one per length or data set) → (mAP, seconds), None for OOM.
Printed = Mapping[str, Sequence[Any]]
READING = "±: deviation over partitions; n: how many partitions, where fewer."
MARKED = (
    "★: first of its column; ≈: level, within one paired standard error of the first; rows with fewer "
    "partitions are compared on those they share."
)

TUNING = (
    "EnergyHasher chooses penalty, temperature and features on held-out rows in every fit; so do the heads "
    "(OrthoHash, CSQ, DPN, CRH, CroVCA, GreedyHash, HashNet, MIHash, TALR) and rows that say so. Others run fixed "
    "constants."
)


@dataclass(frozen=True)
class Cells:
    """Results of one table, by row and by what its groups of columns stand for (lengths or data sets)."""

    groups: Mapping[tuple[str, Any], Group]

    @classmethod
    def of(cls, results: Sequence[Result], column: str = "n_bits") -> Cells:
        """Gather partitions; ``column`` is the field that tells groups of columns apart."""
        found = group_by(results, lambda r: (r.label, getattr(r, column)))
        return cls({place: Group.of(some) for place, some in found.items()})

    @cached_property
    def labels(self) -> list[str]:
        """Rows, best first: by how far they are behind the best of a column, on average."""
        behind: dict[str, list[float]] = {label: [] for label, _ in self.groups}
        for place in self.places:
            for kind in KINDS:
                means = {name: group.mean(kind) for name, group in self.column(place).items()}
                known = {name: mean for name, mean in means.items() if mean is not None}
                for name, mean in known.items():
                    behind[name].append(max(known.values()) - mean)
        order = {name: sum(gaps) / len(gaps) if gaps else float("inf") for name, gaps in behind.items()}
        return sorted(order, key=lambda name: (order[name], name))

    @property
    def places(self) -> list[Any]:
        """What the groups of columns stand for, in order; float rankings (no length) first."""
        return sorted({place for _, place in self.groups}, key=lambda place: (place is not None, place))

    def column(self, place: Any) -> dict[str, Group]:
        """Rows of one group of columns."""
        return {label: group for (label, at), group in self.groups.items() if at == place}

    def kinds(self, place: Any) -> tuple[str, ...]:
        """Kinds of database that a group of columns has; those of the table while it has none."""
        for groups in (self.column(place), self.groups):
            found = tuple(kind for kind in KINDS if any(group.scores(kind) for group in groups.values()))
            if found:
                return found
        return KINDS


def method_table(
    cells: Cells,
    places: Mapping[Any, str],
    about: ResultTable,
    printed: Printed | None = None,
    *,
    seconds: bool = False,
    marks: bool = True,
) -> ResultTable:
    """Fill a table: ``places`` are groups of columns with their headings, ``about`` all but rows and columns.

    With ``printed`` every group begins with the paper's number, and its rows come first, in its order.
    """
    labels = [*(printed or {}), *(label for label in cells.labels if label not in (printed or {}))]
    usual = usual_partitions(cells.groups.values())
    columns: list[Column] = []
    filled: list[dict[str, Entry]] = []
    for number, (place, heading) in enumerate(places.items()):
        groups = cells.column(place)
        if printed is not None:
            for name, some in _printed_columns(printed, number, seconds, labels):
                columns.append(Column(name, heading, ours=False))
                filled.append(some)
        for kind in cells.kinds(place):
            entries = {label: entry(groups.get(label), kind, usual) for label in labels}
            columns.append(Column(kind, heading))
            filled.append(mark_first(entries, groups, kind) if marks else entries)
        if seconds:
            columns.append(Column("seconds", heading))
            filled.append({label: seconds_entry(groups.get(label)) for label in labels})
    rows = tuple((label, tuple(column[label] for column in filled)) for label in labels)
    notes = (*standard_notes(usual, marks), TUNING, *about.notes)
    return replace(about, columns=tuple(columns), rows=rows, notes=notes)


def _printed_columns(
    printed: Printed, number: int, seconds: bool, labels: Sequence[str]
) -> list[tuple[str, dict[str, Entry]]]:
    """The paper's columns of one group: mAP, and seconds where it prints them; a dash for rows of ours."""
    ours = {label: Entry(text="–") for label in labels}
    pairs = {label: values[number] for label, values in printed.items()}
    if not seconds:
        return [("paper", ours | _best_marked(pairs))]
    maps = {label: None if pair is None else pair[0] for label, pair in pairs.items()}
    times = {label: _printed(None if pair is None else pair[1], 2) for label, pair in pairs.items()}
    return [("paper", ours | _best_marked(maps)), ("paper, seconds", ours | times)]


def _best_marked(values: Mapping[str, float | None]) -> dict[str, Entry]:
    best = max(value for value in values.values() if value is not None)
    entries = {label: _printed(value, 4) for label, value in values.items()}
    return {label: replace(e, mark="best") if e.value == best else e for label, e in entries.items()}


def _printed(value: float | None, digits: int) -> Entry:
    return Entry(text="out of memory") if value is None else Entry(value, digits=digits)


def standard_notes(usual: int | None, marks: bool = True) -> tuple[str, ...]:
    """How to read the numbers of a table, and how many partitions they rest on."""
    count = (
        ""
        if usual is None
        else f"Mean of {usual} partitions unless said otherwise."
        if usual > 1
        else "One partition, so no spread, unless said otherwise."
    )
    return tuple(note for note in (count, READING, MARKED if marks else "") if note)


def paired_table(
    cells: Cells, places: Mapping[Any, str], about: ResultTable, reference: str
) -> ResultTable | None:
    """How far every row is behind (+) or ahead (−) of ``reference``, with 95 % intervals; None without it."""
    columns = [Column(kind, heading) for place, heading in places.items() for kind in cells.kinds(place)]
    rows = []
    for label in cells.labels:
        if label == reference:
            continue
        entries = []
        for place in places:
            groups = cells.column(place)
            for kind in cells.kinds(place):
                apart = difference(groups.get(reference), groups.get(label), kind)
                entries.append(apart.entry if apart else Entry(text="–"))
        if any(one.value is not None for one in entries):
            rows.append((label, tuple(entries)))
    if not rows:
        return None
    note = (
        f"{reference} minus the row, query by query on shared partitions; … to … is the 95 % interval "
        "(1.96 standard errors over the pooled queries). Above zero throughout: the row is behind."
    )
    return replace(about, columns=tuple(columns), rows=tuple(rows), notes=(note,))


def method_parts(
    cells: Cells,
    places: Mapping[Any, str],
    empty: ResultTable,
    reference: str,
    printed: Printed | None = None,
    *,
    seconds: bool = False,
) -> list[Part]:
    """A table of methods, and the paired differences to ``reference`` folded below it."""
    parts = [Part.table(method_table(cells, places, empty, printed, seconds=seconds))]
    pairs = replace(empty, id=f"{empty.id}-paired", caption=f"{empty.caption}, paired differences", notes=())
    filled = paired_table(cells, places, pairs, reference)
    if filled is not None:
        parts.append(Part.folded(f"Paired differences to {reference}, with 95 % intervals", filled))
    return parts
