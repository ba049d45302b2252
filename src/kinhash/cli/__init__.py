"""The command line: one file per command, loaded only when it is called.

Other packages add commands under the entry point group "kinhash.commands".

`main` is the entry point. Results go to stdout, everything else to stderr. Whatever goes wrong is one
line on stderr and exit code 2; Ctrl-C is exit code 130. ``kinhash --help`` imports click and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

import click

from .. import __version__
from .._internal.files import remove_unfinished
from ..errors import KinhashError, KinhashWarning, MissingExtra, UnknownName
from .terminal import (
    INTERRUPTED,
    bar,
    counted,
    emit,
    json_option,
    open_closed_streams,
    stopped,
    stopping_within_a_second,
    table,
    visible,
    was_interrupted,
)

if TYPE_CHECKING:
    from .inputs import expect_output, open_codes, read_labels

# The command line, and what commands of other packages print and read with.
__all__ = [
    "COMMANDS",
    "INTERRUPTED",
    "bar",
    "counted",
    "emit",
    "expect_output",
    "json_option",
    "kinhash",
    "main",
    "open_codes",
    "read_labels",
    "table",
    "visible",
]

# One row per command: the function (in the file of that name), and its line in `kinhash --help`.
COMMANDS = {
    "fit": ("fit:fit", "Learn codes from rows and what is known about them, and judge the codes."),
    "encode": ("encode:encode", "Give every row of a matrix its code."),
    "index": ("index:index", "Make codes searchable: one exact index file."),
    "update": ("update:update", "Add, replace or remove rows of an index, or change their payload."),
    "search": ("search:search", "Find the nearest rows of an index."),
    "dedup": ("dedup:dedup", "Find groups of rows that are nearly the same."),
    "migrate": (
        "migrate:migrate",
        "Encode an index anew with another model, and compare before it is switched.",
    ),
    "bridge": ("bridge:bridge", "Let queries of a new embedding model search the codes of the old one."),
    "eval": ("eval:eval_command", "Score codes against labels, ties counted exactly."),
    "explore": ("explore:explore", "Make one offline page to look at codes, neighbors and labels."),
    "export": ("export:export", "Write codes to FAISS, DuckDB, PostgreSQL and others, or a model to ONNX."),
    "serve": ("serve:serve", "Serve a model and an index over HTTP, read-only."),
    "info": ("info:info", "Say what is in a file, or what is installed; compile kernels ahead of time."),
    "demo": ("demo:demo", "Learn, judge and show codes of handwritten digits."),
}
# Commands of other packages: click commands under this group of entry points.
PLUGINS = "kinhash.commands"
# Those of kinhash-bench, to say what to install where it is missing.
BENCH_COMMANDS, BENCH = ("audit", "data", "bench", "report"), "kinhash-bench"
FAILED, BROKEN_PIPE = 2, 141


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *_plugins()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _plugins():
            return _load_plugin(cmd_name)
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        return getattr(import_module(f".{module}", __name__), name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in BENCH_COMMANDS and args[0] not in _plugins():
            raise MissingExtra(
                f"`kinhash {args[0]}` is a command of the package {BENCH}, which is not installed",
                "",
                f"Install it with: pip install {BENCH}",
            )
        if args[0] not in self.list_commands(ctx):
            raise UnknownName.among("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = [(name, line) for name, (_, line) in COMMANDS.items()]
        lines += [(name, _plugin_line(name)) for name in _plugins()]
        with formatter.section("Commands"):
            formatter.write_dl(lines)
        missing = [name for name in BENCH_COMMANDS if name not in _plugins()]
        if missing:
            with formatter.section("More commands"):
                formatter.write_dl([(", ".join(missing), f"pip install {BENCH}")])


@cache
def _plugins() -> dict[str, Any]:
    """Entry points of commands by name; a plug-in cannot change what one of our names means."""
    from importlib.metadata import entry_points

    found = {point.name: point for point in entry_points(group=PLUGINS) if point.name not in COMMANDS}
    order = [name for name in BENCH_COMMANDS if name in found]
    return {name: found[name] for name in [*order, *sorted(set(found) - set(order))]}


def _load_plugin(name: str) -> click.Command:
    point = _plugins()[name]
    try:
        command = point.load()
    except Exception as error:
        raise MissingExtra(
            f"The command {name!r} cannot be loaded from {point.value} ({type(error).__name__}: {error})",
            f"a click command, as the entry point group {PLUGINS!r} promises",
            "Install the package that brings it again, or remove it",
        ) from error
    if not isinstance(command, click.Command):
        raise MissingExtra(
            f"The command {name!r} is a {type(command).__name__} in {point.value}",
            "a click command",
            "Remove the package that brings it, or tell its authors",
        )
    return command


def _plugin_line(name: str) -> str:
    try:
        return _load_plugin(name).get_short_help_str(limit=80)
    except MissingExtra as problem:
        return problem.wrong


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


def __getattr__(name: str) -> Any:
    if name in ("expect_output", "open_codes", "read_labels"):
        return getattr(import_module(".inputs", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


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
        result: object = kinhash.main(arguments, prog_name="kinhash", standalone_mode=False)
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
def _one_line_warnings() -> Iterator[None]:
    """Our own warnings in one line each; those of other packages are for programmers."""

    def show(message: Warning | str, category: type[Warning], *rest: object, **more: object) -> None:
        if issubclass(category, KinhashWarning):
            _say(f"Warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", KinhashWarning)
        warnings.showwarning = show
        yield
