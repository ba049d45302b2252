"""Open a user's own labels: one class per row, or the tags of every row.

| file | read as |
|---|---|
| ``.txt`` | one label per line; with a ``separator``, the tags of a row |
| ``.csv`` ``.tsv`` | its only column, or the one called ``column`` |
| ``.npy`` | classes (1-D) or a 0/1 indicator matrix (2-D) |
| ``.npz`` | the labels of the compact format, SciPy's sparse format, or one array |
| ``.json`` | a list of labels, or of lists of tags; ``null`` is unknown |
| ``.svm`` ``.svmlight`` ``.libsvm`` | the targets, several parted by commas |
| ``.parquet`` (extra ``parquet``) | the column called ``column``, or the one that is clear; lists are tags |

In text (``.txt``, ``.csv``, ``.tsv``, ``.svm``), an empty field is an unknown class, or an empty set of
tags. A field that other programs write for a missing value (``MISSING_WORDS``: ``NaN``, ``NA``, ``null``,
...) is unknown, too, with a warning that counts them; a tag beside others stays a tag. Labels that are
all whole numbers are read as numbers. In the other formats text is text, and only null and NaN are unknown.
"""

from __future__ import annotations

import csv
import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileProblem, InvalidInput, KinhashWarning, UnknownName
from ..labels import Labels, read_labels
from ._arrays import read_npy, read_npz
from ._csv import guess_delimiter
from ._files import damaged, inflated, open_problem, reading
from ._matrix import SPARSE_MARKS, sparse_from_npz
from ._text import is_number, read_lines

__all__ = ["open_labels"]

KIND = "labels, one per row"
# What pandas, R, spreadsheets and databases write for a missing value.
MISSING_WORDS = frozenset(
    ["nan", "NaN", "NAN", "-nan", "NaT", "NA", "<NA>", "N/A", "n/a", "#N/A", "null", "NULL", "None"]
)


@dataclass(frozen=True)
class LabelOptions:
    """How to read, where a file alone does not say it."""

    column: str | None = None
    separator: str | None = None
    header: bool | None = None


def open_labels(
    path: str | os.PathLike[str],
    *,
    column: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
) -> Labels:
    """Read the labels in a file; the extension decides the format, see the top of this file.

    ``column`` names the column of a CSV or a ``.parquet``, or the array of a ``.npz``. ``separator`` parts
    the tags of a row in text. ``header`` says whether the first line is a name and no label (None: it is
    when a column is named, or when it is the only line that is no number). Everything that can be
    wrong with the file raises ``FileProblem``. Peak memory: a few times the file.
    """
    file = Path(path)
    if file.is_dir():
        raise open_problem(file, IsADirectoryError(), KIND)
    suffix = (file.with_suffix("") if file.suffix == ".gz" else file).suffix.lower()
    if suffix not in FORMATS or (file.suffix == ".gz" and suffix not in TEXT):
        if not file.exists():
            raise open_problem(file, FileNotFoundError(), KIND)
        raise FileProblem(
            f"{file}: the extension {file.suffix!r} says nothing about its format",
            f"one of {', '.join(FORMATS)}",
            "Rename the file, or write one label per line into a .txt file",
        )
    if separator == "":
        raise InvalidInput("The separator is empty", "one or more characters", "Pass for example ';'")
    try:
        labels = read_labels(FORMATS[suffix](file, LabelOptions(column, separator, header)))
    except InvalidInput as error:
        if isinstance(error, UnknownName):
            raise
        raise FileProblem(f"{file}: {error.wrong}", error.expected, error.remedy) from error
    if len(labels) == 0:
        raise damaged(file, "it holds no labels", KIND)
    return labels


def _from_text(file: Path, options: LabelOptions) -> list[Any]:
    with inflated(file, KIND) as stream:
        lines = read_lines(stream)
    if any("\0" in line for line in lines[:100]):
        raise damaged(file, "this is not text", KIND, "Check that the extension fits the contents")
    if options.column is not None:
        raise FileProblem(f"{file}: a .txt file has no columns", "one label per line", "Rename it to .csv")
    return _values(file, [line.strip() for line in lines], options)


def _from_csv(file: Path, options: LabelOptions) -> list[Any]:
    with inflated(file, KIND) as stream:
        lines = read_lines(stream)
        if any("\0" in line for line in lines[:100]):
            raise damaged(file, "this is not text", KIND, "Check that the extension fits the contents")
        mark = "\t" if ".tsv" in file.suffixes else guess_delimiter(lines[0]) if lines else None
        if options.column is None and mark is not None and options.separator == mark:
            return _values(file, lines, options)  # the tags themselves are parted by commas
        rows = [row for row in csv.reader(lines, delimiter=mark or ",", strict=True) if row]
    if not rows:
        raise damaged(file, "the file is empty", KIND)
    width = len(rows[0])
    ragged = next((k for k, row in enumerate(rows) if len(row) != width), None)
    if ragged is not None:
        what = f"row {ragged + 1} has {len(rows[ragged])} columns"
        if options.separator is None:
            raise damaged(file, what, f"{width}, as in the first")
        remedy = f"If {mark!r} parts the tags of a row, say so (--tag-separator on the command line)"
        raise damaged(file, what, f"{width}, as in the first", remedy)
    if options.column is None:
        if width > 1:
            raise FileProblem(
                f"{file} has {width} columns", "one, or the name of one", f"Name one of {rows[0]}"[:300]
            )
        return _values(file, [row[0].strip() for row in rows], options)
    names = [name.strip() for name in rows[0]]
    if options.column not in names:
        raise UnknownName.among("column", options.column, names)
    place = names.index(options.column)
    fields = [row[place].strip() for row in rows[1:]]
    return _values(file, fields, LabelOptions(None, options.separator, False))


