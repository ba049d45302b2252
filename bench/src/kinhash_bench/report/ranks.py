"""Across data sets: a critical-difference diagram and signed-rank tests for every protocol and database."""

from __future__ import annotations

from collections.abc import Sequence

from ..tasks.result import Result
from .all_methods import OURS, PROTOCOLS
from .chart import STYLE, figure, picture
from .rank_tests import Comparison, compare
from .result_table import Column, Entry, ResultTable
from .rows import KINDS, is_plain
from .sections import Part, Section

__all__ = ["ranks"]


def ranks(results: Sequence[Result]) -> Section:
    """The first comparison is open, the others folded."""
    title = "Across data sets: ranks and significant differences"
    lengths = [r for r in results if r.n_bits is not None and 1 < r.n_bits <= 64 and is_plain(r)]
    shown = [r for r in lengths if r.method != OURS or r.label == OURS]
    parts: list[Part] = []
    for protocol in (*PROTOCOLS, *sorted({r.protocol for r in shown} - set(PROTOCOLS))):
        for kind in KINDS:
            found = compare([r for r in shown if r.protocol == protocol], kind)
            if found is None:
                continue
            where = f"{protocol}, {kind} database"
            drawn, tests = _comparison_parts(where, f"{protocol}-{kind}", found)
            if not parts:
                parts.append(drawn)
                parts.append(Part.fold(f"{where}: tests against each method", [tests]))
            else:
                parts.append(Part.fold(f"{where}: ranks and tests", [drawn, tests]))
    words = f"Fewer than four data sets on which {OURS} meets two others, so no ranks over data sets."
    return Section.of("ranks", title, parts, words, "kinhash bench field")


def _comparison_parts(where: str, name: str, found: Comparison) -> list[Part]:
    rows = tuple(
        (
            one.rival,
            (
                Entry(text=f"{one.wins} to {one.losses}"),
                Entry(one.median, low=one.low, high=one.high, signed=True),
                Entry(one.p, digits=4),
                Entry(one.holm, digits=4),
            ),
        )
        for one in found.against
    )
    columns = tuple(Column(head) for head in ("sets won and lost", "median difference", "p", "p by Holm"))
    left = f" Left out, for being on fewer sets: {', '.join(found.left_out)}." if found.left_out else ""
    note = (
        f"{OURS} against each, over {len(found.sets)} data sets ({', '.join(found.sets)}); a set counts "
        "once, by the mean over the lengths up to 64 bits and the partitions that all methods have on it. "
        "Differences: median, and from the least to the most. Wilcoxon's signed ranks, two-sided; of "
        f"{len(found.sets)} sets the smallest p there is, is {2.0 ** (1 - len(found.sets)):.4f}. Holm: "
        f"corrected for {len(rows)} comparisons.{left}"
    )
    caption = f"{where}: {OURS} against each method over data sets"
    table = ResultTable(f"ranks-{name}", caption, "method", columns, rows, (note,), "kinhash bench field")
    return [Part(_diagram(where, name, found)), Part.table(table)]


def _diagram(where: str, name: str, found: Comparison) -> str:
    """Mean ranks on a line, best to the left; a bar joins methods that do not differ significantly."""
    from matplotlib import rc_context

    k, bars = len(found.methods), _joined(found)
    half = (k + 1) // 2
    with rc_context(STYLE):
        made, axes = picture(9, 0.9 + 0.09 * len(bars) + 0.24 * half)
        axes.plot([1, k], [0, 0], "k")
        for tick in range(1, k + 1):
            axes.plot([tick, tick], [0, 0.4], "k")
            axes.text(tick, 0.6, str(tick), ha="center")
        axes.errorbar(1 + found.distance / 2, 2.2, xerr=found.distance / 2, color="k", capsize=4)
        axes.text(1.1 + found.distance, 2.2, f"critical difference {found.distance:.2f}", va="center")
        for number, (first, last) in enumerate(bars, 1):
            axes.plot([found.ranks[first], found.ranks[last]], [-0.4 * number] * 2, "k", linewidth=4)
        for place, (method, rank) in enumerate(zip(found.methods, found.ranks, strict=True)):
            left = place < half
            below = -0.4 * len(bars) - 1 - (place if left else k - 1 - place)
            end = 0.8 if left else 0.2 + k
            axes.plot([rank, rank, end], [0, below, below], "k", linewidth=0.8)
            axes.text(end, below, f" {method} {rank:.2f} ", ha="right" if left else "left", va="center")
        axes.set_axis_off()
        said = ", ".join(f"{m} {r:.2f}" for m, r in zip(found.methods, found.ranks, strict=True))
        caption = (
            f"{where}: mean rank over {len(found.sets)} data sets, 1 is best. Methods that a bar joins "
            f"differ by less than Nemenyi's critical difference at 5 %, {found.distance:.2f}; Friedman's "
            f"test of no difference at all: p = {found.friedman:.2g}."
        )
        return figure(f"ranks-figure-{name}", caption, f"Mean ranks: {said}", made, "ranks")


def _joined(found: Comparison) -> list[tuple[int, int]]:
    """First and last of every run of methods within the critical difference, none inside another."""
    bars: list[tuple[int, int]] = []
    for first in range(len(found.ranks)):
        last = max(
            i for i in range(first, len(found.ranks)) if found.ranks[i] - found.ranks[first] <= found.distance
        )
        if last > first and (not bars or last > bars[-1][1]):
            bars.append((first, last))
    return bars
