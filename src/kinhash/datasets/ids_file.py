"""Open the ids of rows in a file, and write ids so that the same reader gives them back.

| file | read as |
|---|---|
| ``.txt`` | one id per line, each character between the line ends |
| ``.csv`` ``.tsv`` | its only column, or the one called ``column``, each character of a field |
| ``.npy`` ``.npz`` ``.json`` ``.parquet`` | whole numbers or text, as their types say |

Unlike labels, ids are names of rows: ``1.0``, ``1e1``, ``007``, ``nan`` and `` lead`` are five different ids
and none of them is missing. They become numbers only if all are written as Python writes them (``-17``), or
if the ids that they are compared with are numbers.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from .._internal.texts import STRING
from .._internal.types import Array
from .._internal.validation import is_integer
from ..errors import FileProblem, UnknownName
from .arrays import npz_headers, read_npy, read_npz
from .columns import id_column
from .files import damaged, file_format, inflated, reading, translating
from .labels_file import MISSING_WORDS, one_column, sound_array
from .text import Lines, guess_delimiter, is_number

__all__ = ["IdKind", "csv_field", "ids_as_text", "open_ids"]

IdKind = Literal["number", "text"]
KIND = "ids, one per row"
TABLES = (".csv", ".tsv")
FORMATS = (".txt", *TABLES, ".npy", ".npz", ".json", ".parquet")
WHOLE = re.compile("0|-?[1-9][0-9]{0,18}")
PADDED = re.compile("[+-]?0[0-9]+")
LARGEST = 2**63
LINE = re.compile("[^\r\n]+")
QUOTED = re.compile('["\r\n,\t;|\ufeff]|^ | $')
Values = list[object]


def open_ids(
    path: str, *, column: str | None = None, kind: IdKind | None = None, n_rows: int | None = None
) -> Array:
    """Read the ids in a file, int64 or strings; the extension decides the format, see the top of this file.

    ``column`` names a column of a table, or an array of a ``.npz``. ``kind`` is what the ids are compared
    with; None takes what the file holds. Of ``n_rows`` rows, none may be without an id.
    """
    file = Path(path)
    suffix = file_format(file, FORMATS, KIND, "Rename the file, or write one id per line into a .txt file")
    written = suffix in (".txt", *TABLES)  # as text, whatever is meant
    if written:
        values = _from_text(file, suffix, column, kind, n_rows)
    else:
        values = _from_types(file, suffix, column)
    empty = kind != "text" or n_rows is not None or suffix == ".txt"
    if not values or any(value is None or value != value or (empty and value == "") for value in values):
        raise FileProblem(
            f"{file} does not hold one id per row", "a number or a name for every row", "Fill the gaps"
        )
    if kind is None:
        names = (one for one in values if isinstance(one, str))
        kind = "text" if any(not (written and _is_whole(name.strip())) for name in names) else "number"
    with translating(file, "ids in valid Unicode"):
        return _strings(file, values) if kind == "text" else _integers(file, values)


def ids_as_text(ids: Iterable[int | str], path: str) -> str:
    """Ids for a text file, as `open_ids` reads them; an error if its format cannot hold one of them."""
    name = path.lower().removesuffix(".gz")
    texts = [str(one) for one in ids]
    table = name.endswith(TABLES)
    for text in texts:
        if "\0" in text or (not table and not LINE.fullmatch(text)):
            raise FileProblem(
                f"The id {text!r} cannot be written to {path}"[:200],
                "ids without NUL" if "\0" in text else "ids that are one line of text",
                "Remove these rows from Python" if "\0" in text else "Name a .csv file",
            )
    if table:
        texts = list(map(csv_field, texts))
    elif texts and texts[0].startswith("\ufeff"):
        texts[0] = f"\ufeff{texts[0]}"  # the first is taken for a byte-order mark
    return "".join(f"{text}\n" for text in texts)


def csv_field(text: str) -> str:
    """A field of a table, quoted where a reader could take it for something else; `csv` forgets ``\\r``."""
    quoted = text.replace('"', '""')
    return text if text and not QUOTED.search(text) else f'"{quoted}"'


# ---- text ------------------------------------------------------------------------------------


def _from_text(
    file: Path, suffix: str, column: str | None, kind: IdKind | None, n_rows: int | None
) -> Sequence[object]:
    table = suffix in TABLES
    with inflated(file, KIND) as stream:
        lines = list(Lines(stream, newline="" if table else "\n"))
        if any("\0" in line for line in lines[:100]):
            raise damaged(file, "this is not text", KIND, "Check that the extension fits the contents")
        if not table and column is not None:
            raise FileProblem(f"{file}: it has no columns", "one id per line", "Rename it to .csv")
        if table:
            mark = "\t" if suffix == ".tsv" else guess_delimiter(lines[0] if lines else "") or ","
            rows = [row for row in csv.reader(lines, delimiter=mark, strict=True) if row]
            fields = one_column(file, rows, mark, column, None)
        else:
            fields = [line.removesuffix("\n").removesuffix("\r") for line in lines]
            while fields and not fields[-1]:
                fields.pop()
    if column is None and _has_header(fields, kind, n_rows):
        return fields[1:]
    return fields


def _has_header(fields: Sequence[str], kind: IdKind | None, n_rows: int | None) -> bool:
    """Whether the first line is a heading: there is one too many, or it cannot be one of these numbers."""
    first = fields[0].strip() if fields else ""
    if (
        not first
        or is_number(first)
        or first in MISSING_WORDS
        or len(fields) < 2
        or any(_number(one) is None for one in fields[1:])
    ):
        return False
    return kind == "number" if n_rows is None else len(fields) == n_rows + 1


# ---- formats with types ------------------------------------------------------------------------


def _from_types(file: Path, suffix: str, column: str | None) -> Sequence[object]:
    if suffix == ".json":
        with reading(file, "a JSON list of ids") as stream:
            held = json.load(stream)
        if not isinstance(held, list):
            raise damaged(file, f"it holds a {type(held).__name__}", "a list of ids")
        return held
    if suffix == ".parquet":
        from .parquet import parquet_kinds, parquet_values

        return parquet_values(file, _named(file, parquet_kinds(file)) if column is None else column)
    if suffix == ".npy":
        array = read_npy(file)
    else:
        held_arrays = npz_headers(file)
        name = _named(file, dict.fromkeys(held_arrays, "text")) if column is None else column
        if name not in held_arrays:
            raise UnknownName.among("array", name, held_arrays)
        array = read_npz(file, name)[name]
    array = sound_array(file, array)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise FileProblem(f"{file} does not hold one id per row", "an array of one dimension", "Reshape it")
    values: Values = array.tolist()
    return values


def _named(file: Path, kinds: dict[str, str]) -> str:
    """The column of ids: the only one, or the one with such a name."""
    found = next(iter(kinds)) if len(kinds) == 1 else id_column(kinds)
    if found is None:
        raise FileProblem(
            f"{file} has the columns {', '.join(kinds)}"[:300],
            "one that is called id",
            "Name the column of ids with --id-column",
        )
    return found


# ---- numbers or text -----------------------------------------------------------------------------


def _strings(file: Path, values: Sequence[object]) -> Array:
    wrong = next((one for one in values if not (isinstance(one, str) or is_integer(one))), None)
    if wrong is not None:
        raise FileProblem(f"{file} holds {wrong!r}"[:200], "text or integers as ids", "Write the ids as text")
    return np.array([str(one) for one in values], STRING)


def _integers(file: Path, values: Sequence[object]) -> Array:
    numbers = [_number(one) for one in values]
    wrong = next((one for one, number in zip(values, numbers, strict=True) if number is None), None)
    if wrong is not None:
        came = "Numbers and strings came together as ids: " if isinstance(wrong, str) else ""
        raise FileProblem(f"{came}{file} holds {wrong!r}"[:200], "integers", "Pass the ids of the rows")
    fits = all(-LARGEST <= number < LARGEST for number in numbers if number is not None)
    return np.array(numbers, np.int64 if fits else object)


def _is_whole(text: str) -> bool:
    """Whether Python writes an int64 so: '007', '+7' and '7.0' are names."""
    return WHOLE.fullmatch(text) is not None and -LARGEST <= int(text) < LARGEST


def _number(value: object) -> int | None:
    """The integer that is meant, whichever way a program wrote it; None for text and fractions."""
    if is_integer(value):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else None
    text = value.strip() if isinstance(value, str) else ""
    if WHOLE.fullmatch(text):
        return int(text)
    if not text.isascii() or PADDED.fullmatch(text) or not is_number(text):
        return None
    return _number(float(text))
