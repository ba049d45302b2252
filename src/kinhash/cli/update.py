"""`kinhash update`: whatever changes an index file, in one step."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from .._internal.files import keeping_others_out
from .._internal.types import Array, Facts
from ..codes import Codes
from ..data import split_column
from ..errors import InvalidInput
from ..index import HammingIndex
from .index import payload_option
from .inputs import encode_file, expect_output, kind_of_ids, open_codes, read_ids, read_labels, read_payload
from .terminal import counted, emit, file_option, json_option, output_option, refuse


@click.command()
@click.argument("index")
@click.option("--remove", metavar="FILE[:COLUMN]|ID,ID", help="Remove the rows of these ids.")
@click.option("--skip-missing", is_flag=True, help="With --remove: ids that INDEX does not have are counted.")
@click.option("--add", metavar="ROWS", help="Add these rows; their ids must be new. Without ids, count on.")
@click.option("--upsert", metavar="ROWS", help="Add these rows, in place of those with the same ids.")
@file_option("model", "ROWS are features: encode them with this model first.", "FILE[:VIEW]")
@file_option("labels", "With --model: classes of ROWS, for learned codes.")
@file_option("tags", "With --model: tags of ROWS, for learned codes.")
@file_option("ids", "Ids of ROWS, or of the rows of --payload.")
@payload_option
@output_option("Leave INDEX as it is, and write this file.", required=False)
@json_option
def update(index: str, output: str | None, as_json: bool, **options: Any) -> None:
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
    remove, add, upsert, ids, payload = (
        options[name] for name in ("remove", "add", "upsert", "ids", "payload")
    )
    rows = add or upsert
    _expect_sense(options, rows)
    ids_to_remove = remove if remove and os.path.exists(split_column(remove)[0]) else None
    expect_output(output or index, rows, options["labels"], options["tags"], ids, payload, ids_to_remove)
    start = time.perf_counter()
    with keeping_others_out(index):
        opened = HammingIndex.load(index, mmap=False)  # a mapped file cannot be replaced on Windows
        removed = missing = given = changed = 0
        left_out: tuple[str, ...] = ()
        if remove:
            removed, missing = _remove(opened, remove, ids_to_remove is not None, options["skip_missing"])
        before = len(opened)
        if rows:
            codes, names = _codes(opened, rows, options)
            given = len(codes)
            columns, left_out = read_payload(payload, given, names, opened.payload)
            if add:
                opened.add(codes, names, columns)
            else:
                refuse((names is None, "--upsert needs the ids of the rows: --ids FILE, or codes with ids."))
                opened.upsert(codes, names, columns)
        elif payload:
            changed, left_out = _change_payload(opened, payload, ids)
        added = len(opened) - before
        opened.save(output or index)
    result = {
        "index": output or index,
        "rows": len(opened),
        "added": added,
        "replaced": given - added,
        "removed": removed,
        "missing": missing,
        "payload_changed": changed,
        "left_out": list(left_out),
        "model_id": opened.model_id,
        "seconds": time.perf_counter() - start,
    }
    emit(result, _text(result), as_json)


def _expect_sense(options: Facts, rows: str | None) -> None:
    """Refuse options without effect."""
    changes = rows or options["remove"] or options["payload"]
    needs = (
        ("--skip-missing", options["skip_missing"], "--remove", options["remove"]),
        ("--model", options["model"], "--add or --upsert", rows),
        ("--labels and --tags", options["labels"] or options["tags"],
         "--model, which encodes the rows", options["model"]),
        ("--ids", options["ids"], "--add, --upsert or --payload", rows or options["payload"]),
        ("--payload alone", options["payload"] and not rows, "--ids FILE: whose payload it is", options["ids"]),
    )  # fmt: skip
    refuse(
        (options["add"] and options["upsert"], "Pass --add or --upsert, not both."),
        (not changes, "Pass --add, --upsert, --remove or --payload: what is to change."),
        *((given and not needed, f"{name} needs {other}.") for name, given, other, needed in needs),
    )


def _text(result: Facts) -> str:
    done = [
        f"{word} {counted(result[name], 'row')}"
        for word, name in (
            ("removed", "removed"),
            ("added", "added"),
            ("replaced", "replaced"),
            ("changed the payload of", "payload_changed"),
        )
        if result[name]
    ]
    said = ", ".join(done) or "changed nothing"
    said = said[0].upper() + said[1:] + "."
    if result["missing"]:
        said += f" Not there: {result['missing']:,}."
    said += f" {result['index']} has {counted(result['rows'], 'row')} now. ({result['seconds']:.1f} s)"
    if result["left_out"]:
        said += f"\nLeft out: {', '.join(result['left_out'])}, which the index does not have."
    return said


def _remove(index: HammingIndex, remove: str, is_file: bool, skip_missing: bool) -> tuple[int, int]:
    """Remove rows; how many were removed, and how many were not there."""
    names: list[Any] = [] if is_file else list(remove.split(","))
    # `kinhash dedup --dropped` leaves an empty file where nothing is dropped.
    if is_file and os.path.getsize(split_column(remove)[0]):
        found = read_ids(remove, None, kind_of_ids(index))
        names = [] if found is None else found.tolist()
    elif index.ids.dtype.kind == "i":
        try:
            names = [int(name) for name in names]
        except ValueError:
            raise InvalidInput(
                f"{remove[:80]!r} is no file, and the ids of the index are numbers",
                "a file of ids, or numbers with commas between them",
                "Check the path",
            ) from None
    there = set(index.ids.tolist()) if skip_missing else set(names)
    found_names = [name for name in names if name in there]
    before = len(index)
    index.remove(found_names)
    return before - len(index), len(names) - len(found_names)


def _codes(index: HammingIndex, rows: str, options: Facts) -> tuple[Codes, Array | None]:
    """The codes of the rows and their ids, if they have any."""
    ids, kind = options["ids"], kind_of_ids(index)
    if options["model"] is not None:
        y = read_labels(options["labels"], options["tags"])
        codes, _ = encode_file(options["model"], rows, ids, kind, y)
        return codes, codes.ids
    codes = open_codes(rows, index.n_bits if rows.lower().endswith(".npy") else None)
    names = read_ids(ids, len(codes), kind)
    return codes, codes.ids if names is None else names


def _change_payload(index: HammingIndex, payload: str, ids: str) -> tuple[int, tuple[str, ...]]:
    """Give rows other values in the columns of a table, in place: codes and other columns stay."""
    names, known = read_ids(ids, None, kind_of_ids(index)), dict(index.payload.items())
    assert names is not None
    columns, left_out = read_payload(payload, len(names), names, known)
    strange = [name for name in columns or () if name not in known]
    if strange or not columns:
        raise InvalidInput(
            f"The index has no column {', '.join(strange) or 'of that table'}",
            f"columns of the index: {', '.join(known) or 'none'}",
            "Make the index anew with the new columns: kinhash index CODES --payload FILE",
        )
    index.update(names, columns)
    return len(names), left_out
