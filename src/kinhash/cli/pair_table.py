"""A file of pairs or triplets as numbers; errors name the line of the file, counted from 1."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._internal.types import Bools, Floats, Ints
from ..datasets import guess_delimiter, inflated, is_number, open_matrix, read_lines
from ..errors import DamagedFile, FileProblem, InvalidInput
from .terminal import counted

__all__ = ["PairTable", "expect_file", "read_pair_table"]

COUNTED = "rows are numbered from 0 in the order of the features"
VERDICT = "a number from −1 (not similar) to 1 (similar)"
WEIGHT = "a finite number, 0 or more: how much the pair counts"
TEXT = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class PairTable:
    """The numbers of a file (n, columns): ``n_ends`` columns of rows come first.

    ``header`` says whether names of the columns stand above them.
    """

    path: str
    values: Floats
    n_ends: int
    header: bool

    def row_numbers(self, n_rows: int) -> Ints:
        """The rows (n, n_ends), refused where there are none of such numbers."""
        rows = self.values[:, : self.n_ends]
        with np.errstate(invalid="ignore"):
            broken = ~((rows == np.floor(rows)) & (rows >= 0) & (rows < n_rows)).all(axis=1)
        from_one = rows.min() == 1 and rows.max() == n_rows
        self.refuse(
            broken,
            ", ".join(_shown(x) for x in rows[broken.argmax()]),
            "name no row of the features",
            f"whole numbers from 0 to {n_rows - 1}: {COUNTED}",
            "Subtract 1: they seem to be counted from 1"
            if from_one
            else "Correct these lines, or remove them",
        )
        return rows.astype(np.int64)

    def verdicts(self) -> Floats:
        """The column of verdicts, refused where some are out of range or missing."""
        found = self.values[:, self.n_ends]
        wrong = ~(np.abs(found) <= 1)
        remedy = "Rescale grades: 2 · (grade − lowest) / (highest − lowest) − 1"
        if np.isnan(found).any():
            remedy = "Remove lines without a verdict: pairs that are not listed are unknown"
        self.refuse(
            wrong, f"the verdict {_shown(found[wrong.argmax()])}", "are outside [−1, 1]", VERDICT, remedy
        )
        return found

    def weights(self) -> Floats | None:
        """The column of weights, if there is one, refused where some are negative or missing."""
        if self.values.shape[1] < self.n_ends + 2:
            return None
        found = self.values[:, self.n_ends + 1]
        wrong = ~(np.isfinite(found) & (found >= 0))
        what = f"the weight {_shown(found[wrong.argmax()])}"
        remedy = "Correct these weights; the verdict −1 says that rows are not similar"
        self.refuse(wrong, what, "are negative or not finite", WEIGHT, remedy)
        return found

    def refuse(self, wrong: Bools, held: str, what: str, expected: str, remedy: str) -> None:
        """Raise an error if lines are ``wrong`` (n,): what the first of them held, and how many there are."""
        if wrong.any():
            place, count = self._place(int(wrong.argmax())), int(wrong.sum())
            raise InvalidInput(f"{place} holds {held}; {count:,} of {len(wrong):,} {what}", expected, remedy)

    def _place(self, number: int) -> str:
        if not _is_text(self.path):
            return f"Row {number} of {self.path} (the first is 0)"
        return f"Line {_numbered_lines(self.path)[number + self.header][0]} of {self.path}"


def read_pair_table(path: str, what: str, n_ends: int, widths: Sequence[int], form: str) -> PairTable:
    """Read a file with one of these numbers of columns; ``what`` and ``form`` say in errors what it holds."""
    expect_file(path, what, f"lines of {form}")
    try:
        matrix = open_matrix(path)
        values = np.asarray(matrix.read(), np.float64)
    except DamagedFile:
        if _is_text(path):
            _refuse_words(path, n_ends)
        raise
    if values.shape[1] not in widths:
        raise InvalidInput(f"{path} has {counted(values.shape[1], 'column')}", form, COUNTED.capitalize())
    return PairTable(path, values, n_ends, matrix.column_names is not None)


def expect_file(path: str, what: str, expected: str) -> None:
    """Say which file is missing: the command has several."""
    if path != "-" and not os.path.lexists(path):
        raise FileProblem(f"{path}: there is no such file of {what}", expected, "Check the path")


def _refuse_words(path: str, n_ends: int) -> None:
    """Say that names stand where numbers of rows belong, or words for verdicts."""
    lines = _numbered_lines(path)
    mark = guess_delimiter(lines[0][1]) if lines else None
    rows = [(number, [field.strip(' "') for field in line.strip().split(mark)]) for number, line in lines]
    if len(rows) > 1 and not any(map(is_number, rows[0][1])):
        rows = rows[1:]  # names of columns
    words = [
        (number, place, field)
        for number, row in rows
        for place, field in enumerate(row)
        if not is_number(field)
    ]
    if not words:
        return
    number, place, word = words[0]
    kinds = [("a row", f"row numbers, not names or ids: {COUNTED}")] * n_ends
    kinds += [("the verdict", VERDICT), ("the weight", WEIGHT)]
    kind, expected = kinds[min(place, len(kinds) - 1)]
    count = len({number for number, *_ in words})
    raise InvalidInput(
        f"Line {number} of {path} has {word[:40]!r} for {kind}; {count:,} of {len(rows):,} lines hold words",
        expected,
        "Write numbers instead",
    )


def _numbered_lines(path: str) -> list[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    with inflated(path, "lines of numbers") as stream:
        return [(number, line) for number, line in enumerate(read_lines(stream), 1) if line.strip()]


def _is_text(path: str) -> bool:
    return path.lower().removesuffix(".gz").endswith(TEXT) and os.path.isfile(path)


def _shown(x: float) -> str:
    """A whole number without a point."""
    return str(int(x)) if np.isfinite(x) and x == np.rint(x) else f"{x:g}"
