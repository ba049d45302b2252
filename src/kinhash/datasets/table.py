"""Columns of a table as they are: booleans, numbers, text, or lists of these; what travels with rows.

| file | read as |
|---|---|
| ``.csv`` ``.tsv`` | text, and booleans or numbers where every field of a column is one |
| ``.parquet`` (extra ``parquet``) | as its types say |
| ``.json`` | a list of objects, or one object of lists |

Nothing may be missing: a number that is not there has no type.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

import numpy as np

from .._internal.types import Array, Facts
from .._internal.validation import is_integer
from ..errors import FileProblem, UnknownName
from .files import damaged, file_format, inflated, reading
from .labels_file import MISSING_WORDS
from .text import guess_delimiter, is_number, read_lines

__all__ = ["open_table"]

KIND = "a table with names of columns"
FORMATS = (".csv", ".tsv", ".parquet", ".json")
LARGEST = 2**63
BOOLEANS = {"true": True, "false": False}
Columns = Facts
Wanted = list[str] | Callable[[list[str]], list[str]] | None  # names, or what to choose among those there are


def open_table(path: str, columns: Wanted = None, texts: Collection[str] = ()) -> Columns:
    """The columns of a table by name, or those asked for, each an array with one value per row.

    Columns of a CSV named in ``texts`` stay text if all their fields are numbers. Lists stay lists, in an
    array of objects. Without ``columns``, lists of floats (embeddings) in Parquet are left out. Peak memory:
    a few times the file.
    """
    file = Path(path)
    suffix = file_format(file, FORMATS, KIND, "Write the table as .csv, .parquet or .json")
    if suffix in (".parquet", ".json"):
        found = (_parquet if suffix == ".parquet" else _json)(file, columns)
    else:
        found = _csv(file, columns, texts)
    if not found:
        raise damaged(file, "it has no columns", KIND)
    return found


def _expect(wanted: Wanted, names: Iterable[str]) -> list[str]:
    """The names to read, all of them known."""
    names = list(names)
    wanted = wanted(names) if callable(wanted) else wanted
    for name in wanted or ():
        if name not in names:
            raise UnknownName.among("column", name, names)
    return names if wanted is None else wanted


def _missing(file: Path, name: str, row: int) -> FileProblem:
    return FileProblem(
        f"{file}: row {row} has no value in the column {name!r} (the first row is 0)",
        "a value in every row",
        "Fill the gaps, or leave the column out",
    )


# ---- CSV -------------------------------------------------------------------------------------


def _csv(file: Path, wanted: Wanted, texts: Collection[str]) -> Columns:
    with inflated(file, KIND) as stream:
        lines = read_lines(stream)
        if not lines or any("\0" in line for line in lines[:100]):
            raise damaged(file, "it is empty, or no text", KIND)
        mark = "\t" if file.name.lower().removesuffix(".gz").endswith(".tsv") else guess_delimiter(lines[0])
        rows = [row for row in csv.reader(lines, delimiter=mark or ",", strict=True) if row]
    names = [name.strip() for name in rows[0]]
    if len(set(names)) < len(names):
        raise damaged(file, "two columns have one name", KIND, "Rename one of them")
    ragged = next((k for k, row in enumerate(rows) if len(row) != len(names)), None)
    if ragged is not None:
        what = f"row {ragged + 1} has {len(rows[ragged])} columns"
        raise damaged(file, what, f"{len(names)}, as in the first", "Mend that row")
    found = {name: [row[names.index(name)].strip() for row in rows[1:]] for name in _expect(wanted, names)}
    return {
        name: np.array(fields, object) if name in texts else _typed(file, name, fields)
        for name, fields in found.items()
    }


def _typed(file: Path, name: str, fields: list[str]) -> Array:
    """Fields as booleans or numbers where all of them are, else as the text they are; '07' is text."""
    gaps = [k for k, field in enumerate(fields) if not field or field in MISSING_WORDS]
    given = [field for field in fields if field and field not in MISSING_WORDS] if gaps else fields
    kind = _kind(given)
    if kind is None:
        return np.array(fields, object)
    if gaps:
        raise _missing(file, name, gaps[0])
    return np.array([kind(field) for field in fields])


def _kind(fields: list[str]) -> Callable[[str], object] | None:
    """What makes values of all these fields; None where they are text."""
    if not fields:
        return None
    if all(field.lower() in BOOLEANS for field in fields):
        return lambda field: BOOLEANS[field.lower()]
    padded = (len(one) > 1 and one[0] == "0" and one.isdigit() for one in (f.lstrip("+-") for f in fields))
    if not all(map(is_number, fields)) or any(padded):
        return None
    whole = all(field.lstrip("+-").isdecimal() for field in fields)
    if not whole:
        return float
    return int if all(-LARGEST <= int(field) < LARGEST for field in fields) else None


# ---- JSON and Parquet --------------------------------------------------------------------------


def _json(file: Path, wanted: Wanted) -> Columns:
    with reading(file, KIND) as stream:
        held = json.load(stream)
    if isinstance(held, list) and held and all(isinstance(row, dict) for row in held):
        names = _expect(wanted, dict.fromkeys(name for row in held for name in row))
        found = {name: [row.get(name) for row in held] for name in names}
    elif isinstance(held, dict) and all(isinstance(column, list) for column in held.values()):
        found = {name: held[name] for name in _expect(wanted, held)}
    else:
        raise damaged(file, "it holds something else", "a list of objects, or one object of lists")
    if len({len(column) for column in found.values()}) > 1:
        raise damaged(file, "its columns have different lengths", KIND)
    return {name: _array(file, name, column) for name, column in found.items()}


def _array(file: Path, name: str, values: list[object]) -> Array:
    """Values of one kind as an array of it."""
    gap = next((k for k, value in enumerate(values) if value is None), None)
    if gap is not None:
        raise _missing(file, name, gap)
    kinds: Mapping[str, Callable[[object], bool]] = {
        "bool": lambda value: isinstance(value, bool),
        "int64": lambda value: is_integer(value) and -LARGEST <= value < LARGEST,
        "float64": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
        "text": lambda value: isinstance(value, str),
        "list": lambda value: isinstance(value, list),
    }
    kind = next((kind for kind, fits in kinds.items() if all(map(fits, values))), None)
    if kind is None:
        raise damaged(
            file, f"the column {name!r} holds values of several kinds", "booleans, numbers or text alone"
        )
    if kind not in ("text", "list"):
        return np.array(values, kind)
    column = np.empty(len(values), object)
    column[:] = values
    return column


def _parquet(file: Path, wanted: Wanted) -> Columns:
    from .parquet import parquet_columns

    columns = parquet_columns(file, wanted)
    for name, column in columns.items():
        gap = next((k for k, value in enumerate(column.tolist()) if value is None), None)
        if gap is not None:
            raise _missing(file, name, gap)
    return columns
