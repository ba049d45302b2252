"""Curves: mAP against bits, precision against recall, mAP against seconds; with their numbers as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kinhash.plugins import Floats

from ..protocols.ranking_summary import RECALLS
from ..tasks.result import Result
from .all_methods import MADE_BY, OURS, Setting, settings
from .chart import MOST, Axis, ChartLine, line_chart
from .commands import command_of
from .result_table import Column, Entry, ResultTable
from .rows import KINDS, Group, deviation, entry, is_plain, seconds_entry, without_band
from .sections import Part, Section
from .tables import Cells

__all__ = ["curves"]

Across = Callable[[int, Group], float]  # a length and its cell → where it stands
SHOWN = 2  # every second recall of a curve stands in its table


def curves(results: Sequence[Result]) -> Section:
    """Three kinds of curves for every data set and protocol."""
    title = "Curves"
    shown = [r for r in results if (r.n_bits or 0) > 1 and is_plain(r)]
    parts: list[Part] = []
    done: set[tuple[str, str]] = set()
    for setting, some in settings(shown).items():
        cells = Cells.of(some)
        if (setting.dataset, setting.protocol) in done or len(cells.labels) < 2:
            continue
        done.add((setting.dataset, setting.protocol))
        parts.append(Part.fold(setting.name, _setting_parts(setting, cells, command_of(some, *MADE_BY))))
    if not parts:
        return Section.of(
            "curves", title, (), "No data set with two methods, so no curves.", "kinhash bench field"
        )
    lead = (
        f"At most {MOST} lines each: {OURS}, EM-KSH, and the best others. Lines differ by marker and dashes; "
        "the numbers are in the table below each group. Precision is that along "
        "the ranking, at every share of the relevant rows found, in expectation over the order of ties; "
        "results of older versions, which kept look-ups within radii instead, have no such curve."
    )
    return Section("curves", title, (Part.text(lead), *parts))


def _setting_parts(setting: Setting, cells: Cells, command: str) -> list[Part]:
    lengths = [n for n in cells.places if n is not None]
    longest = max((n for n in lengths if n <= 64), default=max(lengths))
    chosen = _chosen(cells)
    name = f"curves-{setting.dataset}-{setting.protocol}"
    charts, tables = [], []
    for kind in KINDS:
        by_bits = _lines(cells, chosen, lengths, kind, lambda n, group: float(n))
        if not by_bits:
            continue
        ticks = tuple(float(n) for n in lengths)
        if len(lengths) > 1:
            caption = f"{setting.name}: mAP against bits, {kind} database"
            axis = Axis("bits", log=True, ticks=ticks)
            charts.append(line_chart(f"{name}-bits-{kind}", caption, tuple(by_bits), axis, Axis("mAP")))
        ranked = _ranked(cells.column(longest), chosen, kind)
        if ranked:
            recalls = tuple(RECALLS.tolist())
            precision = [ChartLine(label, recalls, tuple(one.mean(axis=0))) for label, one in ranked.items()]
            caption = f"{setting.name}, {longest} bits: precision against recall, {kind} database"
            axes = Axis("recall"), Axis("precision")
            charts.append(line_chart(f"{name}-precision-{kind}", caption, tuple(precision), *axes))
            tables.append(_precision_table(name, setting, ranked, kind, command))
        times = _lines(cells, chosen, lengths, kind, lambda n, group: float(np.mean(group.seconds() or 0)))
        if times:
            caption = f"{setting.name}: mAP against training seconds, {kind} database"
            axis = Axis("training seconds", log=True)
            charts.append(line_chart(f"{name}-seconds-{kind}", caption, tuple(times), axis, Axis("mAP")))
    tables.append(_seconds_table(name, setting, cells, chosen, lengths, command))
    folded = Part.folded(f"The numbers of these curves, {setting.name}", *tables)
    return [Part(f'<div class="charts">{"".join(charts)}</div>'), folded]


def _chosen(cells: Cells) -> list[str]:
    """Ours and the paper's first, then the best others, as many as a chart can distinguish."""
    labels = cells.labels
    head = [label for label in (OURS, "EM-KSH") if label in labels]
    return [*head, *(label for label in labels if label not in head)][:MOST]


def _lines(cells: Cells, chosen: list[str], lengths: list[int], kind: str, x: Across) -> list[ChartLine]:
    """mAP of every method at every length, against what ``x`` gives for that cell."""
    lines = []
    for label in chosen:
        groups = [(n, group) for n in lengths if (group := cells.groups.get((label, n))) is not None]
        found = [(x(n, group), [s.value for s in group.scores(kind).values()]) for n, group in groups]
        known = [(at, float(np.mean(some)), deviation(some)) for at, some in found if at > 0 and some]
        if known:
            lines.append(ChartLine(label, *zip(*known, strict=True)))
    return lines


def _ranked(groups: Mapping[str, Group], chosen: list[str], kind: str) -> dict[str, Floats]:
    """Precisions (partitions, recalls) along the rankings, of the methods whose results have them."""
    scores = {label: groups[label].scores(kind).values() for label in chosen if label in groups}
    found = {
        label: [s.ranked_precision for s in some if s.ranked_precision] for label, some in scores.items()
    }
    return {label: np.array(some) for label, some in found.items() if some}


def _precision_table(
    name: str, setting: Setting, ranked: Mapping[str, Floats], kind: str, command: str
) -> ResultTable:
    rows = [
        (label, tuple(Entry(float(c.mean()), deviation(c.tolist()), n=len(c)) for c in found[:, ::SHOWN].T))
        for label, found in ranked.items()
    ]
    heads = tuple(Column(f"{recall:.1f}", "precision at recall") for recall in RECALLS[::SHOWN])
    caption = f"{setting.name}, {kind} database: precision at recall, along the ranking"
    note = (
        "Mean over partitions, ± deviation; in expectation over the order of ties. Recall 0: the share of "
        "kin among the nearest rows there are."
    )
    return ResultTable(
        f"{name}-precision-{kind}-table", caption, "method", heads, tuple(rows), (note,), command
    )


def _seconds_table(
    name: str, setting: Setting, cells: Cells, chosen: list[str], lengths: list[int], command: str
) -> ResultTable:
    kinds = [kind for kind in KINDS if any(kind in cells.kinds(n) for n in lengths)]
    columns = tuple(Column(what, f"{n} bits") for n in lengths for what in ("training seconds", *kinds))
    rows = []
    for label in chosen:
        entries: list[Entry] = []
        for n in lengths:
            group = cells.groups.get((label, n))
            entries.append(seconds_entry(group))
            entries += [without_band(entry(group, kind)) for kind in kinds]
        rows.append((label, tuple(entries)))
    caption = f"{setting.name}: training seconds and mAP"
    note = (
        "Means over partitions, ± deviation. Seconds are those of the fit alone, on the processor named at "
        "the top."
    )
    return ResultTable(f"{name}-seconds-table", caption, "method", columns, tuple(rows), (note,), command)
