"""The whole field: every method on every data set under every protocol, and the headline of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..datasets import DATASETS
from ..tasks.result import Result
from .commands import command_of
from .paired import first_of, gap, mark_first, shared
from .paper_tables import bits_of
from .result_table import Column, Entry, ResultTable
from .rows import KINDS, Group, entry, group_by, is_plain, usual_partitions, without_band
from .sections import Part, Section
from .tables import Cells, method_parts

__all__ = ["MADE_BY", "OURS", "Setting", "field", "headline", "multi_label", "settings"]

OURS = "EnergyHasher"
MADE_BY = (
    "field",
    "network",
    "published",
    "smoke",
    "standins",
    "table1",
)  # sections of plain rows, whichever has them
PROTOCOLS = ("paper", "inductive", "unseen-classes", "cifar10", "cifar10-1", "cifar10-2")
SINGLE_LABEL = ("digits", "mnist", "fashion_mnist", "nuswide_bow500_subset3996")
ABOUT = {
    "paper": "searched are the training rows, by learned or by mapped codes",
    "inductive": "searched are rows that were never trained on, by mapped codes",
    "unseen-classes": "asked for and searched are classes that were never trained on, by mapped codes",
    "cifar10": "trained on 5,000 rows, searched are the 54,000 others, by mapped codes",
    "cifar10-1": "trained on 5,000 rows, searched are these and the 54,000 others, by mapped codes",
    "cifar10-2": "searched are the 50,000 training rows, by learned or by mapped codes",
}


class Setting(NamedTuple):
    """What must be equal before two numbers may stand in one table."""

    dataset: str
    protocol: str
    digest: str

    @classmethod
    def of(cls, result: Result) -> Setting:
        """That of a result."""
        return cls(result.dataset, result.protocol, result.protocol_digest)

    @property
    def place(self) -> tuple[str, int, str]:
        """Its place in the page: by data set, then in the order of the protocols."""
        known = PROTOCOLS.index(self.protocol) if self.protocol in PROTOCOLS else len(PROTOCOLS)
        return (self.dataset, known, self.protocol + self.digest)

    @property
    def name(self) -> str:
        """For headings and captions."""
        return f"{self.dataset}, {self.protocol}"


def settings(results: Iterable[Result]) -> dict[Setting, list[Result]]:
    """Results by setting, in the order of the page."""
    found = group_by(results, Setting.of)
    return {setting: found[setting] for setting in sorted(found, key=lambda s: s.place)}


def field(results: Sequence[Result]) -> Section:
    """A table for every setting, and the paired differences to our method below it."""
    shown = [r for r in results if r.n_bits not in (None, 1) and is_plain(r)]
    parts = [Part.fold(s.name, _setting_parts(s, some)) for s, some in settings(shown).items()]
    title, words = "The field: every method on every data set", "No results of methods on data sets."
    return Section.of("field", title, parts, words, "kinhash bench field")


def _setting_parts(setting: Setting, some: Sequence[Result]) -> list[Part]:
    cells = Cells.of(some)
    places = bits_of([n for n in cells.places if n is not None])
    name = f"field-{setting.dataset}-{setting.protocol}-{setting.digest[:6]}"
    caption = f"{setting.dataset}, protocol {setting.protocol}: mAP"
    about = (f"Protocol {setting.protocol}: {ABOUT[setting.protocol]}.",) if setting.protocol in ABOUT else ()
    empty = ResultTable(name, caption, "method", (), (), about, command_of(some, *MADE_BY))
    return method_parts(cells, places, empty, OURS if OURS in cells.labels else "EM-KSH")


def headline(results: Sequence[Result]) -> ResultTable | None:
    """For every setting at its longest code up to 64 bits: ours, the best of the others, EM-KSH."""
    found: list[tuple[str, int, str, tuple[Entry, ...]]] = []
    shown = [r for r in results if r.n_bits is not None and 1 < r.n_bits <= 64 and is_plain(r)]
    for setting, some in settings(shown).items():
        if not any(r.label == OURS for r in some):
            continue
        n_bits = max(r.n_bits or 0 for r in some if r.label == OURS)
        groups = Cells.of(some).column(n_bits)
        rivals = {r.label for r in some if r.method != OURS} - {OURS}
        for kind in KINDS:
            if groups[OURS].scores(kind) or not groups[OURS].ok:
                found.append((setting.name, n_bits, kind, _headline_entries(groups, rivals, kind)))
    if not found:
        return None
    lengths = {n_bits for _, n_bits, _, _ in found}
    one = f"{lengths.pop()} bits" if len(lengths) == 1 else ""
    rows = [
        (f"{name}, {kind}" if one else f"{name}, {n_bits} bits, {kind}", entries)
        for name, n_bits, kind, entries in found
    ]
    names = (OURS, "best other", "which", "ahead by", "EM-KSH")
    note = (
        f"{OURS} and the best other are on the partitions both have; ± is the deviation over them, n their "
        "number where it is not the usual one. The difference is query by query, ± one paired standard "
        f"error. Other settings of {OURS} are not counted among the others. ★: first; ≈: level, within one "
        "paired standard error of the first."
    )
    return ResultTable(
        "headline",
        f"{one or 'The longest codes up to 64 bits'}: mAP",
        "data set, protocol, database",
        tuple(Column(name, words=name == "which") for name in names),
        tuple(rows),
        (note,),
    )


def _headline_entries(groups: dict[str, Group], rivals: set[str], kind: str) -> tuple[Entry, ...]:
    usual = usual_partitions(groups.values())
    best = first_of({label: group for label, group in groups.items() if label in rivals}, kind)
    two = {name: groups[name] for name in (OURS, best) if name is not None}
    if best is not None:
        two = dict(zip(two, shared(groups[OURS], groups[best], kind), strict=True))
    shown = mark_first({name: without_band(entry(two[name], kind, usual)) for name in two}, two, kind)
    return (
        shown[OURS],
        shown[best] if best else Entry(text="–"),
        Entry(text=best or "–"),
        gap(groups[OURS], groups.get(best or ""), kind),
        without_band(entry(groups.get("EM-KSH"), kind, usual)),
    )


def multi_label(result: Result) -> bool:
    """Whether rows of the data set may have several labels; where a result does not say, its name decides."""
    if result.tags is not None:
        return result.tags
    name = result.dataset
    return name in DATASETS and name not in SINGLE_LABEL and not name.startswith("cifar10")