def _values(file: Path, fields: list[str], options: LabelOptions) -> list[Any]:
    header = options.header
    if options.separator is not None:
        rows = fields[1:] if header else fields
        _warn_of_missing_words(file, [row.strip() for row in rows])
        return [None if row.strip() in MISSING_WORDS else _tags(row, options.separator) for row in rows]
    if header is None and len(fields) > 1:
        rest = [is_number(field) for field in fields[1:] if field not in MISSING_WORDS | {""}]
        named = fields[0] not in MISSING_WORDS | {""} and not is_number(fields[0])
        header = bool(rest) and all(rest) and named
    return _classes(file, fields[1:] if header else fields)


def _classes(file: Path, fields: list[str]) -> list[Any]:
    """Fields of text as classes: None where they are empty or a word for a missing value."""
    _warn_of_missing_words(file, fields)
    return _numbers_if_whole([None if field in MISSING_WORDS else field or None for field in fields])


def _warn_of_missing_words(file: Path, fields: Iterable[str]) -> None:
    found = Counter(field for field in fields if field in MISSING_WORDS)
    if found:
        listed = ", ".join(f"{word!r} ({times:,} times)" for word, times in sorted(found.items()))
        warnings.warn(
            f"{file}: {listed} is read as an unknown label. If it is a class, rename it, or write the labels "
            "as .json, where only null is unknown.",
            KinhashWarning,
            stacklevel=2,
        )


def _numbers_if_whole(fields: list[str | None]) -> list[Any]:
    """'7' and '7.0' are the number 7 if all labels are whole; '07' is a name and stays one."""
    present = [field for field in fields if field is not None]
    padded = any(
        len(field.lstrip("-")) > 1 and field.lstrip("-")[0] == "0" and field.isdigit() for field in present
    )
    if padded or not all(is_number(field) and abs(float(field)) < 2**53 for field in present):
        return fields
    if not all(float(field).is_integer() for field in present):
        return fields
    return [None if field is None else int(float(field)) for field in fields]


def _from_npy(file: Path, options: LabelOptions) -> Any:
    array = np.array(read_npy(file))
    return _sound(file, array)


def _from_npz(file: Path, options: LabelOptions) -> Any:
    arrays = read_npz(file)
    if options.column is not None:
        if options.column not in arrays:
            raise UnknownName.among("array", options.column, arrays)
        return _sound(file, arrays[options.column])
    if {"labels", "label_indptr", "concepts"} & set(arrays):
        from ._compact import CompactFile

        return CompactFile(file, arrays).labels([])
    if set(arrays) >= SPARSE_MARKS - {"format"}:
        return sparse_from_npz(file)
    if len(arrays) != 1:
        raise FileProblem(
            f"{file} holds {', '.join(arrays)}", "one array of labels", "Name the array to read"
        )
    return _sound(file, next(iter(arrays.values())))


def _sound(file: Path, array: Any) -> Any:
    """Refuse text with numbers in it that are no characters: Python would fail on them later, and oddly."""
    if array.dtype.kind == "U" and array.dtype.itemsize:
        points = np.ascontiguousarray(array).reshape(-1).view(array.dtype.newbyteorder("=").str[0] + "u4")
        points = points if array.dtype.isnative else points.byteswap()
        if (points > 0x10FFFF).any() or ((points >= 0xD800) & (points <= 0xDFFF)).any():
            raise damaged(file, "it holds text that is not valid Unicode", KIND)
    return array


def _from_json(file: Path, options: LabelOptions) -> list[Any]:
    with reading(file, "a JSON list of labels") as stream:
        rows = json.load(stream)
    if not isinstance(rows, list):
        raise damaged(file, f"it holds a {type(rows).__name__}", "a list of labels or of lists of tags")
    tags = any(isinstance(row, list) for row in rows)
    for number, row in enumerate(rows):
        parts = row if isinstance(row, list) else [row]
        fits = all(isinstance(part, (str, int, float)) for part in parts) or row is None
        if not fits or (tags and row is not None and not isinstance(row, list)):
            raise damaged(file, f"entry {number} is {str(row)[:60]}", "labels, or lists of tags, throughout")
    return [set(row) if isinstance(row, list) else row for row in rows]


def _from_svmlight(file: Path, options: LabelOptions) -> list[Any]:
    from ._svmlight import svmlight_targets

    targets = svmlight_targets(file)
    if all(len(row) == 1 for row in targets):
        return _classes(file, [row[0] for row in targets])
    return [set(row) for row in targets]


def _from_parquet(file: Path, options: LabelOptions) -> list[Any]:
    from ._parquet import parquet_kinds, parquet_values
    from ._roles import label_column

    column = options.column if options.column is not None else label_column(parquet_kinds(file), file)
    values = parquet_values(file, column)
    if options.separator is None or not any(isinstance(value, str) for value in values):
        return values
    return [None if value is None else _tags(str(value), options.separator) for value in values]


def _tags(text: str, separator: str) -> set[str]:
    return {tag.strip() for tag in text.split(separator) if tag.strip()}


TEXT = {".txt", ".csv", ".tsv", ".svm", ".svmlight", ".libsvm"}
FORMATS: dict[str, Callable[[Path, LabelOptions], Any]] = {
    ".txt": _from_text,
    ".csv": _from_csv,
    ".tsv": _from_csv,
    ".npy": _from_npy,
    ".npz": _from_npz,
    ".json": _from_json,
    ".svm": _from_svmlight,
    ".svmlight": _from_svmlight,
    ".libsvm": _from_svmlight,
    ".parquet": _from_parquet,
}
