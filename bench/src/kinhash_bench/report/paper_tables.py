"""The paper's four tables, its numbers beside ours; stand-ins in tables of their own, without its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tasks.result import Result
from . import paper
from .commands import command_of, paper_command
from .result_table import ResultTable
from .rows import is_plain
from .sections import Part, Section
from .tables import Cells, Printed, method_parts, method_table

__all__ = ["bits_of", "stand_ins", "table_1", "table_2", "table_3", "table_4"]

Missing = tuple[str, str]

FEATURES = {"ESPGAME": "its 512-d GIST features", "NUS-WIDE": "its 500-d bags of words"}
PRINTED = 'The columns "paper" hold what it prints: learned database, mean of 10 partitions, ties unsaid.'
TIMES = "The paper's seconds were taken on a 16-core i7-6900K, ours on the processor named in the summary."
REFERENCE = "EM-KSH"


def bits_of(lengths: Sequence[int]) -> dict[Any, str]:
    """Lengths with their headings."""
    return {n: "1 bit" if n == 1 else f"{n} bits" for n in lengths}


def table_1(results: Sequence[Result]) -> Section:
    """ESPGAME and CIFAR-10 at 8 to 64 bits."""
    parts: list[Part] = []
    missing: list[Missing] = []
    for name, section in (("CIFAR-10", "table1-cifar10"), ("ESPGAME", "table1-espgame")):
        chosen = _chosen(results, paper.SETS[name], paper.BITS_1)
        if not chosen:
            missing.append(_absent("Table 1", name, section))
            continue
        notes = (PRINTED, paper.TYPO) if name == "CIFAR-10" else (PRINTED,)
        caption = f"Table 1, {name}: mAP, the paper's and ours"
        empty = ResultTable(section, caption, "method", (), (), notes, command_of(chosen, "table1"))
        parts += _with_pairs(Cells.of(chosen), bits_of(paper.BITS_1), empty, paper.TABLE_1[name])
    return Section("table1", "Table 1: ESPGAME and CIFAR-10", tuple(parts), tuple(missing))


def table_2(results: Sequence[Result]) -> Section:
    """NUS-WIDE at 8 to 64 bits: mAP and seconds."""
    title, section = "Table 2: NUS-WIDE, mAP and training seconds", "table2-nuswide"
    chosen = _chosen(results, paper.SETS["NUS-WIDE"], paper.BITS_1)
    if not chosen:
        return Section("table2", title, (), (_absent("Table 2", "NUS-WIDE", section),))
    caption = "Table 2, NUS-WIDE: mAP and training seconds"
    empty = ResultTable(section, caption, "method", (), (), (PRINTED, TIMES), command_of(chosen, "table2"))
    parts = _with_pairs(Cells.of(chosen), bits_of(paper.BITS_1), empty, paper.TABLE_2, seconds=True)
    return Section("table2", title, tuple(parts))


def table_3(results: Sequence[Result]) -> Section:
    """One bit: the paper's sets in one table, other sets in another."""
    chosen = [r for r in results if r.protocol == "paper-one-bit" and r.n_bits == 1 and is_plain(r)]
    sets = {paper.SETS[name]: name for name in paper.SETS_3}
    theirs = [r for r in chosen if r.dataset in sets]
    others = [r for r in chosen if r.dataset not in sets]
    parts: list[Part] = []
    have = {dataset: name for dataset, name in sets.items() if any(r.dataset == dataset for r in theirs)}
    if have:
        columns = [paper.SETS_3.index(name) for name in have.values()]
        printed = {row: tuple(values[i] for i in columns) for row, values in paper.TABLE_3.items()}
        caption = "Table 3: mAP of one bit, 1,000 training rows and 1,000 queries"
        empty = ResultTable(
            "table3-table", caption, "method", (), (), (PRINTED,), command_of(theirs, "table3")
        )
        table = Part.table(method_table(Cells.of(theirs, "dataset"), have, empty, printed))
        parts.append(Part.fold(caption, [table]))
    if others:
        places = {name: name for name in sorted({r.dataset for r in others})}
        note = "These are not the paper's sets, and its numbers do not belong beside them."
        caption = "One bit on other data sets: mAP"
        empty = ResultTable("table3-others", caption, "method", (), (), (note,), command_of(others, "table3"))
        parts.append(
            Part.fold(caption, [Part.table(method_table(Cells.of(others, "dataset"), places, empty))])
        )
    absent = [name for dataset, name in sets.items() if dataset not in have]
    missing = [_absent("Table 3", name, f"table3-{paper.SETS[name]}") for name in absent]
    return Section("table3", "Table 3: one bit", tuple(parts), tuple(missing))


