"""Methods side by side at the same bytes: kin and near kin, learned and mapped, with their spread.

    KINHASH_DATA=... python benchmarks/equal_bytes.py METHOD [METHOD ...] [--set cifar10-network] [--bits 64]
        [--partitions 3] [--queries 500] [--rows 20000] [--results results.jsonl]

A METHOD is a name of `kinhash bench` (a hasher or a float ranking), with settings after colons:
``EnergyHasher:alike=0``, ``COSDISH:map=expected``, ``OPQ``. Float rankings get the bytes that the bits take.
Partitions are those of `near_kin.py`: the training rows are the database. "Later" is kin mAP among as many
rows that were never trained on, where there are any. Results go to a file, one line per method and partition,
and what is in it already is not run again; the table is made from it: the mean over partitions, and ± their
standard deviation.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import near_kin
import numpy as np

from kinhash.errors import KinhashWarning
from kinhash.metrics import average_precision, average_precision_from_scores
from kinhash_bench.datasets import load
from kinhash_bench.protocols import score_rows
from kinhash_bench.tasks.methods import is_ranking, make_method

MORE_SETS = {"cifar10-gist": "cifar10_gist512", "digits": "digits"}
FIGURES = ("kin", "near-kin", "r100")


@dataclass
class Later:
    """Rows that come after training, mapped, and the labels that say who is kin."""

    X: Any
    y: Any

    @classmethod
    def draw(cls, name: str, n_queries: int, partition: int) -> Later | None:
        data = load(near_kin.SETS[name])
        tagged = np.flatnonzero(np.diff(data.labels.indicator().indptr) > 0)
        rows = np.random.default_rng((near_kin.SEED, partition)).permutation(tagged)
        rows = np.sort(rows[n_queries + near_kin.MOST_ROWS :][: near_kin.MOST_ROWS])
        return cls(data.features[rows], data.labels[rows]) if len(rows) > n_queries else None


def settings_of(method: str) -> tuple[str, dict[str, Any]]:
    """Name and settings of what was typed."""
    name, *pairs = method.split(":")
    given: dict[str, Any] = {}
    for pair in pairs:
        key, value = pair.split("=")
        try:
            given[key] = json.loads(value)
        except json.JSONDecodeError:
            given[key] = value
    return name, given


def measure(case: near_kin.Case, later: Later | None, method: str, n_bits: int, seed: int) -> dict[str, Any]:
    """Figures by kind of database, seconds of the processor, and bytes."""
    name, given = settings_of(method)
    start = time.process_time()
    if is_ranking(name):
        plain = make_method(name, given, None, seed)
        if "n_bytes" in plain.get_params():
            plain.set_params(n_bytes=-(-n_bits // 8))
        ranking = plain.fit(case.X, case.y)
        seconds, asked = time.process_time() - start, ranking.prepare(case.X_query)
        sides = {"learned": ranking.prepare_learned(), "mapped": ranking.prepare(case.X)}
        figures = {
            kind: case.floats(score_rows(ranking, asked, side))
            for kind, side in sides.items()
            if side is not None
        }
        if later is not None:
            scores = score_rows(ranking, asked, ranking.prepare(later.X))
            kin = average_precision_from_scores(scores, case.y_query, later.y)
            figures["later"] = {"kin": float(np.nanmean(kin))}
        return {"figures": figures, "seconds": seconds, "bytes": int(ranking.bytes_per_item)}
    hasher = make_method(name, given, n_bits, seed).fit(case.X, case.y)
    seconds, asked = time.process_time() - start, hasher.encode(case.X_query)
    figures = {"mapped": case.codes(asked, hasher.encode(case.X))}
    if hasher.report_.codes == "learned":
        figures["learned"] = case.codes(asked, hasher.codes_)
    if later is not None:
        kin = average_precision(asked, hasher.encode(later.X), case.y_query, later.y)
        figures["later"] = {"kin": float(np.nanmean(kin))}
    kept = ("features", "step", "penalty", "n_epochs", "temperature", "readout")
    chosen = {key: hasher.report_.facts[key] for key in kept if key in hasher.report_.facts}
    return {"figures": figures, "seconds": seconds, "bytes": -(-n_bits // 8), "chosen": chosen}


def show(lines: list[dict[str, Any]], methods: list[str]) -> None:
    """Mean ± standard deviation over partitions, learned / mapped."""
    print(
        f"{'':<44}{'bytes':>6}{'parts':>6}{'cpu s':>7}"
        + "".join(f"{figure:>28}" for figure in ("kin", "later", *FIGURES[1:]))
    )
    for method in methods:
        own = [line for line in lines if line["method"] == method]
        if not own:
            continue
        cells = [
            " / ".join(
                _cell([line["figures"].get(kind, {}).get(figure) for line in own]) for kind in near_kin.KINDS
            )
            for figure in FIGURES
        ]
        cells.insert(1, _cell([line["figures"].get("later", {}).get("kin") for line in own]))
        seconds = np.mean([line["seconds"] for line in own])
        print(
            f"{method:<44}{own[0]['bytes']:>6}{len(own):>6}{seconds:>7.0f}"
            + "".join(f"{c:>28}" for c in cells)
        )


def _cell(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "–"
    return f"{np.mean(known):.3f} ± {np.std(known, ddof=1) if len(known) > 1 else 0:.3f}".replace("0.", ".")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("methods", nargs="+", metavar="METHOD")
    parser.add_argument("--set", default="cifar10-network")
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--partitions", type=int, default=3)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--results", type=Path, default=Path("equal_bytes.jsonl"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore", KinhashWarning)
    near_kin.SETS |= MORE_SETS
    near_kin.MOST_ROWS = asked.rows
    load(near_kin.SETS[asked.set])  # a wrong name is told before anything is run
    key = {"set": asked.set, "bits": asked.bits, "rows": asked.rows, "queries": asked.queries}
    known = asked.results.read_text("utf-8").splitlines() if asked.results.exists() else []
    lines = [line for line in map(json.loads, known) if key.items() <= line.items()]
    for partition in range(asked.partitions):
        done = {line["method"] for line in lines if line["partition"] == partition}
        case, later = None, None
        for method in asked.methods:
            if method in done:
                continue
            if case is None:
                case = near_kin.Case.draw(asked.set, asked.queries, partition)
                later = Later.draw(asked.set, asked.queries, partition)
            found = measure(case, later, method, asked.bits, partition)
            lines.append({**key, "partition": partition, "method": method, **found})
            with asked.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(lines[-1]) + "\n")
    show(lines, asked.methods)


if __name__ == "__main__":
    main()
