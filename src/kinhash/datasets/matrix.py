"""Open a user's own matrix, whatever file it is in, and read it whole or block by block.

| file | blocks are | memory |
|---|---|---|
| ``.npy`` | views of a memory map | none |
| ``.npz``: one 2-D array, or a named one | arrays | one block |
| ``.npz``: SciPy's sparse format | CSR | all of it |
| ``.csv`` ``.tsv`` ``.txt``, also gzipped | float64 | one block |
| ``.svm`` ``.svmlight`` ``.libsvm``, also gzipped | CSR float64 | one block |
| ``.parquet`` (extra ``parquet``) | the columns' common type | one block |
| a pipe (``"-"``, a FIFO, an open stream) with CSV or ``.npy`` | as above | one block |
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices
from .._internal.types import Features
from ..errors import FileProblem, UnknownName
from .arrays import Header, npz_headers, npz_member, read_header, read_npy, read_npz
from .columns import Pick
from .files import TEXT_FORMATS, damaged, file_format, read_bytes, translating
from .row_blocks import Matrix
from .text import csv_matrix

__all__ = ["open_matrix", "sparse_from_npz"]

TABLE_OF_NUMBERS = "a matrix of numbers, one row per item"
MAX_ROW_BYTES = MAX_BLOCK_BYTES = 1 << 28
SPARSE_MARKS = {"data", "indices", "indptr", "shape"}
FORMATS = (".npy", ".npz", ".parquet", *TEXT_FORMATS)


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
    if not isinstance(path, (str, os.PathLike)):
        return _from_pipe(path, str(getattr(path, "name", "the stream")), header, delimiter, pick)
    if str(path) == "-":
        return _from_pipe(sys.stdin.buffer, "standard input", header, delimiter, pick)
    file = Path(path)
    if file.exists() and not file.is_file() and not file.is_dir():
        with translating(file, TABLE_OF_NUMBERS):
            return _from_pipe(open(file, "rb"), str(file), header, delimiter, pick)
    suffix = file_format(file, FORMATS, TABLE_OF_NUMBERS, "Rename the file, or convert it with np.save")
    if suffix == ".parquet":
        from .parquet import parquet_matrix

        return parquet_matrix(file, name, pick)
    if suffix in (".csv", ".tsv", ".txt"):
        return csv_matrix(file, header, delimiter, pick)
    if pick:
        pick.positions(None, file)  # says that there are no names
    if suffix == ".npy":
        array = read_npy(file)
        _require_matrix(file, array.shape, array.dtype)
        return _in_memory(file, array)
    if suffix == ".npz":
        return _from_npz(file, name)
    from .svmlight import svmlight_matrix

    return svmlight_matrix(file, n_columns)


def _from_npz(file: Path, name: str | None) -> Matrix:
    headers = npz_headers(file)
    if name is None and set(headers) >= SPARSE_MARKS:
        return _in_memory(file, sparse_from_npz(file))
    if name is None:
        tables = [key for key, head in headers.items() if len(head.shape) == 2 and head.dtype.kind in "biuf"]
        if len(tables) != 1 or {"scale", "offset"} <= set(headers):
            held = ", ".join(f"{key} {head.shape}" for key, head in headers.items())
            raise FileProblem(f"{file} holds {held}", "one 2-D array of numbers", "Name the array to read")
        name = tables[0]
    if name not in headers:
        raise UnknownName.among("array", name, headers)
    head = headers[name]
    _require_matrix(file, head.shape, head.dtype)
    if head.fortran:
        return _in_memory(file, read_npz(file, name)[name])

    def blocks(rows: int) -> Iterator[Features]:
        with npz_member(file, name) as (header, stream):
            yield from _npy_blocks(stream, header, file, rows)

    return Matrix(str(file), blocks, *head.shape)


def sparse_from_npz(file: Path) -> sp.csr_array:
    """A matrix written by ``scipy.sparse.save_npz`` in CSR form."""
    arrays = read_npz(file)
    parts = [arrays[name] for name in ("indices", "indptr", "shape")]
    with translating(file, "a CSR matrix in SciPy's .npz format (save matrix.tocsr())"):
        if arrays.get("format", np.array(b"csr")).item() not in (b"csr", "csr"):
            raise ValueError("it is sparse in another form than CSR")
        if arrays["data"].dtype.kind not in "biuf" or any(part.dtype.kind not in "iu" for part in parts):
            raise ValueError("its values are no numbers, or its places no whole numbers")
        indices, indptr, shape = parts
        if shape.shape != (2,) or 0 in shape:
            raise ValueError(f"its shape is {shape}")
        matrix = sp.csr_array((arrays["data"], indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
    return matrix


def _from_pipe(stream: Any, what: str, header: bool | None, delimiter: str | None, pick: Pick) -> Matrix:
    buffered: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    magic = b"\x93NUMPY"
    with translating(what, TABLE_OF_NUMBERS):
        start = buffered.peek(len(magic))[: len(magic)]
        if not start:
            raise damaged(what, "nothing came through it", "CSV or .npy", "Check the command before the pipe")
        if start != magic:
            return csv_matrix(buffered, header, delimiter, pick, what)
        head = read_header(buffered, what)
    _require_matrix(what, head.shape, head.dtype)
    if pick:
        pick.positions(None, what)
    if head.fortran:
        raise FileProblem(
            f"{what}: the array is in Fortran order, whose rows cannot be read one after the other",
            "rows in C order",
            "Save np.ascontiguousarray(X)",
        )

    def blocks(rows: int) -> Iterator[Features]:
        with translating(what, TABLE_OF_NUMBERS):
            yield from _npy_blocks(buffered, head, what, rows)
            if buffered.read(1):
                raise damaged(what, "more came than its header promises", TABLE_OF_NUMBERS)

    return Matrix(what, blocks, *head.shape, once=True)


def _npy_blocks(stream: BinaryIO, header: Header, path: object, rows: int) -> Iterator[Features]:
    n_rows, n_columns = header.shape
    row_bytes = n_columns * header.dtype.itemsize
    rows = max(1, min(rows, MAX_BLOCK_BYTES // row_bytes))
    for start in range(0, n_rows, rows):  # no list: a pipe may claim any number of rows
        count = min(rows, n_rows - start)
        raw = read_bytes(stream, count * row_bytes, path, TABLE_OF_NUMBERS)
        yield raw.view(header.dtype).reshape(count, n_columns)


def _in_memory(file: Path, array: Features) -> Matrix:
    def blocks(rows: int) -> Iterator[Features]:
        for part in block_slices(array.shape[0], rows):
            yield array[part]

    return Matrix(str(file), blocks, *array.shape, whole=lambda: array)


def _require_matrix(path: object, shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> None:
    if len(shape) != 2 or dtype.kind not in "biuf" or 0 in shape:
        raise FileProblem(
            f"{path} holds an array of shape {shape} and dtype {dtype}", TABLE_OF_NUMBERS, "Save X as 2-D"
        )
    if shape[1] * dtype.itemsize > MAX_ROW_BYTES:
        raise damaged(path, f"it claims {shape[1]:,} columns", TABLE_OF_NUMBERS)
