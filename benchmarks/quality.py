"""Quality of the codes under the `paper` protocol, beside what the estimators promise.

    KINHASH_DATA=... python benchmarks/quality.py [--sets cifar10-gist corel5k ...] [--bits 8 16 32 64]
        [--partitions 3] [--methods EnergyHasher EMKSH ...] [--rbf] [--json out.json]

Every cell is one method, one length and one partition of one set: expected-tie mAP with learned and with
mapped database codes. The table gives the mean over partitions, the standard deviation between them, the
promise and whether the mean holds it. Without options a set is run at the lengths and with the methods
that have a promise (and EM-KSH to the letter); ``--rbf`` adds EnergyHasher with RBF features on CIFAR-10
GIST, or wherever ``--methods`` is given. Methods take the number of the partition as their random_state.
With ``--json`` cells are kept in a file as they are finished, and cells that are in the file already are
not run again (delete it after a change of the code).

The exit code is 1 when a cell fails, or a promise that was measured does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kinhash import EMKSH, EnergyHasher
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.errors import KinhashError
from kinhash_bench.datasets import load
from kinhash_bench.protocols import PROTOCOLS, Cosine, evaluate

SETS = {
    "cifar10-gist": "cifar10_gist512",
    "cifar10-network": "cifar10_efficientnet_lite0_pca256",
    "reuters": "reuters21578_minilm384",
    "coco117k": "coco117266_efficientnet_lite0_pca128",
    "coco-gist": "coco20770_gist512",
    "corel5k": "mulan_corel5k",
    "mirflickr5000": "mirflickr5000_pca100",
    "bibtex": "mulan_bibtex",
    "delicious": "mulan_delicious",
}


def with_features(kind: str, bits: int, seed: int) -> EnergyHasher:
    return EnergyHasher(bits, encoder=ExpectedLabels(features=kind), random_state=seed)


METHODS: dict[str, Callable[[int, int], Any]] = {
    "EMKSH": lambda bits, seed: EMKSH(bits, random_state=seed),
    "EMKSH-literal": lambda bits, seed: EMKSH(bits, literal=True, random_state=seed),
    "EnergyHasher": lambda bits, seed: EnergyHasher(bits, random_state=seed),
    "EnergyHasher-plain": lambda bits, seed: with_features("plain", bits, seed),
    "EnergyHasher-rbf": lambda bits, seed: with_features("rbf", bits, seed),
    "EnergyHasher-ridge": lambda bits, seed: EnergyHasher(bits, encoder="ridge", random_state=seed),
    "EnergyHasher-kin": lambda bits, seed: EnergyHasher(bits, alike=0, random_state=seed),
    "Cosine": lambda bits, seed: Cosine(),
}
FLOAT = ("Cosine",)  # one cell, whatever the length
RBF = "EnergyHasher-rbf"

# What is promised: set → method → bits → least mAP with (learned, mapped) database codes.
Least = tuple[float | None, float | None]
PROMISES: dict[str, dict[str, dict[int, Least]]] = {
    "cifar10-gist": {
        "EMKSH": {8: (0.47, None), 16: (0.56, None), 32: (0.60, None), 64: (0.625, None)},
        "EMKSH-literal": {8: (None, None), 16: (None, None), 32: (None, None), 64: (None, None)},
        "EnergyHasher-plain": {8: (0.575, 0.35), 16: (0.655, 0.40), 32: (0.66, 0.41), 64: (0.67, 0.415)},
        RBF: {8: (0.61, 0.39), 16: (0.69, 0.44), 32: (0.705, 0.465), 64: (0.715, 0.475)},
    },
    "cifar10-network": {"EnergyHasher": {64: (0.88, 0.77)}},
    "reuters": {"EnergyHasher": {64: (0.915, 0.875)}},
    "coco117k": {"EnergyHasher": {64: (0.785, 0.66)}},
    "coco-gist": {"EnergyHasher": {64: (0.625, 0.44)}},
    "corel5k": {"EnergyHasher": {64: (0.425, 0.325)}},
    "mirflickr5000": {"EnergyHasher": {64: (0.925, 0.875)}},
    "bibtex": {"EnergyHasher": {64: (0.57, 0.55)}},
    "delicious": {"EnergyHasher": {64: (0.86, 0.78)}},
}
PROTOCOL = PROTOCOLS["paper"]

Row = tuple[str, str, int]  # set, method, bits


def planned(options: argparse.Namespace) -> list[Row]:
    """Rows of the table, in order; options overrule what has a promise."""
    rows: list[Row] = []
    for name in options.sets:
        promised = PROMISES[name]
        methods = options.methods or [method for method in promised if method != RBF]
        if options.rbf and RBF not in methods and (options.methods or RBF in promised):
            methods = [*methods, RBF]
        for method in methods:
            lengths = options.bits or sorted(promised.get(method, list(promised.values())[-1]))
            rows += [(name, method, bits) for bits in ([0] if method in FLOAT else lengths)]
    return rows


def cell_key(row: Row, partition: int) -> str:
    name, method, bits = row
    return f"{PROTOCOL} {SETS[name]} {method} {bits} {partition}"


class Cells:
    """Finished cells, kept in a file after each one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.found: dict[str, Any] = {}
        if path is not None and path.exists():
            self.found = json.loads(path.read_text())["cells"]

    def add(self, key: str, record: dict[str, Any]) -> None:
        self.found[key] = record
        if self.path is not None:
            part = self.path.with_name(self.path.name + ".part")
            part.write_text(json.dumps({"cells": self.found}, indent=1))
            os.replace(part, self.path)


