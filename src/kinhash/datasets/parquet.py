"""Parquet through pyarrow: columns of numbers, or one column of lists of equal length; labels and ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._internal.types import Array, Facts
from ..errors import FileProblem, MissingExtra, UnknownName
from .columns import Pick, list_column
from .files import damaged, translating
from .row_blocks import Matrix

__all__ = ["parquet_columns", "parquet_kinds", "parquet_matrix", "parquet_values"]

KIND = "a .parquet file of numbers"


def parquet_kinds(path: Path) -> dict[str, str]:
    """What each column holds: number, text, floats, ints or texts (lists of those), or other."""
    with _opened(path) as file:
        return {field.name: _kind(field.type) for field in file.schema_arrow}


def parquet_values(path: Path, name: str) -> list[object]:
    """One column as labels or ids: plain values, sets for lists; None for what is missing, in sets too."""
    with _opened(path) as file:
        if name not in file.schema_arrow.names:
            raise UnknownName.among("column", name, file.schema_arrow.names)
        values: list[object] = file.read(columns=[name])[name].to_pylist()
    return [set(value) if isinstance(value, list) else value for value in values]


def parquet_columns(path: Path, wanted: list[str] | Callable[[list[str]], list[str]] | None) -> Facts:
    """These columns, or all but embeddings: numbers as arrays, others as arrays of objects, None for gaps."""
    with _opened(path) as file:
        kinds = {field.name: _kind(field.type) for field in file.schema_arrow}
        wanted = wanted(list(kinds)) if callable(wanted) else wanted
        names = [name for name in kinds if kinds[name] != "floats"] if wanted is None else wanted
        for name in names:
            if name not in kinds:
                raise UnknownName.among("column", name, kinds)
        table = file.read(columns=names)
    found = {}
    for name in names:
        column = table[name]
        if kinds[name] == "number" and not column.null_count:
            found[name] = column.to_numpy()
        else:
            found[name] = np.empty(len(column), object)
            found[name][:] = column.to_pylist()
    return found


def parquet_matrix(path: Path, name: str | None, pick: Pick) -> Matrix:
    """Open the column of lists called ``name`` (or the only one), or the numeric columns (those picked)."""
    with _opened(path) as file:
        n_rows, schema = file.metadata.num_rows, file.schema_arrow
    names = schema.names
    if name is not None and name not in names:
        raise UnknownName.among("column", name, names)
    if pick and name is None:
        names = [names[place] for place in pick.positions(names, path)]
    kinds = {column: _kind(schema.field(column).type) for column in names}
    lists = name if name is not None else list_column(kinds, path)
    if lists is not None and kinds[lists] == "number":
        lists = None
    names = names if lists is None else [lists]
    wanted = ("number",) if lists is None else ("floats", "ints")
    strange = next((column for column in names if kinds[column] not in wanted), None)
    if strange is not None:
        raise FileProblem(
            f"{path}: the column {strange!r} holds {schema.field(strange).type}",
            "columns of numbers, or the name of one column of lists of numbers",
            "Leave the column out, or name the column to read",
        )

    def blocks(rows: int) -> Iterator[Array]:
        with _opened(path) as file:
            for batch in file.iter_batches(rows, columns=names):
                block = _stacked(batch.select(names), path) if lists is None else _unpacked(batch[0], path)
                if block.shape[1] != width:
                    raise damaged(path, f"its lists have {width} and {block.shape[1]} entries", KIND)
                yield block

    width = len(names)
    if lists is not None and n_rows:
        with _opened(path) as file:
            width = _unpacked(next(file.iter_batches(1, columns=names))[0], path).shape[1]
    if n_rows == 0 or width == 0:
        raise damaged(path, f"it has {n_rows} rows and {width} columns", KIND)
    return Matrix(str(path), blocks, n_rows, width, column_names=tuple(names) if lists is None else None)


def _stacked(batch: Any, path: Path) -> Array:
    if any(column.null_count for column in batch.columns):
        raise damaged(path, "it holds missing values", KIND, "Fill or drop them")
    return np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])


def _unpacked(column: Any, path: Path) -> Array:
    values, lengths = column.flatten(), column.value_lengths().to_numpy(zero_copy_only=False)
    if column.null_count or values.null_count or (lengths != lengths[0]).any():
        raise damaged(path, "lists are missing or of different length", KIND)
    return values.to_numpy(zero_copy_only=False).reshape(len(column), -1)


def _kind(kind: Any) -> str:
    """In a word what a column of that type holds, see `parquet_kinds`."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = kind.value_type
        others = {"number": "ints", "text": "texts"}
        return "floats" if types.is_floating(inner) else others.get(_kind(inner), "other")
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return "number" if is_number else "other"


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The file; pyarrow reports damaged contents as its own errors, or as an OSError without a number."""
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise MissingExtra.of("pyarrow", "parquet") from None
    with translating(path, KIND):
        try:
            with ParquetFile(path, pre_buffer=False) as file:  # which would keep what was read
                yield file
        except (pyarrow.ArrowException, OSError) as error:
            if isinstance(error, FileProblem) or getattr(error, "errno", None):
                raise
            detail = " ".join(str(error).split())[:120]
            raise damaged(path, f"pyarrow could not read it ({detail})", KIND) from error
