"""The same codes in every engine that is installed: seconds to write, bytes on disk, milliseconds per query.

Queries go to the engines in turn, several rounds, and the best round counts; the last column is the time
relative to HammingIndex in the same run. All answers are exact and in the order (distance, id).
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import numpy as np

from kinhash import Codes, HammingIndex
from kinhash.engines import ENGINES
from kinhash.engines.base import as_place, prepared

ROWS, QUERIES, ROUNDS, K = int(os.environ.get("ROWS", 100_000)), 5, 5, 10


def clustered(n_bits: int) -> Codes:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (1000, n_bits), dtype=np.uint8)[rng.integers(0, 1000, ROWS)]
    return Codes.from_bits(bits ^ (rng.random(bits.shape) < 0.01))


def size(path: Path) -> int:
    return sum(p.stat().st_size for p in ([path] if path.is_file() else path.rglob("*")) if p.is_file())


def main() -> None:
    for n_bits in (64, 256):
        codes = prepared(clustered(n_bits))
        index = HammingIndex.from_codes(codes)
        index.search(codes[:1], K)
        with tempfile.TemporaryDirectory() as folder:
            times: dict[str, float] = {"HammingIndex": np.inf}
            facts: dict[str, str] = {"HammingIndex": ""}
            places = {}
            for name in ENGINES:
                kind = ENGINES[name]
                target = os.environ.get(f"{name.upper()}_DSN", f"{folder}/{name}.db")
                if name in ("postgres", "pgvector") and f"{name.upper()}_DSN" not in os.environ:
                    continue
                place = as_place(target, "codes")
                try:
                    start = time.perf_counter()
                    kind().write(codes, place, True)
                except ImportError as absent:
                    print(f"{name}: {absent}")
                    continue
                seconds = time.perf_counter() - start
                disk = size(Path(target)) / ROWS if Path(target).exists() else float("nan")
                facts[name] = f"{seconds:8.2f} s {disk:8.1f} B/code"
                places[name], times[name] = place, np.inf
            queries = codes[np.arange(QUERIES) * 1000]
            for _ in range(ROUNDS):
                start = time.perf_counter()
                for query in queries:
                    index.search(query[None], K)
                times["HammingIndex"] = min(times["HammingIndex"], time.perf_counter() - start)
                for name, place in places.items():
                    with ENGINES[name]().open(place) as reader:
                        reader.nearest(queries[0], K)
                        start = time.perf_counter()
                        for query in range(len(queries)):
                            reader.nearest(queries[query], K)
                        times[name] = min(times[name], time.perf_counter() - start)
        print(f"{ROWS:,} codes of {n_bits} bits, k = {K}")
        for name in sorted(times, key=lambda name: times[name]):
            each, ratio = 1000 * times[name] / QUERIES, times[name] / times["HammingIndex"]
            print(f"  {name:14} {each:9.3f} ms/query {ratio:8.1f}x  {facts[name]}")


if __name__ == "__main__":
    main()
