"""Users' files: one reader of tables with named columns, `read_table`.

`read_table` opens a file and reads nothing but its head. What a column means is asked for afterwards:

| role | method | what comes |
|---|---|---|
| features | `Table.features` | a `Matrix`, read whole or block by block |
| labels, paths of a tree | `Table.labels` | one class per row, None where it is unknown |
| tags | `Table.tags` | a set per row, None where they are unknown; or a 0/1 matrix |
| ids | `Table.ids` | int64, or strings |
| payload | `Table.payload` | arrays by name |
| text | `Table.texts` | one string per row |
| pairs, triplets | `Table.links` | row numbers, and verdicts and weights |

| file | columns | blocks of features are |
|---|---|---|
| ``.npy`` | one array | views of a memory map |
| ``.npz`` | arrays by name, or one in SciPy's sparse format | arrays; all of it where it is sparse |
| ``.csv`` ``.tsv`` (``.gz``) | by the names in the first line, if it has no number | float64 |
| ``.txt`` (``.gz``) | one value per line; as features, numbers between white space or commas | float64 |
| ``.parquet`` (extra ``parquet``) | by name; embeddings are lists of numbers | the columns' common type |
| ``.jsonl`` ``.json`` | by name (objects), or one value per row | float64 |
| ``.svm`` ``.svmlight`` ``.libsvm`` (``.gz``) | features and targets | CSR float64 |
| a pipe (``"-"``, a FIFO, an open stream) | CSV or ``.npy``, features alone | as above |

``FILE:COLUMN`` names a column or an array, ``FILE:a,b`` several, ``FILE:-a,-b`` all others. `split_column`
takes such a text apart.

**Missing values**: null, NaN and NaT are missing; in text an empty field is, too, and the words that programs
write for it (``NaN``, ``NA``, ``null``, ..., with a warning that counts them). A missing label is unknown; a
missing feature, id or payload value is an error that names its row. Two kinds of text are taken letter by letter,
because any word may be a name: ids and texts. An empty field of tags is a row without tags.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._internal.blocks import FIT_ROWS, block_slices
from ._internal.reading import (
    Header,
    Lines,
    damaged,
    inflated,
    npz_headers,
    npz_member,
    read_bytes,
    read_header,
    read_npy,
    read_npz,
    reading,
    translating,
)
from ._internal.texts import STRING, require_shallow
from ._internal.types import Array, Features, Floats, Ints
from ._internal.validation import check_rows, is_integer
from .errors import FileProblem, InvalidInput, MissingExtra, UnknownName, warn
from .labels import is_missing

__all__ = ["Links", "Matrix", "Table", "csv_field", "ids_as_text", "read_table", "split_column"]

TABLES, SVM = (".csv", ".tsv"), (".svm", ".svmlight", ".libsvm")
TEXT = (*TABLES, ".txt", *SVM)  # these may be gzipped
FORMATS = (".npy", ".npz", ".parquet", ".jsonl", ".json", *TEXT)
SPARSE_MARKS = {"data", "indices", "indptr", "shape"}
# What pandas, R, spreadsheets and databases write for a missing value.
MISSING_WORDS = frozenset(
    ["nan", "NaN", "NAN", "-nan", "NaT", "NA", "<NA>", "N/A", "n/a", "#N/A", "null", "NULL", "None"]
)
NUMBERS = "a matrix of numbers, one row per item"
LABELS, IDS = "labels, one per row", "ids, one per row"
MAX_BLOCK_BYTES = 1 << 28
LARGEST = 2**63
WHOLE, PADDED = re.compile("0|-?[1-9][0-9]{0,18}"), re.compile("[+-]?0[0-9]+")
ID_NAMES = ("id", "ids", "uuid")


def split_column(spec: str) -> tuple[str, tuple[str, ...] | None]:
    """Path and columns of ``FILE[:COLUMN[,COLUMN]]``; a file that has this very name wins.

    >>> split_column("rows.parquet:kind,year")
    ('rows.parquet', ('kind', 'year'))
    """
    path, colon, columns = spec.rpartition(":")
    if not colon or os.path.lexists(spec) or not columns or (path and not _suffix(Path(path))[0]):
        return spec, None
    return path, tuple(name.strip() for name in next(csv.reader([columns])))


def read_table(source: str | os.PathLike[str] | BinaryIO, columns: Sequence[str] | None = None) -> Table:
    """Open a file, or a pipe (``"-"`` is standard input).

    Parameters
    ----------
    source : str, path or binary stream
        ``FILE``, or ``FILE:COLUMN``; the extension says the format, see the top of this module.
    columns : sequence of str, default=None
        Names of the columns that are meant, in place of those after the colon.

    Raises
    ------
    FileProblem
        If the file is missing, of an unknown format, or its contents do not hold together.
    """
    if not isinstance(source, (str, os.PathLike)):
        return _PipeTable(source, str(getattr(source, "name", "the stream")), columns)
    if os.fspath(source) == "-":
        return _PipeTable(sys.stdin.buffer, "standard input", columns)
    path, named = split_column(os.fspath(source))
    file, columns = Path(path), columns if columns is not None else named
    with translating(file, "a table"):
        file.stat()
        if file.is_dir():
            raise IsADirectoryError
        if not file.is_file():
            return _PipeTable(open(file, "rb"), str(file), columns)
    suffix, zipped = _suffix(file)
    if not suffix or (zipped and suffix not in TEXT):
        raise FileProblem(
            f"{file}: the extension {file.suffix!r} says nothing about its format",
            f"one of {', '.join(FORMATS)}",
            "Rename the file, or convert it with np.save",
        )
    kinds: dict[str, type[Table]] = {
        ".npy": _NpyTable, ".npz": _NpzTable, ".parquet": _ParquetTable, ".jsonl": _JsonTable,
        ".json": _JsonTable, **dict.fromkeys((*TABLES, ".txt"), _TextTable), **dict.fromkeys(SVM, _SvmTable),
    }  # fmt: skip
    return kinds[suffix](file, suffix, columns)


def _suffix(file: Path) -> tuple[str, bool]:
    """The format by the name, empty if unknown; and whether the name says that it is gzipped."""
    zipped = file.suffix.lower() == ".gz"
    suffix = (file.with_suffix("") if zipped else file).suffix.lower()
    return (suffix if suffix in FORMATS else ""), zipped


class Matrix:
    """Rows of numbers that are still in their file.

    ``n_rows`` and ``n_columns`` are None where only reading on would tell, ``column_names`` where columns
    have none. ``once`` is True for a pipe, which can be read a single time.
    """

    def __init__(
        self,
        path: object,
        blocks: Callable[[int], Iterator[Features]],
        n_rows: int | None = None,
        n_columns: int | None = None,
        *,
        column_names: Sequence[str] | None = None,
        whole: Callable[[], Features] | None = None,
        once: bool = False,
    ) -> None:
        self.path, self.n_rows, self.n_columns, self.once = str(path), n_rows, n_columns, once
        self.column_names = None if column_names is None else tuple(column_names)
        self._blocks, self._whole, self._used = blocks, whole, False

    def blocks(self, rows: int = FIT_ROWS) -> Iterator[Features]:
        """Arrays (or CSR matrices) of at most ``rows`` rows, in order. Peak memory: a few blocks."""
        if self.once and self._used:
            raise FileProblem(f"{self.path} has been read already", "one pass over a pipe", "Use a file")
        self._used = True
        return self._blocks(max(1, int(rows)))

    def read(self) -> Features:
        """All rows as one array or CSR matrix; a ``.npy`` stays a memory map. Peak: twice the matrix."""
        if self._whole is not None:
            return self._whole()
        blocks = list(self.blocks())
        return sp.csr_array(sp.vstack(blocks)) if sp.issparse(blocks[0]) else np.concatenate(blocks)


class Links(NamedTuple):
    """Rows that belong together or not: row numbers (n, ends), verdicts and weights (n,) if there are any."""

    rows: Ints
    verdicts: Floats | None
    weights: Floats | None


class Table:
    """The columns of one file. ``names`` is empty where columns have none, ``asked`` are those named."""

    def __init__(self, file: Path, suffix: str, columns: Sequence[str] | None) -> None:
        self.path, self.suffix = file, suffix
        self.asked = None if columns is None else tuple(columns)

    # What a format says of itself.

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in the order of the file."""
        return ()

    def _values(self, name: str | None) -> Any:
        """One column: an array, a CSR matrix, or a list of Python values; of text, strings."""
        raise NotImplementedError

    def _matrix(self, names: Sequence[str] | None) -> Matrix:
        raise NotImplementedError

    written = False  # whether values are text, whatever is meant

    # Roles.

    def features(self, without: Iterable[str] = ()) -> Matrix:
        """The columns asked for, or all that hold numbers but those in ``without``."""
        without = set(without)
        if self.asked is None and not without:
            return self._matrix(None)
        if not self.names:
            self._refuse_names((self.asked or tuple(without))[0])
        return self._matrix(self._chosen({self._known(name) for name in without}))

    def labels(self, n_rows: int | None = None) -> Any:
        """One class per row: an array, or a list with None where it is unknown.

        Labels in text that are all whole numbers are read as numbers; ``07`` is a name and stays one.
        """
        values = self._one(LABELS, "label", n_rows)
        if isinstance(values, np.ndarray):
            values = self._sound(values)
            if values.ndim != 1:
                raise FileProblem(
                    f"{self.path} holds an array of shape {values.shape}", LABELS, "Pass a 0/1 matrix as tags"
                )
            return values
        if sp.issparse(values) or any(isinstance(value, (list, set, dict)) for value in values):
            raise FileProblem(f"{self.path} holds several labels per row", LABELS, "Pass it as tags")
        if not self.written:
            return [None if is_missing(value) else value for value in values]
        fields = [field.strip() for field in values]
        self._warn_of_missing_words(fields)
        found = [None if field in MISSING_WORDS else field or None for field in fields]
        self._warn_of_joined_classes(found)
        return _numbers_if_whole(found)

    def tags(self, n_rows: int | None = None) -> Any:
        """The tags of every row: sets (None where unknown), or a 0/1 matrix, dense or CSR.

        In text, ``;`` parts the tags of a row.
        """
        values = self._one("the tags of every row", "tag", n_rows)
        if sp.issparse(values) or (isinstance(values, np.ndarray) and values.ndim == 2):
            return values
        if not isinstance(values, np.ndarray) and any(isinstance(one, (list, set, tuple)) for one in values):
            return [None if is_missing(row) else _set_of(row) for row in values]
        if isinstance(values, np.ndarray) or not all(one is None or isinstance(one, str) for one in values):
            raise FileProblem(
                f"{self.path} holds one label per row, not sets of tags",
                "a 0/1 matrix, lists of tags, or text with ';' between the tags of a row",
                "Pass it as labels",
            )
        fields = [None if value is None else value.strip() for value in values]
        self._warn_of_missing_words(fields)
        rows = [
            None if row is None or row in MISSING_WORDS else {part.strip() for part in row.split(";")} - {""}
            for row in fields
        ]
        self._expect_separator(rows)
        return rows

    def ids(self, kind: str | None = None, n_rows: int | None = None) -> Array:
        """The id of every row, letter by letter: ``1.0``, ``007``, ``nan`` and `` lead`` are different ids.

        ``kind`` is what they are compared with, ``"number"`` or ``"text"``; None takes what the file holds:
        numbers if all are written as Python writes them. Of ``n_rows`` rows, none may be without an id.
        """
        values = self._one(IDS, "id" if n_rows is not None or kind == "number" else "text", n_rows)
        if isinstance(values, np.ndarray):
            values = self._sound(values)
            values = values.tolist() if values.ndim == 1 else [None]
        if sp.issparse(values):
            values = [None]
        empty = kind != "text" or n_rows is not None or self.suffix == ".txt"
        gap = next((k for k, one in enumerate(values) if is_missing(one) and (empty or one != "")), None)
        if not values or gap is not None:
            place = "" if gap is None else f": row {gap} has none (the first is 0)"
            raise FileProblem(
                f"{self.path} does not hold one id per row{place}", "a number or a name each", "Fill the gaps"
            )
        if kind is None:
            names = (one for one in values if isinstance(one, str))
            kind = "text" if any(not (self.written and _is_whole(one.strip())) for one in names) else "number"
        with translating(self.path, "ids in valid Unicode"):
            found = _strings(self.path, values) if kind == "text" else _integers(self.path, values)
        check_rows(len(found), f"ids in {self.path}", n_rows)
        return found

    def texts(self, n_rows: int | None = None) -> list[str]:
        """A text for every row, letter by letter; empty ones are no text."""
        values = self._one("a text per row", "text", n_rows)
        if isinstance(values, np.ndarray):
            values = self._sound(values).tolist()
        if sp.issparse(values) or any(isinstance(value, (list, dict)) for value in values):
            raise FileProblem(
                f"{self.path} holds lists, not texts", "one text per row", "Name the column of texts"
            )
        return ["" if value is None else str(value) for value in values]

    def payload(self, texts: Iterable[str] = (), wanted: Sequence[str] | None = None) -> dict[str, Array]:
        """Columns to filter by, those asked for, else ``wanted``, else all but embeddings (lists of floats).

        Booleans, numbers or text; lists of these as arrays of objects. Columns of text named in ``texts``
        stay text if all of their fields are numbers.
        """
        chosen = self.asked if self.asked is not None else wanted
        if not self.names and self.suffix in TABLES:
            self.asked = ()  # a single column, whose first line is its name
        if not self.names:
            raise damaged(self.path, "its columns have no names", "a table with names of columns")
        names = self._chosen(()) if not chosen else [self._known(name) for name in chosen]
        found = {}
        for name in names:
            values = self._values(name)
            if chosen is None and not self.written and _is_embedding(values):
                continue
            found[name] = self._typed(name, values, name in set(texts))
        lengths = {len(column) for column in found.values()}
        if not found or len(lengths) > 1:
            raise damaged(self.path, "it has no columns, or some of different length", "a table")
        return found

    def links(self, n_ends: int, n_rows: int, more: Sequence[str] = ()) -> Links:
        """Numbers of rows that belong together, ``n_ends`` in a line, and columns called ``more`` after them.

        ``more`` may hold "verdict", from −1 (not similar) to 1, and "weight". Rows count from 0.
        """
        form = ", ".join([*["row"] * n_ends, *more])
        try:
            values = np.asarray(self.features().read(), np.float64)
        except FileProblem as error:
            raise type(error)(
                error.wrong, f"lines of {form}: rows are numbered from 0, not named", error.remedy
            ) from error
        least = n_ends + ("verdict" in more)
        if not least <= values.shape[1] <= n_ends + len(more):
            raise InvalidInput(
                f"{self.path} has {values.shape[1]} columns", f"lines of {form}", "Rows are numbered from 0"
            )
        ends = values[:, :n_ends]
        with np.errstate(invalid="ignore"):
            broken = ~((ends == np.floor(ends)) & (ends >= 0) & (ends < n_rows)).all(axis=1)
        one_based = ends.min() == 1 and ends.max() == n_rows
        remedy = "Subtract 1: they seem to be counted from 1" if one_based else "Mend or remove these lines"
        self._refuse(broken, ends, "no row of the features", f"whole numbers from 0 to {n_rows - 1}", remedy)
        rows = ends.astype(np.int64)
        twice = (np.diff(np.sort(rows, axis=1), axis=1) == 0).any(axis=1) & (n_ends == 3)
        self._refuse(twice, ends, "a row twice", "three different rows", "Remove these lines")
        found: dict[str, Floats | None] = {"verdict": None, "weight": None}
        for place, name in enumerate(more[: values.shape[1] - n_ends], n_ends):
            column = values[:, place]
            if name == "verdict":
                wrong, expected = ~(np.abs(column) <= 1), "a number from −1 (not similar) to 1 (similar)"
            else:
                wrong, expected = ~(np.isfinite(column) & (column >= 0)), "a finite number, 0 or more"
            self._refuse(wrong, column[:, None], f"no {name}", expected, "Mend or remove these lines")
            found[name] = column
        return Links(rows, found["verdict"], found["weight"])

    # What the roles share.

    def _chosen(self, without: Iterable[str]) -> list[str]:
        """The columns asked for: those named, or all but those named with a minus and those in ``without``."""
        without = set(without) - set(self.asked or ())
        left_out = [name for name in self.asked or () if name not in self.names and name[:1] == "-"]
        picked = [name for name in self.asked or () if name not in left_out]
        without |= {self._known(name[1:]) for name in left_out}
        names = [self._known(name) for name in picked] or list(self.names)
        names = [name for name in names if name not in without]
        if not names:
            raise FileProblem(f"{self.path}: no column is left", "at least one", "Leave out fewer columns")
        return names

    def _known(self, name: str) -> str:
        if name not in self.names:
            raise UnknownName.among("column", name, self.names)
        return name

    def _refuse_names(self, name: str) -> None:
        raise FileProblem(
            f"{self.path} has no names of columns, so there is no {name!r}",
            "the file without a column, or a .csv with a line of names, a .npz or a .parquet",
            "Leave the column out",
        )

    def _one(self, expected: str, role: str, n_rows: int | None) -> Any:
        """The values of the column asked for, or of the only one."""
        if self.asked is not None and len(self.asked) != 1:
            raise FileProblem(
                f"{self.path}: several columns are named", f"one column of {expected}", "Name one"
            )
        if self.asked is not None and not self.names:
            self._refuse_names(self.asked[0])
        if self.asked is not None:
            values = self._values(self._known(self.asked[0]))
        elif len(self.names) > 1:
            raise FileProblem(
                f"{self.path} has the columns {', '.join(self.names)}"[:300],
                f"the one of {expected}",
                f"Name it: {self.path}:{self.names[0]}",
            )
        else:
            values = self._values(self.names[0] if self.names else None)
            if self.written and not self.names:
                values = self._without_heading(values, role, n_rows)
        if values.shape[0] == 0 if hasattr(values, "shape") else not values:
            raise damaged(self.path, "it holds no rows", expected)
        if (
            self.written and self.suffix == ".txt"
        ):  # blank lines at the end are rows only where rows need them
            while len(values) > (n_rows or 0) and not (values[-1].strip() if n_rows else values[-1]):
                values = values[:-1]
        return values

    def _without_heading(self, fields: list[str], role: str, n_rows: int | None) -> list[str]:
        """Leave out the first of one column's lines where it is a heading: a word above nothing but numbers."""
        first = fields[0].strip() if fields else ""
        if (
            role in ("tag", "text")
            or len(fields) < 2
            or not first
            or first in MISSING_WORDS
            or _is_number(first)
        ):
            return fields
        rest = [field.strip() for field in fields[1:]]
        rest = rest if role == "id" else [field for field in rest if field not in MISSING_WORDS | {""}]
        fits = role != "id" or n_rows is None or len(fields) == n_rows + 1
        numbers = all(_whole_number(one) is not None if role == "id" else _is_number(one) for one in rest)
        return fields[1:] if rest and fits and numbers else fields

    def _sound(self, array: Array) -> Array:
        """Refuse text with numbers in it that are no characters; one column is one dimension."""
        with translating(self.path, "text in valid Unicode"):
            if array.dtype.kind == "U":
                array.astype(array.dtype.newbyteorder("<")).tobytes().decode("utf-32-le")
        return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array

    def _typed(self, name: str, values: Any, as_text: bool) -> Array:
        """A column of one type; an error where a value is missing."""
        if isinstance(values, np.ndarray):
            values = self._sound(values).tolist() if values.dtype.kind in "US" else values
        if isinstance(values, np.ndarray) and values.dtype.kind in "biu" and values.ndim == 1:
            return values
        values = [value.strip() for value in values] if self.written else list(values)
        parse = None
        if self.written and not as_text:
            parse = _parser([one for one in values if one and one not in MISSING_WORDS])
        gaps: list[bool] = []
        if parse is not None:
            gaps = [not value or value in MISSING_WORDS for value in values]
        elif not self.written:
            gaps = [value != "" and is_missing(value) for value in values]  # empty text is text
        if any(gaps):
            raise FileProblem(
                f"{self.path}: row {gaps.index(True)} has no value in the column {name!r} (the first row is 0)",
                "a value in every row",
                "Fill the gaps, or leave the column out",
            )
        if parse is not None:
            return np.array([parse(value) for value in values])
        kinds: dict[str, Callable[[Any], bool]] = {
            "bool": lambda value: isinstance(value, (bool, np.bool_)),
            "int64": lambda value: is_integer(value) and -LARGEST <= value < LARGEST,
            "float64": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
            "text": lambda value: isinstance(value, str),
            "list": lambda value: isinstance(value, list),
        }
        kind = next((kind for kind, fits in kinds.items() if all(map(fits, values))), None)
        if kind is None:
            raise damaged(
                self.path,
                f"the column {name!r} holds values of several kinds, or dates",
                "booleans, numbers or text",
            )
        if kind not in ("text", "list"):
            return np.array(values, kind)
        column = np.empty(len(values), object)
        column[:] = values
        return column

    def _warn_of_missing_words(self, fields: Iterable[str | None]) -> None:
        found = Counter(field for field in fields if field in MISSING_WORDS)
        if found and self.written:
            listed = ", ".join(f"{word!r} ({times:,} times)" for word, times in sorted(found.items()))
            warn(
                f"{self.path}: {listed} is read as an unknown label. If it is a class, rename it, or write the "
                "labels as .json, where only null is unknown."
            )

    def _warn_of_joined_classes(self, classes: Sequence[str | None]) -> None:
        """Say that classes like ``a;b`` look like several tags in one cell."""
        names = sorted({name for name in classes if name is not None})
        for mark in (";", "|", ","):
            parts = [{part.strip() for part in name.split(mark)} for name in names if mark in name]
            times = Counter(part for name in names for part in {one.strip() for one in name.split(mark)})
            # Parts that stand in other names, too, are tags; "Paris, France" is a name with a comma.
            if any(len(row) > 1 and all(times[part] > 1 for part in row) for row in parts):
                warn(
                    f"Classes in {self.path} look like several tags parted by {mark!r}. If they are, pass tags."
                )
                return

    def _expect_separator(self, rows: Sequence[set[str] | None]) -> None:
        """Refuse tags that were never parted although most of them hold another separator."""
        filled = [row for row in rows if row]
        if not self.written or not filled or any(len(row) > 1 for row in filled):
            return
        for mark, shown in ((",", "','"), ("|", "'|'"), ("\t", "a tab")):
            holding = sum(mark in tag for row in filled for tag in row)
            if 2 * holding >= len(filled):
                raise InvalidInput(
                    f"No row of {self.path} has two tags parted by ';', and {holding:,} of {len(rows):,} hold {shown}",
                    "the tags of a row parted by ';'",
                    "Put ';' between them, or write lists into a .jsonl file",
                )

    def _refuse(self, wrong: Any, held: Array, what: str, expected: str, remedy: str) -> None:
        """Raise an error if lines are ``wrong`` (n,): what the first of them ``held``, and how many there are."""
        if wrong.any():
            first = int(wrong.argmax())
            shown = ", ".join(f"{number:.10g}" for number in np.ravel(held[first]))
            what = f"{self._place(first)} holds {shown}, {what}; so do {wrong.sum():,} of {len(wrong):,}"
            raise InvalidInput(what, expected, remedy)

    def _place(self, row: int) -> str:
        return f"Row {row} of {self.path} (the first is 0)"


