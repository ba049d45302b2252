"""`kinhash encode`: codes of new rows, block by block."""

from __future__ import annotations

import time

import click

from .terminal import array_option, counted, emit, header_option, json_option
from .views import load_view, view_option

__all__ = ["encode"]


@click.command()
@click.argument("model")
@click.argument("features")
@click.option("-o", "--output", required=True, metavar="FILE", help="codes.kin; for .npy the bare bytes.")
@view_option
@array_option
@click.option(
    "--ids", metavar="FILE", help="Ids of the rows: one per line, a 1-D .npy, or a column of FEATURES."
)
@click.option("--id-column", metavar="NAME", help="The column with the ids; alone, of FEATURES itself.")
@header_option
@json_option
def encode(
    model: str,
    features: str,
    output: str,
    view: str | None,
    array: str | None,
    header: bool | None,
    ids: str | None,
    id_column: str | None,
    as_json: bool,
) -> None:
    """Give every row of FEATURES its code, with a MODEL that `kinhash fit` wrote.

    FEATURES is read in blocks, so it may be larger than memory; "-" is standard input (CSV or .npy).
    A table with column names is read by the names the model knows; its other columns are left alone.

    \b
    Examples:
      kinhash encode model.kin new.npy -o codes.kin
      kinhash encode model.kin captions.npy --view text -o texts.kin
      kinhash encode model.kin new.parquet --features embedding --ids id -o codes.kin
      zcat huge.csv.gz | kinhash encode model.kin - -o codes.npy
    """
    from .features import codes_of_file
    from .files import expect_output, write_codes

    expect_output(output, model, features, ids)
    start = time.perf_counter()
    codes = codes_of_file(load_view(model, view), features, array, header, ids, id_column)
    write_codes(codes, output)
    result = {
        "codes": output,
        "rows": len(codes),
        "n_bits": codes.n_bits,
        "fields": codes.fields.as_dict(),
        "bytes_per_item": int(codes.packed.shape[1]),
        "model_id": codes.model_id,
        "seconds": time.perf_counter() - start,
    }
    said = f"{counted(len(codes), 'code')} of {codes.n_bits} bits written to {output}."
    emit(result, f"{said} ({result['seconds']:.1f} s)", as_json)
