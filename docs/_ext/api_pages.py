"""Pages of the API: one per public thing, one per room, made when the build begins.

Docstrings have sections as in numpydoc, with items ``name : what it means``. What a section does not say of
a parameter, the glossary says; types and defaults come from the signature.
"""

from __future__ import annotations

import inspect
import re
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

from listing import (
    Entry,
    entries,
    examples,
    explained,
    glossary,
    items,
    meaning,
    methods,
    parameters,
    room_names,
    rooms,
    split,
)
from sphinx.util import logging

log = logging.getLogger(__name__)
FOLDER = "api"
# Types that say less than the words beside them.
UNSAID = {"Any", "Features", "Kinship", "LabelsLike", "Matrix", "Numbers", "Pairs", "npt.ArrayLike"}
BASES = {
    "Hasher": "kinhash.base.Hasher",
    "HammingIndex": "kinhash.HammingIndex",
}  # whose methods many have


def setup(app: Any) -> dict[str, Any]:
    """Make the pages first, then listen to every docstring, then count."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("env-check-consistency", count)
    return {"parallel_read_safe": True}


# -- pages ---------------------------------------------------------------------------------------


def write_pages(app: Any) -> None:
    """A folder of its own, written anew."""
    folder = Path(app.srcdir) / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    homes, doors = entries()
    codes = examples()[1]
    for entry in homes:
        text = entry_page(entry)
        if entry.full_name in codes:
            text += example_block(codes[entry.full_name])
        (folder / f"{entry.full_name}.rst").write_text(text, "utf-8")
    for room in rooms():
        mine = [entry for entry in homes if entry.room == room]
        (folder / f"{page_of(room)}.rst").write_text(room_page(room, mine, doors), "utf-8")
    (folder / "index.rst").write_text(index_page(homes), "utf-8")


def page_of(room: str) -> str:
    """The name of a room's page; no thing has it."""
    return f"room-{room}"


def title(text: str) -> str:
    """A heading."""
    return f"{text}\n{'=' * len(text)}\n\n"


def entry_page(entry: Entry) -> str:
    """A class with its methods, or a function, or a value."""
    text = title(entry.name) + f".. currentmodule:: {entry.room}\n\n"
    if entry.kind == "data":
        return text + data_block(entry)
    text += f".. auto{entry.kind}:: {entry.name}\n"
    shown = methods(entry)
    if inspect.isclass(entry.thing) and entry.full_name != "kinhash.EnergyHasher":
        above = [BASES[one.__name__] for one in entry.thing.__mro__[1:] if one.__name__ in BASES]
        text += f"\n   It has the methods of :py:obj:`{above[0]}`, too.\n" if above else ""
    if shown:
        text += "\n   .. rubric:: Methods and properties\n"
    for name, value in shown.items():
        what = "property" if isinstance(value, property) else "method"
        text += f"\n   .. auto{what}:: {name}\n"
    return text


def data_block(entry: Entry) -> str:
    """A table of names, or a constant."""
    lines = [f".. py:data:: {entry.name}", ""]
    if hasattr(entry.thing, "kind"):
        lines += [f"   Names of each {entry.thing.kind}, and what they stand for:", ""]
        lines += [f"   * ``{name}``" for name in entry.thing]
    else:
        lines.append(
            f"   {meaning(glossary(), entry.full_name, 'value') or ''} Its value is ``{entry.thing!r}``."
        )
    return "\n".join(lines) + "\n"


def example_block(code: str) -> str:
    """An example, and where its names come from."""
    lines = ["", ".. rubric:: Example", "", ".. code-block:: python", ""]
    lines += [f"   {line}".rstrip() for line in code.split("\n")]
    if re.search(r"\b(X|y|codes|new|hasher|index|X_new)\b", code):
        lines += ["", "``X``, ``y``, ``hasher`` and the like are those of :doc:`the beginning <index>`."]
    return "\n".join(lines) + "\n"


def room_page(room: str, mine: list[Entry], doors: dict[str, Entry]) -> str:
    """What a room is for, then its names with a sentence each."""
    text = title(room) + f".. py:module:: {room}\n\n" + module_words(room) + "\n\n"
    text += ".. list-table::\n   :widths: 35 65\n   :class: names\n\n"
    for name in room_names(room):
        home = doors.get(f"{room}.{name}") or next(one for one in mine if one.name == name)
        text += f"   * - :py:obj:`{name} <{home.full_name}>`\n     - {first_sentence(home.thing)}\n"
    text += "\n.. toctree::\n   :hidden:\n\n"
    return text + "".join(f"   {entry.name} <{entry.full_name}>\n" for entry in mine)


