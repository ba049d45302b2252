"""From results to a report: one HTML page, and every table of it as CSV and LaTeX. A pure function."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import InvalidInput
from .credit import maps, toplines
from .field import field
from .figures import curves
from .grid import ResultTable
from .memory import memory
from .nearest_kin import nearest_kin
from .page import page
from .paper_tables import stand_ins, table_1, table_2, table_3, table_4
from .pictures import gallery
from .protocols import protocols
from .result import Result
from .rows import arrange
from .sections import Section
from .summary import failures, summary
from .sweeps import figure_2, figure_3, sweeps
from .wins import wins

__all__ = ["Report", "make_report"]

TITLE = "kinhash: results"
# The order of the page, after the summary.
BUILDERS = (
    wins, table_1, table_2, table_3, table_4, stand_ins, figure_2, figure_3, sweeps, memory,
    field, nearest_kin, protocols, maps, toplines, curves, gallery, failures,
)  # fmt: skip


@dataclass(frozen=True)
class Report:
    """The page, its tables in order, and the lines that say what no result exists for."""

    html: str
    tables: tuple[ResultTable, ...]
    missing: tuple[str, ...]


def make_report(results: Iterable[Result], title: str = TITLE) -> Report:
    """Build the whole report. The order of the results does not matter, nor when or where this runs."""
    found = arrange(results)
    if not found:
        raise InvalidInput("There are no results", "at least one", "Run kinhash bench first")
    built = [build(found) for build in BUILDERS]
    below = sorted(built, key=lambda section: section.is_empty)  # a task of one's own comes first
    sections = [summary(found, below), *below]
    return Report(
        html=page(title, sections),
        tables=tuple(_tables(sections)),
        missing=tuple(words for section in sections for words, _ in section.missing),
    )


def _tables(sections: Iterable[Section]) -> Iterable[ResultTable]:
    return (table for section in sections for part in section.parts for table in part.tables)
