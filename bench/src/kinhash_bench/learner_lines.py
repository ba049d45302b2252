"""Tables of the records of `learner_figures`, and which lines a method reaches beside its rivals.

    python -m kinhash_bench.learner_lines bench/results/learner [--method kinhash] [--before today] [--tables]

Figures are means over the partitions that both sides have. A line of the report is ``met`` or ``MISSED``,
what was measured, what it had to reach, and how many partitions there are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

KNOWN = ("network", "gist", "newsgroups", "reuters", "digits", "icd10")
TAGS = ("coco", "mirflickr", "corel5k", "bibtex")
MANY = ("newsgroups", "network", "icd10")
SIDES = ("learned", "later")
UNLABELED = ("newsgroups", "network", "gist", "icd10", "reuters", "coco")
ODD = ("latlon", "column", "rings", "sphere")

Cell = tuple[str, str, str, int]  # set, protocol, which, bits
Runs = dict[int, dict[str, float]]  # figures by partition


class Records:
    """All records of a folder or a file."""

    def __init__(self, path: Path) -> None:
        self.cells: dict[str, dict[Cell, Runs]] = defaultdict(lambda: defaultdict(dict))
        for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
            for line in file.read_text().splitlines():
                record = json.loads(line)
                cell = record["set"], record["protocol"], record["which"], record["bits"]
                self.cells[record["method"]][cell][record["partition"]] = record["figures"]

    def pair(self, method: str, rival: str, cell: Cell, key: str) -> tuple[float, float, int] | None:
        """Means of both over the partitions that both have."""
        mine, theirs = (self.cells.get(name, {}).get(cell, {}) for name in (method, rival))
        both = [p for p in mine if p in theirs and key in mine[p] and key in theirs[p]]
        if not both:
            return None
        ours, rivals = (float(np.mean([runs[p][key] for p in both])) for runs in (mine, theirs))
        return ours, rivals, len(both)

    def best(self, stem: str, cell: Cell, key: str) -> str:
        """The setting of a rival that is best by this figure."""
        names = [name for name in self.cells if name.startswith(stem) and cell in self.cells[name]]
        means = {name: np.mean([run[key] for run in self.cells[name][cell].values()]) for name in names}
        return max(means, key=lambda name: means[name], default=stem)


def _asked(records: Records, before: str) -> Iterator[tuple[str, Cell, str, str, float]]:
    """What is compared: section, cell, figure, rival, and how far above the rival it must be."""
    for name in KNOWN:
        cell = name, "known", "", 64
        for key, more in (("ten", 0.0), ("map", -0.02)):
            yield "known labels", cell, f"learned {key}", before, more
            yield "known labels", cell, f"later {key}", before, more - 0.005 * (key == "map")
        if name != "reuters":
            yield "near", cell, "near", before, -0.06
            yield "near", cell, "near never", before, 0.15
    for name in MANY:
        cell = name, "oldnew", "", 64
        yield "old and new", cell, "old ten", "cosine", 0.0
        yield "old and new", cell, "new ten", "cosine", 0.0
        yield "old and new", cell, "old ten", records.best("labelbyte", cell, "old ten"), -0.03
        cell = name, "known", "", 64
        yield "never seen", cell, "never ten", "itq", 0.0 if name == "icd10" else -0.05
        yield "never seen", cell, "never ten", before, 0.0
        for count in (1, 5, 20, 100):
            cell = name, "few", f"few{count}", 64
            yield "few labels", cell, "ten", "itq", 0.02
            yield "few labels", cell, "ten", before, 0.15 if (name, count) == ("network", 5) else -0.02
            if count >= 5:
                yield "few labels", cell, "map", "itq", 0.05
    for n_bits in (32, 64, 128):
        for name in UNLABELED:
            yield "no labels", (name, "nolabels", "", n_bits), "near", "itq", 0.03


def lines(records: Records, method: str, before: str) -> Iterator[str]:
    """One line for every comparison that there are records for."""
    for section, cell, key, rival, more in _asked(records, before):
        there = cell if rival != "itq" or cell[1] != "few" else (*cell[:2], "few0", cell[3])
        for number in records.cells[rival].get(there, {}):
            records.cells[rival][cell][number] = records.cells[rival][there][number]
        if found := records.pair(method, rival, cell, key):
            mine, theirs, n = found
            yield _line(section, cell, key, mine, theirs + more, n, f"{rival} {theirs:.3f} {more:+.3f}")
    gains = [
        records.pair(method, before, (name, "known", "", 64), f"{k} ten") for name in KNOWN for k in SIDES
    ]
    if all(gains):
        each = [min(g[0] - g[1] for g in gains[2 * i : 2 * i + 2] if g) for i in range(len(KNOWN))]
        better, cell = sum(gain >= 0.02 for gain in each), ("sets gaining .02", "known", "", 64)
        yield _line("known labels", cell, "both ten", better, 3, gains[0][2] if gains[0] else 0)
    yield from _tag_lines(records, method, before)
    for cell, runs in sorted(records.cells[method].items()):
        yield from _own_lines(
            cell, {key: [run[key] for run in runs.values()] for key in next(iter(runs.values()))}
        )
    yield from _bit_lines(records.cells[method])


def _tag_lines(records: Records, method: str, before: str) -> Iterator[str]:
    for rows, slack in zip(SIDES, (-0.015, 0.0), strict=True):
        for key in ("ten", "exact", "jaccard"):
            found = [records.pair(method, before, (name, "known", "", 64), f"{rows} {key}") for name in TAGS]
            some = [one for one in found if one]
            if some:
                mine, theirs = (float(np.mean([one[side] for one in some])) for side in (0, 1))
                cell = f"{len(some)} tag sets", "known", "", 64
                beside = f"{before} {theirs:.3f} {slack:+.3f}"
                yield _line("tags", cell, f"{rows} {key}", mine, theirs + slack, some[0][2], beside)


def _own_lines(cell: Cell, runs: dict[str, list[float]]) -> Iterator[str]:
    """Lines without a rival."""
    _, protocol, which, n_bits = cell
    mean = {key: float(np.mean(values)) for key, values in runs.items()}
    n = len(next(iter(runs.values())))
    if protocol == "known" and n_bits == 64:
        yield _line("self, mixture", cell, "self", mean["self"], 0.65, n)
        yield _line("self, mixture", cell, "mix", mean["mix"], 1.3, n, most=True)
    if protocol == "deadcols":
        yield _line("odd columns", cell, "0.0001 flips", mean["0.0001 flips"], 0.01, n, most=True)
    if protocol == "narrow" and not mean["warned"]:
        yield _line("narrow", cell, "learned ten", mean["learned ten"], 0.85 * mean["float ten"], n)
    if protocol == "rare":
        yield _line("narrow", cell, "map", mean["map"], mean["logistic"] - 0.1, n)
    if protocol == "noise" and not mean["warned"]:
        yield _line("wrong labels", cell, "learned ten", mean["learned ten"], mean["mapped ten"] - 0.02, n)
    if protocol == "seeds" and which == "sd":
        for key, value in mean.items():
            yield _line("seeds", cell, key, value, 0.005, n, most=True)


def _bit_lines(cells: dict[Cell, Runs]) -> Iterator[str]:
    """More bits are not worse; an odd column does little harm."""
    for (name, protocol, which, n_bits), runs in sorted(cells.items()):
        if protocol == "known":
            fewer = max((c[3] for c in cells if c[:3] == (name, "known", "") and c[3] < n_bits), default=None)
            if fewer is None:
                continue
            for key in ("learned ten", "later ten", "learned map", "later map"):
                there = cells[name, "known", "", fewer]
                both = [p for p in runs if p in there]
                if both:
                    mine, less = (float(np.mean([r[p][key] for p in both])) for r in (runs, there))
                    beside = f"{fewer} bits {less:.3f} -0.005"
                    cell = name, protocol, which, n_bits
                    yield _line("bits", cell, key, mine, less - 0.005, len(both), beside)
        if protocol == "oddcols" and which != "0":
            plain = cells.get((name, protocol, "0", n_bits), {})
            both = [p for p in runs if p in plain]
            if both:
                mine, without = (float(np.mean([r[p]["ten"] for p in both])) for r in (runs, plain))
                cell = name, protocol, which, n_bits
                yield _line("odd columns", cell, "ten", mine, without - 0.05, len(both))


def _line(
    section: str,
    cell: Cell,
    key: str,
    value: float,
    bound: float,
    n: int,
    beside: str = "",
    most: bool = False,
) -> str:
    ok = value <= bound + 1e-9 if most else value >= bound - 1e-9
    where = " ".join(str(part) for part in cell if part != "")
    sign = "<=" if most else ">="
    head = f"{'met' if ok else 'MISSED':<7}{section:<14}{where:<28}{key:<16}"
    return f"{head}{value:.3f} {sign} {bound:.3f}  ({value - bound:+.3f})  {beside} [{n}]"


def tables(records: Records) -> Iterator[str]:
    """Means of all figures, a block for each protocol, set and number of bits."""
    cells = sorted(
        {cell for own in records.cells.values() for cell in own}, key=lambda c: (c[1], c[3], c[0], c[2])
    )
    for cell in cells:
        rows = {name: own[cell] for name, own in records.cells.items() if cell in own}
        keys = list(next(iter(next(iter(rows.values())).values())))
        yield f"\n{' '.join(str(part) for part in cell)}"
        yield f"{'':<26}" + "".join(f"{key:>16}" for key in keys)
        for name, runs in rows.items():
            means = [np.mean([run.get(key, np.nan) for run in runs.values()]) for key in keys]
            yield f"{name:<22}[{len(runs)}] " + "".join(f"{value:>16.3f}" for value in means)


def main() -> None:
    """The command line."""
    parser: Any = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("records", type=Path)
    parser.add_argument("--method", default="kinhash")
    parser.add_argument("--before", default="today")
    parser.add_argument("--tables", action="store_true")
    asked = parser.parse_args()
    records = Records(asked.records)
    found = tables(records) if asked.tables else lines(records, asked.method, asked.before)
    sys.stdout.writelines(f"{line}\n" for line in found)


if __name__ == "__main__":
    main()
