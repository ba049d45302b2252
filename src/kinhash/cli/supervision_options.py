"""What `kinhash fit` learns from: labels, tags or pairs, read from the user's files."""

from __future__ import annotations

import click
import numpy as np

from ..errors import InvalidInput
from ..metrics import Pairs
from ..supervision import Labels, read_labels
from .reading import expect_separator, warn_of_joined_classes

__all__ = ["read_pairs", "read_some_labels", "read_supervision", "require_one_kind"]

SEPARATOR = ";"


def require_one_kind(
    labels: str | None, tags: str | None, pairs: str | None, column: str | None, *, pairs_too: bool = True
) -> None:
    """Refuse to start without supervision, or with several kinds of it; not every command takes pairs."""
    given = [name for name, path in (("labels", labels), ("tags", tags), ("pairs", pairs)) if path]
    if len(given) > 1 or (not given and column is None):
        raise click.UsageError(
            f"Pass one of --labels, --tags{', --pairs' if pairs_too else ''} or --label-column"
            + (f", not {' and '.join('--' + name for name in given)} together." if given else ".")
        )


def read_supervision(
    features: str,
    labels: str | None,
    tags: str | None,
    pairs: str | None,
    column: str | None,
    separator: str | None,
    n_rows: int,
) -> Labels | Pairs:
    """The labels or pairs of the one option that was given, checked against the number of rows.

    Without a ``separator`` tags are parted by ";", and refused where they look parted by something else.
    """
    if labels is None and tags is None and pairs is None:
        labels = features  # a column of the table itself
    if pairs is not None:
        return read_pairs(pairs)
    path = labels or tags
    assert path is not None
    found = read_some_labels(path, tags is not None, column, separator or SEPARATOR)
    if tags is not None and separator is None:
        expect_separator(found, path, SEPARATOR)
    if len(found) == n_rows + 1 and column is None:
        raise InvalidInput(
            f"{path} holds {len(found):,} labels for {n_rows:,} rows, one too many",
            "one label per row",
            "If its first line is a column name, pass that name as --label-column",
        )
    return read_labels(found, n_rows)


def read_some_labels(path: str, tags: bool, column: str | None, separator: str) -> Labels:
    """Classes, or the tags of every row; in text the tags of a row are parted by ``separator``."""
    from ..datasets import open_labels

    if not tags:
        found = open_labels(path, column=column)
        warn_of_joined_classes(found, path)
        return found
    text = path.lower().removesuffix(".gz").endswith((".txt", ".csv", ".tsv", ".parquet"))
    found = open_labels(path, column=column, separator=separator if text else None)
    if not found.is_tags:
        raise InvalidInput(
            f"{path} holds one label per row, not sets of tags",
            "a 0/1 matrix, lists of tags, or text with the tags of a row in one line",
            "Pass it as --labels",
        )
    return found


def read_pairs(path: str) -> Pairs:
    """Three columns: row, row, verdict (1 similar, −1 or 0 dissimilar)."""
    from ..datasets import open_matrix

    rows = np.asarray(open_matrix(path).read())
    if rows.shape[1] != 3:
        raise InvalidInput(
            f"{path} has {rows.shape[1]} columns",
            "three: row, row, verdict (1 for similar, -1 for dissimilar)",
            "Rows are numbered from 0 in the order of the features",
        )
    with np.errstate(invalid="ignore"):
        broken = ~(np.isfinite(rows) & (rows == np.floor(rows))).all(axis=1)
    if broken.any():
        first = int(broken.argmax())
        raise InvalidInput(
            f"Pair {first} of {path} is {tuple(rows[first].tolist())}",
            "whole numbers: row, row, verdict",
            "Rows are numbered from 0 in the order of the features",
        )
    left, right, verdict = rows.astype(np.int64).T
    return Pairs(left, right, np.where(verdict == 0, -1, verdict))
