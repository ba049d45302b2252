"""From results to a report: one HTML page, and every table of it as CSV and LaTeX. A pure function."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import InvalidInput
from ._credit import maps, toplines
from ._field import field
from ._figures import curves
from ._grid import Table
from ._memory import memory
from ._page import page
from ._paper_tables import stand_ins, table_1, table_2, table_3, table_4
from ._pictures import gallery
from ._protocols import protocols
from ._rows import arrange
from ._sections import Section
from ._summary import failures, summary
from ._sweeps import figure_2, figure_3, sweeps
from ._wins import wins
from .result import Result

__all__ = ["Report", "make_report"]

TITLE = "kinhash: results"
# The order of the page, after the summary.
BUILDERS = (
    wins, table_1, table_2, table_3, table_4, stand_ins, figure_2, figure_3, sweeps, memory,
    field, protocols, maps, toplines, curves, gallery, failures,
)  # fmt: skip


@dataclass(frozen=True)
class Report:
    """The page, its tables in order, and the lines that say what no result exists for."""

    html: str
    tables: tuple[Table, ...]
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


def _tables(sections: Iterable[Section]) -> Iterable[Table]:
    return (table for section in sections for part in section.parts for table in part.tables)
