"""`kinhash dedup`: groups of rows that are nearly the same."""

from __future__ import annotations

import time

import click
import numpy as np

from .._internal.files import replace_file
from .._internal.types import Facts
from ..data import csv_field, ids_as_text
from ..index import NearDuplicates, near_duplicates
from .inputs import expect_output, open_database
from .terminal import counted, emit, json_option, output_option

HEADINGS = ("id", "group", "kept", "distance to kept")


@click.command()
@click.argument("codes")
@click.option("--radius", type=click.IntRange(0), required=True, help="Largest distance; 0 for equal codes.")
@click.option(
    "--keep", type=click.Choice(["first", "last"]), default="first", show_default=True, help="Of each group."
)
@output_option(f"The groups as CSV: {', '.join(HEADINGS)}.", required=False)
@click.option(
    "--dropped", metavar="FILE", help="Ids that are not kept, for `kinhash update --remove`: a .txt or .csv."
)
@json_option
def dedup(codes: str, radius: int, keep: str, output: str | None, dropped: str | None, as_json: bool) -> None:
    """Find the rows of CODES (codes or an index) that are nearly the same, exactly.

    Two rows are in one group if a chain of rows leads from one to the other, each within the radius of the
    next. One row of each group is kept. CODES stays as it is.

    \b
    Examples:
      kinhash dedup index.kin --radius 2 -o groups.csv
      kinhash dedup index.kin --radius 2 --dropped dropped.txt
      kinhash update index.kin --remove dropped.txt
    """
    expect_output(output, codes)
    expect_output(dropped, codes)
    start = time.perf_counter()
    found = near_duplicates(open_database(codes), radius, keep=keep)
    written = {output: _table(found)} if output else {}
    if dropped is not None:
        written[dropped] = ids_as_text(found.dropped.tolist(), dropped)
    for path, text in written.items():
        replace_file(path, [memoryview(text.encode())])
    result: Facts = {
        "codes": codes,
        "radius": radius,
        "rows": found.n_rows,
        "groups": found.n_groups,
        "rows_in_groups": len(found.ids),
        "dropped": len(found.dropped),
        "left": found.n_rows - len(found.dropped),
        "largest_group": int(np.bincount(found.groups, minlength=1).max()),
        "farthest": int(found.distances.max(initial=0)),
        "output": output,
        "seconds": time.perf_counter() - start,
    }
    emit(result, _text(result, keep), as_json)


def _table(found: NearDuplicates) -> str:
    """The groups as CSV."""
    columns = (found.ids, found.groups, found.kept.astype(int), found.distances)
    rows = [HEADINGS, *zip(*(column.tolist() for column in columns), strict=True)]
    return "".join(",".join(csv_field(str(value)) for value in row) + "\n" for row in rows)


def _text(result: Facts, keep: str) -> str:
    seconds = f"({result['seconds']:.1f} s)"
    if not result["groups"]:
        return f"No two of {counted(result['rows'], 'row')} are within {result['radius']}. {seconds}"
    are = "is" if result["left"] == 1 else "are"
    return (
        f"{counted(result['rows_in_groups'], 'row')} of {result['rows']:,} are in "
        f"{counted(result['groups'], 'group')} linked within {result['radius']}, the largest of "
        f"{result['largest_group']:,}.\nWith the {keep} row of each group, {counted(result['left'], 'row')} "
        f"{are} left; a dropped row is at most {result['farthest']} from the one that is kept. {seconds}"
    )
