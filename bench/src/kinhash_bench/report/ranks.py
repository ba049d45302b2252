"""Across data sets: a critical-difference diagram and signed-rank tests for every protocol and database."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..tasks.result import Result
from .field import OURS, PROTOCOLS
from .grid import Column, Entry, ResultTable, slug
from .rank_tests import Comparison, compare
from .rows import KINDS, is_plain
from .sections import Part, Section

__all__ = ["ranks"]

WIDTH, SIDE, TOP, STEP = 760, 215, 62, 20


def ranks(results: Sequence[Result]) -> Section:
    """The first comparison is open, the others folded."""
    title = "Across data sets: ranks, and what can be told apart"
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
    if not parts:
        words = f"Fewer than four data sets on which {OURS} meets two others, so no ranks over data sets."
        return Section("ranks", title, (), ((words, "kinhash bench field"),))
    return Section("ranks", title, tuple(parts))


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
    """Mean ranks on a line, best to the left; a bar joins methods that cannot be told apart."""
    k = len(found.methods)
    half = (k + 1) // 2
    bars = _joined(found)
    base = TOP + 9 + 9 * len(bars)
    height = base + STEP * half + 14

    def at(rank: float) -> float:
        return SIDE + (rank - 1) / (k - 1) * (WIDTH - 2 * SIDE)

    parts = [f'<path d="M{at(1):.1f} {TOP}H{at(k):.1f}"/>']
    for tick in range(1, k + 1):
        parts.append(f'<path d="M{at(tick):.1f} {TOP}v-6"/>')
        parts.append(f'<text x="{at(tick):.1f}" y="{TOP - 10}" text-anchor="middle">{tick}</text>')
    reach = at(1 + found.distance) - at(1)
    parts.append(f'<path d="M{at(1):.1f} 22v-8v4h{reach:.1f}v-4v8"/>')
    parts.append(f'<text x="{at(1) + reach + 8:.1f}" y="23">critical difference {found.distance:.2f}</text>')
    for number, (first, last) in enumerate(bars):
        left, right = at(found.ranks[first]) - 4, at(found.ranks[last]) + 4
        parts.append(f'<path class="bar" d="M{left:.1f} {TOP + 9 + 9 * number}H{right:.1f}"/>')
    for place, (method, rank) in enumerate(zip(found.methods, found.ranks, strict=True)):
        on_left = place < half
        y = base + STEP * (place if on_left else k - 1 - place) + 10
        end, anchor, words = (
            (SIDE - 8, "end", SIDE - 12) if on_left else (WIDTH - SIDE + 8, "start", WIDTH - SIDE + 12)
        )
        shown = method if len(method) <= 27 else method[:26] + "…"
        parts.append(f'<path d="M{at(rank):.1f} {TOP}V{y}H{end}"/>')
        parts.append(
            f'<text x="{words}" y="{y + 5}" text-anchor="{anchor}">{escape(f"{shown} {rank:.2f}")}</text>'
        )
    said = ", ".join(f"{m} {r:.2f}" for m, r in zip(found.methods, found.ranks, strict=True))
    caption = (
        f"{where}: mean rank over {len(found.sets)} data sets, 1 is best. Methods that a bar joins differ by "
        f"less than Nemenyi's critical difference at 5 %; Friedman's test of no difference at all: "
        f"p = {found.friedman:.2g}."
    )
    return "\n".join(
        [
            f'<figure class="ranks" id="ranks-figure-{slug(name)}" role="group" tabindex="0">',
            f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(f"Mean ranks: {said}")}">',
            *parts,
            f"</svg><figcaption>{escape(caption)}</figcaption></figure>",
        ]
    )


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
