"""`kinhash export`: codes to the engine where the rest of the data lives, or a model to ONNX."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import click
import numpy as np

from .. import engines
from .._internal.types import Array, Facts
from ..errors import FileProblem, MissingExtra, warn
from ..models import OPSET, to_onnx
from .inputs import expect_output, open_codes, open_model, read_ids
from .terminal import counted, emit, file_option, json_option, now_complete, refuse_given

CHECKED = 20  # queries whose answers are compared with ours; for ONNX, rows whose codes are


@click.command()
@click.argument("codes")
@click.option(
    "--to",
    "engine",
    required=True,
    type=click.Choice([*engines.ENGINES, "onnx"]),
    help="An engine for codes; onnx for a model.",
)
@click.option(
    "-o", "--output", "--dsn", "target", required=True, metavar="TARGET",
    help="A file, a folder or a connection, as the engine has it.",
)  # fmt: skip
@click.option("--table", default="codes", show_default=True, help="Table, collection or index to make.")
@file_option("ids", "Ids of the rows; default: those in CODES, or row numbers.")
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@json_option
def export(
    codes: str, engine: str, target: str, table: str, ids: str | None, overwrite: bool, as_json: bool
) -> int:
    """Write CODES to an engine, print the statement that searches them there, and check its answers.

    With --to onnx, write a MODEL[:VIEW] in place of codes: services in other languages can then encode rows.

    \b
    Examples:
      kinhash export db.kin --to duckdb -o my.duckdb
      kinhash export db.kin --to postgres --dsn postgresql://me@localhost/shop --table shoes
      kinhash export model.kin --to onnx -o model.onnx
      kinhash export model.kin:text --to onnx -o text.onnx
    """
    if engine == "onnx":
        refuse_given(("table", "ids"), "on a model that is exported to ONNX")
        return _export_model(codes, target, overwrite, as_json)
    if engines.ENGINES[engine].file:
        expect_output(target, codes, ids)
    start = time.perf_counter()
    found = open_codes(codes)
    numbers = _numbers(read_ids(ids, len(found)))
    rows = engines.write(engine, found, target, ids=numbers, table=table, overwrite=overwrite)
    text = engines.statement(engine, found, target, table=table) if rows else None
    outcome, shown = None, engines.without_password(target)
    unchecked = f"{shown} is written, and its answers are not checked."
    now_complete(unchecked)
    try:
        outcome = engines.check(engine, found, target, ids=numbers, table=table, n_queries=CHECKED)
    except MissingExtra as missing:  # some engines write with less than they search with
        warn(f"{unchecked} {missing}")
    result: Facts = {
        "engine": engine,
        "target": shown,
        "table": table,
        "rows": rows,
        "n_bits": found.n_bits,
        "model_id": found.model_id,
        "statement": text,
        "check": None if outcome is None else {**vars(outcome), "passed": outcome.passed},
        "seconds": time.perf_counter() - start,
    }
    lines = [
        f"{counted(rows, 'code')} of {found.n_bits} bits written to {shown} for {engine}. "
        f"({result['seconds']:.1f} s)"
    ]
    if text:
        lines += ["", "The 10 rows nearest to the first code:", "", text, ""]
    if outcome is not None:
        lines.append(str(outcome))
    emit(result, "\n".join(lines), as_json)
    return 0 if outcome is None or outcome.passed else 1


def _numbers(ids: Array | None) -> Array | None:
    """Ids from a file, as integers where all are written as such; '007' is a name and stays one."""
    if ids is None or ids.dtype.kind in "iu":
        return ids
    try:
        numbers = [int(name) for name in ids.tolist()]
    except ValueError:
        return ids
    same = [str(number) for number in numbers] == ids.tolist()
    return np.array(numbers, object) if same else ids  # the door says which are too large


def _export_model(model: str, path: str, overwrite: bool, as_json: bool) -> int:
    """Write the ONNX file of a model, and compare its codes of some rows with ours."""
    expect_output(path, model, model.rpartition(":")[0] or None)
    if os.path.exists(path) and not overwrite:
        raise FileProblem(f"{path} exists already", "a new name", "Pass --overwrite, or another name")
    start = time.perf_counter()
    hasher = open_model(model)
    to_onnx(hasher, path)
    now_complete(f"{path} is written, and its codes are not checked.")
    passed = _same_codes(hasher, path)
    result: Facts = {
        "model": model,
        "target": path,
        "input": ["X", "float32", int(hasher.n_features_in_)],
        "n_bits": int(hasher.n_bits),
        "model_id": hasher.model_id_,
        "opset": OPSET,
        "bytes": os.path.getsize(path),
        "check": {"n_rows": CHECKED, "passed": passed},
        "seconds": time.perf_counter() - start,
    }
    text = (
        f"{path} written: ONNX, opset {OPSET}, {result['bytes'] / 1e3:,.0f} kB. ({result['seconds']:.1f} s)\n"
        f"Input X ({result['input'][2]} columns, float32); outputs codes (packed bits) and margins.\n"
        f"Checked {CHECKED} rows in onnxruntime: codes and margins {'equal' if passed else 'differ from'} ours."
    )
    emit(result, text, as_json)
    return 0 if passed else 1


def _same_codes(hasher: Any, path: str) -> bool:
    """Whether onnxruntime gives random rows our codes and margins, in one batch and the first one alone."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra.of("onnxruntime", "onnx") from None
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    rows = np.random.default_rng(0).normal(size=(CHECKED, hasher.n_features_in_)).astype(np.float32)
    same = []
    for some in (rows, rows[:1]):
        codes, margins = session.run(["codes", "margins"], {"X": some})
        with warnings.catch_warnings():  # random rows may be unlike those of the fit, and have no names
            warnings.simplefilter("ignore")
            same += [
                np.array_equal(codes, hasher.encode(some).packed),
                np.array_equal(margins, hasher.decision_function(some)),
            ]
    return all(same)