def module_words(room: str) -> str:
    """The docstring of a module, its drawings and programs left out."""
    paragraphs = inspect.cleandoc(import_module(room).__doc__ or "").split("\n\n")
    kept = [
        one for one in paragraphs if not re.search(r"^\s{2,}\S|^\S+.*\s{3,}#|^from |=|^\|", one, re.MULTILINE)
    ]
    kept = [re.sub(r"::$", ".", one) for one in kept]
    return "\n\n".join(re.sub(r"(?<!`)`([^`\s]+)`(?!`)", r"``\1``", one) for one in kept)


def first_sentence(thing: Any) -> str:
    """Of its docstring, on one line."""
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return f"Table of each {thing.kind}." if hasattr(thing, "kind") else f"``{thing!r}``"
    words = " ".join(inspect.cleandoc(thing.__doc__ or "").split("\n\n")[0].split())
    words = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", words)
    masked = re.sub(r"``.*?``", lambda found: "x" * len(found[0]), words)  # no end inside a formula
    end = re.search(r"(?<=[^\s.])[.:;](\s|$)", masked)
    return (words[: end.start()] if end else words).replace("*", "\\*") + "."


def index_page(homes: list[Entry]) -> str:
    """All rooms with what they are for."""
    text = title("API reference")
    text += (
        f"{len(homes)} public names, each described once, in the room where it is usually imported from.\n\n"
    )
    text += "Examples in the reference begin with\n\n.. code-block:: python\n\n"
    text += "".join(f"   {line}".rstrip() + "\n" for line in examples()[0].split("\n")) + "\n"
    text += ".. list-table::\n   :widths: 30 70\n   :class: names\n\n"
    for room in rooms():
        words = first_sentence(type("Room", (), {"__doc__": import_module(room).__doc__}))
        words = "What ``from kinhash import …`` gives." if room == "kinhash" else words
        text += f"   * - :doc:`{room} <{page_of(room)}>`\n     - {words}\n"
    return (
        text
        + "\n.. toctree::\n   :hidden:\n\n"
        + "".join(f"   {room} <{page_of(room)}>\n" for room in rooms())
    )


# -- docstrings ----------------------------------------------------------------------------------


def rewrite(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn sections into field lists, and add what they do not say of parameters."""
    before, sections = split(lines)
    out = [*before, ""]
    if what in ("class", "function", "method"):
        meanings = explained(name, thing, glossary())
        for one in parameters(thing):
            if meanings[one.name] is None:
                log.warning("parameter %s of %s is described nowhere", one.name, name)
            out.append(f":param {one.name}: {kind_of(one)}{meanings[one.name]}")
    if "Returns" in sections:
        out.append(f":returns: {' '.join(items(sections['Returns']).values())}")
    out.append("")
    if "Attributes" in sections:
        out += [".. rubric:: Attributes", ""]
        for attribute, text in items(sections["Attributes"]).items():
            out += [f"``{attribute}``", f"   {text}", ""]
        rest = [line for line in sections["Attributes"] if line and not re.match(r"^\s|^[\w, ]+ : ", line)]
        out += [*rest, ""]
    for key in ("Notes", "Examples", "References"):
        if key in sections:
            out += [f".. rubric:: {key}", "", *sections[key], ""]
    lines[:] = out


def kind_of(parameter: inspect.Parameter) -> str:
    """Type and default, as the signature has them."""
    said = []
    kind = parameter.annotation
    if isinstance(kind, str) and kind.removesuffix(" | None") not in UNSAID:
        said.append(f"``{kind.replace('npt.', '').replace('np.', '').replace('Rng', 'random.Generator')}``")
    if parameter.default is not inspect.Parameter.empty:
        said.append(f"default ``{parameter.default!r}``")
    return f"({', '.join(said)}) " if said else ""


# -- count ---------------------------------------------------------------------------------------


def count(app: Any, env: Any) -> None:
    """Say how many public names there are and how many are described; fewer is a warning, and so an error."""
    homes, doors = entries()
    described = set(env.get_domain("py").objects)
    missing = [entry.full_name for entry in homes if entry.full_name not in described]
    summary = f"{len(homes)} public things, {len(homes) - len(missing)} of them described"
    print(f"API reference: {summary}; {len(doors)} further names lead to these.")
    for name in missing:
        log.warning("%s is public and has no entry", name)
