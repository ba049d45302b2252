"""`kinhash info`: what is in a file, or what is installed; and compiling ahead of time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from .._internal.aliases import Facts
from .terminal import bar, emit, json_option, visible

if TYPE_CHECKING:
    from ..codes import Codes

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
    if ahead and file:
        raise click.UsageError("--compile takes no FILE.")
    if file is None:
        facts = {**_installed(), **(_compile() if ahead else {})}
    elif file.lower().endswith(".npy"):
        facts = {"file": file, **_plain_codes(file), "file_bytes": os.path.getsize(file)}
    else:
        from .._internal.container import FORMAT, container_kind

        describe = {"model": _model, "codes": _codes, "index": _index}
        kind = container_kind(file)
        facts = {"file": file, "kind": kind, "format": FORMAT, **describe.get(kind, _other)(file)}
        facts["file_bytes"] = os.path.getsize(file)
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


def _model(file: str) -> Facts:
    from ..files import read_model

    arrays, header = read_model(file)
    return {
        "method": header["hasher"],
        "n_bits": header["n_bits"],
        "n_features": header["n_features"],
        "feature_names": header["feature_names"],
        "views": {view["name"]: f"{view['n_features']:,} columns" for view in header["views"]},
        "model_id": header["model_id"],
        "parameters": header["parameters"],
        "same_bits": "on every machine; fitted again on another machine, the model may differ",
        "array_bytes": sum(array.nbytes for array in arrays.values()),
    }


def _codes(file: str) -> Facts:
    from ..codes import load_codes

    codes = load_codes(file)
    return _facts_of(codes, codes.model_id)


def _facts_of(codes: Codes, model_id: str | None) -> Facts:
    import numpy as np

    ids = "row numbers" if codes.ids is None else "names" if codes.ids.dtype.kind in "UTO" else "numbers"
    learned = np.broadcast_to(codes.learned, len(codes))
    return {
        "rows": len(codes),
        "n_bits": codes.n_bits,
        "bytes_per_item": int(codes.packed.shape[1]),
        "unique_codes": len(np.unique(codes.packed, axis=0)),
        "ids": ids,
        "learned": int(learned.sum()),
        "model_id": model_id,
    }


def _index(file: str) -> Facts:
    from dataclasses import asdict

    from ..index import HammingIndex

    index = HammingIndex.load(file)
    return {**asdict(index.stats()), "payload": list(index.payload)}


def _plain_codes(file: str) -> Facts:
    from .inputs import open_codes

    return {"kind": "packed codes in .npy, without digest", **_facts_of(open_codes(file), None)}


def _other(file: str) -> Facts:
    from .._internal.container import read_container

    return {"arrays": {name: list(array.shape) for name, array in read_container(file)[0].items()}}


# ---- what is installed -------------------------------------------------------------------------


def _installed() -> Facts:
    import platform

    import numba
    import numpy as np

    from .. import __version__
    from .._internal.blocks import n_threads

    return {
        "kinhash": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
        "threads": n_threads(),
        "cache": _cache_folder(),
    }


def _compile() -> Facts:
    """Compile what searches, encoding and fits need."""
    import numpy as np

    begin, compiled = time.perf_counter(), list[str]()
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((ROWS, COLUMNS)), rng.integers(0, CLASSES, ROWS)
    X[:, :CLASSES] += 4 * np.eye(CLASSES)[y]
    with bar("compiling", 2) as move, _compiling_first(), _noting(compiled):
        _search(rng)
        move(1, "compiling")
        _fit(X, y)
    return {
        "compiled": [name.rpartition(".")[2] for name in compiled],
        "kernels": len(compiled),
        "seconds": round(time.perf_counter() - begin, 1),
    }


def _fit(X: Any, y: Any) -> None:
    """Fit classes and tags, and encode both kinds of floats."""
    import numpy as np

    from ..hasher import EnergyHasher

    for labels in (y, np.column_stack([y == 0, y != 1]).astype(int)):
        hasher = EnergyHasher(n_bits=BITS, random_state=0).fit(X, labels)
        for rows in (X, X.astype(np.float32)):
            hasher.encode(rows[:50])
            hasher.decision_function(rows[:50])


def _search(rng: Any) -> None:
    """Search codes of one, two and many words in every way."""
    from ..codes import Codes, pack_bits
    from ..index import HammingIndex

    for n_bits in (BITS, 2 * BITS, 4 * BITS):
        bits = rng.integers(0, 2, (ROWS, n_bits))
        codes = Codes(pack_bits(bits), n_bits)
        index = HammingIndex.from_codes(codes, payload={"even": [row % 2 == 0 for row in range(ROWS)]})
        for queries in (codes, codes[:1]):
            index.search(queries, k=10)
            index.search(queries, k=10, where="even == true")
            index.search(queries, k=10, margins=bits[: len(queries)] - 0.5)
            index.search_radius(queries, 3)


@contextmanager
def _compiling_first() -> Iterator[None]:
    """Set KINHASH_COMPILE to ``first`` inside the context."""
    from .._internal.compile import VARIABLE

    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "first"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


@contextmanager
def _noting(compiled: list[str]) -> Iterator[None]:
    """Note the names of our kernels that are compiled while the context lasts."""
    from numba.core import event

    with event.install_recorder("numba:compile") as recorder:
        yield
    for _, one in recorder.buffer:
        function = one.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}"
        if one.is_end and name.startswith("kinhash.") and name not in compiled:
            compiled.append(name)


def _cache_folder() -> str | None:
    """Where the kernels are kept, None if nowhere."""
    from ..index import top_k

    place: str | None = top_k.stats.cache_path
    return place