def table_4(results: Sequence[Result]) -> Section:
    """NUS-WIDE at 128 and 256 bits; the same lengths on other sets, without the paper's numbers."""
    parts: list[Part] = []
    missing: list[Missing] = []
    nuswide = paper.SETS["NUS-WIDE"]
    chosen = _chosen(results, nuswide, paper.BITS_4)
    if chosen:
        caption = "Table 4, NUS-WIDE: mAP and training seconds"
        command = command_of(chosen, "table4")
        empty = ResultTable("table4-nuswide", caption, "method", (), (), (PRINTED, TIMES), command)
        parts += _with_pairs(Cells.of(chosen), bits_of(paper.BITS_4), empty, paper.TABLE_4, seconds=True)
    else:
        missing.append(_absent("Table 4", "NUS-WIDE", "table4-nuswide"))
    for dataset in sorted({r.dataset for r in results} - {nuswide}):
        some = _chosen(results, dataset, paper.BITS_4)
        if some:
            caption = f"128 and 256 bits on {dataset}: mAP and training seconds"
            note = "Not in the paper, which has these lengths on NUS-WIDE only."
            command = command_of(some, "table4")
            empty = ResultTable(f"table4-{dataset}", caption, "method", (), (), (note,), command)
            parts += _with_pairs(Cells.of(some), bits_of(paper.BITS_4), empty, None, seconds=True)
    return Section("table4", "Table 4: 128 and 256 bits", tuple(parts), tuple(missing))


def stand_ins(results: Sequence[Result]) -> Section:
    """Tables 1 and 2 on sets that resemble those that are not at hand. The paper's numbers stay out."""
    parts: list[Part] = []
    missing: list[Missing] = []
    for dataset, why in paper.STAND_INS.items():
        chosen = _chosen(results, dataset, paper.BITS_1)
        if not chosen:
            words = f"No results on {dataset}, {why}."
            missing.append((words, paper_command(f"standins-{dataset}")))
            continue
        note = f"A stand-in, {why}. Its numbers are not comparable with any the paper prints."
        lengths = sorted({r.n_bits for r in chosen if r.n_bits is not None})
        caption, command = f"{dataset}: mAP and training seconds", command_of(chosen, "standins", "field")
        empty = ResultTable(f"standins-{dataset}", caption, "method", (), (), (note,), command)
        parts += _with_pairs(Cells.of(chosen), bits_of(lengths), empty, None, seconds=True)
    return Section("standins", "Stand-ins for ESPGAME and NUS-WIDE", tuple(parts), tuple(missing))


def _chosen(results: Sequence[Result], dataset: str, lengths: Sequence[int]) -> list[Result]:
    """Rows of methods on one data set under the paper's protocol with its usual number of queries."""
    return [
        r
        for r in results
        if (r.dataset, r.protocol, r.n_queries) == (dataset, "paper", 1000)
        and r.n_bits in lengths
        and is_plain(r)
    ]


def _absent(title: str, name: str, section: str) -> Missing:
    words = f"No results for {title} on {name}."
    if name in FEATURES:
        words = (
            f"No results for {title} on {name}: needs {FEATURES[name]} (kinhash data check says where from)."
        )
    return words, paper_command(section)


def _with_pairs(
    cells: Cells, places: dict[Any, str], empty: ResultTable, printed: Printed | None, seconds: bool = False
) -> list[Part]:
    """A table and its paired differences to EM-KSH, folded."""
    return [Part.fold(empty.caption, method_parts(cells, places, empty, REFERENCE, printed, seconds=seconds))]
