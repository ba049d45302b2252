"""`kinhash dedup`: groups of rows that are nearly the same."""

from __future__ import annotations

import time

import click
import numpy as np

from .._internal.files import replace_file
from .._internal.types import Facts
from ..data import csv_field, ids_as_text
from ..decision import decide_duplicates
from ..errors import InvalidInput
from ..index import NearDuplicates, near_duplicates
from .inputs import expect_output, open_database, read_links
from .terminal import counted, emit, file_option, json_option, max_false_option, output_option, refuse

HEADINGS = ("id", "group", "kept", "distance to kept")


@click.command()
@click.argument("codes")
@click.option(
    "--radius", type=click.IntRange(0), help="Largest distance to the row that is kept; 0: equal codes."
)
@max_false_option("Choose the radius by --pairs: this share of the matches may be false, such as 1%.")
@file_option("pairs", "Lines of id, id: all duplicates of some rows, looked up or planted.", "FILE")
@click.option(
    "--linkage", type=click.Choice(["star", "chain"]), default="star", show_default=True,
    help="chain: rows that a chain of near rows leads to are one group, too.",
)  # fmt: skip
@click.option(
    "--keep", type=click.Choice(["first", "last"]), default="first", show_default=True, help="Of each group."
)
@output_option(f"The groups as CSV: {', '.join(HEADINGS)}.", required=False)
@click.option(
    "--dropped", metavar="FILE", help="Ids that are not kept, for `kinhash update --remove`: a .txt or .csv."
)
@json_option
def dedup(
    codes: str,
    radius: int | None,
    max_false: float | None,
    pairs: str | None,
    linkage: str,
    keep: str,
    output: str | None,
    dropped: str | None,
    as_json: bool,
) -> None:
    """Find the rows of CODES (codes or an index) that are nearly the same, exactly.

    One row of each group is kept, and every other row is within the radius of it. Without --radius and --max-false
    it is the radius that the model of CODES has decided (kinhash fit --max-false). CODES stays as it is.

    \b
    Examples:
      kinhash dedup index.kin --radius 2 -o groups.csv
      kinhash dedup index.kin --max-false 1% --pairs known.csv -o groups.csv
      kinhash dedup index.kin --radius 2 --dropped dropped.txt
      kinhash update index.kin --remove dropped.txt
    """
    refuse(
        (radius is not None and max_false is not None, "Pass --radius or --max-false, not both."),
        (
            bool(max_false) != bool(pairs),
            "--max-false and --pairs go together: known duplicates choose the radius.",
        ),
    )
    for path in (output, dropped):
        expect_output(path, codes, pairs)
    start = time.perf_counter()
    opened, decision = open_database(codes), None
    if max_false is not None and pairs is not None:
        left, right = read_links(pairs, 2, len(opened), ids=opened.ids).rows.T
        names = np.arange(len(opened)) if opened.ids is None else np.asarray(opened.ids)
        decision = decide_duplicates(opened, names[left], names[right], max_false=max_false)
        if decision.radius is None:
            raise InvalidInput(decision.text(), "", "Pass a larger --max-false, more pairs, or --radius")
        radius = decision.radius
    found = near_duplicates(opened, "decided" if radius is None else radius, keep=keep, linkage=linkage)
    written = {output: _table(found)} if output else {}
    if dropped is not None:
        written[dropped] = ids_as_text(found.dropped.tolist(), dropped)
    for path, text in written.items():
        replace_file(path, [memoryview(text.encode())])
    result: Facts = {
        "codes": codes,
        "radius": found.radius,
        "decision": None if decision is None else decision.as_dict(),
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
    text = _text(result, keep, linkage)
    emit(result, text if decision is None else f"{decision}\n{text}", as_json)


def _table(found: NearDuplicates) -> str:
    """The groups as CSV."""
    columns = (found.ids, found.groups, found.kept.astype(int), found.distances)
    rows = [HEADINGS, *zip(*(column.tolist() for column in columns), strict=True)]
    return "".join(",".join(csv_field(str(value)) for value in row) + "\n" for row in rows)


def _text(result: Facts, keep: str, linkage: str) -> str:
    seconds = f"({result['seconds']:.1f} s)"
    if not result["groups"]:
        return f"No two of {counted(result['rows'], 'row')} are within {result['radius']}. {seconds}"
    are = "is" if result["left"] == 1 else "are"
    how = "within" if linkage == "star" else "linked within"
    return (
        f"{counted(result['rows_in_groups'], 'row')} of {result['rows']:,} are in "
        f"{counted(result['groups'], 'group')} {how} {result['radius']} bits, the largest of "
        f"{result['largest_group']:,}.\nWith the {keep} row of each group, {counted(result['left'], 'row')} "
        f"{are} left; a dropped row is at most {result['farthest']} from the one that is kept. {seconds}"
    )
