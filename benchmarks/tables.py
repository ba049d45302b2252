"""The tables of the documentation, as Markdown, from results of `kinhash bench`.

    python benchmarks/tables.py best RUNS... [--bits 64]            # ours beside the best rival, set by set
    python benchmarks/tables.py count RUNS...                       # first, level and lost cells
    python benchmarks/tables.py methods RUNS... --data cifar10_gist512 [--rows SDH ...]
    python benchmarks/tables.py pieces RUNS... [--bits 64] [--rows ...]   # differences from the default

RUNS are folders of results; of the same cell in several of them the last one counts. Means are over
partitions, ± is their standard deviation. *Later rows* are those of the protocol `inductive`: a mapped
database that was not fitted on. A cell is first where no rival's mean is above ours on the partitions both
have, and level where each that is above is so by at most one standard error of the paired difference over
these partitions; beyond the 95 % interval of that difference (Student's t) is marked by a star.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

import numpy as np
from scipy.stats import t as student_t

from kinhash.bench.store import read_results

OURS = "EnergyHasher"
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
DATABASES = {"learned": ("paper", "learned"), "mapped": ("paper", "mapped"), "later": ("inductive", "mapped")}

Scores = dict[int, float]  # by partition
Methods = dict[str, Scores]  # by label
Table = dict[tuple[str, int, str], Methods]  # by set, bits and database


def read(folders: list[str]) -> Table:
    """All scores; of the same cell the last."""
    found: Table = {}
    for result in (result for folder in folders for result in read_results(folder)):
        for database, (protocol, kind) in DATABASES.items():
            score = getattr(result, kind)
            if result.protocol == protocol and result.n_bits is not None and score is not None:
                methods = found.setdefault((result.dataset, result.n_bits, database), {})
                methods.setdefault(result.label, {})[result.partition] = score.value
    return found


def behind(ours: Scores, its: Scores) -> tuple[float, float, list[int]]:
    """How far ours is behind on the partitions both have, the standard error of that, and which they are."""
    both = sorted(ours.keys() & its.keys())
    apart = np.array([its[p] - ours[p] for p in both])
    error = float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else 0.0
    return (float(apart.mean()) if both else -np.inf), error, both


def rivals(methods: Methods, other_maps: bool) -> Iterator[tuple[str, float, float, list[int]]]:
    """Those that share partitions with ours, with their own maps alone or with ours on their codes too."""
    for label, its in methods.items():
        if label.startswith(OURS) or "float" in label or ("map" in label and not other_maps):
            continue
        lead, error, both = behind(methods[OURS], its)
        if both:
            yield label, lead, error, both


def shown(value: float, digits: int = 3) -> str:
    return f"{value:.{digits}f}".replace("0.", ".", 1)


def spread(scores: Mapping[int, float]) -> str:
    values = np.array(list(scores.values()))
    return shown(values.mean()) + (f" ± {shown(values.std(ddof=1))}" if len(values) > 1 else "")


def best(table: Table, bits: int) -> None:
    print(
        f"| {bits} bits | learned | best rival | mapped | best rival | later rows | best rival | partitions |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for dataset, name in NAMES.items():
        entries, partitions = [], 0
        for database in DATABASES:
            methods = table.get((dataset, bits, database), {})
            found = list(rivals(methods, False)) if OURS in methods else []
            if not found:
                entries += ["–", "–"]
                continue
            label, lead, error, both = max(found, key=lambda rival: rival[1])
            its = shown(float(np.mean([methods[label][p] for p in both]))) + f" {label}"
            entries += [spread(methods[OURS]), f"**{its}**" if lead > error else its]
            partitions = max(partitions, len(methods[OURS]))
        if partitions:
            print(f"| {name} | {' | '.join(entries)} | {partitions} |")


def count(table: Table) -> None:
    for words, other_maps in (("own maps", False), ("and our map on their codes", True)):
        cells = first = level = 0
        lost = []
        for (dataset, bits, database), methods in sorted(table.items()):
            labels = methods if OURS in methods and dataset in NAMES and bits in (16, 32, 64) else {}
            if other_maps and not any("map" in label for label in labels):
                continue
            found = list(rivals(methods, other_maps)) if labels else []
            if not found:
                continue
            ahead = [rival for rival in found if rival[1] > 0]
            sure = [rival for rival in ahead if rival[1] > rival[2]]
            cells, first, level = cells + 1, first + (not ahead), level + (not sure)
            if sure:
                label, lead, error, both = max(sure, key=lambda rival: rival[1])
                place = f"{NAMES[dataset]}, {database}, {bits} bits"
                star = " *" if len(both) > 1 and lead > student_t.ppf(0.975, len(both) - 1) * error else ""
                lost.append(f"{place}: {label} +{shown(lead)} ± {shown(error)} (n = {len(both)}){star}")
        share = 100 * level / max(cells, 1)
        print(f"{words}: {cells} cells, first {first}, first or level {level} ({share:.0f} %); lost:")
        print("\n".join(f"- {line}" for line in lost) + "\n")


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


def pieces(table: Table, bits: int, rows: list[str]) -> None:
    names = [name for name in NAMES if any(key[:2] == (name, bits) for key in table)]
    labels = rows or sorted({label for methods in table.values() for label in methods} - {OURS})
    print(f"| | {' | '.join(NAMES[name] for name in names)} |")
    print(f"|---|{'---|' * len(names)}")
    cells = {(name, d): table.get((name, bits, d), {}) for name in names for d in DATABASES}
    own = [" / ".join(spread(cells[name, d][OURS]) for d in DATABASES) for name in names]
    print(f"| the default | {' | '.join(own)} |")
    for label in labels:
        entries = []
        for name in names:
            parts = []
            for d in DATABASES:
                its = cells[name, d].get(label)
                if not its:
                    parts.append("–")
                    continue
                apart, error, _ = behind(cells[name, d][OURS], its)
                text = f"{'+' if apart > 0 else '−'}{shown(abs(apart))}" if abs(apart) >= 5e-4 else "0"
                parts.append(f"**{text}**" if abs(apart) > 2 * error else text)
            entries.append(" / ".join(parts))
        print(f"| {label.removeprefix(f'{OURS}, ')} | {' | '.join(entries)} |")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("table", choices=("best", "count", "methods", "pieces"))
    words.add_argument("runs", nargs="+")
    words.add_argument("--bits", type=int, default=64)
    words.add_argument("--data", default="cifar10_gist512")
    words.add_argument("--rows", nargs="*", default=[])
    given = words.parse_args()
    table = read(given.runs)
    if given.table == "best":
        best(table, given.bits)
    elif given.table == "count":
        count(table)
    elif given.table == "methods":
        methods_of(table, given.data, given.rows)
    else:
        pieces(table, given.bits, given.rows)


if __name__ == "__main__":
    main()
