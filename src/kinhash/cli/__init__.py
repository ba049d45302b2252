"""The command line: one file per command, loaded only when it is called.

`main` is the entry point. Results go to stdout, everything else to stderr. Whatever goes wrong is one
line on stderr and exit code 2; Ctrl-C is exit code 130. ``kinhash --help`` imports click and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from .. import __version__
from .._files import remove_unfinished
from ..errors import KinhashError, KinhashWarning
from ._interrupt import INTERRUPTED, stopped, stopping_within_a_second, was_interrupted
from ._streams import open_closed_streams
from ._terminal import visible

__all__ = ["COMMANDS", "kinhash", "main"]

# One row per command: the function (in the file of that name), and its line in `kinhash --help`.
COMMANDS = {
    "fit": ("fit:fit", "Learn codes from your rows and labels, and judge them."),
    "advise": ("advise:advise", "Say how many bits your rows need, and what codes lose."),
    "encode": ("encode:encode", "Give every row of a matrix its code."),
    "info": ("info:info", "Say what is in a kinhash file, after verifying it."),
    "index": ("index:index", "Make codes searchable: one exact index file."),
    "search": ("search:search", "Find the nearest rows of an index."),
    "explore": ("explore:explore", "Make one offline page to look at codes, neighbours and labels."),
    "export": ("export:export", "Write codes to FAISS, DuckDB, PostgreSQL and other engines."),
    "eval": ("eval:evaluate", "Score codes against labels, ties counted exactly."),
    "audit": ("audit:audit", "Score anybody's codes again, and look for known mistakes."),
    "data": ("data:data", "List, check and prepare the known data sets."),
    "bench": ("bench:bench", "Run a benchmark, or go on with one."),
    "report": ("report:report", "Make a page of the results of a benchmark."),
    "demo": ("demo:demo", "Learn, judge and picture codes of handwritten digits."),
}
FAILED, BROKEN_PIPE = 2, 141


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f".{module}", __name__), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            from ..errors import UnknownName

            raise UnknownName.among("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 96})
@click.version_option(__version__, prog_name="kinhash")
def kinhash() -> None:
    """Short binary codes that know your labels, and exact search among them.

    \b
    kinhash demo                                             see it work
    kinhash fit X.npy --labels y.txt -o model.kin            learn from your own rows
    kinhash encode model.kin new.npy -o codes.kin            codes of new rows
    kinhash COMMAND --help                                   an example of every command

    Tab completion: put  eval "$(_KINHASH_COMPLETE=bash_source kinhash)"  into ~/.bashrc
    (zsh_source and fish_source for the other shells).
    """


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command and leave with its exit code; no traceback for anything a user can cause."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    if "stdout" in open_closed_streams():
        _say(
            "Error: Standard output is closed. Expected a place for the result. Add `> /dev/null` to drop it."
        )
        sys.exit(FAILED)
    with stopping_within_a_second(), _one_line_warnings():
        code = _run(arguments)
        if code == INTERRUPTED:
            remove_unfinished()
            os._exit(code)  # threads that still compute would hold up a polite exit
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    try:
        result: Any = kinhash.main(arguments, prog_name="kinhash", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except (KeyboardInterrupt, click.Abort):
        _say(stopped())
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if was_interrupted():
            _say(stopped())
            return INTERRUPTED
        problem = _in_words(error)
        if problem is None:
            raise
        _say(f"Error: {problem}")
    return FAILED


def _in_words(error: Exception) -> str | None:
    """What went wrong, for errors that a user can cause; None for a mistake of ours."""
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "kinhash"
        return f"{error.format_message()} See `{command} --help`."
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, KinhashError):
        return str(error)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or error}."
    if isinstance(error, MemoryError):
        return f"There is not enough memory ({error}). Try fewer rows."
    return None


def _say(text: str) -> None:
    """One line on stderr, whatever line breaks a message carries."""
    with contextlib.suppress(OSError):
        click.echo(visible(" ".join(text.split())), err=True)


@contextlib.contextmanager
def _one_line_warnings() -> Any:
    """Our own warnings in one line each; those of other packages are for programmers."""

    def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        if issubclass(category, KinhashWarning):
            _say(f"Warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", KinhashWarning)
        warnings.showwarning = show
        yield
