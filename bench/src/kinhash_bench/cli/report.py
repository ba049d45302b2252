"""`kinhash report`: one page of tables, figures and pictures, made from results alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kinhash.cli import counted, emit, json_option

if TYPE_CHECKING:
    from ..report.report import Report

__all__ = ["report"]


@click.command(short_help="Make a page of the results of a benchmark.")
@click.argument("runs")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the page goes, e.g. report.html.")
@click.option("--csv", metavar="FOLDER", help="Write every table there as CSV, too.")
@click.option("--latex", metavar="FOLDER", help="Write every table there as LaTeX, too.")
@click.option("--bibtex", metavar="FILE", help="Write the works that methods and data sets come from.")
@click.option("--title", help="The heading of the page.")
@click.option("--at", metavar="VERSION", help="Only results made by that version of the code.")
@json_option
def report(
    runs: str,
    output: str,
    csv: str | None,
    latex: str | None,
    bibtex: str | None,
    title: str | None,
    at: str | None,
    as_json: bool,
) -> None:
    """Make a page of RUNS, a folder that `kinhash bench` wrote to (or a zip file of one).

    The page is one file without scripts that needs no network: the paper's tables and figures with its
    numbers beside ours, every method on every data set, curves, pictures, what failed and what is
    missing. The same results give the same bytes.

    \b
    Example:
      kinhash bench smoke -o runs
      kinhash report runs -o report.html --csv tables --latex tables --bibtex refs.bib
    """
    from kinhash.cli import expect_output
    from kinhash.plugins import replace_file

    from ..report.report import make_report
    from ..tasks import read_results

    for place in filter(None, (output, bibtex)):
        expect_output(place, runs)
    for folder in (csv, latex):
        _expect_folder(folder)
    results = read_results(runs)
    made = make_report(results, title, at)
    written = _write_tables(made, csv, latex)
    if bibtex is not None:
        replace_file(bibtex, [memoryview(made.bibtex.encode())])
        written.append(bibtex)
    replace_file(output, [memoryview(made.html.encode())])
    failed = sum(not result.ok for result in results)
    facts: dict[str, Any] = {
        "output": output,
        "results": len(results),
        "failed": failed,
        "bytes": len(made.html.encode()),
        "tables": [table.name for table in made.tables],
        "table_files": written,
        "missing": list(made.missing),
        "versions": list(made.versions),
    }
    counts = f"{counted(len(results), 'result')} ({failed:,} failed), {counted(len(made.tables), 'table')}"
    lines = [f"{counts}: {output}"]
    if made.missing:
        lines.append(f"{counted(len(made.missing), 'gap')}, listed on the page under What is missing.")
    if len(made.versions) > 1:
        lines.append(f"Mixed: made by {', '.join(made.versions)}. --at takes the results of one of them.")
    emit(facts, "\n".join(lines), as_json)


def _expect_folder(folder: str | None) -> None:
    """Say before the work starts that tables could not be written there."""
    from kinhash.errors import FileProblem

    if folder is None:
        return
    place = Path(folder)
    nearest = next(path for path in (place.absolute(), *place.absolute().parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        reason = "is a file" if nearest == place.absolute() else "cannot be made"
        raise FileProblem(f"{folder} {reason}", "a folder, or a place for one", "Choose another folder")


def _write_tables(made: Report, csv: str | None, latex: str | None) -> list[str]:
    """Every table in the forms that were asked for; names of files are the ids of tables."""
    from kinhash.plugins import replace_file

    written = []
    for folder, ending, form in ((csv, "csv", "csv"), (latex, "tex", "latex")):
        if folder is None:
            continue
        Path(folder).mkdir(parents=True, exist_ok=True)
        for table in made.tables:
            path = os.path.join(folder, f"{table.name}.{ending}")
            replace_file(path, [memoryview(getattr(table, form)().encode())])
            written.append(path)
    return written
