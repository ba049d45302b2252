"""A task: which cells a benchmark consists of. Plain data, read strictly from TOML.

    about = "what it shows"
    [checksums]
    digits = "faf2..."                      # results on other bytes are refused
    [section.table1]
    dataset = "digits"                      # or a list: one section each, "table1-digits"
    protocol = "paper"                      # or a list: every cell under each of them
    bits = [8, 16]
    partitions = 3
    methods = ["EMKSH", {name = "COSDISH", label = "COSDISH, linear", given = {map = "linear"}}]
    vary = {clip = [0.5, 1.0]}              # every method with each of these values
    protocol_options = {n_queries = 500}    # changes the protocol, and so its digest
    vary_protocol = {n_queries = [500, 900]}
    gallery = true                          # keep pictures of what queries find (first partition)

Custom data come from files, see `kinhash_bench.tasks.custom_data`.

A method may have ``bits`` and ``partitions`` of its own.
"""

from __future__ import annotations

import itertools
import math
import os
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from kinhash.errors import FileProblem, InvalidInput, UnknownName
from kinhash.files import HASHERS
from kinhash.plugins import check_integer, check_n_bits

from ..datasets import DATASETS
from ..protocols import PROTOCOLS
from .cell import Cell
from .custom_data import own_checksum, own_files
from .methods import RANKINGS, check_given, is_ranking

__all__ = ["Task", "named_tasks", "read_task"]

SECTION_KEYS = {
    "dataset",
    "protocol",
    "bits",
    "partitions",
    "methods",
    "vary",
    "protocol_options",
    "vary_protocol",
    "gallery",
}
METHOD_KEYS = {"name", "label", "given", "bits", "partitions"}


@dataclass(frozen=True)
class Task:
    """A name, what it is about, and its cells in the order they are run: first partitions first."""

    name: str
    about: str
    cells: tuple[Cell, ...]

    @property
    def sections(self) -> tuple[str, ...]:
        """Names of its tables and figures."""
        return tuple(dict.fromkeys(name for cell in self.cells for name in cell.sections))

    def only(
        self,
        *,
        sections: Sequence[str] = (),
        methods: Sequence[str] = (),
        bits: Sequence[int] = (),
        partitions: int | None = None,
        protocol: str | None = None,
        datasets: Sequence[str] = (),
    ) -> Task:
        """The part of the task that is asked for; methods go by table name or by label."""
        for kind, asked, known in (
            ("section", sections, self.sections),
            ("method", methods, {name for cell in self.cells for name in (cell.method, cell.label)}),
            ("data set", datasets, {cell.dataset for cell in self.cells}),
            ("protocol", [protocol] if protocol else [], PROTOCOLS),
            ("length", map(str, bits), {str(cell.n_bits) for cell in self.cells if cell.n_bits}),
        ):
            for name in asked:
                if name not in known:
                    raise UnknownName.among(f"{kind} of this task", name, known)
        cells = [
            cell if protocol is None else replace(cell, protocol=protocol, protocol_options={})
            for cell in self.cells
            if (not sections or set(sections) & set(cell.sections))
            and (not methods or cell.method in methods or cell.label in methods)
            and (not datasets or cell.dataset in datasets)
            and (not bits or cell.n_bits is None or cell.n_bits in bits)
            and (partitions is None or cell.partition < partitions)
        ]
        if not cells:
            raise InvalidInput(
                "No cell of this task is all of what was asked for",
                "options that some cell fits together",
                "Leave some of them out",
            )
        return replace(self, cells=_united(cells))


def named_tasks() -> list[str]:
    """Tasks that come with the package."""
    return sorted(path.name[:-5] for path in _folder().iterdir() if path.name.endswith(".toml"))


def read_task(name: str | os.PathLike[str]) -> Task:
    """A task of ours by its name, or your own by the path of its TOML file."""
    name = os.fspath(name)
    if name.endswith(".toml"):
        try:
            folder = Path(name).parent
            text, name = Path(name).read_text(encoding="utf-8"), Path(name).stem
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise FileProblem(f"{name}: {reason}", "a TOML file with a task", "Check the path") from None
    else:
        if name not in named_tasks():
            raise UnknownName.among("task", name, named_tasks())
        folder, text = Path(), (_folder() / f"{name}.toml").read_text(encoding="utf-8")
    try:
        return _task(name, tomllib.loads(text, parse_float=_finite), folder)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{name}: {error}", "TOML", "docs/benchmark.md has an example") from None
    except RecursionError:
        raise InvalidInput(
            f"{name} is nested too deeply",
            "tables and lists in a few levels",
            "docs/benchmark.md has an example",
        ) from None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidInput(f"The task holds {text}", "finite numbers", "Mend the task")
    return number


def _folder() -> Any:
    return resources.files(__package__) / "named"