class _NpyTable(Table):
    def _values(self, name: str | None) -> Array:
        return self._sound(read_npy(self.path))

    def _matrix(self, names: Sequence[str] | None) -> Matrix:
        array = read_npy(self.path)
        _expect_matrix(self.path, array.shape, array.dtype)
        return _in_memory(self.path, array)


class _NpzTable(Table):
    @property
    def names(self) -> tuple[str, ...]:
        held = tuple(npz_headers(self.path))
        return () if self.asked is None and set(held) >= SPARSE_MARKS else held

    def _values(self, name: str | None) -> Any:
        return _sparse(self.path) if name is None else self._sound(read_npz(self.path, name)[name])

    def _matrix(self, names: Sequence[str] | None) -> Matrix:
        headers = npz_headers(self.path)
        if self.asked is None and set(headers) >= SPARSE_MARKS:
            return _in_memory(self.path, _sparse(self.path))
        tables = [key for key, head in headers.items() if len(head.shape) == 2 and head.dtype.kind in "biuf"]
        names = names if self.asked is not None and names else tables
        if len(names) != 1 or (self.asked is None and {"scale", "offset"} <= set(headers)):
            held = ", ".join(f"{key} {head.shape}" for key, head in headers.items())
            raise FileProblem(
                f"{self.path} holds {held}", "one 2-D array of numbers", f"Name it: {self.path}:ARRAY"
            )
        name, head = names[0], headers[names[0]]
        _expect_matrix(self.path, head.shape, head.dtype)
        if head.fortran:
            return _in_memory(self.path, read_npz(self.path, name)[name])

        def blocks(rows: int) -> Iterator[Features]:
            with npz_member(self.path, name) as (header, stream):
                yield from _npy_blocks(stream, header, self.path, rows)

        return Matrix(self.path, blocks, *head.shape)


