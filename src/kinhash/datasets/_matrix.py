"""Open a user's own matrix, whatever file it is in, and read it whole or block by block.

| file | blocks are | memory |
|---|---|---|
| ``.npy`` | views of a memory map | none |
| ``.npz``: one 2-D array, or a named one | arrays | one block |
| ``.npz``: SciPy's sparse format, or the compact format | arrays or CSR | all of it |
| ``.csv`` ``.tsv`` ``.txt``, also gzipped | float64 | one block |
| ``.svm`` ``.svmlight`` ``.libsvm``, also gzipped | CSR float64 | one block |
| ``.parquet`` (extra ``parquet``) | the columns' common type | one block |
| a pipe (``"-"``, a FIFO, an open stream) with CSV or ``.npy`` | as above | one block |
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from .._blocks import block_slices
from ..errors import FileProblem, UnknownName
from ._arrays import (
    NPY_MAGIC,
    NpyHeader,
    member_stream,
    npz_members,
    read_npy,
    read_npy_header,
    read_npz,
)
from ._columns import ALL_COLUMNS, Pick, picked
from ._csv import csv_matrix
from ._files import damaged, open_problem, read_bytes, translating
from ._rows import Matrix

__all__ = ["Matrix", "open_matrix"]

TABLE_OF_NUMBERS = "a matrix of numbers, one row per item"
MAX_ROW_BYTES = 1 << 28
MAX_BLOCK_BYTES = 1 << 28
COMPACT_MARKS = {"scale", "x_indptr", "webp"}
SPARSE_MARKS = {"format", "data", "indices", "indptr", "shape"}


@dataclass(frozen=True)
class MatrixOptions:
    """How to read, where a file alone does not say it."""

    name: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    n_columns: int | None = None
    pick: Pick = ALL_COLUMNS


def open_matrix(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    name: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    n_columns: int | None = None,
    columns: Sequence[str] | None = None,
    without: Sequence[str] = (),
) -> Matrix:
    """Open a file (or pipe) of numbers; the extension decides the format, see the top of this file.

    ``name`` picks an array of a ``.npz`` or a column of lists of a ``.parquet``. ``header`` says
    whether a CSV begins with column names (None: it does if no field of the first line is a number).
    ``n_columns`` widens a sparse text file whose last columns happen to be empty. ``columns`` are the
    named columns to read, in that order, and ``without`` those to leave out. Everything that
    can be wrong with a file raises ``FileProblem``; values are not judged here (NaN passes).
    """
    pick = Pick(None if columns is None else tuple(columns), tuple(without))
    options = MatrixOptions(name, header, delimiter, n_columns, pick)
    if not isinstance(path, (str, os.PathLike)):
        return _from_pipe(path, "the stream", options)
    if str(path) == "-":
        return _from_pipe(sys.stdin.buffer, "standard input", options)
    file = Path(path)
    if _is_pipe(file):
        with translating(file, TABLE_OF_NUMBERS):
            return _from_pipe(open(file, "rb"), str(file), options)
    suffix = (file.with_suffix("") if file.suffix == ".gz" else file).suffix.lower()
    if suffix not in FORMATS or (file.suffix == ".gz" and suffix not in TEXT):
        raise FileProblem(
            f"{file}: the extension {file.suffix!r} says nothing about its format",
            f"one of {', '.join(FORMATS)}",
            "Rename the file, or convert it with np.save",
        )
    matrix = FORMATS[suffix](file, options)
    return matrix if suffix in READ_BY_NAME else picked(matrix, pick)


def _is_pipe(file: Path) -> bool:
    try:
        mode = file.stat().st_mode
    except OSError as error:
        raise open_problem(file, error, TABLE_OF_NUMBERS) from error
    if stat.S_ISDIR(mode):
        raise open_problem(file, IsADirectoryError(), TABLE_OF_NUMBERS)
    return not stat.S_ISREG(mode)


def _open_npy(file: Path, options: MatrixOptions) -> Matrix:
    array = read_npy(file)
    _require_matrix(file, array.shape, array.dtype)
    return _in_memory(file, array)


def _open_npz(file: Path, options: MatrixOptions) -> Matrix:
    with npz_members(file) as (archive, members):
        if options.name is None and COMPACT_MARKS & set(members):
            return _compact(file)
        if options.name is None and set(members) >= SPARSE_MARKS - {"format"}:
            return _in_memory(file, sparse_from_npz(file))
        chosen = options.name
        headers = {}
        for name, info in members.items():
            with member_stream(file, archive, info) as (header, _):
                headers[name] = header
        if chosen is not None and chosen not in headers:
            raise UnknownName.among("array", chosen, headers)
        if chosen is None:
            tables = [name for name, h in headers.items() if len(h.shape) == 2 and h.dtype.kind in "biuf"]
            if len(tables) != 1:
                held = ", ".join(f"{name} {h.shape}" for name, h in headers.items())
                raise FileProblem(
                    f"{file} holds {held}", "one 2-D array of numbers", "Name the array to read"
                )
            chosen = tables[0]
    head = headers[chosen]
    _require_matrix(file, head.shape, head.dtype)
    if head.fortran:
        return _in_memory(file, read_npz(file)[chosen])

    def blocks(rows: int) -> Iterator[Any]:
        with (
            npz_members(file) as (archive, members),
            member_stream(file, archive, members[chosen]) as (header, stream),
        ):
            yield from _npy_blocks(stream, header, file, rows)
            stream.read(1)  # the archive compares its checksum once it has met the end

    return Matrix(str(file), blocks, *head.shape)


def _compact(file: Path) -> Matrix:
    from ._compact import CompactFile

    parts = CompactFile.read(file).parts()
    if parts.features is None:
        raise FileProblem(
            f"{file} holds labels and no features", TABLE_OF_NUMBERS, "Pass a file with features"
        )
    names = None if parts.feature_names is None else tuple(str(name) for name in parts.feature_names)
    return _in_memory(file, parts.features, names)


def sparse_from_npz(file: Path) -> sp.csr_array:
    """A matrix written by ``scipy.sparse.save_npz`` in CSR form."""
    from ._compact import csr_parts

    arrays = read_npz(file)
    form = arrays.get("format")
    shape = arrays["shape"]
    if form is not None and form.tobytes().rstrip(b"\0").replace(b"\0", b"") != b"csr":
        raise FileProblem(f"{file} holds a sparse matrix that is not CSR", "CSR", "Save matrix.tocsr()")
    with translating(file, "a sparse matrix in SciPy's .npz format"):
        if shape.shape != (2,) or shape.dtype.kind not in "iu":
            raise ValueError("its shape is not a pair of sizes")
        matrix = csr_parts(arrays["indptr"], arrays["indices"], int(shape[1]), arrays["data"])
        if matrix.shape[0] != shape[0]:
            raise ValueError(f"it has {matrix.shape[0]} rows and claims {shape[0]}")
    return matrix


def _open_csv(file: Path, options: MatrixOptions) -> Matrix:
    return csv_matrix(file, options.header, options.delimiter, pick=options.pick)


def _open_svmlight(file: Path, options: MatrixOptions) -> Matrix:
    from ._svmlight import svmlight_matrix

    return svmlight_matrix(file, options.n_columns)


def _open_parquet(file: Path, options: MatrixOptions) -> Matrix:
    from ._parquet import parquet_matrix

    return parquet_matrix(file, options.name, options.pick)


def _from_pipe(stream: Any, what: str, options: MatrixOptions) -> Matrix:
    buffered: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    with translating(what, TABLE_OF_NUMBERS):
        start = buffered.peek(len(NPY_MAGIC))[: len(NPY_MAGIC)]
        if not start:
            raise damaged(what, "nothing came through it", "CSV or .npy", "Check the command before the pipe")
        if start != NPY_MAGIC:
            return csv_matrix(buffered, options.header, options.delimiter, what, options.pick)
        header = read_npy_header(buffered, what)
    _require_matrix(what, header.shape, header.dtype)
    if header.fortran:
        raise FileProblem(
            f"{what}: the array is in Fortran order, whose rows cannot be read one after the other",
            "rows in C order",
            "Save np.ascontiguousarray(X)",
        )

    def blocks(rows: int) -> Iterator[Any]:
        with translating(what, TABLE_OF_NUMBERS):
            yield from _npy_blocks(buffered, header, what, rows)
            if buffered.read(1):
                raise damaged(what, "more came than its header promises", TABLE_OF_NUMBERS)

    return picked(Matrix(what, blocks, *header.shape, once=True), options.pick)


def _npy_blocks(stream: BinaryIO, header: NpyHeader, path: object, rows: int) -> Iterator[Any]:
    n_rows, n_columns = header.shape
    row_bytes = n_columns * header.dtype.itemsize
    rows = max(1, min(rows, MAX_BLOCK_BYTES // row_bytes))
    for start in range(0, n_rows, rows):  # no list: a pipe may claim any number of rows
        count = min(rows, n_rows - start)
        raw = read_bytes(stream, count * row_bytes, path, TABLE_OF_NUMBERS)
        yield raw.view(header.dtype).reshape(count, n_columns)


def _in_memory(file: Path, array: Any, names: tuple[str, ...] | None = None) -> Matrix:
    def blocks(rows: int) -> Iterator[Any]:
        for part in block_slices(array.shape[0], rows):
            yield array[part]

    return Matrix(str(file), blocks, *array.shape, column_names=names, whole=lambda: array)


def _require_matrix(path: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if len(shape) != 2 or dtype.kind not in "biuf" or 0 in shape:
        raise FileProblem(
            f"{path} holds an array of shape {shape} and dtype {dtype}", TABLE_OF_NUMBERS, "Save X as 2-D"
        )
    if shape[1] * dtype.itemsize > MAX_ROW_BYTES:
        raise damaged(path, f"it claims {shape[1]:,} columns", TABLE_OF_NUMBERS)


READ_BY_NAME = {".csv", ".tsv", ".txt", ".parquet"}  # these pick their columns while they read
TEXT = {".csv", ".tsv", ".txt", ".svm", ".svmlight", ".libsvm"}
FORMATS: dict[str, Callable[[Path, MatrixOptions], Matrix]] = {
    ".npy": _open_npy,
    ".npz": _open_npz,
    ".csv": _open_csv,
    ".tsv": _open_csv,
    ".txt": _open_csv,
    ".svm": _open_svmlight,
    ".svmlight": _open_svmlight,
    ".libsvm": _open_svmlight,
    ".parquet": _open_parquet,
}
