"""Protocols side by side: what is left of a number when rows, or whole classes, are new."""

from __future__ import annotations

from collections.abc import Sequence

from ..tasks.result import Result
from .all_methods import ABOUT, MADE_BY, OURS, PROTOCOLS, settings
from .commands import command_of
from .result_table import ResultTable
from .rows import group_by, is_plain
from .sections import Part, Section
from .tables import Cells, method_parts

__all__ = ["protocols"]


def protocols(results: Sequence[Result]) -> Section:
    """For every data set that was run under more than one protocol: a table for each length."""
    title = "New rows and new classes: protocols side by side"
    parts: list[Part] = []
    shown = [r for r in results if r.n_bits not in (None, 1) and r.protocol in PROTOCOLS and is_plain(r)]
    for dataset, some in group_by(shown, lambda r: r.dataset).items():
        alike = _one_setting_each(some)
        if len({r.protocol for r in alike}) > 1:
            parts.append(Part.fold(dataset, _dataset_parts(dataset, alike)))
    if not parts:
        words = "No data set with results under more than one protocol."
        return Section("protocols", title, (), ((words, "kinhash bench network"),))
    have = {r.protocol for r in shown}
    said = "; ".join(f"{name}: {ABOUT[name]}" for name in PROTOCOLS if name in have)
    return Section("protocols", title, (Part.text(f"{said[0].upper()}{said[1:]}."), *parts))


def _one_setting_each(some: Sequence[Result]) -> list[Result]:
    """Of settings that share a protocol's name, the one with the most results."""
    by_name = group_by(settings(some).items(), lambda pair: pair[0].protocol)
    return [r for found in by_name.values() for r in max(found, key=lambda pair: len(pair[1]))[1]]


def _dataset_parts(dataset: str, some: Sequence[Result]) -> list[Part]:
    parts: list[Part] = []
    for n_bits, rows in sorted(group_by(some, lambda r: r.n_bits or 0).items()):
        have = {r.protocol for r in rows}
        places = {name: name for name in PROTOCOLS if name in have}
        if len(places) < 2:
            continue
        cells = Cells.of(rows, "protocol")
        name, caption = f"protocols-{dataset}-{n_bits}", f"{dataset}, {n_bits} bits: mAP under each protocol"
        empty = ResultTable(name, caption, "method", (), (), (), command_of(rows, *MADE_BY))
        parts += method_parts(cells, places, empty, OURS)
    return parts