BLANK = " \t\r\n\f\v"  # not what only Unicode calls white space: U+2028 may be an id


class _TextTable(Table):
    """CSV and its relatives by the module csv; as features by NumPy's reader, block by block."""

    written = True

    @contextmanager
    def _opened(self, newline: str | None = None) -> Iterator[Lines]:
        with inflated(self.path, "lines of text") as stream:
            yield Lines(stream, newline)

    @property
    def names(self) -> tuple[str, ...]:
        if self.suffix == ".txt":
            return ()
        with self._opened() as lines:
            line, mark = self._first(lines)
        fields = [field.strip() for field in _fields(line, mark or ",")]
        if any(map(_is_number, fields)) or (len(fields) == 1 and self.asked is None):
            return ()
        if len(set(fields)) < len(fields):
            raise damaged(self.path, "two columns have one name", "a line of different names", "Rename one")
        return tuple(fields)

    def _first(self, lines: Lines) -> tuple[str, str | None]:
        """The first line that is not blank, and what parts its fields."""
        line = next((line for line in lines if line.strip(BLANK)), None)
        if line is None:
            raise damaged(self.path, "the file is empty", "lines of text")
        return line, "\t" if self.suffix == ".tsv" else _delimiter(line)

    def _values(self, name: str | None) -> list[str]:
        if self.suffix == ".txt":
            with self._opened("\n") as lines:
                return [line.removesuffix("\n").removesuffix("\r") for line in lines]
        names = self.names
        with self._opened() as lines:
            mark = self._first(lines)[1]
        place, width, found = 0 if name is None else names.index(name), 0, []
        with self._opened("") as lines:  # a line of U+2028 alone is no blank line here: it may be an id
            for number, row in enumerate(
                filter(None, csv.reader(lines, delimiter=mark or ",", strict=True)), 1
            ):
                width = width or len(row)
                if len(row) != width:
                    what = f"row {number} has {len(row)} columns"
                    raise damaged(self.path, what, f"{width}, as in the first", "Mend that row")
                found.append(row[place])
        if name is None and width > 1:
            raise FileProblem(
                f"{self.path} has {width} columns", "one column", f"Name it: {self.path}:COLUMN"
            )
        return found[1 if names else 0 :]

    def _matrix(self, names: Sequence[str] | None) -> Matrix:
        with self._opened() as lines:
            first, mark = self._first(lines)
        return _csv_matrix(self.path, self._opened, first, mark, names)

    def _place(self, row: int) -> str:
        with self._opened() as lines:
            numbers = [lines.number for line in lines if line.strip()]
            fields = None
        with self._opened() as lines:
            fields = _fields(*self._first(lines))
        return f"Line {numbers[row + (not any(map(_is_number, fields)))]} of {self.path}"


