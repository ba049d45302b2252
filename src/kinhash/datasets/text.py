"""Rows of numbers in text: CSV and its relatives, by NumPy's reader.

``np.loadtxt`` reads blocks of rows from any stream, quotes included, and needs no more than NumPy. A
faster reader, such as pyarrow's, would be a second one with rules of its own, for those who have it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from .._internal.types import Floats
from .columns import Pick
from .files import damaged, inflated, translating
from .row_blocks import Matrix

__all__ = ["Lines", "csv_matrix", "guess_delimiter", "is_number", "read_lines"]

KIND = "lines of numbers with the same number of columns"
LONGEST_LINE = 2**25  # characters: a row of more than a million numbers


class Lines:
    """The lines of a UTF-8 file; ``number`` is that of the last one, counted from 1.

    A byte-order mark does not matter, nor do Windows line ends (``newline`` is that of `open`). Lines have a
    bounded length: a small gzip file may hold one that fills the memory.
    """

    def __init__(self, stream: BinaryIO, newline: str | None = None) -> None:
        self._text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline=newline)
        self._back, self.number = "", 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if line := self._back:
            self._back = ""
            return line
        self.number += 1
        if not (line := self._text.readline(LONGEST_LINE + 1)):
            raise StopIteration
        if len(line) > LONGEST_LINE:
            raise ValueError(f"a line of more than {LONGEST_LINE:,} characters")
        return line

    def put_back(self, line: str) -> None:
        """Return the last line once more."""
        self._back = line

    def first(self, path: object) -> str:
        """The first line that is not blank."""
        line = next((line for line in self if line.strip()), None)
        if line is None:
            raise damaged(path, "the file is empty", KIND)
        if "\0" in line:
            raise damaged(path, "this is not text", KIND, "Check that the extension fits the contents")
        return line


def read_lines(stream: BinaryIO, at_least: int = 0) -> list[str]:
    """All lines of a text file without their ends, blank lines at the end left out after ``at_least``."""
    lines = [line.rstrip("\n") for line in Lines(stream)]
    while len(lines) > at_least and not lines[-1].strip():
        lines.pop()
    return lines


def is_number(text: str) -> bool:
    """Whether a field can be read as a number. Python reads 1_000 as one, no data file means it."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def guess_delimiter(line: str) -> str | None:
    """The separator a line uses, None for white space."""
    return next((mark for mark in (",", "\t", ";", "|") if mark in line), None)


def _parsed(
    part: list[tuple[int, str]], path: str, mark: str | None, n_columns: int, ignored: Sequence[int]
) -> Floats:
    """Numbered lines as numbers (len(part), n_columns); ``ignored`` columns are read as 0."""
    zeros: dict[int | str, Callable[[str], float]] = {column: lambda text: 0.0 for column in ignored}
    number, expected, remedy = 0, f"{n_columns} numbers in every line", "Mend that line"

    def text() -> Iterator[str]:
        nonlocal number
        for numbered in part:
            number, line = numbered
            yield line

    try:
        block = np.loadtxt(text(), delimiter=mark, comments=None, quotechar='"', converters=zeros, ndmin=2)
        if len(block) < len(part):
            raise ValueError("a quote is opened in one line and closed in another, or never")
        if block.shape[1] != n_columns:
            number = part[0][0]
            raise ValueError(f"the number of columns changed from {n_columns} to {block.shape[1]}")
    except ValueError as error:  # NumPy counts rows from the start of a block; we name the line
        what = f": {str(error)[:120]}"
        if found := re.match(r"the number of columns changed from \d+ to (\d+)", str(error)):
            what = f" has {found[1]} column{'' if found[1] == '1' else 's'}"
        elif found := re.match(r"(?s)could not convert string (.*) to \w+ at row \d+, (.*)\.", str(error)):
            what = f", {found[2]} holds {found[1][:40]}"
            remedy = "Put a number there, leave the column out, or say that the first line holds names"
        raise damaged(path, f"line {number}{what}", expected, remedy) from error
    return block


def csv_matrix(
    source: Path | BinaryIO,
    header: bool | None,
    delimiter: str | None,
    pick: Pick,
    what: str | None = None,
) -> Matrix:
    """Open a CSV file or an already open stream; ``what`` names the stream in errors.

    With a ``pick`` the first line holds names, and columns that are not picked may hold anything.
    """
    path = what or str(source)
    stream = None if isinstance(source, Path) else Lines(source)

    @contextmanager
    def opened() -> Iterator[Lines]:
        """The lines of a file from its start, or of a stream from where we stopped."""
        if isinstance(source, Path):
            with inflated(source, KIND) as file:
                yield Lines(file)
        else:
            with translating(path, KIND):
                assert stream is not None
                yield stream

    with opened() as lines:
        first = lines.first(path)
        mark = delimiter or guess_delimiter(first)
        fields = first.split() if mark is None else next(csv.reader([first], delimiter=mark))
        fields = [field.strip() for field in fields]
        if header is None:
            header = bool(pick) or not any(is_number(field) for field in fields)
        if not header:
            lines.put_back(first)
    names = fields if header else None
    places = pick.positions(names, path) if pick else list(range(len(fields)))
    ignored = [place for place in range(len(fields)) if place not in places]

    def blocks(rows: int) -> Iterator[Floats]:
        with opened() as lines:
            if stream is None and header:
                lines.first(path)
            numbered = ((lines.number, line) for line in lines if line.strip())
            empty = True
            while part := list(islice(numbered, rows)):
                block = _parsed(part, path, mark, len(fields), ignored)
                yield block[:, places] if pick else block
                empty = False
            if empty:
                raise damaged(path, "it has column names and no rows", KIND, "Add rows, or pass header=False")

    picked = None if names is None else tuple(names[place] for place in places)
    return Matrix(path, blocks, None, len(places), column_names=picked, once=stream is not None)
