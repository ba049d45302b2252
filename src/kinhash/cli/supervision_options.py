"""Labels, tags and kinship, read from the files that options name; and which options go together."""

from __future__ import annotations

import csv
import os
import re
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput, UnknownName
from ..supervision import KINSHIPS, Labels, read_labels
from .reading import expect_separator, warn_of_joined_classes
from .terminal import counted

if TYPE_CHECKING:
    from .fitting import Request

__all__ = ["read_kinship", "read_some_labels", "read_supervision", "require_one_kind", "require_some_kind"]

SEPARATOR = ";"
BETWEEN = ("pairs", "triplets", "similarity")  # options that say what is known between rows
HEADINGS = ("name", "label", "class", "tag", "child", "parent", "above")


def require_one_kind(labels: str | None, tags: str | None, column: str | None) -> None:
    """Refuse to start without labels, or with two kinds of them."""
    if labels and tags:
        raise click.UsageError(
            "Pass one of --labels, --tags or --label-column, not --labels and --tags together."
        )
    if not (labels or tags or column):
        raise click.UsageError("Pass one of --labels, --tags or --label-column.")


def require_some_kind(request: Request) -> None:
    """Refuse to start without supervision, or with two kinds that do not go together."""
    between = [name for name in BETWEEN if getattr(request, name)]
    of_rows = [name for name in ("labels", "tags") if getattr(request, name)]
    for given in (between, of_rows):
        if len(given) > 1:
            raise click.UsageError(
                "Pass one of --labels, --tags or --label-column, and one of --pairs, --triplets or "
                f"--similarity, not {' and '.join('--' + name for name in given)} together."
            )
    if not (between or of_rows or request.label_column):
        raise click.UsageError(
            "Pass --labels, --tags or --label-column, or one of --pairs, --triplets and --similarity."
        )
    if request.label_weight != 1 and not (between and (of_rows or request.label_column)):
        raise click.UsageError("--label-weight weighs labels beside pairs: pass both.")
    if request.kinship is not None and not (of_rows or request.label_column):
        raise click.UsageError("--kinship says how similar labels are: pass --labels or --tags, too.")


def read_supervision(
    features: str,
    labels: str | None,
    tags: str | None,
    column: str | None,
    separator: str | None,
    n_rows: int,
) -> Labels:
    """The labels of the one option that was given, checked against the number of rows.

    Without a ``separator`` it is ";", and tags are refused where they look separated by something else.
    """
    if labels is None and tags is None:
        labels = features  # a column of the table itself
    path = labels or tags
    assert path is not None
    found = read_some_labels(path, tags is not None, column, separator or SEPARATOR, n_rows)
    if tags is not None and separator is None:
        expect_separator(found, path, SEPARATOR)
    if len(found) == n_rows + 1 and column is None:
        raise InvalidInput(
            f"{path} holds {len(found):,} labels for {n_rows:,} rows, one too many",
            "one label per row",
            "If its first line is a column name, pass that name as --label-column",
        )
    return read_labels(found, n_rows)


def read_some_labels(path: str, tags: bool, column: str | None, separator: str, n_rows: int = 0) -> Labels:
    """Classes, or the tags of every row, which ``separator`` separates in text files."""
    from ..datasets import open_labels

    if not tags:
        found = open_labels(path, column=column, n_rows=n_rows)
        warn_of_joined_classes(found, path)
        return found
    text = path.lower().removesuffix(".gz").endswith((".txt", ".csv", ".tsv", ".parquet"))
    found = open_labels(path, column=column, separator=separator if text else None, n_rows=n_rows)
    if not found.is_tags:
        raise InvalidInput(
            f"{path} holds one label per row, not sets of tags",
            "a 0/1 matrix, lists of tags, or text with the tags of a row in one line",
            "Pass it as --labels",
        )
    return found


def read_kinship(name_or_path: str) -> Any:
    """The name of a kinship, or from a file a matrix between classes, or a table of names and parents."""
    from ..datasets import open_matrix

    if name_or_path in KINSHIPS:
        return name_or_path
    if not os.path.exists(name_or_path):
        raise UnknownName.among("kinship or file of that name", name_or_path, KINSHIPS)
    parents = _parents(name_or_path)
    return open_matrix(name_or_path).read() if parents is None else parents


def _parents(path: str) -> dict[Any, Any] | None:
    """Names and parents in two columns of text; None for a matrix of numbers, or no text."""
    from ..datasets import inflated, read_lines

    if not path.lower().removesuffix(".gz").endswith((".csv", ".tsv", ".txt")):
        return None
    with inflated(path, "lines of name, parent") as stream:
        places = [(number, line) for number, line in enumerate(read_lines(stream), 1) if line.strip()]
    lines = [line for _, line in places]
    mark = next((mark for mark in ("\t", ";", ",") if lines and mark in lines[0]), ",")
    rows = [[field.strip() for field in row] for row in csv.reader(lines, delimiter=mark)]
    # Two lines of two numbers are a 2 × 2 matrix between classes, not two names and their parents.
    square = len(rows) == 2 and all(_is_number(field) for row in rows for field in row)
    wrong = [k for k, row in enumerate(rows) if len(row) != 2]
    if square or not rows or (wrong and _is_matrix(lines)):
        return None
    if wrong:
        place = f"Line {places[wrong[0]][0]} of {path}" if len(rows) == len(lines) else path
        raise InvalidInput(
            f"{place} has {counted(len(rows[wrong[0]]), 'column')}; {len(wrong):,} of {len(rows):,} lines do "
            "not have two",
            "lines of name, parent, separated by a comma, a semicolon or a tab; or a matrix of numbers",
            "Leave other columns out; put names that hold the separator into quotes",
        )
    if rows[0][0].lower() in HEADINGS and rows[0][1].lower() in HEADINGS:
        rows = rows[1:]
    parents: dict[Any, Any] = {}
    for name, above in rows:
        if parents.setdefault(name, above) != above:
            raise InvalidInput(
                f"{path} gives {name!r} the parents {parents[name]!r} and {above!r}",
                "one parent for a name",
                "Drop one",
            )
    # Labels that are all whole numbers are read as numbers.
    numbered = {int(name): (name, above) for name, above in parents.items() if name.isdecimal()}
    return parents | {
        number: number if name == above else above for number, (name, above) in numbered.items()
    }


def _is_matrix(lines: list[str]) -> bool:
    """Whether all lines are numbers, but for a first one with names."""
    rows = [re.split(r"[\s,;|]+", line.strip()) for line in lines]
    return all(_is_number(field) for row in rows[1:] or rows for field in row)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
