"""What commands say: results to stdout, as text or as JSON; talk and bars to stderr, on a terminal only."""

from __future__ import annotations

import json
import re
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import click

__all__ = [
    "array_option",
    "bar",
    "counted",
    "emit",
    "header_option",
    "json_option",
    "payload_options",
    "separator_option",
    "table",
    "talk",
    "unless_talked",
    "visible",
    "wrapped",
]

# Characters that move the cursor, recolor, rename or reverse what a terminal shows, and half characters.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
EVERY = 60.0  # seconds between two lines of progress off a terminal
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
header_option = click.option(
    "--header/--no-header", default=None, help="Whether FEATURES (CSV) begins with names; guessed otherwise."
)
separator_option = click.option(
    "--tag-separator", metavar="TEXT", help="Between the tags of a row in text.  [default: ;]"
)
array_option = click.option(
    "--array",
    "--features",
    "array",
    metavar="NAME",
    help="Which array of a .npz, or list column of a .parquet.",
)


def payload_options(command: Callable[..., object]) -> Callable[..., object]:
    """The two options that name columns which travel with the rows."""
    command = click.option(
        "--payload-columns", metavar="NAME,NAME", help="These columns of the payload alone."
    )(command)
    return click.option(
        "--payload",
        metavar="FILE",
        help="Columns to filter by, one row per code in the same order: .csv, .parquet or .json.",
    )(command)


def visible(text: str, *, one_line: bool = False) -> str:
    """Text with its control characters written out (``\\x1b``): a file may hold any.

    Line breaks stay, unless the text is part of a line.
    """
    text = HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)
    return text.replace("\n", "\\n") if one_line else text


def emit(result: Mapping[str, object], text: str, as_json: bool) -> None:
    """The result of a command, for machines or for people."""
    from .._internal.json import plain

    click.echo(json.dumps(plain(result), indent=2, allow_nan=False) if as_json else visible(text))


def talk(text: str) -> None:
    """A remark on an interactive terminal; pipes and log files do not get it."""
    if sys.stderr.isatty():
        click.echo(visible(text), err=True)


def unless_talked(text: str) -> list[str]:
    """A line of a result, unless `talk` has printed it during the work."""
    return [] if sys.stderr.isatty() else [text]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns under their headings: the first to the left, the others to the right."""
    from .._internal.texts import columns

    return columns([[visible(cell, one_line=True) for cell in row] for row in rows])


def wrapped(sentence: str) -> str:
    """A sentence in lines of a hundred letters."""
    return textwrap.fill(sentence, 100)


@contextmanager
def bar(label: str, total: float | None = None) -> Iterator[Callable[[float, str | None], None]]:
    """A bar with the time left. Call what you get with the amount done so far, and a new label if any.

    Without a total the bar shows how much was done. Off a terminal, long work writes a plain line to stderr
    once a minute, and nothing is imported.
    """
    if not sys.stderr.isatty():
        yield _lines(label, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    count = "" if total is None or total <= 1 else "{task.completed:,.0f} of {task.total:,.0f}"
    columns = [
        TextColumn("{task.description:<26}"),
        BarColumn(),
        TextColumn(count if total is not None else "{task.completed:,.0f} rows"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=total)

        def move(done: float, label: str | None = None) -> None:
            shown.update(task, completed=done, description=label)

        yield move


def _lines(label: str, total: float | None) -> Callable[[float, str | None], None]:
    """What stands in for a bar off a terminal: a log shows that long work goes on, and how far it is."""
    start = last = time.monotonic()

    def move(done: float, name: str | None = None) -> None:
        nonlocal last, label
        label, now = name or label, time.monotonic()
        if now - last < EVERY:
            return
        last = now
        far = f"{done:,.0f} rows" if total is None else f"{done / max(total, 1e-9):.0%}"
        click.echo(f"{label}: {far} after {now - start:,.0f} s", err=True)

    return move


def counted(number: int, thing: str) -> str:
    """``1 row``, ``2,000 rows``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