def _csv_matrix(
    path: object, opened: Any, first: str, mark: str | None, picked: Sequence[str] | None, once: bool = False
) -> Matrix:
    """Lines of numbers; the first line holds names if it has no number, or if some columns are picked."""
    fields = [field.strip() for field in _fields(first, mark)]
    header = picked is not None or not any(map(_is_number, fields))
    names = fields if picked is None else list(picked)
    places = list(range(len(fields))) if picked is None else [fields.index(name) for name in names]
    ignored: dict[Any, Callable[[str], float]] = {
        place: lambda text: 0.0 for place in range(len(fields)) if place not in places
    }

    def parsed(part: list[tuple[int, str]]) -> Floats:
        number, remedy = 0, "Mend that line"

        def text() -> Iterator[str]:
            nonlocal number
            for one in part:
                number, line = one
                yield line

        try:
            block = np.loadtxt(
                text(), delimiter=mark, comments=None, quotechar='"', converters=ignored, ndmin=2
            )
            if len(block) < len(part):
                raise ValueError("a quote is opened in one line and closed in another, or never")
            if block.shape[1] != len(fields):
                number = part[0][0]
                raise ValueError(f"the number of columns changed from {len(fields)} to {block.shape[1]}")
        except ValueError as error:  # NumPy counts rows from the start of a block; we name the line
            what = f": {str(error)[:120]}"
            if found := re.match(r"the number of columns changed from \d+ to (\d+)", str(error)):
                what = f" has {found[1]} column{'' if found[1] == '1' else 's'}"
            elif found := re.match(
                r"(?s)could not convert string (.*) to \w+ at row \d+, (.*)\.", str(error)
            ):
                what = f", {found[2]} holds {found[1][:40]}"
                remedy = f"Put a number there, or leave the column out ({path}:-COLUMN)"
            expected = f"{len(fields)} numbers in every line"
            raise damaged(path, f"line {number}{what}", expected, remedy) from error
        return block if picked is None else block[:, places]

    def blocks(rows: int) -> Iterator[Floats]:
        with translating(path, "lines of numbers with the same number of columns"), opened() as lines:
            if header and not once:
                next(line for line in lines if line.strip())
            numbered = ((lines.number, line) for line in lines if line.strip())
            empty = True
            while part := list(islice(numbered, rows)):
                yield parsed(part)
                empty = False
            if empty:
                raise damaged(path, "it has names of columns and no rows", "lines of numbers", "Add rows")

    return Matrix(path, blocks, None, len(places), column_names=names if header else None, once=once)


