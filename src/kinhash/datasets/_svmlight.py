"""SVMlight / LIBSVM text: ``target position:value position:value ... # comment``.

Targets may be several, parted by commas, or none. Positions rise along a line and count from 1,
unless a position 0 shows that they count from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..errors import FileProblem
from ._files import damaged, inflated
from ._rows import Matrix
from ._text import as_number, text_lines

__all__ = ["svmlight_matrix", "svmlight_targets"]

KIND = "lines of 'target position:value ...' (SVMlight)"
MAX_COLUMNS = 2**31 - 1


class _Row(NamedTuple):
    targets: list[str]
    positions: list[int]
    values: list[float]


def svmlight_matrix(path: Path, n_columns: int | None = None) -> Matrix:
    """Open the features. A first pass counts rows and columns; nothing is kept in memory."""
    n_rows, low, high = 0, 1, -1
    for row in _rows(path):
        n_rows += 1
        if row.positions:
            low, high = min(low, row.positions[0]), max(high, row.positions[-1])
    if n_rows == 0 or high < 0:
        raise damaged(path, "it has no rows with features", KIND)
    found = high + 1 - low
    width = found if n_columns is None else n_columns
    if found > width:
        raise FileProblem(f"{path} has {found} columns", f"at most {width}", "Pass the matching file")

    def blocks(rows: int) -> Iterator[sp.csr_array]:
        held: list[_Row] = []
        for row in _rows(path):
            held.append(row)
            if len(held) == rows:
                yield _csr(held, low, width)
                held = []
        if held:
            yield _csr(held, low, width)

    return Matrix(str(path), blocks, n_rows, width)


def svmlight_targets(path: Path) -> list[list[str]]:
    """The targets of every line, as text."""
    return [row.targets for row in _rows(path)]


def _csr(rows: list[_Row], low: int, width: int) -> sp.csr_array:
    indptr = np.concatenate([[0], np.cumsum([len(row.positions) for row in rows])])
    indices = np.array([position for row in rows for position in row.positions], np.int64) - low
    data = np.array([value for row in rows for value in row.values], np.float64)
    return sp.csr_array((data, indices, indptr), shape=(len(rows), width))


def _rows(path: Path) -> Iterator[_Row]:
    with inflated(path, KIND) as stream:
        for number, line in enumerate(text_lines(stream), 1):
            tokens = line.partition("#")[0].split()
            if tokens:
                yield _parsed(tokens, path, number)


def _parsed(tokens: list[str], path: Path, number: int) -> _Row:
    targets = [] if ":" in tokens[0] else tokens.pop(0).split(",")
    positions: list[int] = []
    values: list[float] = []
    for token in tokens:
        position, colon, value = token.partition(":")
        if position == "qid":
            continue
        try:
            where, what = int(position) if "_" not in position else -1, as_number(value)
        except ValueError:
            where, what = -1, 0.0
        if not colon or where < 0 or where > MAX_COLUMNS or (positions and where <= positions[-1]):
            raise damaged(path, f"line {number} holds {token[:40]!r} out of place", KIND, "Mend that line")
        positions.append(where)
        values.append(what)
    return _Row(targets, positions, values)
