"""Whose credit is it? The same codes under other maps, and float rankings that codes are measured against."""

from __future__ import annotations

from collections.abc import Sequence

from ..tasks.result import Result
from .all_methods import OURS, Setting, settings
from .commands import command_of
from .paired import gap, shared
from .paper import paper_name
from .paper_tables import bits_of
from .result_table import NOT_RUN, Column, Entry, ResultTable
from .rows import KINDS, Group, entry, group_by, in_section, is_plain, usual_partitions, without_band
from .sections import Part, Section
from .tables import standard_notes

__all__ = ["OWN", "maps", "toplines"]

Place = tuple[str, str, int]  # method, map, length
OWN = "own"  # the map that a method has anyway


def maps(results: Sequence[Result]) -> Section:
    """Rows are methods' codes, columns the map that encodes the queries (and the mapped database)."""
    title = "Whose credit: the codes' or the map's"
    parts = []
    for setting, some in settings(results).items():
        methods = {r.method for r in some if _has_other_map(r)}
        if methods:
            parts.append(Part.fold(setting.name, [Part.table(_maps_table(setting, some, methods))]))
    words = "No results for the codes of rivals under other maps."
    return Section.of("maps", title, parts, words, "kinhash bench maps")


def _has_other_map(result: Result) -> bool:
    return in_section(result, "maps") and _map_name(result) != OWN


def _map_name(result: Result) -> str:
    """The map of a row: one fitted to a rival's codes, or that of the method."""
    return str(result.given.get("map", OWN))


def _maps_table(setting: Setting, some: Sequence[Result], methods: set[str]) -> ResultTable:
    shown = [
        r for r in some if r.n_bits is not None and (_has_other_map(r) or _as_it_is(r, methods | {OURS}))
    ]
    found = group_by(shown, _place)
    cells = {place: Group.of(rows) for place, rows in found.items()}
    lengths = sorted({n for _, name, n in cells if name != OWN})
    names = sorted({name for _, name, _ in cells}, key=lambda name: (name != OWN, name == "tuned", name))
    kinds = [kind for kind in KINDS if any(group.scores(kind) for group in cells.values())]
    usual = usual_partitions(cells.values())
    across = [(n, kind, name) for n in lengths for kind in kinds for name in names]
    rows = []
    for method in [*sorted(methods - {OURS}, key=str.lower), OURS]:
        entries = []
        for n, kind, name in across:
            group = cells.get((method, name, n))
            unknown = Entry(text="–") if method == OURS else NOT_RUN
            entries.append(unknown if group is None else without_band(entry(group, kind, usual)))
        rows.append((paper_name(method), tuple(entries)))
    heads = bits_of(lengths)
    columns = tuple(Column(name, f"{heads[n]}, {kind}") for n, kind, name in across)
    note = (
        '"own" is the map of the method itself; the others are fitted to the same codes. A row that gains '
        "from left to right owes it to the map; a row that stays behind in every column, to its codes. "
        '"tuned" has its penalty and features chosen on held-out rows in every fit; other maps have fixed constants.'
    )
    name = f"maps-{setting.dataset}-{setting.protocol}"
    caption = f"{setting.name}: mAP of the same codes under other maps"
    command = command_of((r for r in some if _has_other_map(r)), "maps")
    notes = (*standard_notes(usual, marks=False)[:1], note)
    return ResultTable(name, caption, "codes", columns, tuple(rows), notes, command)


def _as_it_is(result: Result, methods: set[str]) -> bool:
    known = is_plain(result) or in_section(result, "maps")
    as_it_comes = not result.given or (result.method == OURS and result.label == OURS)
    return known and as_it_comes and result.method in methods


def _place(result: Result) -> Place:
    return (result.method, _map_name(result) if _has_other_map(result) else OWN, result.n_bits or 0)


def toplines(results: Sequence[Result]) -> Section:
    """Float rankings, and the gap of our method at 64 bits (or its longest code below) to each of them."""
    title = "Float toplines, and the gap to them"
    floats = [r for r in results if r.n_bits is None]
    rows = []
    for setting, some in settings(floats).items():
        for label, own in group_by(some, lambda r: r.label).items():
            group, (ours, against) = Group.of(own), _ours_beside(results, setting)
            entries: list[Entry] = []
            for kind in KINDS:
                pair = (group, ours) if ours is None else shared(group, ours, kind)
                entries += [without_band(entry(one, kind)) for one in pair]
                entries.append(gap(ours, group, kind))
            rows.append((f"{setting.name}: {label}", (Entry(text=against), *entries)))
    if not rows:
        words = "No results of float rankings (class scores, cosine)."
        return Section("toplines", title, (), ((words, "kinhash bench field"),))
    names = ("topline", "ours", "gap")
    columns = (Column("ours", words=True), *(Column(name, kind) for kind in KINDS for name in names))
    note = (
        f"All on shared partitions. The gap is {OURS} minus the topline, query by query, ± one paired "
        "standard error. A topline ranks by floats: the scores of a classifier, its decision, or the cosine of "
        "the features."
    )
    command = command_of(floats, "field", "table1", "network")
    table = ResultTable(
        "toplines-table", "Float toplines: mAP", "topline", columns, tuple(rows), (note,), command
    )
    return Section("toplines", title, (Part.fold(f"{len(rows)} toplines", [Part.table(table)]),))


def _ours_beside(results: Sequence[Result], setting: Setting) -> tuple[Group | None, str]:
    """Our method as it comes, and its name."""
    own = [
        r
        for r in results
        if r.method == OURS and (r.n_bits or 65) <= 64 and is_plain(r) and Setting.of(r) == setting
    ]
    own = [r for r in own if r.label == OURS]
    longest = max((r.n_bits or 0 for r in own), default=0)
    if not longest:
        return None, "–"
    return Group.of(r for r in own if r.n_bits == longest), f"{own[0].label}, {longest} bits"
