"""Curves: mAP against bits, precision against recall, mAP against seconds; with their numbers as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .chart import MOST, Axis, ChartLine, line_chart
from .commands import command_of
from .field import MADE_BY, OURS, Setting, settings
from .grid import Column, Entry, ResultTable
from .result import Result
from .rows import KINDS, Group, deviation, is_plain
from .sections import Part, Section
from .tables import Cells

__all__ = ["curves", "mean_curve"]

RECALLS = np.linspace(0.0, 1.0, 41)


def curves(results: Sequence[Result]) -> Section:
    """Three kinds of curves for every data set, under the first of its protocols."""
    title = "Curves"
    shown = [r for r in results if (r.n_bits or 0) > 1 and is_plain(r)]
    parts: list[Part] = []
    done: set[str] = set()
    for setting, some in settings(shown).items():
        cells = Cells.of(some)
        if setting.dataset in done or len(cells.labels) < 2:
            continue
        done.add(setting.dataset)
        parts += _setting_parts(setting, cells, command_of(some, *MADE_BY))
    if not parts:
        words = "No data set with two methods, so no curves."
        return Section("curves", title, (), ((words, "kinhash bench field"),))
    lead = (
        f"At most {MOST} lines each: {OURS}, EM-KSH, and the best others. Lines differ by marker, dashes and "
        "the letter at their end; the numbers are in the table below each group."
    )
    return Section("curves", title, (Part.text(lead), *parts))


def _setting_parts(setting: Setting, cells: Cells, command: str) -> list[Part]:
    lengths = [n for n in cells.places if n is not None]
    longest = max((n for n in lengths if n <= 64), default=max(lengths))
    chosen = _chosen(cells)
    name = f"curves-{setting.dataset}"
    charts, tables = [], []
    for kind in KINDS:
        by_bits = _bits_lines(cells, chosen, lengths, kind)
        if not by_bits:
            continue
        ticks = tuple(float(n) for n in lengths)
        if len(lengths) > 1:
            caption = f"{setting.name}: mAP against bits, {kind} database"
            axis = Axis("bits", log=True, ticks=ticks)
            charts.append(line_chart(f"{name}-bits-{kind}", caption, by_bits, axis, Axis("mAP")))
        precision = _precision_lines(cells.column(longest), chosen, kind)
        if precision:
            caption = f"{setting.name}, {longest} bits: precision against recall, {kind} database"
            axes = Axis("recall"), Axis("precision")
            charts.append(line_chart(f"{name}-precision-{kind}", caption, precision, *axes))
            tables.append(_precision_table(name, setting, precision, kind, longest, command))
        times = _seconds_lines(cells, chosen, lengths, kind)
        if times:
            caption = f"{setting.name}: mAP against training seconds, {kind} database"
            axis = Axis("training seconds", log=True)
            charts.append(line_chart(f"{name}-seconds-{kind}", caption, times, axis, Axis("mAP")))
    tables.append(_seconds_table(name, setting, cells, chosen, lengths, command))
    heading = Part.heading(setting.name, name)
    folded = Part.folded(f"The numbers of these curves, {setting.name}", *tables)
    return [heading, Part(f'<div class="charts">{"".join(charts)}</div>'), folded]


def _chosen(cells: Cells) -> list[str]:
    """Ours and the paper's first, then the best others, as many as can be told apart."""
    labels = cells.labels
    head = [label for label in (OURS, "EM-KSH") if label in labels]
    return [*head, *(label for label in labels if label not in head)][:MOST]


def _bits_lines(cells: Cells, chosen: list[str], lengths: list[int], kind: str) -> list[ChartLine]:
    lines = []
    for label in chosen:
        groups = [(n, cells.groups.get((label, n))) for n in lengths]
        values = [
            (n, [s.value for s in group.scores(kind).values()]) for n, group in groups if group is not None
        ]
        known = [(float(n), float(np.mean(some)), deviation(some)) for n, some in values if some]
        if known:
            xs, ys, spread = zip(*known, strict=True)
            lines.append(ChartLine(label, xs, ys, spread))
    return lines


def _precision_lines(groups: Mapping[str, Group], chosen: list[str], kind: str) -> list[ChartLine]:
    lines = []
    for label in chosen:
        curve = mean_curve(groups[label], kind) if label in groups else None
        if curve is not None:
            lines.append(ChartLine(label, *curve))
    return lines


def mean_curve(group: Group, kind: str) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Mean precision over partitions at common recalls, between those that every partition reaches."""
    scores = [score for score in group.scores(kind).values() if len(score.recall) > 1]
    if not scores:
        return None
    low, high = max(min(s.recall) for s in scores), min(max(s.recall) for s in scores)
    at = np.unique(np.concatenate([[low], RECALLS[(low < RECALLS) & (high > RECALLS)], [high]]))
    if len(at) < 2:
        return None
    mean = np.mean([np.interp(at, s.recall, s.precision) for s in scores], axis=0)
    return tuple(at.tolist()), tuple(mean.tolist())


def _seconds_lines(cells: Cells, chosen: list[str], lengths: list[int], kind: str) -> list[ChartLine]:
    lines = []
    for label in chosen:
        known = []
        for n in lengths:
            group = cells.groups.get((label, n))
            mean = group.mean(kind) if group is not None else None
            spent = group.seconds() if group is not None else []
            if mean is not None and spent and np.mean(spent) > 0:
                known.append((float(np.mean(spent)), mean))
        if known:
            xs, ys = zip(*known, strict=True)
            lines.append(ChartLine(label, xs, ys))
    return lines


def _precision_table(
    name: str, setting: Setting, lines: Sequence[ChartLine], kind: str, n_bits: int, command: str
) -> ResultTable:
    at = [round(0.1 * step, 1) for step in range(1, 11)]
    rows = []
    for line in lines:
        values = np.interp(at, line.x, line.y)
        inside = [line.x[0] - 1e-9 <= recall <= line.x[-1] + 1e-9 for recall in at]
        entries = [
            Entry(float(v)) if known else Entry(text="–") for v, known in zip(values, inside, strict=True)
        ]
        rows.append((line.label, tuple(entries)))
    columns = tuple(Column(f"{recall:.1f}", "precision at recall") for recall in at)
    caption = f"{setting.name}, {n_bits} bits, {kind} database: precision at recall, over all Hamming radii"
    note = (
        "Mean over partitions; a look-up that finds nothing counts as precision 0. –: the smallest radius "
        "already finds more than that (learned codes of a class are one code)."
    )
    return ResultTable(
        f"{name}-precision-{kind}-table", caption, "method", columns, tuple(rows), (note,), command
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
            spent = group.seconds() if group is not None else []
            entries.append(Entry(float(np.mean(spent)), digits=2) if spent else Entry(text="–"))
            means = [group.mean(kind) if group is not None else None for kind in kinds]
            entries += [Entry(text="–") if mean is None else Entry(mean) for mean in means]
        rows.append((label, tuple(entries)))
    caption = f"{setting.name}: training seconds and mAP"
    note = "Means over partitions. Seconds are those of the fit alone, on the processor named at the top."
    return ResultTable(f"{name}-seconds-table", caption, "method", columns, tuple(rows), (note,), command)
