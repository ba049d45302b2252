"""What all commands share: what they print, and how they stop.

Results go to stdout, as text or as JSON; talk and bars go to stderr, on a terminal only. Text from files is
printed with its control characters written out, because it may come from strangers.

Ctrl-C stops a command within a second. Python delivers it between two of its own instructions; a matrix product
of several seconds is one instruction. So a thread listens for the signal itself: it gives the command a moment
to stop by itself, then removes the command's temporary files and ends the process. Packages in C may turn
Ctrl-C into errors of their own, so the handler remembers that it came.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from .._internal.files import remove_unfinished

# Characters that move the cursor, recolor, rename or reverse what a terminal shows, and half characters.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
EVERY = 60.0  # seconds between two lines of progress off a terminal
INTERRUPTED = 130
PATIENCE = 0.6  # seconds a command gets to stop by itself
UNCHANGED = "What was there before is as it was."

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


def output_option(help: str, required: bool = True) -> Callable[[Any], Any]:
    """``-o FILE``."""
    return click.option("-o", "--output", metavar="FILE", required=required, help=help)


def file_option(name: str, help: str, form: str = "FILE[:COLUMN]", **how: Any) -> Callable[[Any], Any]:
    """``--name FILE[:COLUMN]``."""
    return click.option(f"--{name}", metavar=form, help=help, **how)


def read_share(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """``1%`` or ``0.01``."""
    if value is None:
        return None
    number = value.strip().removesuffix("%")
    try:
        share = float(number) / (100 if number != value.strip() else 1)
    except ValueError:
        share = -1.0
    if not 0 < share < 1:
        raise click.BadParameter(f"{value!r} is no share of matches, such as 1% or 0.01.")
    return share


def max_false_option(help: str) -> Callable[[Any], Any]:
    """``--max-false SHARE``."""
    return click.option("--max-false", metavar="SHARE", callback=read_share, help=help)


def refuse(*cases: tuple[object, str]) -> None:
    """Raise a usage error with the first sentence whose condition holds."""
    for wrong, sentence in cases:
        if wrong:
            raise click.UsageError(sentence)


def refuse_given(names: Sequence[str], why: str) -> None:
    """Raise a usage error if any of these parameters of the running command was given."""
    context = click.get_current_context()
    for one in context.command.params:
        source = context.get_parameter_source(one.name or "")
        if one.name in names and source not in (None, click.core.ParameterSource.DEFAULT):
            raise click.UsageError(f"{one.opts[-1]} has no effect {why}. Leave it out.")


def visible(text: str, *, one_line: bool = False) -> str:
    """Text with its control characters written out (``\\x1b``): a file may hold any.

    Line breaks stay, unless the text is part of a line.
    """
    text = HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)
    return text.replace("\n", "\\n") if one_line else text


def emit(result: Mapping[str, object], text: str, as_json: bool) -> None:
    """The result of a command, for machines or for people."""
    from .._internal.texts import plain

    click.echo(json.dumps(plain(result), indent=2, allow_nan=False) if as_json else visible(text))


def talk(text: str) -> bool:
    """A remark on an interactive terminal; pipes and log files do not get it. Whether it was made."""
    talking = sys.stderr.isatty()
    if talking:
        click.echo(visible(text), err=True)
    return talking


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns under their headings: the first to the left, the others to the right."""
    from .._internal.texts import columns

    return columns([[visible(cell, one_line=True) for cell in row] for row in rows])


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


# ---- stopping ----------------------------------------------------------------------------------

_came = threading.Event()
_outcome = [UNCHANGED]


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed, even if a library turned it into another error."""
    return _came.is_set()


def stopped() -> str:
    """The line a command ends with after Ctrl-C."""
    return f"Stopped. {_outcome[0]}"


def now_complete(what: str) -> None:
    """From here on, Ctrl-C leaves this behind: a sentence for the line a command ends with."""
    _outcome[0] = what


@contextlib.contextmanager
def stopping_within_a_second() -> Iterator[None]:
    """While the context lasts, Ctrl-C ends the process with exit code 130 in less than a second."""
    if os.name == "nt" or threading.current_thread() is not threading.main_thread():
        yield
        return
    _came.clear()
    now_complete(UNCHANGED)
    heard, ring = os.pipe()
    os.set_blocking(ring, False)
    finished = threading.Event()
    before = signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    handler = signal.getsignal(signal.SIGINT)

    def remember(number: int, frame: FrameType | None) -> None:
        _came.set()
        signal.default_int_handler(number, frame)

    def watch() -> None:
        while signals := os.read(heard, 16):
            if signal.SIGINT in signals and not finished.wait(PATIENCE):
                remove_unfinished()
                os.write(2, f"{stopped()}\n".encode())
                os._exit(INTERRUPTED)

    watcher = threading.Thread(target=watch, daemon=True, name="kinhash-interrupt")
    watcher.start()
    if handler is signal.default_int_handler:  # not where Ctrl-C is ignored, as in the background of a shell
        signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        finished.set()
        signal.signal(signal.SIGINT, handler)
        signal.set_wakeup_fd(before)
        os.close(ring)
        watcher.join(1)
        os.close(heard)
        sys.stderr.flush()


def open_closed_streams() -> list[str]:
    """Put the null device where a standard stream is closed; the names of those that were."""
    closed = []
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            closed.append(name)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115
    return closed
