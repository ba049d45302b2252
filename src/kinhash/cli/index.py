"""`kinhash index`: codes to an index file."""

from __future__ import annotations

import time

import click

from .terminal import counted, emit, json_option, output_option

payload_option = click.option(
    "--payload",
    metavar="FILE[:COLUMN,...]",
    help="Columns to filter by, one row per code in the same order: .csv, .parquet, .jsonl, .npz.",
)


@click.command()
@click.argument("codes")
@output_option("Where the index goes, e.g. index.kin.")
@click.option(
    "--ids", metavar="FILE[:COLUMN]", help="Ids of the rows; default: those in CODES, or row numbers."
)
@payload_option
@json_option
def index(codes: str, output: str, ids: str | None, payload: str | None, as_json: bool) -> None:
    """Make CODES searchable: one exact, verified index file.

    \b
    Examples:
      kinhash index db.kin -o index.kin
      kinhash index db.kin -o index.kin --payload rows.parquet:kind,year
    """
    from ..index import HammingIndex
    from .inputs import expect_output, open_codes, read_ids, read_payload

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
    text = (
        f"{counted(len(made), 'row')} of {found.n_bits} bits written to {output}. ({result['seconds']:.1f} s)"
    )
    if columns:
        text += f"\nPayload: {', '.join(columns)}."
    emit(result, text, as_json)