def talk(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(rows: list[Row], n_partitions: int, cells: Cells) -> int:
    """Measure what is not there yet, one set in memory at a time; the number of cells that failed."""
    wanted = [(row, number) for row in rows for number in range(n_partitions)]
    missing = [(row, number) for row, number in wanted if cell_key(row, number) not in cells.found]
    talk(f"{len(wanted)} cells, {len(wanted) - len(missing)} already measured")
    held, data, failures = "", None, 0
    for done, (row, number) in enumerate(missing, 1):
        name, method, bits = row
        start = time.perf_counter()
        try:
            if held != name:
                data = None  # the last set goes before the next one comes
                held, data = name, load(SETS[name])
            with warnings.catch_warnings():  # constant bits are in the record's health
                warnings.simplefilter("ignore")
                record = evaluate(METHODS[method](bits, number), data, PROTOCOL, number)
        except (KinhashError, MemoryError) as error:
            failures += 1
            outcome = f"failed: {error}"
        else:
            cells.add(cell_key(row, number), record.to_dict(per_query=False))
            scores = (record.learned, record.mapped)
            outcome = " / ".join("–" if score is None else f"{score.value:.4f}" for score in scores)
        spent = time.perf_counter() - start
        length = f"{bits} bits" if bits else "float"
        talk(
            f"[{done}/{len(missing)}] {name} {method} {length} partition {number}: {outcome} ({spent:.0f} s)"
        )
    return failures


def values(row: Row, which: str, n_partitions: int, cells: Cells) -> np.ndarray:
    found = (cells.found.get(cell_key(row, number)) for number in range(n_partitions))
    scores = (record[which] for record in found if record is not None)
    return np.array([score["value"] for score in scores if score is not None])


def shown(scores: np.ndarray, least: float | None) -> tuple[str, bool]:
    """One column of the table, and whether its promise holds."""
    if not len(scores):
        return "–", True
    mean = scores.mean()
    spread = f" ± {scores.std(ddof=1):.4f}" if len(scores) > 1 else ""
    text = f"{mean:.4f}{spread}"
    if least is None:
        return text, True
    # Compared as measured, not as printed: .46996 does not hold a promise of .47.
    return f"{text} ≥ {least:.3f} {'holds' if mean >= least else 'FAILS'}", bool(mean >= least)


def report(rows: list[Row], n_partitions: int, cells: Cells) -> bool:
    """Print the table; True when every promise that was measured holds."""
    print(f"mAP under {PROTOCOL}, mean ± deviation over partitions 0 to {n_partitions - 1}; ties: expected\n")
    line = "{:16} {:20} {:>5} {:>3}  {:36} {:36} {:>8}"
    print(line.format("set", "method", "bits", "n", "learned database", "mapped database", "fit s"))
    all_hold = True
    for row in rows:
        name, method, bits = row
        least = PROMISES[name].get(method, {}).get(bits, (None, None))
        learned, mapped = (values(row, which, n_partitions, cells) for which in ("learned", "mapped"))
        texts, hold = zip(shown(learned, least[0]), shown(mapped, least[1]), strict=True)
        all_hold &= all(hold)
        fits = [
            cells.found[key]["seconds"]["fit"]
            for key in (cell_key(row, number) for number in range(n_partitions))
            if key in cells.found
        ]
        seconds = f"{np.mean(fits):.1f}" if fits else "–"
        print(line.format(name, method, bits or "float", len(fits), *texts, seconds))
    return all_hold


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--bits", nargs="+", type=int, help="lengths; default: those with a promise")
    parser.add_argument("--partitions", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=METHODS, help="default: those with a promise")
    parser.add_argument("--rbf", action="store_true", help="add EnergyHasher with RBF features")
    parser.add_argument("--json", type=Path, help="file that keeps finished cells")
    options = parser.parse_args()
    rows, cells = planned(options), Cells(options.json)
    failures = run(rows, options.partitions, cells)
    return 0 if report(rows, options.partitions, cells) and not failures else 1


if __name__ == "__main__":
    sys.exit(main())
