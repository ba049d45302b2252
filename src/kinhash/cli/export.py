"""`kinhash export`: codes to the engine where the rest of the data lives, or a model to ONNX."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import click

from .._internal.types import Array, Facts
from ..engines import ENGINES
from ..errors import FileProblem, KinhashWarning, MissingExtra
from .terminal import counted, emit, json_option, now_complete, refuse_given

CHECKED = 20  # queries whose answers are compared with ours; for ONNX, rows whose codes are


@click.command()
@click.argument("codes")
@click.option(
    "--to",
    "engine",
    required=True,
    type=click.Choice([*ENGINES, "onnx"]),
    help="An engine for codes; onnx for a model.",
)
@click.option(
    "-o", "--output", "--dsn", "target", required=True, metavar="TARGET",
    help="A file, a folder or a connection, as the engine has it.",
)  # fmt: skip
@click.option("--table", default="codes", show_default=True, help="Table, collection or index to make.")
@click.option(
    "--ids", metavar="FILE[:COLUMN]", help="Ids of the rows; default: those in CODES, or row numbers."
)
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
    from ..engines import check, statement, without_password, write
    from .inputs import expect_output, open_codes, read_ids

    if ENGINES[engine].file:
        expect_output(target, codes, ids)
    start = time.perf_counter()
    found = open_codes(codes)
    numbers = _numbers(read_ids(ids, len(found)))
    rows = write(engine, found, target, ids=numbers, table=table, overwrite=overwrite)
    text = statement(engine, found, target, table=table) if rows else None
    outcome = None
    unchecked = f"{without_password(target)} is written, and its answers are not checked."
    now_complete(unchecked)
    try:
        outcome = check(engine, found, target, ids=numbers, table=table, n_queries=CHECKED)
    except MissingExtra as missing:  # some engines write with less than they search with
        warnings.warn(f"{unchecked} {missing}", KinhashWarning, stacklevel=2)
    result: Facts = {
        "engine": engine,
        "target": without_password(target),
        "table": table,
        "rows": rows,
        "n_bits": found.n_bits,
        "model_id": found.model_id,
        "statement": text,
        "check": None if outcome is None else {**vars(outcome), "passed": outcome.passed},
        "seconds": time.perf_counter() - start,
    }
    lines = [
        f"{counted(rows, 'code')} of {found.n_bits} bits written to {result['target']} for {engine}. "
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
    import numpy as np

    try:
        numbers = [int(name) for name in ids.tolist()]
    except ValueError:
        return ids
    same = [str(number) for number in numbers] == ids.tolist()
    return np.array(numbers, object) if same else ids  # the door says which are too large


def _export_model(model: str, path: str, overwrite: bool, as_json: bool) -> int:
    """Write the ONNX file of a model, and compare its codes of some rows with ours."""
    from ..models import OPSET, to_onnx
    from .inputs import expect_output, open_model

    expect_output(path, model, model.rpartition(":")[0] or None)
    if os.path.exists(path) and not overwrite:
        raise FileProblem(f"{path} exists already", "a new name", "Pass --overwrite, or another name")
    start = time.perf_counter()
    hasher, view = open_model(model)
    hasher = hasher if view is None else hasher.view(view)
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
    import numpy as np

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
