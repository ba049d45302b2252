"""ARFF, the text format of WEKA and MULAN, with dense and sparse rows, by the package liac-arff.

@attribute color numeric        a number
@attribute beach {0,1}           one of the values listed
@data
0.5,1                            dense
{0 0.5, 1 1}                     sparse: position and value; what is left out is 0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import arff
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.plugins import Lines, damaged, inflated

__all__ = ["Arff", "read_arff"]

KIND = "an ARFF file"
# What liac-arff raises for damaged files, beside errors that every reader expects.
PROBLEMS = (arff.ArffException, LookupError, TypeError, AttributeError)

Numbers = dict[str, float]


@dataclass(frozen=True, eq=False)
class Arff:
    """Attribute names and the values (n, len(names)): a float64 array, or CSR for sparse rows."""

    names: list[str]
    values: npt.NDArray[np.float64] | sp.csr_array

    @property
    def is_sparse(self) -> bool:
        """Whether the rows were written as position and value."""
        return not isinstance(self.values, np.ndarray)


def read_arff(path: str | Path) -> Arff:
    """Read one file, gzipped or not. Values from a list that are not numbers become their position."""
    with inflated(path, KIND) as stream:
        lines = [line.strip() for line in Lines(stream)]
        places = _data_lines(lines)
        sparse = bool(places) and lines[places[0]].startswith("{")
        try:
            found = arff.load(iter(lines), return_type=arff.LOD_GEN if sparse else arff.DENSE_GEN)
        except PROBLEMS as error:
            raise damaged(path, str(error)[:200], KIND) from error
        names = [name for name, _ in found["attributes"]]
        text = next((name for name, kind in found["attributes"] if kind == "STRING"), None)
        if text is not None:
            expected = "numeric attributes, or lists of values"
            raise damaged(path, f"the attribute {text[:40]!r} holds text", expected, "Leave it out")
        if not places:
            raise damaged(path, "it has no rows after @data", KIND)
        kinds = [kind for _, kind in found["attributes"]]
        nominal = {k: _numbered(kind) for k, kind in enumerate(kinds) if isinstance(kind, list)}
        rows = _rows(found["data"], _sparse_row if sparse else _dense_row, nominal, places, path)
        return Arff(names, _csr(rows, names, nominal, path) if sparse else np.array(rows))


def _rows(
    data: Iterator[Any], row: Any, nominal: dict[int, Numbers], places: list[int], path: Any
) -> list[Any]:
    """Every row as numbers, or an error that names its line."""
    out: list[Any] = []
    try:
        for values in data:
            out.append(row(values, nominal))
    except (*PROBLEMS, ValueError) as error:
        number = places[len(out)] + 1
        if isinstance(error, arff.ArffException):
            error.line = number
        raise damaged(path, f"line {number}: {str(error)[:120]}", "numbers, none of them missing") from error
    return out


def _data_lines(lines: list[str]) -> list[int]:
    """Places of the lines that hold rows."""
    start = next((k for k, line in enumerate(lines) if line.lower().startswith("@data")), len(lines))
    return [k for k in range(start + 1, len(lines)) if lines[k] and not lines[k].startswith("%")]


def _numbered(values: Iterable[str]) -> Numbers:
    """Value → number: its own where all are numbers, else its position."""
    listed = list(values)
    try:
        return {value: float(value) for value in listed}
    except (TypeError, ValueError):
        return {value: float(k) for k, value in enumerate(listed)}


def _dense_row(row: list[Any], nominal: dict[int, Numbers]) -> npt.NDArray[np.float64]:
    _refuse_missing(row)
    for column, listed in nominal.items():
        row[column] = listed[row[column]]
    return np.array(row, np.float64)


def _sparse_row(row: dict[int, Any], nominal: dict[int, Numbers]) -> tuple[list[int], list[float]]:
    _refuse_missing(row.values())
    columns = sorted(row)
    return columns, [nominal[k][row[k]] if k in nominal else float(row[k]) for k in columns]


def _refuse_missing(values: Iterable[Any]) -> None:
    if None in values:
        raise ValueError("a value is missing")


def _csr(rows: list[Any], names: list[str], nominal: dict[int, Numbers], path: object) -> sp.csr_array:
    left_out = next((c for c, listed in nominal.items() if next(iter(listed.values())) != 0), None)
    if left_out is not None:
        what = f"attribute {names[left_out]!r} would have a value other than 0 where it is left out"
        raise damaged(path, what, "sparse rows whose first listed value is 0", "Write the rows dense")
    indptr = np.concatenate([[0], np.cumsum([len(columns) for columns, _ in rows])])
    indices = np.array([column for columns, _ in rows for column in columns], np.int64)
    data = np.array([value for _, values in rows for value in values], np.float64)
    return sp.csr_array((data, indices, indptr), shape=(len(rows), len(names)))