class _PipeTable(Table):
    """A stream that is read once: CSV or ``.npy``."""

    def __init__(self, stream: Any, what: str, columns: Sequence[str] | None) -> None:
        super().__init__(Path(what), "", columns)
        self._stream = stream if hasattr(stream, "peek") else io.BufferedReader(stream)

    def features(self, without: Iterable[str] = ()) -> Matrix:
        stream, path, magic = self._stream, self.path, b"\x93NUMPY"
        with translating(path, NUMBERS):
            start = stream.peek(len(magic))[: len(magic)]
            if not start:
                raise damaged(
                    path, "nothing came through it", "CSV or .npy", "Check the command before the pipe"
                )
            if start != magic:
                return self._csv(set(without))
            head = read_header(stream, path)
        _expect_matrix(path, head.shape, head.dtype)
        if self.asked is not None:
            self._refuse_names(self.asked[0])
        if head.fortran:
            what = "the array is in Fortran order, whose rows cannot be read one after the other"
            raise FileProblem(f"{path}: {what}", "rows in C order", "Save np.ascontiguousarray(X)")

        def blocks(rows: int) -> Iterator[Features]:
            with translating(path, NUMBERS):
                yield from _npy_blocks(stream, head, path, rows)
                if stream.read(1):
                    raise damaged(path, "more came than its header promises", NUMBERS)

        return Matrix(path, blocks, *head.shape, once=True)

    def _csv(self, without: set[str]) -> Matrix:
        lines = Lines(self._stream)
        first = next((line for line in lines if line.strip()), None)
        if first is None:
            raise damaged(
                self.path, "nothing came through it", "CSV or .npy", "Check the command before the pipe"
            )
        mark = _delimiter(first)
        fields = [field.strip() for field in _fields(first, mark)]
        if any(map(_is_number, fields)):
            lines.put_back(first)

        @contextmanager
        def opened() -> Iterator[Lines]:
            yield lines

        self._names = tuple(fields)
        picked = self._chosen(without) if self.asked is not None or without & set(fields) else None
        return _csv_matrix(self.path, opened, first, mark, picked, once=True)

    @property
    def names(self) -> tuple[str, ...]:
        return getattr(self, "_names", ())

    def _values(self, name: str | None) -> Any:
        raise FileProblem(f"{self.path} is a pipe", "a file", "Only features can come through a pipe")


