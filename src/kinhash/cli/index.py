"""`kinhash index`: codes to an index file."""

from __future__ import annotations

import time

import click

from .terminal import counted, emit, json_option, payload_options

__all__ = ["index"]


@click.command()
@click.argument("codes")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the index goes, e.g. index.kin.")
@click.option("--bits", "n_bits", type=int, help="Length of the codes in a .npy, if not 8 per byte.")
@click.option("--ids", metavar="FILE", help="Ids of the rows; default: those in CODES, or row numbers.")
@click.option("--id-column", metavar="NAME", help="The column of the file of ids.")
@payload_options
@json_option
def index(
    codes: str,
    output: str,
    n_bits: int | None,
    ids: str | None,
    id_column: str | None,
    payload: str | None,
    payload_columns: str | None,
    as_json: bool,
) -> None:
    """Make CODES searchable: every distinct code once, in one verified file.

    \b
    Examples:
      kinhash index db.kin -o index.kin
      kinhash index db.kin -o index.kin --payload rows.parquet --payload-columns kind,year
    """
    from ..index import HammingIndex
    from .files import expect_output, open_codes, read_ids
    from .payload import read_payload

    expect_output(output, codes, ids, payload)
    start = time.perf_counter()
    found = open_codes(codes, n_bits)
    names = read_ids(ids, id_column, len(found))
    names = found.ids if names is None else names
    columns = read_payload(payload, payload_columns, len(found), names).columns
    made = HammingIndex.from_codes(found, ids=names, payload=columns)
    made.save(output)
    stats = made.stats()
    result = {
        "index": output,
        "rows": stats.n_rows,
        "unique_codes": stats.n_codes,
        "n_bits": stats.n_bits,
        "model_id": stats.model_id,
        "payload": list(columns or ()),
        "seconds": time.perf_counter() - start,
    }
    text = (
        f"{counted(stats.n_rows, 'row')} with {counted(stats.n_codes, 'distinct code')} of {stats.n_bits} "
        f"bits written to {output}. ({result['seconds']:.1f} s)"
    )
    if columns:
        text += f"\nPayload: {', '.join(columns)}."
    emit(result, text, as_json)
