"""One page of figures from the result files: rivals at equal bytes, where kinhash loses, peers, the whole path.

    python -m kinhash_bench.figures_page bench/results > bench/results/figures.md

Records of `learner_figures`, of `benchmarks/search.py` and of `benchmarks/scale.py` may lie anywhere in the
folder; what a line is follows from its fields. Figures are means over partitions ± the deviation between
them, and [how many there are]. A comparison is over the partitions that both sides have.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["page"]

Record = dict[str, Any]
Runs = dict[int, float]  # a figure by partition
Cells = dict[str, dict[str, Runs]]  # by method and set

OURS, FLOATS = "kinhash", "cosine"  # the second keeps whole floats
EARLIER = "today"  # an earlier default of ours
SHOWN = {  # the figures of a protocol that are printed, and what they are
    "known": {
        "learned ten": "labels known, rows of the fit, first ten",
        "later ten": "labels known, rows that came later, first ten",
        "never ten": "kinds that were in neither labels nor rows of the fit, among each other, first ten",
        "near": "labels known: of the ten nearest relevant rows by cosine, the share in the first hundred",
    },
    "oldnew": {
        "old ten": "labeled kinds beside unlabeled ones that were in the fit, first ten",
        "new ten": "the unlabeled kinds, first ten",
    },
    "unseen": {
        "seen ten": "labeled kinds beside kinds that were not in the fit, first ten",
        "unseen ten": "the kinds that were not in the fit, among all rows, first ten",
        "unseen map": "the kinds that were not in the fit, among all rows, mAP",
        "among ten": "the kinds that were not in the fit, among each other, first ten",
    },
    "few": {"ten": "few labels a class, first ten", "map": "few labels a class, mAP"},
    "nolabels": {
        "near": "no labels: of the ten nearest rows by cosine, the share in the first hundred",
        "ten": "no labels: rows of the same label in the first ten",
    },
    "foundation": {"found map": "labels known, mapped database, mAP of 1,000 over relevant rows found"},
}


def read(folder: Path) -> Iterator[Record]:
    """All records below a folder."""
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            yield json.loads(line)


def page(records: Iterable[Record]) -> Iterator[str]:
    """The page as Markdown, line by line."""
    learner: list[Record] = []
    search: list[Record] = []
    scale: list[Record] = []
    for record in records:
        for field, kind in (("protocol", learner), ("peer", search), ("step", scale)):
            if field in record and record.get("method") != EARLIER:
                kind.append(record)
    yield "# Figures"
    yield ""
    yield "Written by `python -m kinhash_bench.figures_page bench/results`; every figure is in a result file there."
    yield "Mean ± deviation over partitions [partitions]. Methods with *float* ask with floats, and so do OPQ, the"
    yield "additive quantizers, RaBitQ, TurboQuant, ASH and the label byte. *cosine* keeps whole floats."
    lost: list[tuple[float, str]] = []
    for place in sorted({(r["protocol"], r["bits"], r["which"]) for r in learner}, key=_order):
        own = [r for r in learner if (r["protocol"], r["bits"], r["which"]) == place]
        for key, title in SHOWN.get(place[0], {}).items():
            cells = figures(own, key)
            if len(cells) > 1:
                yield from table(f"{title}{_which(place[2])}, {place[1] // 8} bytes", cells)
                lost += [(gap, f"{where}{_which(place[2])} | {place[1] // 8} | {title} | {line}")
                         for where, gap, line in losses(cells)]  # fmt: skip
    if lost:
        yield "\n## Where kinhash loses\n"
        yield "By more than .005 to the best rival of the same bytes, the widest gap first.\n"
        yield "| set | bytes | figure | kinhash | best rival | gap | partitions |"
        yield "|---|---:|---|---:|---|---:|---:|"
        yield from (f"| {line} |" for _, line in sorted(lost, reverse=True))
    yield from peers(search)
    yield from path(scale)


def _order(place: tuple[str, int, str]) -> tuple[int, int, int, str]:
    protocol, n_bits, which = place
    digits = "".join(c for c in which if c.isdigit())
    return [*SHOWN, protocol].index(protocol), n_bits, int(digits or 0), which


def _which(which: str) -> str:
    return f", {which.removeprefix('few')} a class" if which.startswith("few") else f", {which}" * bool(which)


def figures(records: list[Record], key: str) -> Cells:
    """One figure of every method; of a label byte the setting that is best on the set."""
    cells: Cells = defaultdict(lambda: defaultdict(dict))
    for record in records:
        for name, own in (
            ("", key),
            (", float", f"float {key}"),
            (", float", key.replace(" ", " float ", 1)),
        ):
            if own in record["figures"] and (name == "" or own != key):
                cells[record["method"] + name][record["set"]][record["partition"]] = record["figures"][own]
    for name in [name for name in cells if name.startswith("labelbyte ")]:
        for where, runs in cells.pop(name).items():
            best = cells["label byte, best setting"]
            if not best[where] or _mean(runs) > _mean(best[where]):
                best[where] = runs
    return cells


def _mean(runs: Runs) -> float:
    return float(np.mean(list(runs.values())))


def table(title: str, cells: Cells) -> Iterator[str]:
    """Methods down, sets across; the best of equal bytes in bold."""
    sets = sorted({where for own in cells.values() for where in own})
    rivals = [name for name in cells if name != FLOATS]
    best = {w: max((_mean(cells[name][w]) for name in rivals if w in cells[name]), default=0.0) for w in sets}
    yield f"\n## {title[0].upper()}{title[1:]}\n"
    yield f"| | {' | '.join(sets)} |"
    yield "|---" * (len(sets) + 1) + "|"
    order = sorted(cells, key=lambda n: (n != OURS, n != f"{OURS}, float", n))
    for name in order:
        shown = [_cell(cells[name][w], name != FLOATS and best[w]) if w in cells[name] else "–" for w in sets]
        yield f"| {name} | {' | '.join(shown)} |"


def _cell(runs: Runs, best: float | bool) -> str:
    values = list(runs.values())
    text = _short(_mean(runs))
    text = f"**{text}**" if best and _mean(runs) >= best else text
    spread = f" ± {_short(float(np.std(values, ddof=1)))}" if len(values) > 1 else ""
    return f"{text}{spread} [{len(values)}]"


def _short(value: float) -> str:
    return f"{value:.3f}".replace("0.", ".", 1)


def losses(cells: Cells) -> Iterator[tuple[str, float, str]]:
    """(set, gap, line of the table): where a rival of equal bytes is ahead on the partitions of both."""
    for where in sorted({w for name in cells if name.startswith(OURS) for w in cells[name]}):
        ours = {name: own[where] for name, own in cells.items() if name.startswith(OURS) and where in own}
        mine = max(ours.values(), key=_mean)
        found = []
        for name, own in cells.items():
            both = sorted(set(mine) & set(own.get(where, {})))
            if both and not name.startswith((OURS, FLOATS)):
                found.append((_mean({p: own[where][p] - mine[p] for p in both}), name, both))
        if found and max(found)[0] > 0.005:
            gap, name, both = max(found)
            left, right = (_short(_mean({p: one[p] for p in both})) for one in (mine, cells[name][where]))
            yield where, gap, f"{left} | {name} {right} | {_short(gap)} | {len(both)}"


def peers(records: list[Record]) -> Iterator[str]:
    """Ratios of `benchmarks/search.py`: a peer's seconds divided by ours."""
    for label in dict.fromkeys(record["section"] for record in records):
        own = [record for record in records if record["section"] == label]
        names = list(dict.fromkeys(record["peer"] for record in own))
        yield f"\n## Search beside peers in processes of their own: {label}\n"
        yield "Seconds of the peer divided by ours, the median of interleaved rounds [least to most].\n"
        yield f"| bits | asked | threads | kinhash, µs a query | {' | '.join(names)} |"
        yield "|---:|---|---:|---:" + "|---" * len(names) + "|"
        rows: dict[tuple[Any, ...], dict[str, Record]] = defaultdict(dict)
        for record in own:
            rows[record["bits"], record["what"], record["threads"]][record["peer"]] = record
        for (n_bits, what, count), row in sorted(rows.items()):
            first = next(iter(row.values()))
            shown = [
                f"{r['ratio']:.2f} [{r['least']:.2f} to {r['most']:.2f}]" if (r := row.get(name)) else "–"
                for name in names
            ]
            line = " | ".join(shown)
            yield f"| {n_bits} | {what} | {count} | {first['kinhash_us']:,.1f} | {line} |"


def path(records: list[Record]) -> Iterator[str]:
    """Steps of `benchmarks/scale.py path`, the latest run of each number of rows."""
    for rows in sorted({record["rows"] for record in records}):
        own = {record["step"]: record for record in records if record["rows"] == rows}
        yield f"\n## The whole path of {rows:,} rows\n"
        yield "| step | seconds | CPU seconds | peak memory, MB | |"
        yield "|---|---:|---:|---:|---|"
        for step, record in own.items():
            more = [f"{key} {value}" for key, value in record.items() if key not in PLAIN]
            line = (
                f"{record['seconds']:,.3f} | {record['cpu']:,.2f} | {record['peak_mb']:,} | {', '.join(more)}"
            )
            yield f"| {step} | {line} |"


PLAIN = ("rows", "columns", "step", "seconds", "cpu", "peak_mb")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    sys.stdout.writelines(f"{line}\n" for line in page(read(parser.parse_args().folder)))


if __name__ == "__main__":
    main()
