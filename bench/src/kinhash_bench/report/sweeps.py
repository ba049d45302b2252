"""Figures 2 and 3, and the number of sweeps: one parameter moves, everything else stays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..tasks.result import Result
from .chart import MOST, Axis, ChartLine, line_chart
from .commands import command_of, paper_command
from .paper import TABLE_2, paper_name
from .result_table import Column, Entry, ResultTable
from .rows import KINDS, Group, entry, group_by, in_section, is_plain, usual_partitions
from .sections import Part, Section
from .tables import standard_notes

__all__ = ["figure_2", "figure_3", "sweeps"]

Series = dict[str, dict[float, Group]]  # method → value of the parameter → partitions


@dataclass(frozen=True)
class Sweep:
    """What moves: the section it was run for, its letter, what the axis says, and how to read its value."""

    section: str
    letter: str
    axis: str
    value: Callable[[Result], float | None]


def _parameter(name: str) -> Callable[[Result], float | None]:
    """Reads a parameter of a method: as it was given, else as it was."""

    def read(result: Result) -> float | None:
        value = result.given.get(name, result.parameters.get(name))
        return float(value) if isinstance(value, (int, float)) else None

    return read


CLIP = Sweep("figure2", "c", "c, half-width of the line for the sigmoid", _parameter("clip"))
ANCHORS = Sweep("figure3-anchors", "m", "m, sampled columns of S", _parameter("n_anchors"))
QUERIES = Sweep("figure3-queries", "queries", "queries", lambda r: float(r.n_queries))
SWEEPS = Sweep("sweeps", "T", "T, sweeps over the sample", _parameter("n_sweeps"))


def figure_2(results: Sequence[Result]) -> Section:
    """mAP against c."""
    return _section("figure2", "Figure 2: how much c matters", results, {CLIP: "c from 0.5 to 2.5"})


def figure_3(results: Sequence[Result]) -> Section:
    """mAP against the number of anchors, and against the number of queries."""
    title = "Figure 3: how much m and the number of queries matter"
    return _section("figure3", title, results, {ANCHORS: "m", QUERIES: "1,000 to 10,000 queries"})


def sweeps(results: Sequence[Result]) -> Section:
    """mAP against T."""
    return _section("sweeps", "How many sweeps", results, {SWEEPS: "T from 1 to 10"})


def _section(name: str, title: str, results: Sequence[Result], wanted: dict[Sweep, str]) -> Section:
    parts: list[Part] = []
    missing = []
    for sweep, what in wanted.items():
        found = _parts(sweep, results)
        parts += found
        if not found:
            missing.append((f"No results for {what}.", paper_command(sweep.section)))
    return Section(name, title, tuple(parts), tuple(missing))


def _parts(sweep: Sweep, results: Sequence[Result]) -> list[Part]:
    """Charts and a table for every data set, protocol and length that has at least two values."""
    parts: list[Part] = []
    moved = [r for r in results if in_section(r, sweep.section) and r.n_bits and sweep.value(r) is not None]
    for (dataset, protocol, n_bits), some in group_by(
        moved, lambda r: (r.dataset, r.protocol, r.n_bits)
    ).items():
        series: Series = {}
        for method, own in group_by(some, lambda r: paper_name(r.method)).items():
            at = group_by(own, lambda r: sweep.value(r) or 0.0)
            series[method] = {x: Group.of(at[x]) for x in sorted(at)}
        if max(map(len, series.values())) < 2:
            continue
        beside = _beside(results, some, set(series)) if sweep is ANCHORS and len(series) == 1 else {}
        name, where = f"{sweep.section}-{dataset}-{n_bits}", f"{dataset}, {n_bits} bits, protocol {protocol}"
        charts = [_chart(f"{name}-{kind}", where, sweep, series, beside, kind) for kind in KINDS]
        empty = ResultTable(
            name, f"{where}: mAP", "method, database", (), (), (), command_of(some, sweep.section)
        )
        drawn = Part(f'<div class="charts">{"".join(charts)}</div>')
        table = Part.table(_table(empty, series, beside, sweep.letter))
        parts.append(Part.fold(f"{where}: mAP against {sweep.letter}", [drawn, table]))
    return parts


def _beside(results: Sequence[Result], some: Sequence[Result], swept: set[str]) -> dict[str, Group]:
    """The paper's other methods on the same data, length and partitions, which do not have the parameter."""
    first = some[0]
    partitions = {r.partition for r in some}
    found = [
        r
        for r in results
        if (r.dataset, r.protocol_digest, r.n_bits) == (first.dataset, first.protocol_digest, first.n_bits)
        and r.label in TABLE_2
        and r.label not in swept
        and r.partition in partitions
        and is_plain(r)
    ]
    groups = group_by(found, lambda r: r.label)
    return {label: Group.of(groups[label]) for label in sorted(groups)}


def _chart(name: str, where: str, sweep: Sweep, series: Series, beside: dict[str, Group], kind: str) -> str:
    lines = []
    for method, points in series.items():
        known = [(x, e.value, e.spread) for x, e in _entries(points, kind) if e.value is not None]
        if known:
            xs, ys, spread = zip(*known, strict=True)
            lines.append(ChartLine(method, xs, ys, spread))
    if not lines:
        return ""
    ends = min(line.x[0] for line in lines), max(line.x[-1] for line in lines)
    for label, group in beside.items():
        mean = group.mean(kind)
        if mean is not None:
            lines.append(ChartLine(f"{label} (no {sweep.letter})", ends, (mean, mean)))
    caption = f"{where}: mAP against {sweep.letter}, {kind} database"
    return line_chart(name, caption, tuple(lines[:MOST]), Axis(sweep.axis), Axis("mAP"))


def _entries(points: dict[float, Group], kind: str) -> list[tuple[float, Entry]]:
    return [(x, entry(group, kind)) for x, group in points.items()]


def _table(empty: ResultTable, series: Series, beside: dict[str, Group], letter: str) -> ResultTable:
    """Values of the parameter across, methods and databases down; rivals without it in a column apart."""
    every = [group for points in series.values() for group in points.values()]
    kinds = [kind for kind in KINDS if any(group.scores(kind) for group in every)]
    usual = usual_partitions(every)
    values = sorted({x for points in series.values() for x in points})
    rows = []
    for method, points in series.items():
        for kind in kinds:
            entries = [entry(points.get(x), kind, usual) for x in values]
            rows.append((f"{method}, {kind}", (*entries, *[Entry(text="–")] * bool(beside))))
    for label, group in beside.items():
        for kind in kinds:
            own = entry(group, kind, usual)
            rows.append((f"{label}, {kind}", (*[Entry(text="–")] * len(values), own)))
    columns = [Column(f"{x:g}", letter) for x in values] + [Column(f"no {letter}", "rivals")] * bool(beside)
    notes = (*standard_notes(usual, marks=False), *_ranges(series, kinds))
    return replace(empty, columns=tuple(columns), rows=tuple(rows), notes=notes)


def _ranges(series: Series, kinds: list[str]) -> list[str]:
    """How much the parameter matters, in a number, over the partitions that every value has."""
    notes = []
    for method, points in series.items():
        for kind in kinds:
            known = [set(group.scores(kind)) for group in points.values() if group.scores(kind)]
            both = set.intersection(*known) if known else set()
            means = [m for group in points.values() if (m := group.on(both).mean(kind)) is not None]
            if len(means) > 1:
                notes.append(f"{method}, {kind}: largest minus smallest mean {max(means) - min(means):.4f}.")
    return notes
