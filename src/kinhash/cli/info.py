"""`kinhash info`: what is in a file, or what is installed; and compiling ahead of time."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import asdict
from typing import Any

import click
import numba
import numpy as np
from numba.core import event

from .. import __version__
from .._internal import compile as kernels
from .._internal.blocks import n_threads
from .._internal.container import FORMAT, container_kind, read_container
from .._internal.types import Array, Facts
from ..codes import Codes, pack_bits
from ..files import load, read_model
from ..hasher import EnergyHasher
from ..index import HammingIndex, top_k
from .inputs import open_codes
from .terminal import bar, emit, json_option, refuse, visible

ROWS, COLUMNS, CLASSES, BITS = 600, 12, 4, 64  # of the made-up rows that kernels are compiled with


@click.command()
@click.argument("file", required=False)
@click.option("--compile", "ahead", is_flag=True, help="Compile all kernels and keep them, in place of FILE.")
@json_option
def info(file: str | None, ahead: bool, as_json: bool) -> None:
    """Say what is in FILE: a model, codes or an index, after checking its digest. Without FILE: what is installed.

    --compile is for images of containers: a process that finds its kernels in the cache compiles nothing. The
    cache is the folder of NUMBA_CACHE_DIR, or else the package's own, or the user's.

    \b
    Examples:
      kinhash info model.kin
      NUMBA_CACHE_DIR=/srv/numba kinhash info --compile
    """
    refuse((ahead and file, "--compile takes no FILE."))
    if file is None:
        facts = {**_installed(), **(_compile() if ahead else {})}
    else:
        facts = {"file": file, **_described(file), "file_bytes": os.path.getsize(file)}
    width = max(map(len, facts))
    shown = {name.replace("_", " "): visible(_shown(value), one_line=True) for name, value in facts.items()}
    text = "\n".join(f"{name:<{width}}  {value}" for name, value in shown.items())
    emit(facts, text, as_json)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={entry}" for name, entry in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value[:8])) + (" ..." if len(value) > 8 else "") if value else "none"
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _described(file: str) -> Facts:
    """The kind of a file, and what is in it."""
    if file.lower().endswith(".npy"):
        return {"kind": "packed codes in .npy, without digest", **_codes(open_codes(file))}
    kind = container_kind(file)
    head = {"kind": kind, "format": FORMAT}
    if kind == "codes":
        return {**head, **_codes(load(file))}
    if kind == "index":
        index = load(file)
        return {**head, **asdict(index.stats()), "payload": list(index.payload)}
    if kind != "model":
        return {
            **head,
            "arrays": {name: list(array.shape) for name, array in read_container(file)[0].items()},
        }
    arrays, header = read_model(file)
    return {
        **head,
        "method": header["hasher"],
        "n_bits": header["n_bits"],
        "n_features": header["n_features"],
        "feature_names": header["feature_names"],
        "views": {view["name"]: f"{view['n_features']:,} columns" for view in header["views"]},
        "model_id": header["model_id"],
        "same": header["decision"]["text"] if "decision" in header else None,
        "parameters": header["parameters"],
        "same_bits": "on every machine; fitted again on another machine, the model may differ",
        "array_bytes": sum(array.nbytes for array in arrays.values()),
    }


def _codes(codes: Codes) -> Facts:
    ids = "row numbers" if codes.ids is None else "names" if codes.ids.dtype.kind in "UTO" else "numbers"
    return {
        "rows": len(codes),
        "n_bits": codes.n_bits,
        "bytes_per_item": int(codes.packed.shape[1]),
        "unique_codes": len(np.unique(codes.packed, axis=0)),
        "ids": ids,
        "learned": int(codes.learned_rows().sum()),
        "model_id": codes.model_id,
    }


# ---- what is installed -------------------------------------------------------------------------


def _installed() -> Facts:
    return {
        "kinhash": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
        "threads": n_threads(),
        "cache": top_k.stats.cache_path,  # where kernels are kept, None if nowhere
    }


def _compile() -> Facts:
    """Compile what searches, encoding and fits need."""
    begin, rng = time.perf_counter(), np.random.default_rng(0)
    X, y = rng.standard_normal((ROWS, COLUMNS)), rng.integers(0, CLASSES, ROWS)
    X[:, :CLASSES] += 4 * np.eye(CLASSES)[y]
    before = os.environ.get(kernels.VARIABLE)
    os.environ[kernels.VARIABLE] = "first"
    try:
        with bar("compiling", 2) as move, event.install_recorder("numba:compile") as recorder:
            _search(rng)
            move(1, "compiling")
            _fit(X, y)
    finally:
        del os.environ[kernels.VARIABLE]
        os.environ |= {} if before is None else {kernels.VARIABLE: before}
    functions = [one.data["dispatcher"].py_func for _, one in recorder.buffer if one.is_end]
    ours = dict.fromkeys(one for one in functions if one.__module__.startswith("kinhash."))
    return {
        "compiled": [one.__name__ for one in ours],
        "kernels": len(ours),
        "seconds": round(time.perf_counter() - begin, 1),
    }


def _fit(X: Array, y: Array) -> None:
    """Fit classes and tags, and encode both kinds of floats."""
    for labels in (y, np.column_stack([y == 0, y != 1]).astype(int)):
        hasher = EnergyHasher(n_bits=BITS, random_state=0).fit(X, labels)
        for rows in (X, X.astype(np.float32)):
            hasher.encode(rows[:50])
            hasher.decision_function(rows[:50])


def _search(rng: Any) -> None:
    """Search codes of one, two and many words in every way."""
    for n_bits in (BITS, 2 * BITS, 4 * BITS):
        bits = rng.integers(0, 2, (ROWS, n_bits))
        codes = Codes(pack_bits(bits), n_bits)
        index = HammingIndex.from_codes(codes, payload={"even": [row % 2 == 0 for row in range(ROWS)]})
        for queries in (codes, codes[:1]):
            index.search(queries, k=10)
            index.search(queries, k=10, where="even == true")
            index.search(queries, k=10, margins=bits[: len(queries)] - 0.5)
            index.search_radius(queries, 3)
