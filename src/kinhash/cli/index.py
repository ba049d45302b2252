"""`kinhash index`: codes to an index file."""

from __future__ import annotations

import time

import click

from ..index import HammingIndex
from .inputs import expect_output, open_codes, read_ids, read_payload
from .terminal import counted, emit, file_option, json_option, output_option

payload_option = file_option(
    "payload",
    "Columns to filter by, one row per code in the same order: .csv, .parquet, .jsonl, .npz.",
    "FILE[:COLUMN,...]",
)


@click.command()
@click.argument("codes")
@output_option("Where the index goes, e.g. index.kin.")
@file_option("ids", "Ids of the rows; default: those in CODES, or row numbers.")
@payload_option
@json_option
def index(codes: str, output: str, ids: str | None, payload: str | None, as_json: bool) -> None:
    """Make CODES searchable: one exact, verified index file.

    \b
    Examples:
      kinhash index db.kin -o index.kin
      kinhash index db.kin -o index.kin --payload rows.parquet:kind,year
    """
    expect_output(output, codes, ids, payload)
    start = time.perf_counter()
    found = open_codes(codes)
    names = read_ids(ids, len(found))
    names = found.ids if names is None else names
    columns, _ = read_payload(payload, len(found), names)
    made = HammingIndex.from_codes(found, ids=names, payload=columns)
    made.save(output)
    result = {
        "index": output,
        "rows": len(made),
        "n_bits": found.n_bits,
        "model_id": found.model_id,
        "payload": list(columns or ()),
        "seconds": time.perf_counter() - start,
    }
    said = f"{counted(len(made), 'row')} of {found.n_bits} bits written to {output}."
    said += f" ({result['seconds']:.1f} s)" + (f"\nPayload: {', '.join(columns)}." if columns else "")
    emit(result, said, as_json)
