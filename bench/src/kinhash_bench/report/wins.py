"""In how many cells our method is first or level with the first, and in which it is not.

Two counts, always together: against rivals with maps of their own, and, where it was run, against their
codes with other maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..tasks.result import Result
from .all_methods import OURS, PROTOCOLS, Setting, multi_label, settings
from .encoder_swap import OWN
from .paired import Difference, difference, shared
from .result_table import Column, Entry, ResultTable
from .rows import KINDS, Group, entry, is_plain, settings_said, without_band
from .sections import Part, Section
from .tables import Cells

__all__ = ["Verdict", "verdicts", "wins", "wins_sentence"]

LEAD = ("paper", "inductive")  # said at the top even where nothing was run


@dataclass(frozen=True)
class Verdict:
    """One cell: the rival that stands best against ours, and how far it is ahead (below 0: behind).

    ``its`` and ``own`` are both on the partitions the two share. ``other_maps`` says whether any rival's
    codes took part with a map that is not its own, ``tags`` whether rows may have several labels.
    """

    setting: Setting
    n_bits: int
    kind: str
    rival: str
    its: Group
    own: Group
    behind: Difference
    other_maps: bool
    tags: bool

    @property
    def cell(self) -> tuple[Setting, int, str]:
        """Where it is."""
        return (self.setting, self.n_bits, self.kind)

    @property
    def first(self) -> bool:
        """No rival is ahead of ours."""
        return self.behind.mean <= 0

    @property
    def won(self) -> bool:
        """First, or within one paired standard error of every rival that is ahead."""
        return self.behind.mean <= self.behind.error


def verdicts(results: Sequence[Result], *, other_maps: bool) -> list[Verdict]:
    """All cells in which ours can be compared. Its other settings do not take part.

    With ``other_maps`` the codes of rivals under maps that are not their own do: then a cell may be lost to
    our own map on the codes of another method.
    """
    taking_part = [
        r
        for r in results
        if r.n_bits not in (None, 1)
        and (other_maps if _is_other_map(r) else _is_ours(r) or (r.method != OURS and is_plain(r)))
    ]
    found = []
    for setting, some in settings(taking_part).items():
        cells = Cells.of(some)
        mapped = {r.label for r in some if _is_other_map(r)}
        tags = multi_label(some[0])
        for n_bits in cells.places:
            groups = cells.column(n_bits)
            for kind in KINDS:
                verdict = _verdict(setting, n_bits, kind, groups, mapped, tags)
                if verdict is not None:
                    found.append(verdict)
    return found


def _verdict(
    setting: Setting, n_bits: int, kind: str, groups: Mapping[str, Group], mapped: set[str], tags: bool
) -> Verdict | None:
    own = groups.get(OURS)
    leads = {
        name: apart
        for name, group in groups.items()
        if name != OURS and (apart := difference(group, own, kind)) is not None
    }
    if own is None or not leads:
        return None
    # A small lead can be surer than a larger one; one that is sure decides.
    rival = max(leads, key=lambda name: (leads[name].mean > leads[name].error, leads[name].mean))
    its, ours = shared(groups[rival], own, kind)
    return Verdict(setting, n_bits, kind, rival, its, ours, leads[rival], bool(mapped & leads.keys()), tags)


def _is_ours(result: Result) -> bool:
    return result.method == OURS and result.label == OURS and is_plain(result)


def _as_run(results: Iterable[Result]) -> str:
    """The settings that our method was given."""
    said = {settings_said(r) for r in results if _is_ours(r)}
    if len(said) > 1:
        return "with settings that differ between cells"
    given = said.pop()
    return f"with {given}" if given else "as it comes"


def _is_other_map(result: Result) -> bool:
    """Whatever task it was run for, so that nobody's own task counts our map as a rival's."""
    return result.method != OURS and result.given.get("map", OWN) != OWN


def _both(results: Sequence[Result]) -> tuple[list[Verdict], list[Verdict]]:
    """Verdicts against rivals as they are, and, of cells in which other maps took part, against all."""
    every = verdicts(results, other_maps=True)
    return verdicts(results, other_maps=False), [v for v in every if v.other_maps]


def wins_sentence(results: Sequence[Result]) -> str:
    """Both counts in one sentence, and by protocol in the next, for the top of the page."""
    own_maps, all_maps = _both(results)
    if not own_maps:
        return ""
    names = sorted({v.setting.protocol for v in own_maps}.union(LEAD), key=_place)
    parts = []
    for name in names:
        some = [[v for v in found if v.setting.protocol == name] for found in (own_maps, all_maps)]
        both = " and ".join(_share(found) for found in some if found)
        parts.append(f"{name} {both or 'not run'}")
    ours = (
        f", and in {_share(all_maps)} against their codes with other maps"
        if all_maps
        else "; no rival's codes were run with another map"
    )
    return (
        f"{OURS} {_as_run(results)} is first or level with the first in {_share(own_maps)} cells "
        f"against rivals with maps of their own{ours}. By protocol: {'; '.join(parts)}."
    )


def _share(some: Sequence[Verdict]) -> str:
    won = sum(verdict.won for verdict in some)
    return f"{won} of {len(some)} ({won / len(some):.0%})"


def wins(results: Sequence[Result]) -> Section:
    """The count by protocol and kind of database, and the list of cells that are lost."""
    title = f"Where {OURS} is first, and where it is not"
    own_maps, all_maps = _both(results)
    if not own_maps:
        words = f"No cell in which {OURS} and another method meet."
        return Section("wins", title, (), ((words, "kinhash bench field"),))
    lost = _lost(own_maps, all_maps)
    count = len(lost.rows)
    summary = f"The {count} cell{'s' if count != 1 else ''} in which it is neither first nor level"
    return Section(
        "wins",
        title,
        (Part.table(_count(own_maps, all_maps, _as_run(results))), Part.fold(summary, [Part.table(lost)])),
    )


def _count(own_maps: list[Verdict], all_maps: list[Verdict], run: str) -> ResultTable:
    both = (own_maps, all_maps)
    rows = []
    for protocol, kind in sorted({(v.setting.protocol, v.kind) for v in own_maps}, key=_protocol_first):
        chosen = [[v for v in some if (v.setting.protocol, v.kind) == (protocol, kind)] for some in both]
        rows.append((f"{protocol}, {kind} database", _counts(chosen)))
    for name, tags in (("sets with tags", True), ("sets with classes", False)):
        chosen = [[v for v in some if v.tags is tags] for some in both]
        if chosen[0]:
            rows.append((f"all, {name}", _counts(chosen)))
    rows.append(("all", _counts(both)))
    groups = ("rivals with maps of their own", "and their codes with other maps")
    names = ("cells", "first", "first or level", "per cent")
    columns = tuple(Column(name, group) for group in groups for name in names)
    note = (
        f"A cell is a data set, a protocol, a length and a kind of database. {OURS} takes part {run}, other "
        "settings of it do not; on the right, only cells in which rivals' codes were run with other "
        "encoders. Level: within one paired standard error of every rival that is ahead (queries pooled over "
        "the partitions both have)."
    )
    caption = f"Cells in which {OURS} is first or level"
    return ResultTable(
        "wins-count", caption, "protocol, database", columns, tuple(rows), (note,), "kinhash bench field"
    )


def _counts(found: Iterable[Sequence[Verdict]]) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for some in found:
        n, first, won = len(some), sum(v.first for v in some), sum(v.won for v in some)
        entries += [Entry(count, digits=0) for count in (n, first, won)]
        entries.append(Entry(100 * won / n, digits=0) if n else Entry(text="–"))
    return tuple(entries)


def _place(protocol: str) -> tuple[int, str]:
    return (PROTOCOLS.index(protocol) if protocol in PROTOCOLS else len(PROTOCOLS), protocol)


def _protocol_first(key: tuple[str, str]) -> tuple[int, str]:
    place, name = _place(key[0])
    return (place, name + key[1])


def _lost(own_maps: Iterable[Verdict], all_maps: Iterable[Verdict]) -> ResultTable:
    rows = []
    among_own = {v.cell: v for v in own_maps}
    every = among_own | {v.cell: v for v in all_maps}
    for cell, v in sorted(every.items(), key=lambda pair: (pair[0][0].place, pair[0][1], pair[0][2])):
        if v.won:
            continue
        why = "only to another map" if cell in among_own and among_own[cell].won else "to a rival as it is"
        behind = Entry(v.behind.mean, v.behind.error, n=v.behind.n_partitions)
        scores = [without_band(entry(group, v.kind)) for group in (v.its, v.own)]
        entries = (Entry(text=v.rival), *scores, behind, Entry(text=why))
        rows.append((f"{v.setting.name}, {v.n_bits} bits, {v.kind}", entries))
    names = ("rival", "its mAP", f"mAP of {OURS}", "behind by", "lost")
    note = (
        "Both on the partitions they share, ± the deviation over these; the difference ± one paired standard "
        "error over its queries."
        if rows
        else "There is no such cell."
    )
    caption = f"Cells in which {OURS} is neither first nor level"
    columns = tuple(Column(name, words=name in ("rival", "lost")) for name in names)
    return ResultTable("wins-lost", caption, "cell", columns, tuple(rows), (note,), "kinhash bench field")
