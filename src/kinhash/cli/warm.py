"""`kinhash warm`: compile all kernels ahead of time and cache them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from .terminal import bar, counted, emit, json_option

__all__ = ["warm"]

WORK = ("search", "encode", "fit")
BITS = 64
ROWS, COLUMNS, CLASSES = 600, 12, 4  # of the made-up rows; groups of kin codes need some hundreds


@click.command()
@click.option(
    "--for", "wanted", default=",".join(WORK), show_default=True, metavar="WORK,...",
    help="What to compile for.",
)  # fmt: skip
@click.option(
    "--bits", "n_bits", type=click.IntRange(8, 1024), default=BITS, show_default=True,
    help="Length of the codes: each number of 64-bit words has search kernels of its own.",
)  # fmt: skip
@json_option
def warm(wanted: str, n_bits: int, as_json: bool) -> None:
    """Compile the kernels of searches, encoding and fits, and keep them in Numba's cache.

    For images of containers: a process that finds its kernels in the cache compiles nothing. The cache is
    the folder of NUMBA_CACHE_DIR, or else the package's own, or the user's.

    \b
    Examples:
      kinhash warm
      NUMBA_CACHE_DIR=/srv/numba kinhash warm --for search,encode
    """
    chosen, folder = _chosen(wanted), _cache_folder()
    begin = time.perf_counter()
    compiled: list[str] = []
    with bar("compiling", len(chosen)) as move, _noting(compiled):
        for done, work in enumerate(chosen):
            move(done, work)
            _do(work, n_bits)
    seconds = time.perf_counter() - begin
    result = {"for": chosen, "n_bits": n_bits, "compiled": compiled, "cache": folder, "seconds": seconds}
    names = [name.rpartition(".")[2] for name in compiled]
    shown = ", ".join(name for name in names if not name.startswith("_"))
    text = (
        f"Compiled {counted(len(names), 'kernel')} for {', '.join(chosen)} in {seconds:.1f} s.\n"
        + (f"{shown}, and what they call.\n" if shown else "")
        + f"Cache: {folder}"
    )
    emit(result, text, as_json)


def _chosen(wanted: str) -> list[str]:
    from ..errors import UnknownName

    chosen = [name.strip() for name in wanted.split(",")]
    for name in chosen:
        if name not in WORK:
            raise UnknownName.among("work", name, WORK)
    return list(dict.fromkeys(chosen))


def _do(work: str, n_bits: int) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    if work == "search":
        _search(n_bits, rng)
        return
    X, y = rng.standard_normal((ROWS, COLUMNS)), rng.integers(0, CLASSES, ROWS)
    X[:, :CLASSES] += 4 * np.eye(CLASSES)[y]
    for labels in (y, np.column_stack([y == 0, y != 1]).astype(int)):  # classes, and tags
        hasher = _fitted(X, labels, n_bits, "first" if work == "fit" else "never")
        with _compiling("first"):
            for rows in (X, X.astype(np.float32)):
                hasher.encode(rows[:50])


def _fitted(X: Any, labels: Any, n_bits: int, when: str) -> Any:
    from ..hashers import EnergyHasher

    with _compiling(when):
        return EnergyHasher(n_bits=n_bits, random_state=0).fit(X, labels)


def _search(n_bits: int, rng: Any) -> None:
    """Search plain codes, and codes with few distinct kin parts, which use the grouped kernels."""
    from ..codes import BitLayout, Codes, pack_bits
    from ..index import HammingIndex

    bits = rng.integers(0, 2, (ROWS, n_bits))
    kin = n_bits // 2
    bits[:, :kin] = bits[rng.integers(0, 2, ROWS), :kin]
    packed = pack_bits(bits)
    with _compiling("first"):
        for fields in (BitLayout(), BitLayout(n_bits - kin, 3, 1)):
            codes = Codes(packed, n_bits, fields=fields)
            index = HammingIndex.from_codes(codes)
            for _ in range(2):  # as it is, and with groups
                index.search(codes, k=10)
                index.search(None, k=10, margins=bits - 0.5)
                index.prepare()
            index.search_radius(codes, 3)
            index.prepare_radius()


@contextmanager
def _compiling(when: str) -> Iterator[None]:
    """Set KINHASH_COMPILE to ``when`` inside the context."""
    from .._internal.compile import VARIABLE

    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = when
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


def _cache_folder() -> str:
    """Where the kernels are kept; raises `InvalidInput` if nowhere."""
    from ..errors import InvalidInput
    from ..index import top_k
    from ..models import walk

    places = [kernel.stats.cache_path for kernel in (top_k, walk)]
    if None in places:
        raise InvalidInput(
            "Compiled kernels cannot be kept",
            "a folder that can be written: the package's or the user's cache",
            "Set NUMBA_CACHE_DIR to one",
        )
    return os.path.commonpath(places)
