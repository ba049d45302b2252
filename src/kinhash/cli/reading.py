"""What a command has read, in one line, and what about it looks like a slip."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from .._internal.aliases import Features
from ..errors import InvalidInput, KinhashWarning
from ..supervision import Labels
from .terminal import counted, visible

__all__ = ["columns_used", "expect_separator", "summary", "warn_of_columns", "warn_of_joined_classes"]

SHOWN = 5
MOST_NAMES = 8  # of columns
FEWEST = 20  # rows below which an order or a scale says nothing
DWARFS = 1000.0  # a column with 1,000 times the spread of the next is in another unit
LOOKED_AT = 4_000_000  # numbers looked at for that


def summary(X: Features, labels: Labels | None, between: str | None = None) -> str:
    """Rows, columns and what is known of them: ``6,754 rows × 256 columns, 25 tags, 2.1 a row; ...``."""
    size = f"{counted(X.shape[0], 'row')} × {counted(X.shape[1], 'column')}"
    if between is not None:
        size = f"{size}, {between}"
    if labels is None:
        return f"{size}."
    names = [visible(str(name)[:40], one_line=True) for name in labels.names[:SHOWN].tolist()]
    more = ", ..." if len(labels.names) > SHOWN else "."
    unknown = int((~labels.known).sum())
    without = f"; {counted(unknown, 'row')} without a label" if unknown else ""
    if labels.tags is not None:
        kind, each = "tag", f"{labels.tags.nnz / max(1, len(labels) - unknown):.1f} a row"
    else:
        sizes = np.bincount(labels.indicator().indices, minlength=1)
        kind, each = "class", f"{sizes.min():,} to {sizes.max():,} rows each"
    plural = "classes" if kind == "class" else "tags"
    count = f"1 {kind}" if len(labels.names) == 1 else f"{len(labels.names):,} {plural}"
    return f"{size}, {count}, {each}{without}; first {plural}: {', '.join(names)}{more}"


def columns_used(path: str, taken: Sequence[str] | None, array: str | None) -> str:
    """The columns of a table that are features, and those that are not; nothing for other files.

    ``taken`` are the columns of numbers; None where features are lists, in ``array`` or the only such column,
    or where columns have no names.
    """
    from ..datasets import list_column, table_columns

    kinds = table_columns(path)
    if taken is None and kinds:
        in_lists = array or list_column(kinds, path)
        if in_lists is None:  # text whose first line is numbers
            return ""
        taken = [in_lists]
    others = [name for name in kinds if name not in (taken or ())]
    if not kinds or not taken:
        return ""
    return f" Features: {_some(taken)}; not used as features: {_some(others) if others else 'none'}."


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(visible(str(name)[:40], one_line=True) for name in names[:MOST_NAMES])
    return f"{shown} and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else shown


def expect_separator(labels: Labels, path: str, separator: str) -> None:
    """Refuse tags that were never parted although most of them hold another separator."""
    if labels.tags is None or labels.tags.nnz == 0 or np.diff(labels.tags.indptr).max() > 1:
        return
    for mark, shown in ((",", "','"), ("|", "'|'"), ("\t", "a tab"), (";", "';'")):
        holding = int(labels.tags.sum(axis=0) @ [mark in str(name) for name in labels.names.tolist()])
        if mark != separator and 2 * holding >= labels.tags.nnz:
            raise InvalidInput(
                f"No row of {path} holds two tags parted by {separator!r}, "
                f"and {holding:,} of {len(labels):,} hold {shown}",
                f"the tags of a row parted by {separator!r}",
                f"Pass --tag-separator {shown if mark != chr(9) else repr(mark)}, or --tag-separator "
                f"{separator!r} if the tags are as they should be",
            )


def warn_of_joined_classes(labels: Labels, path: str) -> None:
    """Say that classes like ``a;b`` look like several tags in one cell."""
    if labels.classes is None or labels.names.dtype.kind not in "UTO":
        return
    names = [str(name) for name in labels.names.tolist()]
    for mark in (";", "|", ","):
        parts = [[part.strip() for part in name.split(mark)] for name in names]
        times: dict[str, int] = {}
        for part in {(k, part) for k, row in enumerate(parts) for part in row}:
            times[part[1]] = times.get(part[1], 0) + 1
        # Parts that stand in other names, too, are tags; "Paris, France" is a name with a comma.
        joined = [len(row) > 1 and all(times[part] > 1 for part in row) for row in parts]
        rows = int(np.isin(labels.classes, np.flatnonzero(joined)).sum())
        if rows:
            warnings.warn(
                f"{rows:,} classes in {path} look like several tags, "
                f"the first {names[joined.index(True)]!r}. If they are, pass --tags with "
                f"--tag-separator {mark!r} instead of --labels.",
                KinhashWarning,
                stacklevel=2,
            )
            return


def warn_of_columns(X: Features, names: tuple[str, ...] | None) -> None:
    """Say which columns look like ids (ascending whole numbers) or are in another unit, like prices."""
    if sp.issparse(X) or X.shape[0] < FEWEST:
        return
    some = np.asarray(X[: max(FEWEST, LOOKED_AT // X.shape[1])], np.float64)

    def called(column: int) -> str:
        return f"Column {names[column]!r}" if names is not None else f"Column {column} (the first is 0)"

    remedy = "leave it out with --leave-out" if names is not None else "leave it out of the file"
    for column in np.flatnonzero(
        (np.diff(some, axis=0) > 0).all(axis=0) & (some == np.rint(some)).all(axis=0)
    ):
        whole = np.asarray(X[:, column])
        if (whole[1:] > whole[:-1]).all():
            warnings.warn(
                f"{called(int(column))} holds whole numbers that ascend from row to row, like an id. "
                f"If it is no feature, {remedy}.",
                KinhashWarning,
                stacklevel=2,
            )
    with np.errstate(over="ignore", invalid="ignore"):
        spread = some.std(axis=0)
    order = np.argsort(spread)
    if X.shape[1] > 1 and spread[order[-1]] > DWARFS * spread[order[-2]] > 0:
        warnings.warn(
            f"{called(int(order[-1]))} varies {spread[order[-1]] / spread[order[-2]]:,.0f} times as much as "
            "any other, like a price or a time: cosine and LSH see nothing else. "
            f"If it is no feature, {remedy}.",
            KinhashWarning,
            stacklevel=2,
        )
