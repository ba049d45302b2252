"""Given splits: files of row numbers, training rows inside the database allowed.

train.txt, query.txt, database.txt      one row number per line, or a .npy of them; rows count from 0
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from kinhash.errors import FileProblem, InvalidInput
from kinhash.plugins import read_npy, translating

from .partition import Partition, Rows

if TYPE_CHECKING:
    from .protocol import Protocol

__all__ = ["given_partition", "read_row_numbers"]


def given_partition(
    protocol: Protocol,
    n_rows: int,
    *,
    train: Any,
    query: Any,
    database: Any = None,
    validation: Any = (),
    number: int = 0,
) -> Partition:
    """A split of ``n_rows`` rows by their numbers, as lists or as files; the database is the training rows
    unless it is given. ``evaluate`` takes it in place of a number."""
    given = {"train": train, "query": query, "validation": validation}
    given["database"] = train if database is None else database
    parts = {name: _rows(name, rows, n_rows) for name, rows in given.items()}
    same = len(parts["train"]) == len(parts["database"]) and bool((parts["train"] == parts["database"]).all())
    if "learned" in protocol.codes and not same:
        raise InvalidInput(
            f"The protocol {protocol.name!r} asks for learned codes of rows that were not trained on",
            "codes=('mapped',)",
            "Change the protocol, for example with dataclasses.replace",
        )
    made = Partition(protocol.name, protocol.digest, number, n_rows, **parts)
    problem = made.problem()
    if problem:
        raise InvalidInput(f"The split cannot be used: {problem}", "rows of one part each", "Mend its lists")
    return made


def _rows(name: str, rows: Any, n_rows: int) -> Rows:
    numbers = read_row_numbers(rows) if isinstance(rows, (str, os.PathLike)) else np.asarray(rows)
    if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
        raise InvalidInput(f"The {name} rows are no list of whole numbers", "row numbers", "Pass such a list")
    ordered = np.sort(numbers.astype(np.int64))
    if len(ordered) and (ordered[0] < 0 or ordered[-1] >= n_rows or (np.diff(ordered) == 0).any()):
        raise InvalidInput(
            f"The {name} rows run from {ordered[0]} to {ordered[-1]}, or name a row twice",
            f"numbers from 0 to {n_rows - 1}, each once",
            "Count rows from 0",
        )
    return ordered


def read_row_numbers(path: str | os.PathLike[str]) -> Rows:
    """Row numbers of a file: one per line, or a one-dimensional ``.npy``."""
    if os.fspath(path).lower().endswith(".npy"):
        return np.array(read_npy(path))
    with translating(path, "row numbers, one per line"), open(path, encoding="utf-8") as stream:
        words = stream.read().split()
    try:
        return np.array([int(word) for word in words], np.int64)
    except (ValueError, OverflowError):
        raise FileProblem(
            f"{path}: not every line is a whole number", "row numbers, one per line", "Write numbers only"
        ) from None
