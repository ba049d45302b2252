"""The table on the front page, from the records of `learner_figures`: one data set, 64 bits, four situations.

    python benchmarks/front_page.py [--set newsgroups] [--records bench/results/learner]

Figures are means over the partitions that all rows have. "Class only" is a byte for the class, ranked by the
probabilities of a logistic regression; "label byte + OPQ" adds seven bytes of OPQ, with C = 1 and a weight of 0.1,
the one of its settings that serves kinds never labeled best. How the records are made is said at the top of
`bench/src/kinhash_bench/learner_figures.py`.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

RECORDS = Path(__file__).parents[1] / "bench" / "results" / "learner"
WAYS = {  # rows: the name on the page, of the method in the records, bytes
    "kinhash, 64 bits": ("kinhash", 8),
    "class only, by a classifier": ("labelbyte C=1 w=10000", 1),
    "label byte + OPQ": ("labelbyte C=1 w=0.1", 8),
    "OPQ": ("opq", 8),
    "ITQ": ("itq", 8),
    "float cosine": ("cosine", None),
}
CELLS = (  # columns: protocols with their figures
    (("known", "", "learned ten"), ("known", "", "later ten")),
    (("oldnew", "", "old ten"), ("oldnew", "", "new ten")),
    (("few", "few5", "ten"),),
    (("nolabels", "", "near"),),
)
UNREAD = ("opq", "itq", "cosine")  # read no labels: five a class are none
Found = dict[tuple[str, str, str, str], dict[int, float]]


def figures(folder: Path, name: str, n_bits: int = 64) -> Found:
    """Values by partition, for every method, protocol, variant and figure."""
    found: Found = defaultdict(dict)
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            one = json.loads(line)
            if one["set"] == name and one["bits"] == n_bits:
                for key, value in one["figures"].items():
                    found[one["method"], one["protocol"], one["which"], key][one["partition"]] = value
    return found


def rows(found: Found) -> dict[str, list[list[float | None]]]:
    """Figures of every row of the table, column by column; None where there is no record.

    Means are over the partitions that all rows with records have.
    """

    def values(method: str, protocol: str, which: str, key: str) -> dict[int, float]:
        which = "few0" if which and method in UNREAD else which
        return found.get((method, protocol, which, key), {})

    def one(method: str, part: tuple[str, str, str]) -> float | None:
        each = [set(some) for other, _ in WAYS.values() if (some := values(other, *part))]
        common = set.intersection(*each) if each else set()
        own = values(method, *part)
        return float(np.mean([own[number] for number in common])) if own and common else None

    return {
        way: [[one(method, part) for part in cell] for cell in CELLS] for way, (method, _) in WAYS.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--set", default="newsgroups")
    parser.add_argument("--records", type=Path, default=RECORDS)
    asked = parser.parse_args()
    for way, cells in rows(figures(asked.records, asked.set)).items():
        texts = [" / ".join("–" if v is None else f"{v:.2f}".lstrip("0") for v in cell) for cell in cells]
        print(f"| {way} | {WAYS[way][1] or '4 per column'} | {' | '.join(texts)} |")


if __name__ == "__main__":
    main()
