"""From results to a report: one HTML page, its tables as CSV and LaTeX, its sources. A pure function."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kinhash.errors import InvalidInput

from ..tasks.result import Result
from .all_methods import field
from .bibliography import bibliography
from .commands import tasks_of
from .encoder_swap import maps, toplines
from .figures import curves
from .first_answers import first_answers, nearest_kin
from .memory import memory
from .page import page
from .paper_tables import stand_ins, table_1, table_2, table_3, table_4
from .pictures import gallery
from .protocols import protocols
from .ranks import ranks
from .result_table import ResultTable
from .rows import arrange
from .sections import Section
from .summary import failures, summary
from .sweeps import figure_2, figure_3, sweeps
from .wins import wins

__all__ = ["Report", "make_report"]

TITLE = "kinhash: results"
# The order of the page, after the summary.
BUILDERS = (
    wins, ranks, table_1, table_2, table_3, table_4, stand_ins, figure_2, figure_3, sweeps, memory,
    field, first_answers, nearest_kin, protocols, maps, toplines, curves, gallery, failures,
)  # fmt: skip


@dataclass(frozen=True)
class Report:
    """The page, its tables in order, the lines that say what no result exists for, and the works it rests on.

    ``versions``: the code that made the results; more than one are mixed in its tables, and the page says so.
    """

    html: str
    tables: tuple[ResultTable, ...]
    missing: tuple[str, ...]
    bibtex: str
    versions: tuple[str, ...]


def make_report(results: Iterable[Result], title: str | None = None, at: str | None = None) -> Report:
    """Build the whole report. The order of the results does not matter, nor when or where this runs.

    ``at`` takes the results of one version of the code: "0.2.0", "0.2.0+1a2b3c", or the digest's first
    digits.
    """
    found = arrange(_made_by(list(results), at))
    if not found:
        raise InvalidInput("There are no results", "at least one", "Run kinhash bench first")
    built = [build(found) for build in BUILDERS]
    ours = tasks_of(found)
    missing = [
        (section.title, words, command)
        for section in built
        for words, command in section.missing
        if command.split()[2] in ours  # nobody misses the paper's tables in a task of their own
    ]
    sections = [summary(found, missing), *(section for section in built if not section.is_empty)]
    return Report(
        html=page(title or _title(found), sections),
        tables=tuple(_tables(sections)),
        missing=tuple(words for _, words, _ in missing),
        bibtex=bibliography(found),
        versions=tuple(sorted({r.version for r in found})),
    )


def _made_by(results: list[Result], at: str | None) -> list[Result]:
    if at is None or not results:
        return results
    chosen = [r for r in results if r.version.startswith(at) or r.version.partition("+")[2].startswith(at)]
    if not chosen:
        known = ", ".join(sorted({r.version for r in results}))
        raise InvalidInput(f"No result was made by version {at}", f"one of {known}", "Choose one of these")
    return chosen


def _title(results: Sequence[Result]) -> str:
    """The title: what a custom task is about; the named tasks share one."""
    if tasks_of(results):
        return TITLE
    about = sorted({r.about or r.task for r in results} - {""})
    if about:
        return " ".join(about)
    names = sorted({name for r in results for name in r.sections} or {r.dataset for r in results})
    return f"Results: {', '.join(names)}"


def _tables(sections: Iterable[Section]) -> Iterable[ResultTable]:
    return (table for section in sections for part in section.parts for table in part.tables)