class _SvmTable(Table):
    """SVMlight / LIBSVM text by scikit-learn: ``target position:value position:value ... # comment``.

    Targets are numbers; there may be several, parted by commas, or none. Positions rise along a line and count
    from 1, unless a position 0 shows that they count from 0.
    """

    KIND = "lines of 'target position:value ...' (SVMlight)"

    def _values(self, name: str | None) -> Any:
        found = [targets for _, block in self._parts(FIT_ROWS) for targets in block]
        rows = [[int(one) if one.is_integer() else one for one in targets] for targets in found]
        return [row[0] for row in rows] if all(len(row) == 1 for row in rows) else rows

    def _matrix(self, names: Sequence[str] | None) -> Matrix:
        n_rows, low, high = 0, 1, -1
        for X, _ in self._parts(FIT_ROWS):  # a first pass counts rows and columns and keeps nothing
            n_rows += X.shape[0]
            low, high = X.indices.min(initial=low), X.indices.max(initial=high)
        if high < 0:
            raise damaged(self.path, "it has no rows with features", self.KIND)
        width = int(high) + 1 - int(low)

        def blocks(rows: int) -> Iterator[Features]:
            for X, _ in self._parts(rows):
                yield sp.csr_array((X.data, X.indices - low, X.indptr), shape=(X.shape[0], width))

        return Matrix(self.path, blocks, n_rows, width)

    def _parts(self, rows: int) -> Iterator[tuple[Any, list[tuple[float, ...]]]]:
        with inflated(self.path, self.KIND) as stream:
            lines = Lines(stream)
            cut = ((lines.number, line.partition("#")[0]) for line in lines)
            filled = ((number, line) for number, line in cut if line.strip())
            while part := list(islice(filled, rows)):
                yield self._parsed(part)

    def _parsed(self, numbered: list[tuple[int, str]]) -> tuple[Any, list[tuple[float, ...]]]:
        from sklearn.datasets import load_svmlight_file

        text = "\n".join(line for _, line in numbered)
        try:
            if "_" in text:
                raise ValueError("a number with an underscore")  # Python reads 1_000 as one
            X, targets = load_svmlight_file(io.BytesIO(text.encode()), multilabel=True, zero_based=True)
        except (ValueError, OverflowError) as error:
            if len(numbered) > 1:  # which of the lines is it?
                for one in numbered:
                    self._parsed([one])
            number, line = numbered[0]
            what = f"line {number} holds {line.strip()[:60]!r}: {' '.join(str(error).split())[:100]}"
            raise damaged(self.path, what, self.KIND, "Mend that line") from error
        return X, targets


