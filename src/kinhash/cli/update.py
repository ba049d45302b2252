"""`kinhash update`: whatever changes an index file, in one step."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import click

from .._internal.types import Array
from ..errors import InvalidInput
from .index import payload_option
from .terminal import counted, emit, json_option, output_option

if TYPE_CHECKING:
    from ..codes import Codes
    from ..index import HammingIndex


@click.command()
@click.argument("index")
@click.option("--remove", metavar="FILE[:COLUMN]|ID,ID", help="Remove the rows of these ids.")
@click.option("--skip-missing", is_flag=True, help="With --remove: ids that INDEX does not have are counted.")
@click.option("--add", metavar="ROWS", help="Add these rows; their ids must be new. Without ids, count on.")
@click.option("--upsert", metavar="ROWS", help="Add these rows, in place of those with the same ids.")
@click.option("--model", metavar="FILE[:VIEW]", help="ROWS are features: encode them with this model first.")
@click.option("--labels", metavar="FILE[:COLUMN]", help="With --model: classes of ROWS, for learned codes.")
@click.option("--tags", metavar="FILE[:COLUMN]", help="With --model: tags of ROWS, for learned codes.")
@click.option("--ids", metavar="FILE[:COLUMN]", help="Ids of ROWS, or of the rows of --payload.")
@payload_option
@output_option("Leave INDEX as it is, and write this file.", required=False)
@json_option
def update(
    index: str,
    remove: str | None,
    skip_missing: bool,
    add: str | None,
    upsert: str | None,
    model: str | None,
    labels: str | None,
    tags: str | None,
    ids: str | None,
    payload: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Remove, add or replace rows of the file INDEX, or change their payload: all of it, or nothing.

    ROWS are codes, or features with --model. Rows with --labels or --tags get learned codes, as `kinhash fit
    --codes` writes them, others mapped ones. --payload without ROWS changes the payload alone, of the rows with these
    --ids. The file is replaced at once, and commands that change one file wait for each other.

    \b
    Examples:
      kinhash update index.kin --add more.kin
      kinhash update index.kin --add new.npy --model model.kin --labels new.txt --payload new.csv
      kinhash update index.kin --upsert changed.npy --model model.kin --ids changed.txt
      kinhash update index.kin --payload prices.csv:price --ids prices.csv:id
      kinhash update index.kin --remove gone.txt --skip-missing
    """
    from .._internal.files import keeping_others_out
    from ..index import HammingIndex
    from .inputs import expect_output

    _expect_sense(remove, skip_missing, add, upsert, model, labels or tags, ids, payload)
    from_file = remove if remove and os.path.exists(_path(remove)) else None
    expect_output(output or index, add, upsert, labels, tags, ids, payload, from_file)
    start = time.perf_counter()
    with keeping_others_out(index):
        opened = HammingIndex.load(index, mmap=False)  # a mapped file cannot be replaced on Windows
        removed, missing = _removed(opened, remove, skip_missing) if remove else (0, 0)
        rows, before = 0, len(opened)
        left_out: tuple[str, ...] = ()
        if add or upsert:
            codes, names = _codes(opened, str(add or upsert), model, labels, tags, ids)
            rows = len(codes)
            columns, left_out = _payload(opened, payload, rows, names)
            if upsert:
                if names is None:
                    raise click.UsageError(
                        "--upsert needs the ids of the rows: --ids FILE, or codes with ids."
                    )
                opened.upsert(codes, names, columns)
            else:
                opened.add(codes, names, columns)
        added = len(opened) - before
        changed = 0
        if payload and not (add or upsert):
            changed, left_out = _change_payload(opened, payload, ids)
        opened.save(output or index)
    result = {
        "index": output or index,
        "rows": len(opened),
        "added": added,
        "replaced": rows - added,
        "removed": removed,
        "missing": missing,
        "payload_changed": changed,
        "left_out": list(left_out),
        "model_id": opened.model_id,
        "seconds": time.perf_counter() - start,
    }
    emit(result, _text(result), as_json)


