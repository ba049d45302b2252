"""`kinhash remove`: rows out of an index file."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from .terminal import counted, emit, json_option

if TYPE_CHECKING:
    from ..index import HammingIndex

__all__ = ["remove"]


@click.command()
@click.argument("index")
@click.option("--ids", required=True, metavar="FILE|ID,ID", help="A file of ids, or the ids themselves.")
@click.option("--id-column", metavar="NAME", help="The column of the file of ids.")
@click.option("--skip-missing", is_flag=True, help="Leave ids out that INDEX does not have, and count them.")
@click.option("-o", "--output", metavar="FILE", help="Leave INDEX as it is, and write this file.")
@json_option
def remove(
    index: str, ids: str, id_column: str | None, skip_missing: bool, output: str | None, as_json: bool
) -> None:
    """Remove rows from the file INDEX: all of these ids, or none if one is not there.

    The file is replaced at once, and commands that change one file wait for each other.

    \b
    Examples:
      kinhash remove index.kin --ids 17,42
      kinhash remove index.kin --ids gone.txt --skip-missing
    """
    from .changing import changing
    from .files import expect_output

    from_file = os.path.exists(ids)
    expect_output(output or index, ids if from_file else None)
    start = time.perf_counter()
    missing = 0
    with changing(index, output) as opened:
        before = len(opened)
        names = _from_file(opened, ids, id_column) if from_file else _listed(opened, ids)
        if skip_missing:
            there = set(opened.ids.tolist())
            missing = sum(name not in there for name in names)
            names = [name for name in names if name in there]
        opened.remove(names)
    removed = before - len(opened)
    result = {
        "index": output or index,
        "rows": len(opened),
        "removed": removed,
        "missing": missing,
        "seconds": time.perf_counter() - start,
    }
    skipped = f" Not there: {missing:,}." if missing else ""
    text = (
        f"Removed {counted(removed, 'row')}.{skipped} {output or index} has "
        f"{counted(len(opened), 'row')} now. ({result['seconds']:.1f} s)"
    )
    emit(result, text, as_json)


def _from_file(index: HammingIndex, path: str, column: str | None) -> list[int | str]:
    from .changing import kind_of_ids
    from .files import read_ids

    if not os.path.getsize(path):  # as `kinhash dedup --dropped` leaves it where nothing is dropped
        return []
    found = read_ids(path, column, None, kind_of_ids(index))
    return [] if found is None else list(found.tolist())


def _listed(index: HammingIndex, text: str) -> list[int | str]:
    """Ids between commas, numbers where the index has numbers; a space is part of a name."""
    names = text.split(",")
    if index.ids.dtype.kind != "i":
        return list(names)
    try:
        return [int(name) for name in names]
    except ValueError:
        from ..errors import InvalidInput

        raise InvalidInput(
            f"{text[:80]!r} is no file, and the ids of the index are numbers",
            "a file of ids, or numbers with commas between them",
            "Check the path",
        ) from None
