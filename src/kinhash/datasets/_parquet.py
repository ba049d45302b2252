"""Parquet through pyarrow: columns of numbers, or one column of lists of equal length; labels and ids."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileProblem, MissingExtra, UnknownName
from ._columns import Pick
from ._files import damaged, translating
from ._roles import list_column
from ._rows import Matrix

__all__ = ["parquet_kinds", "parquet_matrix", "parquet_values"]

KIND = "a .parquet file of numbers"


def parquet_kinds(path: Path) -> dict[str, str]:
    """What each column holds: number, text, floats, ints or texts (lists of those), or other."""
    arrow = _Arrow()
    with _arrow_errors(arrow, path), arrow.open(path) as file:
        schema = file.schema_arrow
        return {name: arrow.kind(schema.field(name).type) for name in schema.names}


def parquet_values(path: Path, name: str) -> list[Any]:
    """One column as labels or ids: plain values, sets for lists; None for what is missing, in sets too."""
    arrow = _Arrow()
    with _arrow_errors(arrow, path), arrow.open(path) as file:
        if name not in file.schema_arrow.names:
            raise UnknownName.among("column", name, file.schema_arrow.names)
        values: list[Any] = file.read(columns=[name])[name].to_pylist()
    return [set(value) if isinstance(value, list) else value for value in values]


def parquet_matrix(path: Path, name: str | None = None, pick: Pick | None = None) -> Matrix:
    """Open the column of lists called ``name`` (or the only one), or the numeric columns (those picked)."""
    arrow = _Arrow()
    with _arrow_errors(arrow, path), arrow.open(path) as file:
        schema = file.schema_arrow
        n_rows = file.metadata.num_rows
        names = schema.names
        if name is not None and name not in names:
            raise UnknownName.among("column", name, names)
        if pick and name is None:
            names = [names[place] for place in pick.positions(names, path)]
        kinds = {column: arrow.kind(schema.field(column).type) for column in names}
        lists = name if name is not None else list_column(kinds, path)
        if lists is not None and arrow.is_list(schema.field(lists).type):
            first = next(_list_blocks(arrow, path, lists, 1), None)
            width = 0 if first is None else first.shape[1]
        else:
            lists, width = None, len(names)
            fields = [schema.field(wanted) for wanted in names]
            strange = next((field for field in fields if not arrow.is_number(field.type)), None)
            if strange is not None:
                raise FileProblem(
                    f"{path}: the column {strange.name!r} holds {strange.type}",
                    "columns of numbers, or the name of one column of lists",
                    "Leave the column out, or name the column to read",
                )
    if n_rows == 0 or width == 0:
        raise damaged(path, f"it has {n_rows} rows and {width} columns", KIND)

    def blocks(rows: int) -> Iterator[Any]:
        found = _list_blocks(arrow, path, lists, rows) if lists else _column_blocks(arrow, path, names, rows)
        for block in found:
            if block.shape[1] != width:
                raise damaged(path, f"its lists have {width} and {block.shape[1]} entries", KIND)
            yield block

    return Matrix(str(path), blocks, n_rows, width, column_names=None if lists else tuple(names))


def _column_blocks(arrow: _Arrow, path: Path, names: list[str], rows: int) -> Iterator[Any]:
    with _arrow_errors(arrow, path), arrow.open(path) as file:
        for batch in file.iter_batches(rows, columns=names):
            batch = batch.select(names)  # the file's order is not ours
            if any(column.null_count for column in batch.columns):
                raise damaged(path, "it holds missing values", KIND, "Fill or drop them")
            yield np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])


def _list_blocks(arrow: _Arrow, path: Path, name: str, rows: int) -> Iterator[Any]:
    with _arrow_errors(arrow, path), arrow.open(path) as file:
        for batch in file.iter_batches(rows, columns=[name]):
            column = batch.column(0)
            values = column.flatten()
            if column.null_count or values.null_count or len(values) % max(1, len(column)):
                raise damaged(path, f"the lists in {name!r} are missing or of different length", KIND)
            lengths = np.diff(column.offsets.to_numpy()) if hasattr(column, "offsets") else np.array([0])
            if (lengths != lengths[0]).any() or not arrow.is_number(values.type):
                raise damaged(path, f"the lists in {name!r} are not numbers of equal length", KIND)
            yield values.to_numpy(zero_copy_only=False).reshape(len(column), -1)


class _Arrow:
    """The few parts of pyarrow used here, imported when first asked for."""

    def __init__(self) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise MissingExtra.of("pyarrow", "parquet") from None
        self._types = pyarrow.types
        self.open = pyarrow.parquet.ParquetFile
        self.errors = pyarrow.ArrowException

    def kind(self, kind: Any) -> str:
        """In a word what a column of that type holds, see `parquet_kinds`."""
        types = self._types
        if types.is_dictionary(kind):
            kind = kind.value_type
        if self.is_list(kind):
            inner = kind.value_type
            return (
                "floats"
                if types.is_floating(inner)
                else {"number": "ints", "text": "texts"}.get(self.kind(inner), "other")
            )
        if types.is_string(kind) or types.is_large_string(kind):
            return "text"
        return "number" if self.is_number(kind) else "other"

    def is_number(self, kind: Any) -> bool:
        types = self._types
        return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))

    def is_list(self, kind: Any) -> bool:
        types = self._types
        return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


@contextmanager
def _arrow_errors(arrow: _Arrow, path: Path) -> Iterator[None]:
    """pyarrow reports damaged contents as its own errors, or as an OSError without a number."""
    with translating(path, KIND):
        try:
            yield
        except (arrow.errors, OSError) as error:
            if isinstance(error, FileProblem) or getattr(error, "errno", None):
                raise
            detail = " ".join(str(error).split())[:120]
            raise damaged(path, f"pyarrow could not read it ({detail})", KIND) from error
