"""Rows of numbers in text: the part CSV files, the NUS-WIDE files and ARFF files share."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from ..errors import DamagedFile
from ._files import damaged

__all__ = ["as_number", "is_number", "number_blocks", "parse_rows", "read_lines", "split_line", "text_lines"]

LONGEST_LINE = 2**25  # characters: a row of more than a million numbers


class _Lines(io.TextIOWrapper):
    """Lines of bounded length: a small gzip file may hold one that fills the memory."""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        line = super().readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE:
            raise ValueError(f"a line of more than {LONGEST_LINE:,} characters")
        return line

    def __next__(self) -> str:  # type: ignore[override]
        line = self.readline()
        if not line:
            raise StopIteration
        return line


def text_lines(stream: BinaryIO) -> io.TextIOWrapper:
    """The lines of a UTF-8 file; a byte-order mark and Windows line ends do not matter."""
    return _Lines(stream, encoding="utf-8-sig", newline=None)


def read_lines(stream: BinaryIO) -> list[str]:
    """All lines of a text file without their ends, blank lines at the end left out."""
    lines = [line.rstrip("\n") for line in text_lines(stream)]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def is_number(text: str) -> bool:
    """Whether a field can be read as a number."""
    try:
        as_number(text)
    except ValueError:
        return False
    return True


def as_number(text: str) -> float:
    """The number in a field. Python reads 1_000 as one, no data file means it."""
    if "_" in text:
        raise ValueError(f"no number: {text[:40]!r}")
    return float(text)


def split_line(line: str, delimiter: str | None) -> list[str]:
    """The fields of a line; ``None`` splits at white space. Quotes around a field are taken off."""
    text = line.strip("\r\n")
    if delimiter is not None and '"' in text:  # a quoted field may hold the delimiter itself
        return [field.strip() for field in next(csv.reader([text], delimiter=delimiter))]
    return [field.strip() for field in text.split(delimiter)]


def number_blocks(
    lines: Iterator[str],
    path: object,
    *,
    delimiter: str | None,
    n_columns: int,
    rows: int,
    first_line: int = 1,
    dtype: type[np.floating] = np.float64,
) -> Iterator[npt.NDArray[np.floating]]:
    """Blocks of at most ``rows`` rows; blank lines are skipped, anything else must fit.

    ``first_line`` is the number of the first line handed in, so that errors can name lines.
    """
    while lines_now := list(islice(lines, rows)):
        kept = [line for line in lines_now if line.strip()]
        if kept:
            yield parse_rows(kept, lines_now, path, delimiter, n_columns, first_line, dtype)
        first_line += len(lines_now)


def parse_rows(
    kept: list[str],
    numbered: list[str],
    path: object,
    delimiter: str | None,
    n_columns: int,
    first_line: int,
    dtype: type[np.floating] = np.float64,
) -> npt.NDArray[np.floating]:
    """One block of lines as numbers (len(kept), n_columns), or an error that names line and column."""
    try:
        block = np.loadtxt(kept, dtype, delimiter=delimiter, comments=None, quotechar='"', ndmin=2)
    except ValueError as error:
        raise _explained(numbered, path, delimiter, n_columns, first_line, str(error)) from error
    if block.shape != (len(kept), n_columns):
        raise _explained(numbered, path, delimiter, n_columns, first_line, f"shape {block.shape}")
    return block


def _explained(
    lines: list[str], path: object, delimiter: str | None, n_columns: int, first_line: int, otherwise: str
) -> DamagedFile:
    expected = f"{n_columns} numbers in every line"
    for number, line in enumerate(lines, first_line):
        fields = split_line(line, delimiter)
        if line.strip() and len(fields) != n_columns:
            return damaged(path, f"line {number} has {len(fields)} columns", expected, "Mend that line")
        for column, field in enumerate(fields, 1):
            if line.strip() and not is_number(field):
                what = f"line {number}, column {column} holds {field[:40]!r}"
                return damaged(path, what, expected, "Put a number there, or leave the column out")
    return damaged(path, f"lines {first_line} to {first_line + len(lines) - 1}: {otherwise[:120]}", expected)