def _expect_sense(
    remove: str | None,
    skip_missing: bool,
    add: str | None,
    upsert: str | None,
    model: str | None,
    labels: str | None,
    ids: str | None,
    payload: str | None,
) -> None:
    """Refuse options without effect."""
    if add and upsert:
        raise click.UsageError("Pass --add or --upsert, not both.")
    rows = add or upsert
    if not (rows or remove or payload):
        raise click.UsageError("Pass --add, --upsert, --remove or --payload: what is to change.")
    for given, needed, name, other in (
        (skip_missing, remove, "--skip-missing", "--remove"),
        (model, rows, "--model", "--add or --upsert"),
        (labels, model, "--labels and --tags", "--model, which encodes the rows"),
        (ids, rows or payload, "--ids", "--add, --upsert or --payload"),
    ):
        if given and not needed:
            raise click.UsageError(f"{name} needs {other}.")


def _path(spec: str) -> str:
    from ..data import split_column

    return split_column(spec)[0]


def _text(result: dict[str, Any]) -> str:
    done = [
        f"{word} {counted(number, thing)}"
        for word, number, thing in (
            ("removed", result["removed"], "row"),
            ("added", result["added"], "row"),
            ("replaced", result["replaced"], "row"),
            ("changed the payload of", result["payload_changed"], "row"),
        )
        if number
    ]
    said = ", ".join(done) or "changed nothing"
    said = said[0].upper() + said[1:] + "."
    if result["missing"]:
        said += f" Not there: {result['missing']:,}."
    said += f" {result['index']} has {counted(result['rows'], 'row')} now. ({result['seconds']:.1f} s)"
    if result["left_out"]:
        said += f"\nLeft out: {', '.join(result['left_out'])}, which the index does not have."
    return said


def _removed(index: HammingIndex, remove: str, skip_missing: bool) -> tuple[int, int]:
    """Remove rows; how many were removed, and how many were not there."""
    from .inputs import kind_of_ids, read_ids

    if os.path.exists(_path(remove)):
        # `kinhash dedup --dropped` leaves an empty file where nothing is dropped.
        empty = not os.path.getsize(_path(remove))
        found = None if empty else read_ids(remove, None, kind_of_ids(index))
        names: list[Any] = [] if found is None else found.tolist()
    else:
        names = list(remove.split(","))
        if index.ids.dtype.kind == "i":
            try:
                names = [int(name) for name in names]
            except ValueError:
                raise InvalidInput(
                    f"{remove[:80]!r} is no file, and the ids of the index are numbers",
                    "a file of ids, or numbers with commas between them",
                    "Check the path",
                ) from None
    missing = 0
    if skip_missing:
        there = set(index.ids.tolist())
        missing = sum(name not in there for name in names)
        names = [name for name in names if name in there]
    before = len(index)
    index.remove(names)
    return before - len(index), missing


def _codes(
    index: HammingIndex, rows: str, model: str | None, labels: str | None, tags: str | None, ids: str | None
) -> tuple[Codes, Array | None]:
    """The codes of the rows and their ids, if they have any."""
    from .inputs import encode_file, kind_of_ids, open_codes, read_ids, read_labels

    if model is not None:
        codes, _ = encode_file(model, rows, ids, kind_of_ids(index), read_labels(labels, tags))
        return codes, codes.ids
    codes = open_codes(rows, index.n_bits if rows.lower().endswith(".npy") else None)
    names = read_ids(ids, len(codes), kind_of_ids(index))
    return codes, codes.ids if names is None else names


def _payload(index: HammingIndex, spec: str | None, n_rows: int, ids: Array | None) -> Any:
    from .inputs import read_payload

    return read_payload(spec, n_rows, ids, index.payload)


def _change_payload(index: HammingIndex, payload: str, ids: str | None) -> tuple[int, tuple[str, ...]]:
    """Give rows other values in the columns of a table, in place: codes and other columns stay."""
    from .inputs import kind_of_ids, read_ids

    if ids is None:
        raise click.UsageError("--payload alone needs --ids FILE: whose payload it is.")
    names = read_ids(ids, None, kind_of_ids(index))
    assert names is not None
    known = dict(index.payload.items())
    columns, left_out = _payload(index, payload, len(names), names)
    strange = [name for name in columns if name not in known]
    if strange or not columns:
        raise InvalidInput(
            f"The index has no column {', '.join(strange) or 'of that table'}",
            f"columns of the index: {', '.join(known) or 'none'}",
            "Make the index anew with the new columns: kinhash index CODES --payload FILE",
        )
    index.update(names, columns)
    return len(names), left_out
