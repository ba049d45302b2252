"""Which columns of a table to read: those picked by name, and the one of features, of labels, of ids.

A name decides, or there is only one column that can be meant; where two can, we ask instead of guessing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import FileProblem, UnknownName

__all__ = ["Pick", "id_column", "label_column", "list_column", "table_columns"]

LABELS = ("label", "labels", "class", "target", "tag", "tags", "y")
IDS = ("id", "ids", "uuid")


class Pick(NamedTuple):
    """Columns to read, in this order (None: all), and columns to leave out."""

    columns: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.columns is not None or bool(self.without)

    def positions(self, names: Sequence[str] | None, path: object) -> list[int]:
        """Where the wanted columns stand among ``names``."""
        if names is None:
            raise FileProblem(
                f"{path} has no column names", "a table with a line of names", "Pick columns before saving it"
            )
        for name in (*(self.columns or ()), *self.without):
            if name not in names:
                raise UnknownName.among("column", name, names)
        wanted = names if self.columns is None else self.columns
        places = [list(names).index(name) for name in wanted if name not in self.without]
        if not places:
            raise FileProblem(f"{path}: no column is left", "at least one feature", "Leave out fewer columns")
        return places


def table_columns(path: str | Path) -> dict[str, str]:
    """Names of the columns of a table, and what each holds where that is known; empty for other files."""
    file = str(path).lower().removesuffix(".gz")
    if file.endswith(".parquet"):
        from .parquet import parquet_kinds

        return parquet_kinds(Path(path))
    if file.endswith((".csv", ".tsv")):
        from .text import csv_matrix

        return dict.fromkeys(csv_matrix(Path(path), True, None, Pick()).column_names or (), "unknown")
    return {}


def list_column(kinds: Mapping[str, str], path: object) -> str | None:
    """The column of lists of numbers, floats before integers; None without one, an error for several."""
    for wanted in ("floats", "ints"):
        found = [name for name, kind in kinds.items() if kind == wanted and not _is_called(name, LABELS)]
        if len(found) > 1:
            raise FileProblem(
                f"{path} has several columns of lists of numbers: {', '.join(found)}",
                "one column of embeddings",
                "Name the one to read (--features NAME on the command line)",
            )
        if found:
            return found[0]
    return None


def label_column(kinds: Mapping[str, str], path: object) -> str:
    """The column of labels: the only one with such a name, or the only one that is nothing else."""
    called = [name for name in kinds if _is_called(name, LABELS)]
    other = [name for name, kind in kinds.items() if kind != "floats" and not _is_called(name, IDS)]
    for found in (called, other if len(kinds) > 1 else list(kinds)):
        if len(found) == 1:
            return found[0]
    raise FileProblem(
        f"{path} has the columns {', '.join(kinds)}"[:300],
        "one that is called label, class or tags",
        "Name the column of labels (--label-column NAME on the command line)",
    )


def id_column(kinds: Mapping[str, str]) -> str | None:
    """The column of ids, if one has such a name."""
    called = [name for name, kind in kinds.items() if kind in ("number", "text") and _is_called(name, IDS)]
    return called[0] if len(called) == 1 else None


def _is_called(name: str, names: tuple[str, ...]) -> bool:
    return name.lower() in names