class _JsonTable(Table):
    """A JSON value in every line, or one list or object of lists; objects are rows with named columns."""

    _read: dict[str | None, list[Any]] | None = None

    def _held(self) -> dict[str | None, list[Any]]:
        if self._read is not None:
            return self._read
        with reading(self.path, "JSON: a value per line, or one list") as stream:
            if self.suffix == ".jsonl":
                rows: Any = []
                for number, line in enumerate(Lines(stream), 1):
                    try:
                        require_shallow(line)
                        if line.strip():
                            rows.append(json.loads(line))
                    except ValueError as error:
                        raise damaged(
                            self.path, f"line {number} is no JSON ({error})", "a value per line"
                        ) from error
            else:
                text = stream.read().decode("utf-8-sig")
                require_shallow(text)
                rows = json.loads(text)
        found: dict[str | None, list[Any]]
        if isinstance(rows, dict) and all(isinstance(column, list) for column in rows.values()):
            found = dict(rows)
        elif isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
            names = dict.fromkeys(name for row in rows for name in row)
            found = {name: [row.get(name) for row in rows] for name in names}
        elif isinstance(rows, list) and not any(isinstance(row, dict) for row in rows):
            found = {None: rows}
        else:
            raise damaged(
                self.path, "it holds something else", "a list of values or objects, or lists by name"
            )
        self._read = found
        return found

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self._held() if name is not None)

    def _values(self, name: str | None) -> list[Any]:
        return self._held()[name]

    def _matrix(self, names: Sequence[str] | None) -> Matrix:
        held = self._held()
        chosen = list(names or held)
        lists = [name for name in chosen if any(isinstance(value, list) for value in held[name])]
        chosen = lists if lists and names is None else chosen
        with translating(self.path, NUMBERS):
            if lists and len(chosen) > 1:
                raise ValueError("several columns of lists: name the one to read")
            X = np.array(
                held[chosen[0]] if lists else list(zip(*(held[name] for name in chosen), strict=True))
            )
            if X.dtype.kind not in "biuf":
                raise ValueError("values are missing or are no numbers")
        _expect_matrix(self.path, X.shape, X.dtype)
        matrix = _in_memory(self.path, X)
        matrix.column_names = None if lists or None in chosen else tuple(str(name) for name in chosen)
        return matrix


class _ParquetTable(Table):
    """Parquet through pyarrow: columns of numbers, or one column of lists of equal length."""

    KIND = "a .parquet file"

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """The file; pyarrow reports damaged contents as its own errors, or as an OSError without a number."""
        try:
            import pyarrow
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise MissingExtra.of("pyarrow", "parquet") from None
        with translating(self.path, self.KIND):
            try:
                with ParquetFile(self.path, pre_buffer=False) as file:  # which would keep what was read
                    yield file
            except (pyarrow.ArrowException, OSError) as error:
                if isinstance(error, FileProblem) or getattr(error, "errno", None):
                    raise
                detail = " ".join(str(error).split())[:120]
                raise damaged(self.path, f"pyarrow could not read it ({detail})", self.KIND) from error

    def _kinds(self) -> dict[str, str]:
        with self._opened() as file:
            return {field.name: _arrow_kind(field.type) for field in file.schema_arrow}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._kinds())

    def _values(self, name: str | None) -> Any:
        with self._opened() as file:
            column = file.read(columns=[name])[name]
        if self._kinds()[name or ""] == "number" and not column.null_count:
            return column.to_numpy()
        return column.to_pylist()

    def _matrix(self, names: Sequence[str] | None) -> Matrix:
        kinds = self._kinds()
        lists = [name for name in names or kinds if kinds[name] in ("floats", "ints")]
        if names is None or self.asked is None:
            lists = [name for name in lists if kinds[name] == "floats"] or lists
            names = lists or list(names or kinds)
        if len(lists) > 1 or (lists and len(names) > 1):
            raise FileProblem(
                f"{self.path} has several columns of lists of numbers: {', '.join(lists)}",
                "one column of embeddings",
                f"Name the one to read: {self.path}:{lists[0]}",
            )
        strange = next((name for name in names if kinds[name] not in ("number", "floats", "ints")), None)
        if strange is not None:
            raise FileProblem(
                f"{self.path}: the column {strange!r} holds no numbers",
                "columns of numbers, or one column of lists of numbers",
                f"Leave it out ({self.path}:-{strange}), or name the columns to read",
            )
        names, width = list(names), 0 if lists else len(names)

        def blocks(rows: int) -> Iterator[Array]:
            with self._opened() as file:
                for batch in file.iter_batches(rows, columns=names):
                    block = self._unpacked(batch[0]) if lists else self._stacked(batch.select(names))
                    if block.shape[1] != width:
                        what = f"its lists have {width} and {block.shape[1]} entries"
                        raise damaged(self.path, what, self.KIND)
                    yield block

        with self._opened() as file:
            n_rows = file.metadata.num_rows
            if lists and n_rows:
                width = self._unpacked(next(file.iter_batches(1, columns=names))[0]).shape[1]
        if n_rows == 0 or width == 0:
            raise damaged(self.path, f"it has {n_rows} rows and {width} columns", NUMBERS)
        return Matrix(self.path, blocks, n_rows, width, column_names=None if lists else names)

    def _stacked(self, batch: Any) -> Array:
        if any(column.null_count for column in batch.columns):
            raise damaged(self.path, "it holds missing values", NUMBERS, "Fill or drop them")
        return np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns])

    def _unpacked(self, column: Any) -> Array:
        values, lengths = column.flatten(), column.value_lengths().to_numpy(zero_copy_only=False)
        if column.null_count or values.null_count or (lengths != lengths[0]).any():
            raise damaged(self.path, "lists are missing or of different length", NUMBERS)
        return values.to_numpy(zero_copy_only=False).reshape(len(column), -1)


