"""Kin first, then look-alikes: our codes beside ITQ, a label byte with a product quantizer, and cosine.

    KINHASH_DATA=... python benchmarks/near_kin.py [cifar10-network reuters ...] [--partitions 3] [--bits 64]
        [--queries 500] [--json out.json]

One table for each set, means and deviations over partitions: kin mAP, near-kin mAP, the share of the ten
nearest kin among the first hundred answers (r100) and how many different first tens the queries get, with a
learned and with a mapped database; see `kinhash.metrics.near_kin`. The training rows are the database, at
most 20,000 of them.
Below each table stands how far kin mAP is from that of codes of kinship alone, partition by partition.
"Float query" is `hasher.search(index, X, k)`: the bits that say what a row looks like count by the query's
margins. A label byte is for classes; sets with tags have none. Label byte + PQ needs FAISS.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kinhash import EnergyHasher, HammingIndex
from kinhash.errors import KinhashWarning
from kinhash.metrics import (
    NearestKin,
    average_precision,
    average_precision_from_scores,
)
from kinhash_bench.baselines import BASELINES
from kinhash_bench.baselines.label_byte import LabelByte, LabelBytePQ
from kinhash_bench.datasets import load
from kinhash_bench.protocols import Cosine, score_rows

SETS = {
    "cifar10-network": "cifar10_efficientnet_lite0_pca256",
    "reuters": "reuters21578_minilm384",
    "mirflickr5000": "mirflickr5000_pca100",
    "corel5k": "mulan_corel5k",
    "coco117k": "coco117266_efficientnet_lite0_pca128",
}
MOST_ROWS = 20_000
SEED = 20_261_116  # partition i is drawn from (SEED, i)
KINDS = ("learned", "mapped")
FIGURES = ("kin", "near-kin", "r100", "distinct")
WIDTH = 27  # of a column
DEFAULT, FLOATS, ALONE = "EnergyHasher", "EnergyHasher, float query", "kinship alone"

Figures = dict[str, float]


@dataclass
class Case:
    """One partition: rows to learn from, which are the database, and queries with their nearest kin."""

    X: Any
    y: Any
    X_query: Any
    y_query: Any
    near: NearestKin

    @classmethod
    def draw(cls, name: str, n_queries: int, partition: int) -> Case:
        data = load(SETS[name])
        labels = data.labels
        tagged = np.flatnonzero(np.diff(labels.indicator().indptr) > 0)
        rows = np.random.default_rng((SEED, partition)).permutation(tagged)
        query, train = rows[:n_queries], np.sort(rows[n_queries:][:MOST_ROWS])
        sides = data.features[train], labels[train], data.features[query], labels[query]
        return cls(*sides, NearestKin.of(sides[3], sides[1], sides[2], sides[0]))

    def codes(self, queries: Any, database: Any) -> Figures:
        kin = average_precision(queries, database, self.y_query, self.y)
        return _figures(kin, self.near.score_codes(queries, database))

    def floats(self, scores: Any) -> Figures:
        kin = average_precision_from_scores(scores, self.y_query, self.y)
        return _figures(kin, self.near.score_floats(scores))


def _figures(kin: Any, near: Any) -> Figures:
    values = (float(np.nanmean(kin)), near.value, near.recall, near.distinct)
    return dict(zip(FIGURES, values, strict=True))


def rows(case: Case, n_bits: int, seed: int) -> Iterator[tuple[str, str, dict[str, Figures]]]:
    """Name, bytes and figures by kind of database, one method after the other."""
    size = str(-(-n_bits // 8))
    hasher = EnergyHasher(n_bits, random_state=seed).fit(case.X, case.y)
    queries, fields = hasher.encode(case.X_query), hasher.fitted_.fields
    databases = {"learned": hasher.codes_, "mapped": hasher.encode(case.X)}
    split = f" ({fields.kin(n_bits)} kin bits × {fields.kin_weight} + {fields.alike})"
    yield DEFAULT + split, size, {kind: case.codes(queries, codes) for kind, codes in databases.items()}
    ranked = {kind: float_query(hasher, codes, case.X_query) for kind, codes in databases.items()}
    yield FLOATS, size, {kind: case.floats(scores.__getitem__) for kind, scores in ranked.items()}
    alone = EnergyHasher(n_bits, alike=0, random_state=seed).fit(case.X, case.y)
    queries, databases = alone.encode(case.X_query), {"learned": alone.codes_, "mapped": alone.encode(case.X)}
    yield ALONE, size, {kind: case.codes(queries, codes) for kind, codes in databases.items()}
    itq = BASELINES["ITQ"](n_bits, random_state=seed).fit(case.X, case.y)
    yield "ITQ", size, {"mapped": case.codes(itq.encode(case.X_query), itq.encode(case.X))}
    rankings = {"cosine of the floats": Cosine()}
    if not case.y.is_tags:
        for n_bytes in (n_bits // 8, n_bits // 8 + 1):
            rankings[f"label byte + PQ, {n_bytes} bytes"] = LabelBytePQ(n_bytes, random_state=seed)
        rankings["class probabilities + label byte"] = LabelByte()
    for name, ranking in rankings.items():
        ranking.fit(case.X, case.y)
        asked = ranking.prepare(case.X_query)
        found = {"learned": ranking.prepare_learned(), "mapped": ranking.prepare(case.X)}
        known = {kind: one for kind, one in found.items() if one is not None}
        figures = {kind: case.floats(score_rows(ranking, asked, one)) for kind, one in known.items()}
        yield name, f"{ranking.bytes_per_item:,}", figures


def float_query(hasher: Any, codes: Any, X: Any) -> Any:
    """Scores (q, n) whose order is that of a search for all rows."""
    found = hasher.search(HammingIndex.from_codes(codes), X, len(codes))
    scores = np.empty(found.ids.shape, np.float64)
    np.put_along_axis(scores, found.ids, -found.distances.astype(np.float64), axis=1)
    return scores


def measure(
    name: str, n_partitions: int, n_bits: int, n_queries: int, most_rows: int | None = None
) -> list[dict[str, Any]]:
    """All rows of one set (or the first ones), a list of figures by partition in each."""
    table: dict[str, dict[str, Any]] = {}
    for partition in range(n_partitions):
        start, case = time.perf_counter(), Case.draw(name, n_queries, partition)
        for label, size, figures in islice(rows(case, n_bits, partition), most_rows):
            key = label.split(" (")[0]
            row = table.setdefault(key, {"name": key, "bytes": size, "labels": [], "figures": []})
            row["labels"].append(label)
            row["figures"].append(figures)
        print(f"{name}, partition {partition}: {time.perf_counter() - start:.0f} s", flush=True)
    return list(table.values())


def show(name: str, table: list[dict[str, Any]]) -> None:
    """Means over partitions ± their deviation, and kin mAP against codes of kinship alone."""
    print(f"\n{name}: learned / mapped database, mean ± deviation of {len(table[0]['figures'])} partitions")
    heads = [f"{figure:>{WIDTH}}" for figure in FIGURES]
    print(f"{'':<36}{'bytes':>6} {' '.join(heads)}")
    for row in table:
        cells = [" / ".join(_cell(row["figures"], kind, figure) for kind in KINDS) for figure in FIGURES]
        print(f"{row['name']:<36}{row['bytes']:>6} {' '.join(f'{cell:>{WIDTH}}' for cell in cells)}")
    alone = next(row for row in table if row["name"] == ALONE)["figures"]
    for row in table[:2]:
        apart = [
            " / ".join(f"{one[kind]['kin'] - base[kind]['kin']:+.4f}" for kind in KINDS)
            for one, base in zip(row["figures"], alone, strict=True)
        ]
        print(f"kin against {ALONE}, {row['name']}: {'; '.join(apart)}")
    print(f"fields: {'; '.join(table[0]['labels'])}\n", flush=True)


def _cell(figures: list[dict[str, Figures]], kind: str, figure: str) -> str:
    values = [one[kind][figure] for one in figures if kind in one]
    if not values:
        return "–"
    mean = float(np.mean(values))
    if figure == "distinct":
        return f"{mean:.0f}"
    spread = f" ± {np.std(values, ddof=1):.3f}".replace("0.", ".") if len(values) > 1 else ""
    return f"{mean:.3f}".lstrip("0") + spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}; all by default")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--ours", action="store_true", help="leave out other methods")
    asked = parser.parse_args()
    unknown = set(asked.sets) - set(SETS)
    if unknown:
        parser.error(f"unknown sets: {', '.join(sorted(unknown))}; there are {', '.join(SETS)}")
    warnings.simplefilter("ignore", KinhashWarning)
    results = {}
    for name in asked.sets or SETS:
        results[name] = measure(name, asked.partitions, asked.bits, asked.queries, 3 if asked.ours else None)
        show(name, results[name])
        if asked.json is not None:
            asked.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
