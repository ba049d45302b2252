"""`kinhash export MODEL --to onnx`: the model itself, for services that are not written in Python."""

from __future__ import annotations

import os
import time
import warnings
from typing import TYPE_CHECKING

import click
import numpy as np

from .._internal.types import Array, Facts
from ..errors import FileProblem, InvalidInput, MissingExtra
from .files import expect_output
from .process import now_complete
from .terminal import counted, emit
from .views import load_view

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..hashers import Hasher

__all__ = ["export_onnx", "refuse_options"]

LEAST_ROWS = 2  # one row, and a batch


def refuse_options(names: tuple[str, ...], why: str) -> None:
    """Raise `InvalidInput` if any of these options of the running command was given."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    given = [name for name in names if context.get_parameter_source(name) is not default]
    if given:
        option = next(one for one in context.command.params if one.name == given[0]).opts[-1]
        raise InvalidInput(f"{option} has no effect {why}", "", f"Leave out {option}")


def export_onnx(
    model: str, path: str, double: bool, overwrite: bool, n_rows: int, as_json: bool, view: str | None
) -> int:
    """Write the ONNX file of a model, and compare its codes of ``n_rows`` rows with ours."""
    from ..models import OPSET, to_onnx

    expect_output(path, model)
    if os.path.exists(path) and not overwrite:
        raise FileProblem(f"{path} exists already", "a new name", "Pass --overwrite, or another name")
    start = time.perf_counter()
    hasher = load_view(model, view)
    to_onnx(hasher, path, double)
    passed = None
    if n_rows:
        now_complete(f"{path} is written, and its codes are not checked.")
        passed = _same_codes(hasher, path, double, n_rows)
    map_, fields = hasher.fitted_.map, hasher.fitted_.fields
    result: Facts = {
        "model": model,
        "view": view,
        "target": path,
        "input": ["X", "float64" if double else "float32", map_.n_features],
        "n_bits": map_.n_bits,
        "fields": fields.as_dict(),
        "model_id": hasher.model_id_,
        "opset": OPSET,
        "bytes": os.path.getsize(path),
        "check": None if passed is None else {"n_rows": n_rows, "passed": passed},
        "seconds": time.perf_counter() - start,
    }
    emit(result, _text(result, fields.describe(map_.n_bits)), as_json)
    return 1 if passed is False else 0


def _text(result: Facts, fields: str) -> str:
    _, kind, width = result["input"]
    lines = [
        f"{result['target']} written: ONNX, opset {result['opset']}, {result['bytes'] / 1e3:,.0f} kB. "
        f"({result['seconds']:.1f} s)",
        f"Input X ({width} columns, {kind}); outputs codes (packed bits) and margins. {fields}.",
    ]
    if result["check"] is not None:
        rows = counted(result["check"]["n_rows"], "row")
        passed = "equal ours" if result["check"]["passed"] else "differ from ours"
        lines.append(f"Checked {rows} in onnxruntime: codes and margins {passed}.")
    return "\n".join(lines)


def _same_codes(hasher: Hasher, path: str, double: bool, n_rows: int) -> bool:
    """Whether onnxruntime gives random rows our codes and margins, in one batch and the first one alone."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra.of("onnxruntime", "onnx") from None
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    rows = _rows_like(hasher, max(n_rows, LEAST_ROWS), np.float64 if double else np.float32)
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


def _rows_like(hasher: Hasher, n_rows: int, dtype: DTypeLike) -> Array:
    """Random rows with the means and spreads of those that the model was fitted on."""
    seen, width = hasher.fitted_.seen, hasher.fitted_.map.n_features
    rows = np.random.default_rng(0).normal(size=(n_rows, width))
    if seen is not None:
        rows = rows * seen.spread + seen.mean
    return rows.astype(dtype)
