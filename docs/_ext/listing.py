"""What is public, and where it is described: one entry per thing, whatever other doors it has.

Needs no Sphinx, so that the tests read the same list as the site.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

# The first room that shows a thing is its home; later ones say where it is described.
ROOMS = (
    "kinhash",
    "kinhash.index",
    "kinhash.explorer",
    "kinhash.metrics",
    "kinhash.base",
    "kinhash.decision",
    "kinhash.paper",
    "kinhash.engines",
    "kinhash.data",
    "kinhash.codes",
    "kinhash.labels",
    "kinhash.distributed",
    "kinhash.models",
    "kinhash.testing",
    "kinhash.errors",
    "kinhash_bench.baselines",
    "kinhash_bench.protocols",
    "kinhash_bench.datasets",
)
# May be absent. Dask and Spark are on the page about scale.
OPTIONAL = ("kinhash_bench.baselines", "kinhash_bench.protocols", "kinhash_bench.datasets")
# Names for readers, of rooms that other rooms import more from.
PUBLIC = {
    "kinhash.base": ("Explanation", "FitReport", "Hasher"),
    "kinhash.codes": ("Codes", "as_codes", "load_codes", "pack_bits", "save_codes", "unpack_bits"),
    "kinhash.data": ("Matrix", "Table", "read_table"),
    "kinhash.decision": ("Decision", "Rate", "decide_duplicates"),
    "kinhash.labels": ("Labels", "read_labels"),
    "kinhash.metrics": (
        "CodeHealth", "Comparison", "Interval", "MeanScore", "PrecisionRecallCurve",
        "ScoreOfLabel",
        "bootstrap_interval", "code_health", "compare", "compare_bits", "compare_bridge", "compare_pairs",
        "compare_triplets", "compare_views", "evaluate", "hold_out", "mixture",
        "precision_recall_curve",
        "scores_by_label", "self_retrieval", "some_queries",
    ),
    "kinhash.models": ("Map", "WholeMap", "to_onnx"),
    "kinhash.paper": (
        "BRE", "ENERGIES", "ITQ", "KSH", "LFH", "LSH", "SPLH", "Baseline", "Card", "Energy", "ExpH",
        "PairTerms", "SignBits", "Solved", "Unsupervised",
    ),
}  # fmt: skip
# Tables whose rows are classes that users make themselves.
TABLES = {"kinhash_bench.baselines": "BASELINES"}
GLOSSARY, EXAMPLES = (Path(__file__).with_name(f"{name}.toml") for name in ("glossary", "examples"))


@dataclass(frozen=True)
class Entry:
    """A public thing and its name."""

    room: str
    name: str
    thing: Any

    @property
    def full_name(self) -> str:
        """As one writes it after ``import``."""
        return f"{self.room}.{self.name}"

    @property
    def kind(self) -> str:
        """What autodoc calls it."""
        if inspect.isclass(self.thing):
            return "exception" if issubclass(self.thing, BaseException) else "class"
        return "function" if inspect.isroutine(self.thing) else "data"


def room_names(room: str) -> list[str]:
    """Public names of a room: those for readers or its ``__all__``, and the classes in its table."""
    module = import_module(room)
    names = PUBLIC.get(room) or module.__all__
    names = [name for name in names if not inspect.ismodule(getattr(module, name))]
    if room in TABLES:
        rows = getattr(module, TABLES[room])
        names += [thing.__name__ for thing in rows.values() if thing.__module__.startswith(f"{room}.")]
    return [name for name in dict.fromkeys(names) if not name.startswith("__")]


def rooms() -> list[str]:
    """Those that can be imported here."""
    found = []
    for room in ROOMS:
        try:
            import_module(room)
        except ImportError:
            if room not in OPTIONAL:
                raise
            continue
        found.append(room)
    return found


def entries() -> tuple[list[Entry], dict[str, Entry]]:
    """Every public thing once, and for every other public name the entry it leads to."""
    homes: list[Entry] = []
    doors: dict[str, Entry] = {}
    by_thing: dict[int, Entry] = {}
    for room in rooms():
        module = import_module(room)
        for name in room_names(room):
            thing = getattr(module, name)
            entry = Entry(room, name, thing)
            known = None if isinstance(thing, int | str) else by_thing.get(id(thing))
            if known is None:
                homes.append(entry)
                by_thing[id(thing)] = entry
            else:
                doors[entry.full_name] = known
    return homes, doors


def methods(entry: Entry) -> dict[str, Any]:
    """Public methods and properties that a class of ours shows on its own page.

    `EnergyHasher` shows those of every hasher too; the others say where those are described.
    """
    if not inspect.isclass(entry.thing):
        return {}
    ours = [base for base in entry.thing.__mro__ if base.__module__.startswith("kinhash")]
    shown = ours if entry.full_name == "kinhash.EnergyHasher" else ours[:1]
    found: dict[str, Any] = {}
    for base in shown:
        for name, value in vars(base).items():
            value = getattr(value, "__func__", value)
            if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                found.setdefault(name, value)
    return found


def parameters(thing: Any) -> list[inspect.Parameter]:
    """Parameters of a function, a method or a constructor, without self.

    Values that functions return (named tuples, frozen dataclasses) describe their fields in their docstrings.
    """
    if inspect.isclass(thing) and (issubclass(thing, dict | tuple | BaseException) or _is_value(thing)):
        return []
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return []
    return [one for one in signature.parameters.values() if one.name not in ("self", "cls")]


def _is_value(thing: type) -> bool:
    frozen = is_dataclass(thing) and thing.__dataclass_params__.frozen  # type: ignore[attr-defined]
    return frozen and "Parameters" not in split(inspect.cleandoc(thing.__doc__ or "").split("\n"))[1]


SECTION = re.compile(r"^(Parameters|Attributes|Returns|Yields|Raises|Examples|Notes|References)$")


def split(lines: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """What stands before the sections of a docstring, and the lines of each."""
    before: list[str] = []
    sections: dict[str, list[str]] = {}
    current, skip = before, False
    for line, below in zip(lines, [*lines[1:], ""], strict=False):  # no lines, no pairs
        if skip:
            skip = False
        elif SECTION.match(line) and re.match(r"^-{4,}$", below):
            current, skip = sections.setdefault(line, []), True
        else:
            current.append(line)
    return before, sections


def items(lines: list[str]) -> dict[str, str]:
    """``name : text`` or ``name`` with what is indented below; ``a, b : text`` is two of them."""
    found: list[tuple[str, str]] = []
    for line in lines:
        start = re.match(r"^([*\w]+(?:, [*\w]+)*)(?:\s:\s(.*))?$", line)
        if start:
            found.append((start[1], start[2] or ""))
        elif line[:1].isspace() and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
    return {name.strip().lstrip("*"): text for names, text in found for name in names.split(",")}


def documented(thing: Any) -> dict[str, str]:
    """What the docstring of a thing, or of the classes it derives from, says of each parameter."""
    found: dict[str, str] = {}
    for one in thing.__mro__ if inspect.isclass(thing) else (thing,):
        if getattr(one, "__module__", "").startswith("kinhash") or one is thing:
            sections = split(inspect.cleandoc(getattr(one, "__doc__", None) or "").split("\n"))[1]
            found = {**items(sections.get("Parameters", [])), **found}
    return found


def explained(place: str, thing: Any, words: dict[str, Any]) -> dict[str, str | None]:
    """What every parameter of a public thing means; None if nothing does."""
    said = documented(thing)
    return {one.name: said.get(one.name) or meaning(words, place, one.name) for one in parameters(thing)}


def glossary() -> dict[str, Any]:
    """Meanings of parameters: by name, or by the name of an entry and then by name."""
    return tomllib.loads(GLOSSARY.read_text("utf-8"))


def meaning(words: dict[str, Any], place: str, name: str) -> str | None:
    """What a parameter means at a place such as ``kinhash.Codes.distances``: the nearest text for it."""
    parts = place.split(".")
    for size in range(len(parts), 0, -1):
        here = words.get(".".join(parts[:size]))
        if isinstance(here, dict) and name in here:
            return str(here[name])
    return words["parameters"].get(name)


def examples() -> tuple[str, dict[str, str]]:
    """What examples begin with, and the example of every entry whose docstring has none."""
    given = tomllib.loads(EXAMPLES.read_text("utf-8"))
    found = {}
    for entry in entries()[0]:
        room = given.get(entry.room, {})
        text = room.get(entry.name, "" if entry.kind == "data" else room.get("*", ""))
        if text and ">>>" not in (entry.thing.__doc__ or ""):
            found[entry.full_name] = text.replace("{name}", entry.name)
    return given["setup"]["code"].strip(), found
