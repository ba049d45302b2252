"""Payload columns from a table: checked against the rows, in the types of an index that has some already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import click
import numpy as np

from .._internal.texts import STRING
from .._internal.types import Array, Facts
from ..datasets import open_table
from ..errors import InvalidInput
from .terminal import counted

__all__ = ["Payload", "read_payload"]

IDS = ("id", "ids", "uuid")


class Payload(NamedTuple):
    """The columns, None without a file; and the names of those that the index does not have."""

    columns: Facts | None
    left_out: tuple[str, ...] = ()


def read_payload(
    path: str | None,
    columns: str | None,
    n_rows: int,
    ids: Array | None,
    known: Mapping[str, object] | None = None,
) -> Payload:
    """The columns of a file, or those named in a comma-separated list, one value per row.

    Without a list, all columns, or for an index with payload (``known``) those it has. A column called id
    must then hold the ids of the rows in their order, and is left out.
    """
    if path is None:
        if columns is not None:
            raise click.UsageError("--payload-columns needs --payload FILE.")
        return Payload(None)
    own = tuple(known or ())
    others: list[str] = []

    def own_and_ids(names: list[str]) -> list[str]:
        more = [name for name in names if name not in own]
        others.extend(name for name in more if not _holds_ids(name))
        return [*own, *filter(_holds_ids, more)]

    named = [name.strip() for name in columns.split(",")] if columns else None
    wanted = own_and_ids if own and named is None else named
    texts = [name for name, column in (known or {}).items() if getattr(column, "dtype", None) == STRING]
    if ids is not None and ids.dtype.kind not in "iu":  # names, which may look like numbers
        texts += [spelled(name) for name in IDS for spelled in (str.lower, str.upper, str.title)]
    found = open_table(path, wanted, texts)
    for name, column in found.items():
        if len(column) != n_rows:
            raise InvalidInput(
                f"{path} has {counted(len(column), 'row')} and there are {counted(n_rows, 'code')}",
                f"one row for each code, in the same order ({name!r} was counted)",
                "Pass files that match",
            )
    if columns is None and ids is not None:
        for name in [name for name in found if _holds_ids(name) and name not in own]:
            _expect_same_ids(path, name, found.pop(name), ids)
    return Payload(
        {name: _as_known(column, (known or {}).get(name)) for name, column in found.items()}, tuple(others)
    )


def _holds_ids(name: str) -> bool:
    return name.lower() in IDS


def _expect_same_ids(path: str, name: str, column: Array, ids: Array) -> None:
    """Refuse a payload in another order than the rows."""
    pairs = zip(map(str, column.tolist()), map(str, ids.tolist()), strict=True)
    wrong = next(
        ((k, here, there) for k, (here, there) in enumerate(pairs) if here.strip() != there.strip()), None
    )
    if wrong is not None:
        raise InvalidInput(
            f"Row {wrong[0]} of {path} has the {name} {wrong[1]!r}, and the code there has {wrong[2]!r}",
            "the rows of the payload in the order of the codes",
            f"Sort the file, or name its columns without {name!r} in --payload-columns",
        )


def _as_known(column: Array, known: object) -> Array:
    """Numbers in the type of the index where none of them changes."""
    if not isinstance(known, np.ndarray) or known.dtype.kind not in "biuf" or column.dtype.kind not in "biuf":
        return column
    with np.errstate(all="ignore"):
        cast = column.astype(known.dtype)
    alike = (column.dtype == bool) == (cast.dtype == bool)
    same = np.array_equal(cast, column, equal_nan="f" in column.dtype.kind + cast.dtype.kind)
    return cast if alike and same else column
