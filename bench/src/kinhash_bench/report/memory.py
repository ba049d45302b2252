"""Peak memory at 64 to 256 bits, said against the cell in which the paper's BSH ran out of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..tasks.result import Result
from .commands import command_of, paper_command
from .paper_tables import bits_of
from .result_table import NOT_RUN, Column, Entry, ResultTable
from .rows import Group, failure, group_by, in_section
from .sections import Part, Section

__all__ = ["memory"]

PAPER = "The paper's BSH ran out of memory at 256 bits on NUS-WIDE (269,648 rows, 64 GB); its EM-KSH did not."
Cells = dict[tuple[str, int], Group]


def memory(results: Sequence[Result]) -> Section:
    """A table for every data set it was measured on."""
    title = "Peak memory at 64 to 256 bits"
    chosen = [r for r in results if in_section(r, "memory") and r.n_bits is not None]
    sets = group_by(chosen, lambda r: r.dataset)
    parts = [Part.fold(name, [Part.table(_table(name, some))]) for name, some in sets.items()]
    words = "No results for the peak memory of EM-KSH beside BSH."
    return Section.of("memory", title, parts, words, paper_command("memory"))


def _table(dataset: str, some: Sequence[Result]) -> ResultTable:
    found = group_by(some, lambda r: (r.label, r.n_bits or 0))
    cells = {place: Group.of(rows) for place, rows in found.items()}
    lengths = sorted({n for _, n in cells})
    labels = sorted({label for label, _ in cells}, key=lambda label: (label != "EM-KSH", label))
    rows = tuple((label, tuple(_peak(cells.get((label, n))) for n in lengths)) for label in labels)
    sizes = [r.n_train for r in some if r.n_train is not None]
    size = f" ({max(sizes):,} training rows)" if sizes else ""
    note = (
        f"Most the process grew by while it fitted, encoded and scored, in any partition{size}. "
        f"{PAPER} {_said(cells, labels, lengths[-1])}"
    )
    columns = tuple(Column(heading) for heading in bits_of(lengths).values())
    caption = f"Peak memory on {dataset}, in MB"
    return ResultTable(
        f"memory-{dataset}", caption, "method", columns, rows, (note,), command_of(some, "memory")
    )


def _peak(group: Group | None) -> Entry:
    if group is None:
        return NOT_RUN
    if not group.ok:
        return failure(group)
    peak = group.peak
    return Entry(text="not measured") if peak is None else Entry(peak / 1e6, n=len(group.ok), digits=1)


def _said(cells: Cells, labels: list[str], n_bits: int) -> str:
    """What happened here at the longest length."""
    shown = {label: _peak(cells[label, n_bits]) for label in labels if (label, n_bits) in cells}
    said = [f"{label} {f'took {e.main} MB' if e.value is not None else e.main}" for label, e in shown.items()]
    return f"Here, at {n_bits} bits: {', '.join(said)}."
