"""Open a user's own labels: one class per row, or the tags of every row.

| file | read as |
|---|---|
| ``.txt`` | one label per line; with a ``separator``, the tags of a row |
| ``.csv`` ``.tsv`` | its only column, or the one called ``column`` |
| ``.npy`` | classes (1-D) or a 0/1 indicator matrix (2-D) |
| ``.npz`` | SciPy's sparse format, or the array called ``column``, or the one that is clear |
| ``.json`` | a list of labels, or of lists of tags; ``null`` is unknown |
| ``.svm`` ``.svmlight`` ``.libsvm`` | the targets, several parted by commas |
| ``.parquet`` (extra ``parquet``) | the column called ``column``, or the one that is clear; lists are tags |

In text (``.txt``, ``.csv``, ``.tsv``), an empty field is an unknown class, or an empty set of
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
from collections.abc import Sequence
from pathlib import Path

from .._internal.types import Array, LabelsLike
from ..errors import FileProblem, InvalidInput, KinhashWarning, UnknownName
from ..supervision import Labels, read_labels
from .arrays import npz_headers, read_npy, read_npz
from .columns import label_column
from .files import TEXT_FORMATS, damaged, file_format, inflated, reading, translating
from .matrix import SPARSE_MARKS, sparse_from_npz
from .text import guess_delimiter, is_number, read_lines

__all__ = ["one_column", "open_labels", "sound_array"]

KIND = "labels, one per row"
FORMATS = (".txt", ".csv", ".tsv", ".npy", ".npz", ".json", ".parquet", *TEXT_FORMATS[3:])
# What pandas, R, spreadsheets and databases write for a missing value.
MISSING_WORDS = frozenset(
    ["nan", "NaN", "NAN", "-nan", "NaT", "NA", "<NA>", "N/A", "n/a", "#N/A", "null", "NULL", "None"]
)


def open_labels(
    path: str | os.PathLike[str],
    *,
    column: str | None = None,
    separator: str | None = None,
    header: bool | None = None,
    n_rows: int = 0,
) -> Labels:
    """Read the labels in a file; the extension decides the format, see the top of this file.

    ``column`` names the column of a CSV or a ``.parquet``, or the array of a ``.npz``. ``separator`` parts
    the tags of a row in text. ``header`` says whether the first line is a name and no label (None: it is
    when a column is named, or when it is the only line that is no number). Of ``n_rows`` lines of a ``.txt``
    the last may be empty too, which are unknown labels. Everything that can be wrong with the file raises
    ``FileProblem``. Peak memory: a few times the file.
    """
    file = Path(path)
    suffix = file_format(file, FORMATS, KIND, "Rename the file, or write one label per line into a .txt file")
    if separator == "":
        raise InvalidInput("The separator is empty", "one or more characters", "Pass for example ';'")
    try:
        labels = read_labels(_read(file, suffix, column, separator, header, n_rows))
    except InvalidInput as error:
        if isinstance(error, UnknownName):
            raise
        raise FileProblem(f"{file}: {error.wrong}", error.expected, error.remedy) from error
    if len(labels) == 0:
        raise damaged(file, "it holds no labels", KIND)
    return labels


def _read(
    file: Path, suffix: str, column: str | None, separator: str | None, header: bool | None, n_rows: int
) -> LabelsLike:
    """What is in a file, as `read_labels` takes it."""
    if suffix == ".npy":
        return sound_array(file, read_npy(file))
    if suffix == ".npz":
        return _from_npz(file, column)
    if suffix == ".json":
        return _from_json(file)
    if suffix == ".parquet":
        return _from_parquet(file, column, separator)
    if suffix in TEXT_FORMATS[3:]:
        return _from_svmlight(file)
    with inflated(file, KIND) as stream:
        lines = read_lines(stream, n_rows)
        if any("\0" in line for line in lines[:100]):
            raise damaged(file, "this is not text", KIND, "Check that the extension fits the contents")
        mark = None
        if suffix != ".txt" and lines:
            mark = "\t" if suffix == ".tsv" else guess_delimiter(lines[0]) or ","
        if column is None and (mark is None or mark == separator):  # or the tags themselves are parted by it
            return _values(file, lines, separator, header)
        if mark is None:
            raise FileProblem(f"{file}: it has no columns", "one label per line", "Rename it to .csv")
        rows = [row for row in csv.reader(lines, delimiter=mark, strict=True) if row]
    fields = one_column(file, rows, mark, column, separator)
    return _values(file, fields, separator, header if column is None else False)


def one_column(
    file: Path, rows: list[list[str]], mark: str, column: str | None, separator: str | None
) -> list[str]:
    """The fields of the only column, or of the one called ``column``."""
    if not rows:
        raise damaged(file, "the file is empty", KIND)
    width = len(rows[0])
    ragged = next((k for k, row in enumerate(rows) if len(row) != width), None)
    if ragged is not None:
        remedy = "Mend that row"
        if separator is not None:
            remedy = f"If {mark!r} parts the tags of a row, say so (--tag-separator on the command line)"
        what = f"row {ragged + 1} has {len(rows[ragged])} columns"
        raise damaged(file, what, f"{width}, as in the first", remedy)
    if column is None:
        if width > 1:
            raise FileProblem(
                f"{file} has {width} columns", "one, or the name of one", f"Name one of {rows[0]}"[:300]
            )
        return [row[0] for row in rows]
    names = [name.strip() for name in rows[0]]
    if column not in names:
        raise UnknownName.among("column", column, names)
    place = names.index(column)
    return [row[place] for row in rows[1:]]


def _values(file: Path, fields: list[str], separator: str | None, header: bool | None) -> Sequence[object]:
    """Fields of text as sets of tags, or as classes: None where they are empty or a word for missing."""
    fields = [field.strip() for field in fields]
    if header is None and separator is None and len(fields) > 1:
        rest = [is_number(field) for field in fields[1:] if field not in MISSING_WORDS | {""}]
        named = fields[0] not in MISSING_WORDS | {""} and not is_number(fields[0])
        header = bool(rest) and all(rest) and named
    fields = fields[1:] if header else fields
    _warn_of_missing_words(file, fields)
    if separator is not None:
        return [None if row in MISSING_WORDS else _tags(row, separator) for row in fields]
    return _numbers_if_whole([None if field in MISSING_WORDS else field or None for field in fields])


def _warn_of_missing_words(file: Path, fields: list[str]) -> None:
    found = Counter(field for field in fields if field in MISSING_WORDS)
    if found:
        listed = ", ".join(f"{word!r} ({times:,} times)" for word, times in sorted(found.items()))
        warnings.warn(
            f"{file}: {listed} is read as an unknown label. If it is a class, rename it, or write the labels "
            "as .json, where only null is unknown.",
            KinhashWarning,
            stacklevel=2,
        )


def _numbers_if_whole(fields: list[str | None]) -> Sequence[object]:
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


def _from_npz(file: Path, column: str | None) -> LabelsLike:
    held = npz_headers(file)
    if column is None and set(held) >= SPARSE_MARKS:
        return sparse_from_npz(file)
    name = column if column is not None else label_column(dict.fromkeys(held, "unknown"), file)
    if name not in held:
        raise UnknownName.among("array", name, held)
    return sound_array(file, read_npz(file, name)[name])


def sound_array(file: Path, array: Array) -> Array:
    """Refuse text with numbers in it that are no characters: Python would fail on them later, and oddly."""
    if array.size == 0:
        raise damaged(file, "it holds no labels", KIND)
    with translating(file, "labels in valid Unicode"):
        if array.dtype.kind == "U":
            array.astype(array.dtype.newbyteorder("<")).tobytes().decode("utf-32-le")
    return array


def _from_json(file: Path) -> list[object]:
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


def _from_svmlight(file: Path) -> list[object]:
    from .svmlight import svmlight_targets

    rows = [[int(t) if t.is_integer() else t for t in targets] for targets in svmlight_targets(file)]
    return [row[0] for row in rows] if all(len(row) == 1 for row in rows) else [set(row) for row in rows]


def _from_parquet(file: Path, column: str | None, separator: str | None) -> list[object]:
    from .parquet import parquet_kinds, parquet_values

    values = parquet_values(file, column if column is not None else label_column(parquet_kinds(file), file))
    if separator is None or not any(isinstance(value, str) for value in values):
        return values
    return [None if value is None else _tags(str(value), separator) for value in values]


def _tags(text: str, separator: str) -> set[str]:
    return {tag.strip() for tag in text.split(separator) if tag.strip()}
