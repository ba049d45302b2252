"""The tables of the documentation, as Markdown, from results of `kinhash bench`.

    python benchmarks/tables.py best RUNS... [--bits 64]            # ours beside the best rival, set by set
    python benchmarks/tables.py count RUNS...                       # first, level and lost cells
    python benchmarks/tables.py methods RUNS... --data cifar10_gist512 [--rows SDH ...]
    python benchmarks/tables.py published RUNS... [--bits 32] [--protocol cifar10]  # mAP@K, both definitions

RUNS are folders of results; of the same cell in several of them the last one counts. Means are over
partitions, ± is their standard deviation. *Later rows* are those of the protocol `inductive`: a mapped
database that was not fitted on. First, level and lost are as in the report (`kinhash_bench.report.wins`), by
the paired difference of all queries; a lead beyond its 95 % interval is marked by a star.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping

import numpy as np

from kinhash_bench.report.all_methods import OURS
from kinhash_bench.report.paired import LEVEL, difference
from kinhash_bench.report.rows import Group, arrange, group_by
from kinhash_bench.report.wins import Verdict, verdicts
from kinhash_bench.tasks.result import Result
from kinhash_bench.tasks.store import read_results

NAMES = {
    "cifar10_efficientnet_lite0_pca256": "CIFAR-10 network features",
    "cifar10_gist512": "CIFAR-10 GIST",
    "reuters21578_minilm384": "Reuters",
    "mirflickr5000_pca100": "MIRFlickr-5000",
    "mirflickr25k_usertags": "MIRFlickr-25k, words",
    "mulan_corel5k": "Corel5k",
    "mulan_bibtex": "Bibtex",
    "mulan_delicious": "Delicious",
    "coco20770_gist512": "COCO-GIST",
    "coco117266_efficientnet_lite0_pca128": "COCO-117k",
    "mulan_yeast": "Yeast",
    "mulan_scene": "Scene",
}
SHORT = {"eigenvectors of S + ITQ": "S + ITQ"}
PM = "\u00a0±\u00a0"  # of which no half goes to the next line
DATABASES = {"learned": ("paper", "learned"), "mapped": ("paper", "mapped"), "later": ("inductive", "mapped")}

Scores = dict[int, float]  # by partition
Methods = dict[str, Scores]  # by label
Table = dict[tuple[str, int, str], Methods]  # by set, bits and database


def read(folders: list[str]) -> list[Result]:
    """All results that have scores; of the same cell the last."""
    found = {}
    for result in (result for folder in folders for result in read_results(folder) if result.ok):
        cell = (result.dataset, result.protocol, result.label, result.n_bits, result.partition)
        found[cell] = result
    return list(found.values())


def table_of(results: Iterable[Result]) -> Table:
    found: Table = {}
    for result in results:
        for database, (protocol, kind) in DATABASES.items():
            score = getattr(result, kind)
            if result.protocol == protocol and result.n_bits is not None and score is not None:
                methods = found.setdefault((result.dataset, result.n_bits, database), {})
                methods.setdefault(result.label, {})[result.partition] = score.value
    return found


def verdicts_of(results: Iterable[Result], other_maps: bool) -> list[tuple[str, Verdict]]:
    """How ours stands, cell by cell, and in which of the three databases."""
    names = {place: database for database, place in DATABASES.items()}
    found = [
        (names.get((v.setting.protocol, v.kind)), v)
        for v in verdicts(arrange(results), other_maps=other_maps)
    ]
    return [(name, v) for name, v in found if name and v.setting.dataset in NAMES]


def behind(ours: Scores, its: Scores) -> tuple[float, float]:
    """How far ours is behind on the partitions both have, and the standard error of that over these."""
    apart = np.array([its[p] - ours[p] for p in sorted(ours.keys() & its.keys())])
    error = float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else 0.0
    return (float(apart.mean()) if len(apart) else -np.inf), error


def shown(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".replace("0.", ".", 1).replace("-", "−")


def spread(scores: Mapping[int, float]) -> str:
    values = np.array(list(scores.values()))
    return shown(values.mean()) + (f"{PM}{shown(values.std(ddof=1))}" if len(values) > 1 else "")


def best(results: list[Result], bits: int) -> None:
    print(
        f"| {bits} bits | learned | best rival | mapped | best rival | later rows | best rival | partitions |"
    )
    print("|---|---|---|---|---|---|---|---|")
    found = {(v.setting.dataset, name): v for name, v in verdicts_of(results, False) if v.n_bits == bits}
    table = table_of(results)
    for dataset, name in NAMES.items():
        entries, partitions = [], 0
        for database in DATABASES:
            v = found.get((dataset, database))
            if v is None:
                entries += ["–", "–"]
                continue
            ours = table[dataset, bits, database][OURS]
            its = spread({p: score.value for p, score in v.its.scores(v.kind).items()})
            its = its if v.won else f"**{its}**"
            entries += [spread(ours), f"{its}<br>{SHORT.get(v.rival, v.rival)}"]
            partitions = max(partitions, len(ours))
        if partitions:
            print(f"| {name} | {' | '.join(entries)} | {partitions} |")


def count(results: list[Result]) -> None:
    for words, other_maps in (("own maps", False), ("and our map on their codes", True)):
        cells = [(name, v) for name, v in verdicts_of(results, other_maps) if v.n_bits in (16, 32, 64)]
        n, level = max(len(cells), 1), sum(v.won for _, v in cells)
        unsure = sum(v.behind.mean <= LEVEL * v.behind.error for _, v in cells)
        print(f"{words}: {len(cells)} cells, first {sum(v.first for _, v in cells)},", end=" ")
        print(
            f"first or level {level} ({level / n:.0%}), in the 95 % interval {unsure} ({unsure / n:.0%});",
            end=" ",
        )
        print(f"other maps in {sum(v.other_maps for _, v in cells)}; lost:")
        for name, v in cells:
            if not v.won:
                star = " *" if v.behind.mean > LEVEL * v.behind.error else ""
                lead = (
                    f"+{shown(v.behind.mean, 4)} ± {shown(v.behind.error, 4)} (n = {v.behind.n_partitions})"
                )
                print(f"- {NAMES[v.setting.dataset]}, {name}, {v.n_bits} bits: {v.rival} {lead}{star}")
        print()


def methods_of(table: Table, dataset: str, rows: list[str]) -> None:
    lengths = sorted({bits for name, bits, _ in table if name == dataset})
    cells = {
        (bits, database): table.get((dataset, bits, database), {})
        for bits in lengths
        for database in DATABASES
    }
    labels = rows or sorted({label for methods in cells.values() for label in methods})
    known = [database for database in DATABASES if any(cells[bits, database] for bits in lengths)]
    print(f"| | partitions | {' | '.join(f'{bits} bits' for bits in lengths)} |")
    print(f"|---|---|{'---|' * len(lengths)}")
    for label in labels:
        scores = [[cells[bits, database].get(label) for database in known] for bits in lengths]
        n = [len(one) for some in scores for one in some if one]
        if n:
            # One number where a method has mapped codes only.
            entries = [" / ".join(dict.fromkeys(spread(one) for one in some if one)) for some in scores]
            partitions = str(n[0]) if len(set(n)) == 1 else f"{min(n)} to {max(n)}"
            print(f"| {label} | {partitions} | {' | '.join(entries)} |")


def published(results: list[Result], bits: int, protocol: str) -> None:
    """Mapped databases; the last column is ours less the row, query by query, ± one standard error."""
    chosen = [r for r in results if r.protocol == protocol and r.n_bits in (bits, None) and r.mapped]
    groups = {label: Group.of(some) for label, some in group_by(chosen, lambda r: r.label).items()}
    print("| | partitions | mAP | mAP@1000 by kin / by found | mAP@5000 by kin / by found | ours ahead by |")
    print("|---|---|---|---|---|---|")
    for label, group in sorted(groups.items(), key=lambda pair: -(pair[1].mean("mapped") or 0)):
        scores = group.scores("mapped")
        entries = [spread({p: score.value for p, score in scores.items()})]
        for k in ("1000", "5000"):
            both = (
                {p: s.map_at.get(k) for p, s in scores.items()},
                {p: s.map_at_found.get(k) for p, s in scores.items()},
            )
            entries.append(" / ".join("–" if None in one.values() else spread(one) for one in both))
        apart = difference(groups.get(OURS), group, "mapped")
        ahead = "" if label == OURS or apart is None else f"{shown(apart.mean)} ± {shown(apart.error)}"
        print(f"| {label} | {len(scores)} | {' | '.join(entries)} | {ahead} |")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("table", choices=("best", "count", "methods", "published"))
    words.add_argument("runs", nargs="+")
    words.add_argument("--bits", type=int, default=64)
    words.add_argument("--data", default="cifar10_gist512")
    words.add_argument("--protocol", default="cifar10")
    words.add_argument("--rows", nargs="*", default=[])
    given = words.parse_args()
    results = read(given.runs)
    if given.table == "best":
        best(results, given.bits)
    elif given.table == "count":
        count(results)
    elif given.table == "methods":
        methods_of(table_of(results), given.data, given.rows)
    else:
        published(results, given.bits, given.protocol)


if __name__ == "__main__":
    main()