def _arrow_kind(kind: Any) -> str:
    """In a word what a column holds: number, text, floats, ints (lists of those) or other."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = kind.value_type
        return "floats" if types.is_floating(inner) else "ints" if _arrow_kind(inner) == "number" else "other"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return "number"
    return "text" if types.is_string(kind) or types.is_large_string(kind) else "other"


# ---- blocks of arrays --------------------------------------------------------------------------


def _in_memory(path: Path, array: Features) -> Matrix:
    def blocks(rows: int) -> Iterator[Features]:
        for part in block_slices(array.shape[0], rows):
            yield array[part]

    return Matrix(path, blocks, *array.shape, whole=lambda: array)


def _npy_blocks(stream: BinaryIO, header: Header, path: object, rows: int) -> Iterator[Features]:
    n_rows, n_columns = header.shape
    row_bytes = n_columns * header.dtype.itemsize
    rows = max(1, min(rows, MAX_BLOCK_BYTES // row_bytes))
    for start in range(0, n_rows, rows):  # no list: a pipe may claim any number of rows
        count = min(rows, n_rows - start)
        raw = read_bytes(stream, count * row_bytes, path, NUMBERS)
        yield raw.view(header.dtype).reshape(count, n_columns)


def _sparse(file: Path) -> sp.csr_array:
    """A matrix written by ``scipy.sparse.save_npz`` in CSR form."""
    arrays = read_npz(file)
    with translating(file, "a CSR matrix in SciPy's .npz format (save matrix.tocsr())"):
        indices, indptr, shape = (arrays[name] for name in ("indices", "indptr", "shape"))
        if arrays.get("format", np.array(b"csr")).item() not in (b"csr", "csr"):
            raise ValueError("it is sparse in another form than CSR")
        kinds = [part.dtype.kind for part in (indices, indptr, shape)]
        if arrays["data"].dtype.kind not in "biuf" or any(kind not in "iu" for kind in kinds):
            raise ValueError("its values are no numbers, or its places no whole numbers")
        if shape.shape != (2,) or 0 in shape:
            raise ValueError(f"its shape is {shape}")
        matrix = sp.csr_array((arrays["data"], indices, indptr), shape=tuple(shape.tolist()))
        matrix.check_format(full_check=True)
    return matrix


def _expect_matrix(path: object, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if len(shape) != 2 or dtype.kind not in "biuf" or 0 in shape:
        raise FileProblem(
            f"{path} holds an array of shape {shape} and dtype {dtype}", NUMBERS, "Save X as 2-D"
        )
    if shape[1] * dtype.itemsize > MAX_BLOCK_BYTES:
        raise damaged(path, f"it claims {shape[1]:,} columns", NUMBERS)


# ---- single values -----------------------------------------------------------------------------


def _set_of(row: Any) -> set[Any]:
    return {
        value for value in (row if isinstance(row, (list, tuple, set)) else [row]) if not is_missing(value)
    }


def _is_embedding(values: Any) -> bool:
    first = next((value for value in values if isinstance(value, list) and value), None)
    return first is not None and all(isinstance(one, float) for one in first)


def _is_number(text: str) -> bool:
    """Whether a field can be read as a number. Python reads 1_000 as one, no data file means it."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _delimiter(line: str) -> str | None:
    """The separator a line uses, None for white space."""
    return next((mark for mark in (",", "\t", ";", "|") if mark in line), None)


def _fields(line: str, mark: str | None) -> list[str]:
    return line.split() if mark is None else next(csv.reader([line], delimiter=mark))


def _numbers_if_whole(fields: list[str | None]) -> list[Any]:
    """'7' and '7.0' are the number 7 if all labels are whole; '07' is a name and stays one."""
    present = [field for field in fields if field is not None]
    if any(PADDED.fullmatch(field) for field in present) or not all(map(_is_number, present)):
        return list(fields)
    if not all(abs(float(field)) < 2**53 and float(field).is_integer() for field in present):
        return list(fields)
    return [None if field is None else int(float(field)) for field in fields]


def _parser(fields: list[str]) -> Callable[[str], object] | None:
    """What makes booleans or numbers of all these fields; None where they are text, as '07' is."""
    words = {"true": True, "false": False}
    if fields and all(field.lower() in words for field in fields):
        return lambda field: words[field.lower()]
    if not fields or not all(map(_is_number, fields)) or any(PADDED.fullmatch(field) for field in fields):
        return None
    if not all(field.lstrip("+-").isdecimal() for field in fields):
        return float
    return int if all(-LARGEST <= int(field) < LARGEST for field in fields) else None


def _is_whole(text: str) -> bool:
    """Whether Python writes an int64 so: '007', '+7' and '7.0' are names."""
    return WHOLE.fullmatch(text) is not None and -LARGEST <= int(text) < LARGEST


def _strings(path: Path, values: Sequence[object]) -> Array:
    wrong = next((one for one in values if not (isinstance(one, str) or is_integer(one))), None)
    if wrong is not None:
        raise FileProblem(f"{path} holds {wrong!r}"[:200], "text or integers as ids", "Write the ids as text")
    return np.array([str(one) for one in values], STRING)


def _integers(path: Path, values: Sequence[object]) -> Array:
    numbers = [_whole_number(one) for one in values]
    wrong = next((one for one, number in zip(values, numbers, strict=True) if number is None), None)
    if wrong is not None:
        came = "Numbers and strings came together as ids: " if isinstance(wrong, str) else ""
        raise FileProblem(f"{came}{path} holds {wrong!r}"[:200], "integers", "Pass the ids of the rows")
    fits = all(-LARGEST <= number < LARGEST for number in numbers if number is not None)
    return np.array(numbers, np.int64 if fits else object)


def _whole_number(value: object) -> int | None:
    """The integer that is meant, whichever way a program wrote it; None for text and fractions."""
    if is_integer(value):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 2**53 else None
    text = value.strip() if isinstance(value, str) else ""
    if WHOLE.fullmatch(text):
        return int(text)
    if not text.isascii() or PADDED.fullmatch(text) or not _is_number(text):
        return None
    return _whole_number(float(text))


def ids_as_text(ids: Iterable[int | str], path: str) -> str:
    """Ids for a text file, as `Table.ids` reads them; an error if its format cannot hold one of them."""
    suffix, texts = _suffix(Path(path))[0], [str(one) for one in ids]
    table = suffix in TABLES
    for text in texts:
        if "\0" in text or (not table and not re.fullmatch("[^\r\n]+", text)):
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
    return text if text and not re.search('["\r\n,\t;|\ufeff]|^ | $', text) else f'"{quoted}"'
