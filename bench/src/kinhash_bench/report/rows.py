"""From results to rows of tables: what belongs together, its mean, its spread, and what failed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ..tasks.result import Result, Score, without_places
from .paper import paper_name
from .result_table import NOT_RUN, Entry

__all__ = [
    "KINDS",
    "Group",
    "arrange",
    "entry",
    "failure",
    "figure_entry",
    "group_by",
    "in_section",
    "is_plain",
    "seconds_entry",
    "settings_said",
]

Key = TypeVar("Key")
Thing = TypeVar("Thing")
KINDS = ("learned", "mapped")
# Sections whose rows are variations of a method, and so do not stand in tables of methods.
VARIATIONS = ("figure2", "figure3", "sweeps", "maps", "gallery")


def arrange(results: Iterable[Result]) -> list[Result]:
    """The results in one order, whatever order they came in; each piece of work once; labels spelt alike.

    The same cell may be there twice, once for its pictures: the first by key is counted, both keep their
    pictures. Two rows of one label but other parameters get the parameters into their label.
    """
    ordered = sorted(results, key=lambda r: (r.dataset, r.protocol, r.protocol_digest, r.key))
    named = [replace(result, label=paper_name(result.label)) for result in ordered]
    given: dict[tuple[str, ...], set[str]] = {}
    for result in named:
        if is_plain(result):
            given.setdefault(_place(result), set()).add(_parameters(result))
    unique = []
    for result in named:
        several = is_plain(result) and len(given[_place(result)]) > 1 and result.given
        unique.append(
            replace(result, label=f"{result.label} ({settings_said(result)})") if several else result
        )
    return unique


def _place(result: Result) -> tuple[str, ...]:
    return (result.dataset, result.protocol_digest, result.label)


def _parameters(result: Result) -> str:
    return json.dumps([result.method, result.given], sort_keys=True)


def settings_said(result: Result) -> str:
    """What the method was given, in words."""
    return ", ".join(f"{name} = {value}" for name, value in sorted(result.given.items()))


def in_section(result: Result, section: str) -> bool:
    """Whether it was run for that section, or for the part of it on one data set ("table3-digits")."""
    return any(name == section or name.startswith(section + "-") for name in result.sections)


def is_plain(result: Result) -> bool:
    """Whether it is a row of its method, not a step of a sweep, another map or a picture."""
    return not result.sections or any(name.split("-")[0] not in VARIATIONS for name in result.sections)


def group_by(results: Iterable[Thing], key: Callable[[Thing], Key]) -> dict[Key, list[Thing]]:
    """Things by what they share, keys in the order they first come."""
    groups: dict[Key, list[Thing]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return groups


@dataclass(frozen=True)
class Group:
    """All partitions of one cell of a table, each once, in order."""

    ok: tuple[Result, ...]
    failed: tuple[Result, ...]

    @classmethod
    def of(cls, results: Iterable[Result]) -> Group:
        """A partition that was measured counts, even if it failed another time."""
        best: dict[int, Result] = {}
        for result in results:
            known = best.get(result.partition)
            if known is None or (result.ok and not known.ok):
                best[result.partition] = result
        found = [best[partition] for partition in sorted(best)]
        return cls(tuple(r for r in found if r.ok), tuple(r for r in found if not r.ok))

    def scores(self, kind: str) -> dict[int, Score]:
        """Scores by partition, for those that have that kind of database."""
        found = {r.partition: getattr(r, kind) for r in self.ok}
        return {partition: score for partition, score in found.items() if score is not None}

    def mean(self, kind: str) -> float | None:
        """Mean over partitions, None without any."""
        values = [score.value for score in self.scores(kind).values()]
        return sum(values) / len(values) if values else None

    def on(self, partitions: Iterable[int]) -> Group:
        """The same cell on these partitions alone."""
        chosen = set(partitions)
        some = [tuple(r for r in found if r.partition in chosen) for found in (self.ok, self.failed)]
        return Group(*some)

    def seconds(self, stage: str = "fit") -> list[float]:
        """Seconds of one stage, by partition."""
        return [r.seconds[stage] for r in self.ok if stage in r.seconds]

    @property
    def peak(self) -> int | None:
        """Most bytes the work took in any partition."""
        found = [r.peak_bytes for r in self.ok if r.peak_bytes is not None]
        return max(found) if found else None


def entry(group: Group | None, kind: str, usual: int | None = None) -> Entry:
    """Mean, deviation over partitions (n − 1 in the denominator) and mean tie band of one cell.

    Where the number of partitions is not the ``usual`` one, or some failed, the entry says so.
    """
    if group is None:
        return NOT_RUN
    scores = list(group.scores(kind).values())
    if not scores:
        return failure(group) if group.failed else Entry(text="–")
    values = [score.value for score in scores]
    low, high = np.mean([score.band for score in scores], axis=0)
    remarks = []
    if usual is not None and len(values) != usual:
        remarks.append(f"n = {len(values)}")
    if group.failed:
        remarks.append(f"{len(group.failed)} failed")
    return Entry(
        value=float(np.mean(values)),
        spread=deviation(values),
        low=float(low),
        high=float(high),
        n=len(values),
        text=", ".join(remarks),
    )


def without_band(full: Entry) -> Entry:
    """An entry for tables that leave the tie band to others."""
    return replace(full, low=None, high=None)


def deviation(values: Sequence[float]) -> float | None:
    """Deviation over partitions, None for a single one."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def seconds_entry(group: Group | None, stage: str = "fit") -> Entry:
    """Mean seconds of a stage."""
    if group is None:
        return NOT_RUN
    seconds = group.seconds(stage)
    if not seconds:
        return failure(group) if group.failed else Entry(text="–")
    mean = float(np.mean(seconds))
    return Entry(value=mean, spread=deviation(seconds), n=len(seconds), digits=2 if mean < 100 else 1)


def figure_entry(group: Group, kind: str, read: Callable[[Score], float | None], digits: int = 4) -> Entry:
    """Mean and deviation over partitions of some figure of the scores."""
    values = [float(value) for score in group.scores(kind).values() if (value := read(score)) is not None]
    if not values:
        return failure(group) if group.failed and not group.ok else Entry(text="–")
    return Entry(float(np.mean(values)), deviation(values), n=len(values), digits=digits)


def failure(group: Group) -> Entry:
    """What stands in a cell none of whose partitions worked."""
    memory = any(r.error.lower().startswith("out of memory") for r in group.failed)
    return Entry(text="out of memory" if memory else "failed", mark="failed")


def reason(result: Result, most: int = 240) -> str:
    """Why it failed, in one line, without places on the machine it failed on."""
    text = " ".join(result.error.split()) or "no reason was recorded"
    text = without_places(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def usual_partitions(groups: Iterable[Group]) -> int | None:
    """How many partitions most cells have, None without any."""
    counts = Counter(len(group.ok) for group in groups if group.ok)
    return max(counts, key=lambda n: (counts[n], n)) if counts else None
