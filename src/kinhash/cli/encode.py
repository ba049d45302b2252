"""`kinhash encode`: codes of new rows, block by block."""

from __future__ import annotations

import time

import click

from .inputs import encode_file, expect_output, write_codes
from .terminal import counted, emit, file_option, json_option, output_option, refuse


@click.command()
@click.argument("model")
@click.argument("features")
@output_option("codes.kin; for .npy the bare bytes.")
@file_option("ids", "Ids of the rows, one per row.")
@json_option
def encode(model: str, features: str, output: str, ids: str | None, as_json: bool) -> None:
    """Give every row of FEATURES its code, with a MODEL[:VIEW] that `kinhash fit` wrote.

    FEATURES is read in blocks, so it may be larger than memory; "-" is standard input (CSV or .npy).
    A table with column names is read by the names the model knows; its other columns are left alone.

    \b
    Examples:
      kinhash encode model.kin new.npy -o codes.kin
      kinhash encode model.kin:text captions.npy -o texts.kin
      kinhash encode model.kin new.parquet:embedding --ids new.parquet:id -o codes.kin
      zcat huge.csv.gz | kinhash encode model.kin - -o codes.npy
    """
    bare = output.lower().endswith(".npy")
    refuse((bare and ids, "--ids has no effect on a .npy, which holds bare bytes. Write codes.kin."))
    expect_output(output, model.rpartition(":")[0] or model, features, ids)
    start = time.perf_counter()
    codes, _ = encode_file(model, features, ids)
    write_codes(codes, output)
    result = {
        "codes": output,
        "rows": len(codes),
        "n_bits": codes.n_bits,
        "bytes_per_item": int(codes.packed.shape[1]),
        "model_id": codes.model_id,
        "seconds": time.perf_counter() - start,
    }
    said = f"{counted(len(codes), 'code')} of {codes.n_bits} bits written to {output}."
    emit(result, f"{said} ({result['seconds']:.1f} s)", as_json)
