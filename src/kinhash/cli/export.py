"""`kinhash export`: codes to the engine where the rest of the data lives, or a model to ONNX."""

from __future__ import annotations

import time
import warnings
from typing import Any

import click

from .._internal.types import Array, Facts
from ..engines import ENGINES
from ..errors import KinhashWarning, MissingExtra
from .process import now_complete
from .terminal import counted, emit, json_option
from .views import view_option

__all__ = ["export"]

OF_CODES = ("table", "n_bits", "ids", "id_column")  # options without effect on a model


@click.command()
@click.argument("codes")
@click.option(
    "--to",
    "engine",
    required=True,
    metavar="NAME",
    help=f"One of {', '.join(ENGINES)} for codes; onnx for a model.",
)
@click.option(
    "-o",
    "--output",
    "--dsn",
    "target",
    required=True,
    metavar="TARGET",
    help="A file, a folder or a connection, as the engine has it.",
)
@click.option("--table", default="codes", show_default=True, help="Table, collection or index to make.")
@click.option("--bits", "n_bits", type=int, help="Length of the codes in a .npy, if not 8 per byte.")
@click.option("--ids", metavar="FILE", help="Ids of the rows; default: those in CODES, or row numbers.")
@click.option("--id-column", metavar="NAME", help="The column of the file of ids.")
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@view_option
@click.option("--double", is_flag=True, help="ONNX: rows come as float64, not as float32.")
@click.option(
    "--check",
    "n_queries",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="Queries whose answers are compared with ours; for ONNX, rows whose codes are. 0 for none.",
)
@json_option
def export(
    codes: str,
    engine: str,
    target: str,
    view: str | None,
    double: bool,
    overwrite: bool,
    n_queries: int,
    as_json: bool,
    **more: Any,
) -> int:
    """Write CODES to an engine, print the statement that searches them there, and check its answers.

    With --to onnx, write a model in place of codes: services in other languages can then encode rows.

    \b
    Examples:
      kinhash export db.kin --to duckdb -o my.duckdb
      kinhash export db.kin --to postgres --dsn postgresql://me@localhost/shop --table shoes
      kinhash export db.kin --to elasticsearch -o elastic/
      kinhash export model.kin --to onnx -o model.onnx
      kinhash export model.kin --to onnx --view text -o text.onnx
    """
    from .onnx import export_onnx, refuse_options

    if engine == "onnx":
        refuse_options(OF_CODES, "on a model that is exported to ONNX")
        return export_onnx(codes, target, double, overwrite, n_queries, as_json, view)
    refuse_options(("double", "view"), "on codes")
    return _export_codes(codes, engine, target, overwrite, n_queries, as_json, **more)


def _export_codes(
    codes: str,
    engine: str,
    target: str,
    overwrite: bool,
    n_queries: int,
    as_json: bool,
    *,
    table: str,
    n_bits: int | None,
    ids: str | None,
    id_column: str | None,
) -> int:
    from ..engines import statement, without_password, write
    from .files import expect_output, open_codes, read_ids

    kind = ENGINES[engine]
    if kind.file:
        expect_output(target, codes, ids)
    start = time.perf_counter()
    found = open_codes(codes, n_bits)
    numbers = _numbers(read_ids(ids, id_column, len(found)))
    rows = write(engine, found, target, ids=numbers, table=table, overwrite=overwrite)
    text = statement(engine, found, target, table=table) if rows else None
    outcome = None
    if n_queries:
        from ..engines import check

        unchecked = f"{without_password(target)} is written, and its answers are not checked."
        now_complete(unchecked)
        try:
            outcome = check(engine, found, target, ids=numbers, table=table, n_queries=n_queries)
        except MissingExtra as missing:  # some engines write with less than they search with
            warnings.warn(f"{unchecked} {missing}", KinhashWarning, stacklevel=2)
    seconds = time.perf_counter() - start
    result = {
        "engine": engine,
        "target": without_password(target),
        "table": table,
        "rows": rows,
        "n_bits": found.n_bits,
        "fields": found.fields.as_dict(),
        "stored_bits": found.n_bits if kind.weighs else found.max_distance,
        "model_id": found.model_id,
        "statement": text,
        "check": None if outcome is None else {**vars(outcome), "passed": outcome.passed},
        "seconds": seconds,
    }
    emit(result, _text(result, outcome, _note(found, kind.weighs)), as_json)
    return 0 if outcome is None or outcome.passed else 1


def _numbers(ids: Array | None) -> Array | None:
    """Ids from a file, as integers where all are written as such; '007' is a name and stays one."""
    if ids is None or ids.dtype.kind in "iu":
        return ids
    import numpy as np

    try:
        numbers = [int(name) for name in ids.tolist()]
    except ValueError:
        return ids
    same = [str(number) for number in numbers] == ids.tolist()
    return np.array(numbers, object) if same else ids  # the door says which are too large


def _note(codes: Any, weighs: bool) -> str:
    """What the bits count, and what a query must look like where the engine cannot count so."""
    from ..codes import KIN_ONLY

    said = f"{codes.fields.describe(codes.n_bits)}."
    if codes.fields.plain or weighs:
        return "" if codes.fields == KIN_ONLY else said
    return (
        f"{said} The engine counts plain bits, so each bit stands there as often as it counts: "
        f"{codes.max_distance} bits per row. Queries must be the same: codes.repeated()."
    )


def _text(result: Facts, outcome: object, note: str) -> str:
    lines = [
        f"{counted(result['rows'], 'code')} of {result['n_bits']} bits written to {result['target']} for "
        f"{result['engine']}. ({result['seconds']:.1f} s)"
    ]
    lines += [note] if note else []
    if result["statement"]:
        lines += ["", "The 10 rows nearest to the first code:", "", result["statement"], ""]
    if outcome is not None:
        lines.append(str(outcome))
    return "\n".join(lines)