def _task(name: str, plan: dict[str, Any], folder: Path) -> Task:
    _expect_keys(f"Task {name}", plan, {"about", "checksums", "data", "section"}, {"section"})
    tables = _expect(f"data of {name}", plan.get("data", {}), dict)
    own = {key: own_files(key, table, folder) for key, table in tables.items()}
    checksums = _expect(f"checksums of {name}", plan.get("checksums", {}), dict)
    for dataset in checksums:  # a misspelt name would switch its check off
        if dataset not in DATASETS:
            raise UnknownName.among("data set", dataset, DATASETS)
    cells: list[Cell] = []
    for title, section in _expect(f"sections of {name}", plan["section"], dict).items():
        where = f"Section {title} of {name}"
        _expect_keys(where, _expect(where, section, dict), SECTION_KEYS, {"dataset", "methods"})
        sets = section["dataset"]
        for dataset in [sets] if isinstance(sets, str) else _expect(f"{where}: dataset", sets, list):
            called = title if isinstance(sets, str) else f"{title}-{dataset}"
            cells += _section_cells(where, called, dataset, section, checksums, own.get(dataset, {}))
    about = str(plan.get("about", ""))
    return Task(name, about, _united(replace(cell, task=name, about=about) for cell in cells))


def _section_cells(
    where: str,
    title: str,
    dataset: str,
    section: dict[str, Any],
    checksums: dict[str, str],
    files: dict[str, str],
) -> Iterator[Cell]:
    if dataset not in DATASETS and not files:
        raise UnknownName.among("data set", dataset, DATASETS)
    checksum = own_checksum(files) if files else checksums.get(dataset, "")
    methods = [_method_plan(where, plan) for plan in _expect(f"{where}: methods", section["methods"], list)]
    asked = section.get("protocol", "paper")
    names = [asked] if isinstance(asked, str) else _expect(f"{where}: protocol", asked, list)
    every = itertools.product(names, _combinations(where, section, "protocol_options", "vary_protocol"))
    for protocol, options in every:
        base = Cell(
            dataset=dataset,
            protocol=protocol,
            protocol_options=options,
            method="",
            n_bits=None,
            partition=0,
            checksum=checksum,
            sections=(title,),
            files=files,
        )
        try:
            _ = base.rules
        except TypeError as error:
            raise InvalidInput(f"{where}: {error}", "fields of a Protocol", "Mend protocol_options") from None
        for plan in methods:
            yield from _method_cells(where, base, section, plan)


def _method_plan(where: str, method: Any) -> dict[str, Any]:
    plan: dict[str, Any] = {"name": method} if isinstance(method, str) else method
    _expect_keys(f"{where}: a method", _expect(f"{where}: a method", plan, dict), METHOD_KEYS, {"name"})
    if plan["name"] not in HASHERS and not is_ranking(plan["name"]):
        raise UnknownName.among("method", plan["name"], [*HASHERS, *RANKINGS])
    return plan


def _combinations(where: str, table: dict[str, Any], fixed: str, vary: str) -> Iterator[dict[str, Any]]:
    """The fixed values with every combination of those that vary."""
    same = _expect(f"{where}: {fixed}", table.get(fixed, {}), dict)
    changing = _expect(f"{where}: {vary}", table.get(vary, {}), dict)
    for values in itertools.product(*(_expect(f"{where}: {vary}", some, list) for some in changing.values())):
        yield same | dict(zip(changing, values, strict=True))


def _method_cells(where: str, base: Cell, section: dict[str, Any], plan: dict[str, Any]) -> Iterator[Cell]:
    lengths: list[Any] = [None] if is_ranking(plan["name"]) else plan.get("bits", section.get("bits", [64]))
    n_partitions = plan.get("partitions", section.get("partitions", 1))
    numbers = range(check_integer("partitions", _expect(f"{where}: partitions", n_partitions, int), 1))
    for given in _combinations(where, {**section, "given": plan.get("given", {})}, "given", "vary"):
        check_given(plan["name"], given)  # a misspelt name is found before the first cell is run
        for n_bits, partition in itertools.product(_expect(f"{where}: bits", lengths, list), numbers):
            yield replace(
                base,
                method=plan["name"],
                label=plan.get("label", plan["name"]),
                given=given,
                n_bits=None if n_bits is None else check_n_bits(n_bits),
                partition=partition,
                gallery=_expect(f"{where}: gallery", section.get("gallery", False), bool) and partition == 0,
            )


def _united(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Each piece of work once, for all sections that want it; first partitions first within a section."""
    found: dict[str, Cell] = {}
    for cell in cells:
        known = found.get(cell.key)
        names = cell.sections if known is None else (*known.sections, *cell.sections)
        found[cell.key] = replace(known or cell, sections=tuple(dict.fromkeys(names)))
    places = {name: i for i, name in enumerate(dict.fromkeys(c.sections[0] for c in found.values()))}
    return tuple(sorted(found.values(), key=lambda cell: (places[cell.sections[0]], cell.partition)))


def _expect(what: str, value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise InvalidInput(f"{what}: {value!r}", f"a {kind.__name__}", "Mend the task")
    return value


def _expect_keys(where: str, table: dict[str, Any], known: set[str], needed: set[str]) -> None:
    for key in table:
        if key not in known:
            raise UnknownName.among(f"key in {where[0].lower()}{where[1:]}", key, known)
    for key in sorted(needed - set(table)):
        raise InvalidInput(f"{where} has no {key}", f"the keys {', '.join(sorted(needed))}", "Add it")
