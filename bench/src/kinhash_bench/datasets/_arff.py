"""ARFF, the text format of WEKA and MULAN, with dense and sparse rows.

@attribute colour numeric        a number
@attribute beach {0,1}           one of the values listed
@data
0.5,1                            dense
{0 0.5, 1 1}                     sparse: position and value; what is left out is 0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.plugins import as_number, damaged, inflated, is_number, text_lines

__all__ = ["Arff", "read_arff"]

KIND = "an ARFF file"
ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s{]+)\s*(.*)""", re.I)
NUMERIC = {"numeric", "real", "integer"}


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
        lines = enumerate(text_lines(stream), 1)
        names, nominal = _header(lines, path)
        rows = [(number, line) for number, line in _content(lines)]
        if not rows:
            raise damaged(path, "it has no rows after @data", KIND)
        if rows[0][1].startswith("{"):
            return Arff(names, _sparse(rows, path, names, nominal))
        return Arff(names, _dense(rows, path, names, nominal))


def _content(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for number, line in lines:
        text = line.strip()
        if text and not text.startswith("%"):
            yield number, text


def _header(lines: Iterator[tuple[int, str]], path: object) -> tuple[list[str], dict[int, dict[str, float]]]:
    """Attribute names, and for each attribute with a list of values: value → number."""
    names: list[str] = []
    nominal: dict[int, dict[str, float]] = {}
    for number, text in _content(lines):
        word = text.split(None, 1)[0].lower()
        if word == "@data":
            if not names:
                raise damaged(path, "it declares no attributes", KIND)
            return names, nominal
        if word == "@attribute":
            match = ATTRIBUTE.fullmatch(text)
            if match is None:
                raise damaged(path, f"line {number} declares an attribute in no known way", KIND)
            kind = match[2].strip()
            if kind.startswith("{") and kind.endswith("}"):
                nominal[len(names)] = _numbered(kind[1:-1])
            elif kind.split(None, 1)[0].lower() not in NUMERIC if kind else True:
                what = f"line {number} declares an attribute of type {kind[:40]!r}"
                raise damaged(path, what, "numeric attributes, or lists of values", "Leave the attribute out")
            names.append(_unquoted(match[1]))
        elif word != "@relation":
            raise damaged(path, f"line {number} begins with {word[:40]!r}", "@relation, @attribute or @data")
    raise damaged(path, "the file ends before @data", KIND)


def _numbered(values: str) -> dict[str, float]:
    listed = [_unquoted(value.strip()) for value in values.split(",")]
    numbers = all(is_number(value) for value in listed)
    return {value: float(value) if numbers else float(k) for k, value in enumerate(listed)}


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _value(text: str, column: int, nominal: dict[int, dict[str, float]]) -> float:
    listed = nominal.get(column)
    if listed is None:
        return as_number(text)
    value = listed.get(_unquoted(text))
    if value is None:
        raise ValueError(f"{text[:40]!r} is not one of the values listed")
    return value


def _dense(
    rows: list[tuple[int, str]], path: object, names: list[str], nominal: dict[int, dict[str, float]]
) -> npt.NDArray[np.float64]:
    out = np.empty((len(rows), len(names)))
    for k, (number, text) in enumerate(rows):
        fields = text.split(",")
        if len(fields) != len(names):
            what = f"line {number} has {len(fields)} values"
            raise damaged(path, what, f"one for each of {len(names)} attributes")
        try:
            # Most attributes are plain numbers; one conversion of the whole line is 5 times faster.
            out[k] = fields
            for column, listed in nominal.items():
                if out[k, column] not in listed.values():
                    raise ValueError
        except ValueError:
            try:
                out[k] = [_value(field.strip(), column, nominal) for column, field in enumerate(fields)]
            except ValueError as error:
                raise damaged(
                    path, f"line {number}: {error}", "numbers (missing values are not read)"
                ) from None
    return out


def _sparse(
    rows: list[tuple[int, str]], path: object, names: list[str], nominal: dict[int, dict[str, float]]
) -> sp.csr_array:
    left_out = next((c for c, listed in nominal.items() if next(iter(listed.values())) != 0), None)
    if left_out is not None:
        what = f"attribute {names[left_out]!r} would have a value other than 0 where it is left out"
        raise damaged(path, what, "sparse rows whose first listed value is 0", "Write the rows dense")
    indptr, indices, data = [0], [], []
    for number, text in rows:
        if not (text.startswith("{") and text.endswith("}")):
            raise damaged(path, f"line {number} is not sparse as the others are", "{position value, ...}")
        seen = -1
        try:
            for pair in text[1:-1].split(",") if text[1:-1].strip() else []:
                position, value = pair.split(None, 1)
                column = int(position)
                if not seen < column < len(names):
                    raise ValueError(f"position {column} is out of order or out of range")
                indices.append(column)
                data.append(_value(value.strip(), column, nominal))
                seen = column
        except ValueError as error:
            raise damaged(path, f"line {number}: {str(error)[:80]}", "{position value, ...}") from None
        indptr.append(len(indices))
    return sp.csr_array(
        (np.array(data, float), np.array(indices, np.int64), indptr), shape=(len(rows), len(names))
    )
