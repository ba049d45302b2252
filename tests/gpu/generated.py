"""Indexes, queries and filters drawn at random: a card must answer as the processor does.

``python generated.py 10000`` compares so many cases on a real card.
"""

import sys
import time

import numpy as np

from kinhash import Codes, HammingIndex


def compare_one(seed: int, to_gpu, most_rows: int = 400) -> dict:
    """One case; raises where an answer differs. Returns what it was about."""
    rng = np.random.default_rng(seed)
    n_bits = int(rng.integers(1, 65) if rng.random() < 0.6 else rng.integers(65, 129))  # one or two words
    n_rows = int(rng.choice([0, rng.integers(1, 12), rng.integers(12, most_rows)], p=[0.02, 0.18, 0.8]))
    n_queries = int(rng.choice([0, 1, rng.integers(2, 20), rng.integers(20, 60)], p=[0.02, 0.3, 0.5, 0.18]))
    alive = n_bits if rng.random() < 0.5 else int(rng.integers(1, min(n_bits, 6) + 1))  # few give many ties

    def draw(n: int) -> Codes:
        bits = np.zeros((n, n_bits), np.uint8)
        bits[:, :alive] = rng.random((n, alive)) < rng.choice([0.1, 0.5])
        return Codes(np.packbits(bits, axis=1), n_bits)

    ids = None
    if rng.random() < 0.3:
        ids = rng.permutation(10 * n_rows)[:n_rows]
    elif rng.random() < 0.2:
        ids = [f"row {i:08d} of a long name" for i in rng.permutation(n_rows)]
    payload = {"kind": rng.integers(0, 4, n_rows)} if rng.random() < 0.4 else None
    index = HammingIndex(n_bits)
    index.add(draw(n_rows), ids, payload)
    other = to_gpu(index)
    if ids is None and rng.random() < 0.3:
        more = draw(int(rng.integers(1, 30)))
        extra = None if payload is None or not n_rows else {"kind": rng.integers(0, 4, len(more))}
        index.add(more, payload=extra)
        other.add(more, payload=extra)
    if len(index) > 2 and rng.random() < 0.3:
        gone = rng.permutation(len(index))[: len(index) // 3]
        names = index.ids[gone].tolist()
        index.remove(names)
        other.remove(names)
    assert len(index) == len(other)
    queries = draw(n_queries)
    if len(index) and n_queries and rng.random() < 0.5:
        packed = index.codes().packed
        queries = Codes(packed[rng.integers(0, len(packed), n_queries)], n_bits)
    k = int(rng.choice([0, 1, rng.integers(1, 30), rng.integers(30, 500)], p=[0.03, 0.2, 0.5, 0.27]))
    asked = {"where": _where(rng, index, n_queries)}
    if len(index) and rng.random() < 0.3:
        names = index.ids[rng.integers(0, len(index), n_queries)].tolist()
        asked["exclude"] = [name if rng.random() < 0.8 else None for name in names]
    if rng.random() < 0.3:
        signs = 2.0 * queries.bits() - 1
        asked["margins"] = signs * np.where(
            rng.random(signs.shape) < 0.2, 0.5, rng.random(signs.shape) + 1e-3
        )
    same(index.search(queries, k, **asked), other.search(queries, k, **asked))
    radius = int(rng.integers(0, n_bits // 2 + 2))
    where = asked["where"] if not isinstance(asked["where"], list) else None
    same(index.search_radius(queries, radius, where=where), other.search_radius(queries, radius, where=where))
    return {"n_bits": n_bits, "n_rows": len(index), "n_queries": n_queries, "k": k, **asked}


def same(one, two) -> None:
    """Equal ids, distances and counts."""
    assert one.ids.tolist() == two.ids.tolist()
    assert one.distances.tolist() == two.distances.tolist()
    assert one.distances.dtype == two.distances.dtype
    assert one.counts.tolist() == two.counts.tolist()


def _where(rng: np.random.Generator, index: HammingIndex, n_queries: int):
    kind = rng.integers(0, 6)
    if kind == 0:
        return rng.random(len(index)) < rng.choice([0.02, 0.5])
    if kind == 1 and len(index):
        return index.ids[rng.integers(0, len(index), 9)].tolist()
    if kind == 2 and "kind" in index.payload:
        return {"kind": [1, 2]}
    if kind == 3 and n_queries:
        masks = [None, rng.random(len(index)) < 0.3]
        return [masks[i] for i in rng.integers(0, 2, n_queries)]
    return None


def main(n_cases: int) -> None:
    begin, bits = time.perf_counter(), set()
    for seed in range(n_cases):
        try:
            bits.add(
                compare_one(seed, lambda index: index.to_gpu(), most_rows=6000 if seed % 10 == 0 else 400)[
                    "n_bits"
                ]
            )
        except AssertionError as error:
            raise AssertionError(f"case {seed}") from error
    seconds = time.perf_counter() - begin
    print(f"{n_cases} cases equal to the processor, {len(bits)} lengths, {seconds:.0f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]))
