"""CSV and its relatives: numbers in text, with or without a line of column names."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import FileProblem
from ._columns import Pick, picked_blocks
from ._files import damaged, inflated, translating
from ._rows import Matrix
from ._text import is_number, number_blocks, split_line, text_lines

__all__ = ["csv_matrix", "guess_delimiter"]

KIND = "lines of numbers with the same number of columns"
DELIMITERS = (",", "\t", ";", "|")


def guess_delimiter(line: str) -> str | None:
    """The separator a line uses, None for white space."""
    return next((mark for mark in DELIMITERS if mark in line), None)


def csv_matrix(
    source: Path | BinaryIO,
    header: bool | None,
    delimiter: str | None,
    what: str | None = None,
    pick: Pick | None = None,
) -> Matrix:
    """Open a CSV file or an already open stream; ``what`` names the stream in errors.

    With a ``pick`` the first line holds names, and columns that are not picked may hold anything.
    """
    path = what or str(source)
    opened = _Lines(source, path)
    with opened.reader() as lines:
        number, first = opened.first_line(lines)
    if delimiter is None:
        delimiter = guess_delimiter(first)
    fields = split_line(first, delimiter)
    if pick:
        header = True if header is None else header
    names = _column_names(fields, header, path, number)
    places = pick.positions(names, path) if pick else None
    has_names = names is not None

    def blocks(rows: int) -> Iterator[Any]:
        with opened.reader() as lines:
            line_number, line = (number, first) if opened.is_stream else opened.first_line(lines)
            rest = lines if has_names else chain([line], lines)
            start = line_number + has_names
            empty = True
            read = number_blocks if places is None else partial(picked_blocks, places=places)
            for block in read(
                iter(rest), path, delimiter=delimiter, n_columns=len(fields), rows=rows, first_line=start
            ):
                empty = False
                yield block
            if empty:
                raise damaged(path, "it has column names and no rows", KIND, "Add rows, or pass header=False")

    if places is not None and names is not None:
        names = tuple(names[place] for place in places)
    width = len(fields if places is None else places)
    return Matrix(path, blocks, None, width, column_names=names, once=opened.is_stream)


class _Lines:
    """The lines of a file, opened afresh each time, or of a stream, which goes on where it was."""

    def __init__(self, source: Path | BinaryIO, path: str) -> None:
        self.source, self.path = source, path
        self.is_stream = not isinstance(source, Path)
        self._text = text_lines(source) if not isinstance(source, Path) else None

    @contextmanager
    def reader(self) -> Iterator[io.TextIOWrapper]:
        """The lines from the start (file) or from where we stopped (stream)."""
        if isinstance(self.source, Path):
            with inflated(self.source, KIND) as stream:
                yield text_lines(stream)
        else:
            assert self._text is not None
            with translating(self.path, KIND):
                yield self._text

    def first_line(self, lines: io.TextIOWrapper) -> tuple[int, str]:
        """Number and text of the first line that is not blank."""
        for number, line in enumerate(iter(lines.readline, ""), 1):
            if "\0" in line:
                raise damaged(
                    self.path, "this is not text", KIND, "Check that the extension fits the contents"
                )
            if line.strip():
                return number, line
        raise damaged(self.path, "the file is empty", KIND)


def _column_names(fields: list[str], header: bool | None, path: str, number: int) -> tuple[str, ...] | None:
    numbers = [is_number(field) for field in fields]
    if header is None:
        header = not any(numbers)
    if header:
        return tuple(fields)
    if not all(numbers):
        column = numbers.index(False)
        raise FileProblem(
            f"{path}: line {number} holds {fields[column][:40]!r} in column {column + 1} among numbers",
            "a line of numbers, or a line of column names",
            "Mend the line, or say header=True",
        )
    return None
