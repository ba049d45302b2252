"""Pages of the command line, made from what `--help` prints."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import click

FOLDER = "commands"


def setup(app: Any) -> dict[str, Any]:
    """Make the pages when the build begins."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}


def write_pages(app: Any) -> None:
    """One page per command, and one that lists them."""
    from kinhash.cli import kinhash

    folder = Path(app.srcdir) / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    top = click.Context(kinhash, info_name="kinhash", terminal_width=96, max_content_width=96)
    names = kinhash.list_commands(top)
    for name in names:
        command = kinhash.get_command(top, name)
        assert command is not None
        (folder / f"kinhash-{name}.rst").write_text(page(f"kinhash {name}", command, top), "utf-8")
    text = heading("Command line") + "What ``kinhash --help`` prints; every command has a page.\n\n"
    text += block(kinhash.get_help(top)) + "\n.. toctree::\n   :hidden:\n\n"
    text += "".join(f"   kinhash {name} <kinhash-{name}>\n" for name in names)
    (folder / "index.rst").write_text(text, "utf-8")


def page(title: str, command: click.Command, top: click.Context) -> str:
    """The help of a command, and that of its subcommands below."""
    name = title.rpartition(" ")[2]
    context = click.Context(command, info_name=name, parent=top, terminal_width=96, max_content_width=96)
    text = heading(title) + block(command.get_help(context))
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            inner = command.get_command(context, sub)
            assert inner is not None
            below = click.Context(
                inner, info_name=sub, parent=context, terminal_width=96, max_content_width=96
            )
            text += f"\n{title} {sub}\n{'-' * len(f'{title} {sub}')}\n\n" + block(inner.get_help(below))
    return text


def heading(text: str) -> str:
    """A title."""
    return f"{text}\n{'=' * len(text)}\n\n"


def block(text: str) -> str:
    """Text as it is printed."""
    return ".. code-block:: text\n\n" + "".join(f"   {line}".rstrip() + "\n" for line in text.splitlines())
