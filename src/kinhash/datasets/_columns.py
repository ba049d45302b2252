"""Which columns of a table to read, by name: a table of one's own rarely holds features alone."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import FileProblem, UnknownName
from ._files import damaged
from ._rows import Matrix
from ._text import as_number, is_number

__all__ = ["ALL_COLUMNS", "Pick", "picked", "picked_blocks"]


class Pick(NamedTuple):
    """Columns to read, in this order (None: all), and columns to leave out."""

    columns: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.columns is not None or bool(self.without)

    def positions(self, names: Sequence[str] | None, path: object) -> list[int]:
        """Where the wanted columns stand among ``names``."""
        if names is None:
            raise FileProblem(
                f"{path} has no column names", "a table with a line of names", "Pick columns before saving it"
            )
        for name in (*(self.columns or ()), *self.without):
            if name not in names:
                raise UnknownName.among("column", name, names)
        wanted = names if self.columns is None else self.columns
        places = [list(names).index(name) for name in wanted if name not in self.without]
        if not places:
            raise FileProblem(f"{path}: no column is left", "at least one feature", "Leave out fewer columns")
        return places


ALL_COLUMNS = Pick()


def picked(matrix: Matrix, pick: Pick) -> Matrix:
    """The same rows with the picked columns only, for formats that hold nothing but numbers."""
    if not pick:
        return matrix
    places = pick.positions(matrix.column_names, matrix.path)
    names = tuple(matrix.column_names[place] for place in places)  # type: ignore[index]

    def blocks(rows: int) -> Iterator[Any]:
        for block in matrix.blocks(rows):
            yield block[:, places]

    return Matrix(matrix.path, blocks, matrix.n_rows, len(places), column_names=names, once=matrix.once)


def picked_blocks(
    lines: Iterator[str],
    path: object,
    *,
    delimiter: str | None,
    n_columns: int,
    places: list[int],
    rows: int,
    first_line: int,
) -> Iterator[npt.NDArray[np.float64]]:
    """Blocks of the columns at ``places`` of a CSV whose other columns may hold anything."""
    while now := list(islice(lines, rows)):
        numbered = [(number, line) for number, line in enumerate(now, first_line) if line.strip()]
        if numbered:
            yield _parsed(numbered, path, delimiter, n_columns, places)
        first_line += len(now)


def _parsed(
    numbered: list[tuple[int, str]], path: object, delimiter: str | None, n_columns: int, places: list[int]
) -> npt.NDArray[np.float64]:
    out = np.empty((len(numbered), len(places)))
    for row, (number, line) in enumerate(numbered):
        fields = line.split() if delimiter is None else next(csv.reader([line], delimiter=delimiter))
        if len(fields) != n_columns:
            raise damaged(
                path,
                f"line {number} has {len(fields)} columns",
                f"{n_columns} in every line",
                "Mend that line",
            )
        try:
            out[row] = [as_number(fields[place]) for place in places]
        except ValueError:
            bad = next(place for place in places if not is_number(fields[place]))
            raise damaged(
                path,
                f"line {number}, column {bad + 1} holds {fields[bad][:40]!r}",
                "numbers in every column that is read",
                "Put a number there, or leave the column out",
            ) from None
    return out
