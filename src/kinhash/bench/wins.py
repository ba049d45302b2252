"""In how many cells our method, as it comes, is first or level with the first; and in which it is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .field import OURS, PROTOCOLS, Setting, multi_label, settings
from .grid import Column, Entry, ResultTable
from .paired import Difference, difference
from .result import Result
from .rows import KINDS, Group, in_section, is_plain
from .sections import Part, Section
from .tables import Cells

__all__ = ["Verdict", "verdicts", "wins", "wins_sentence"]


@dataclass(frozen=True)
class Verdict:
    """One cell: the rival that stands best against ours, and how far it is ahead (below 0: behind)."""

    setting: Setting
    n_bits: int
    kind: str
    rival: str
    rival_value: float
    own_value: float
    behind: Difference

    @property
    def first(self) -> bool:
        """No rival is ahead of ours."""
        return self.behind.mean <= 0

    @property
    def won(self) -> bool:
        """First, or within one paired standard error of every rival that is ahead."""
        return self.behind.mean <= self.behind.error


def verdicts(results: Sequence[Result], *, other_maps: bool) -> list[Verdict]:
    """All cells of sets with tags in which ours can be compared. Its other settings do not take part.

    With ``other_maps`` the codes of rivals under maps that are not their own do: then a cell may be lost to
    our own map on somebody else's codes.
    """
    taking_part = [
        r
        for r in results
        if r.n_bits not in (None, 1)
        and multi_label(r)
        and ((r.method != OURS and is_plain(r)) or _is_ours(r) or (other_maps and _is_other_map(r)))
    ]
    found = []
    for setting, some in settings(taking_part).items():
        cells = Cells.of(some)
        for n_bits in cells.places:
            groups = cells.column(n_bits)
            for kind in KINDS:
                verdict = _verdict(setting, n_bits, kind, groups)
                if verdict is not None:
                    found.append(verdict)
    return found


def _verdict(setting: Setting, n_bits: int, kind: str, groups: Mapping[str, Group]) -> Verdict | None:
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
    its_value, own_value = groups[rival].mean(kind), own.mean(kind)
    assert its_value is not None
    assert own_value is not None
    return Verdict(setting, n_bits, kind, rival, its_value, own_value, leads[rival])


def _is_ours(result: Result) -> bool:
    return result.method == OURS and result.label == OURS and is_plain(result)


def _is_other_map(result: Result) -> bool:
    return result.method != OURS and in_section(result, "maps") and "map" in result.given


def wins_sentence(results: Sequence[Result]) -> str:
    """The count in one line, for the top of the page."""
    found = verdicts(results, other_maps=False)
    if not found:
        return ""
    won = sum(verdict.won for verdict in found)
    first = sum(verdict.first for verdict in found)
    sets = len({verdict.setting.dataset for verdict in found})
    return (
        f"On {sets} data set{'s' if sets > 1 else ''} with tags, {OURS} as it comes is first in {first} of "
        f"{len(found)} cells, and first or within one paired standard error of first in {won} "
        f"({won / len(found):.0%})."
    )


def wins(results: Sequence[Result]) -> Section:
    """The count by protocol and kind of database, and the list of cells that are lost."""
    title = f"Where {OURS} is first, and where it is not"
    own_maps, all_maps = (verdicts(results, other_maps=flag) for flag in (False, True))
    if not own_maps:
        words = f"No cell in which {OURS} and another method meet on a data set with tags."
        return Section("wins", title, (), ((words, "kinhash bench field"),))
    parts = [Part.table(_count(own_maps, all_maps)), Part.table(_lost(all_maps, own_maps))]
    return Section("wins", title, tuple(parts))


def _count(own_maps: list[Verdict], all_maps: list[Verdict]) -> ResultTable:
    rows = []
    keys = sorted({(v.setting.protocol, v.kind) for v in all_maps}, key=_protocol_first)
    for key in [*keys, None]:
        entries: list[Entry] = []
        for found in (own_maps, all_maps):
            some = [v for v in found if key is None or (v.setting.protocol, v.kind) == key]
            n, first, won = len(some), sum(v.first for v in some), sum(v.won for v in some)
            counts = [Entry(count, digits=0) for count in (n, first, won)]
            entries += [*counts, Entry(100 * won / n, digits=1) if n else Entry(text="–")]
        rows.append((f"{key[0]}, {key[1]} database" if key else "all", tuple(entries)))
    groups = ("rivals as they are", "and rivals' codes with other maps")
    names = ("cells", "first", "first or level", "per cent")
    columns = tuple(Column(name, group) for group in groups for name in names)
    note = (
        f"A cell is a data set with tags, a protocol, a length and a kind of database. {OURS} takes part "
        "with its default settings only. Level: within one paired standard error of every rival that is "
        "ahead (queries pooled over the partitions both have)."
    )
    caption = f"Cells in which {OURS} is first or level"
    return ResultTable(
        "wins-count", caption, "protocol, database", columns, tuple(rows), (note,), "kinhash bench field"
    )


def _protocol_first(key: tuple[str, str]) -> tuple[int, str]:
    protocol, kind = key
    return (PROTOCOLS.index(protocol) if protocol in PROTOCOLS else len(PROTOCOLS), protocol + kind)


def _lost(all_maps: list[Verdict], own_maps: list[Verdict]) -> ResultTable:
    rows = []
    among_own = {(v.setting, v.n_bits, v.kind): v.won for v in own_maps}
    for v in all_maps:
        if v.won:
            continue
        own = among_own.get((v.setting, v.n_bits, v.kind), False)
        why = "only to another map" if own else "to a rival as it is"
        behind = Entry(v.behind.mean, v.behind.error, n=v.behind.n_partitions)
        entries = (Entry(text=v.rival), Entry(v.rival_value), Entry(v.own_value), behind, Entry(text=why))
        rows.append((f"{v.setting.name}, {v.n_bits} bits, {v.kind}", entries))
    names = ("rival", "its mAP", f"mAP of {OURS}", "behind by", "lost")
    note = "± is one paired standard error." if rows else "There is no such cell."
    caption = f"Cells in which {OURS} is neither first nor level"
    columns = tuple(Column(name, words=name in ("rival", "lost")) for name in names)
    return ResultTable("wins-lost", caption, "cell", columns, tuple(rows), (note,), "kinhash bench field")
