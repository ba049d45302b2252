"""Time of a filtered query beside one without a filter, FAISS and DuckDB, in one run on one thread.

    python benchmarks/filters.py                # everything
    python benchmarks/filters.py supervised     # one of the two databases

A million rows of 64 bits, one query at a time, k = 10: random codes, and codes of 1,000 centers with 2 %
noise, of which 42 % are distinct. Every figure is the least of many, all ways in turn. *prepared* has
`index.filter`, *repeated* the same mapping again, *new* a condition that the index has not seen (another one
every time). Columns of strings and of lists are coded when a filter first needs them; that time is printed
once. FAISS is IndexBinaryFlat with a prepared IDSelector (a batch up to 1 % of the rows, a bitmap above),
DuckDB a table with an unsigned integer for the code. Answers are checked against DuckDB's before anything is
timed.
"""

from __future__ import annotations

import itertools
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"

import duckdb
import faiss
import numpy as np
from search import best_of

from kinhash import HammingIndex

ROWS, K = 1_000_000, 10
SHARES = (0.0001, 0.01, 0.1, 0.5, 0.9)
GOALS = {"prepared": 3, "new": 12}  # times the unfiltered query
ROUNDS = 15


def main():
    faiss.omp_set_num_threads(1)
    rng = np.random.default_rng(0)
    for name in sys.argv[1:] or ("random", "supervised"):
        packed = DATABASES[name](rng)
        columns = payload(rng)
        index = HammingIndex.from_codes(packed, payload=columns)
        print(f"\n{name}: {index.stats().n_codes:,} distinct codes")
        report(index, packed, columns, Peers(packed, columns))


def random_codes(rng):
    return rng.integers(0, 256, (ROWS, 8), dtype=np.uint8)


def supervised_codes(rng):
    centers = rng.integers(0, 2, (1000, 64), dtype=np.uint8)
    noise = rng.random((ROWS, 64)) < 0.02
    return np.packbits(centers[rng.integers(0, 1000, ROWS)] ^ noise, axis=1)


DATABASES = {"random": random_codes, "supervised": supervised_codes}


def payload(rng):
    """For every share a column of numbers, of strings and of lists: value 1, or "yes", in so many rows."""
    columns = {}
    for share in SHARES:
        wanted, other = rng.random(ROWS) < share, rng.integers(2, 100, ROWS)
        columns[f"number {share}"] = np.where(wanted, 1, other)
        columns[f"text {share}"] = np.where(wanted, "yes", np.char.add("no ", other.astype(str)))
        columns[f"tags {share}"] = [
            [f"no {tag}", "yes"] if passes else [f"no {tag}"]
            for passes, tag in zip(wanted.tolist(), other.tolist(), strict=True)
        ]
    return columns


def new_conditions(kind, name):
    """The same rows by conditions of which no two are equal."""
    for number in itertools.count(1):
        if kind == "number":
            yield {name: (1, 1 + 0.5 / number)}
        else:
            yield {name: ["yes", f"maybe {number}"]}


class Peers:
    """A binary index of FAISS, and a table of DuckDB."""

    def __init__(self, packed, columns):
        self.query = packed[:1]
        self.flat = faiss.IndexBinaryFlat(64)
        self.flat.add(packed)
        self.table = duckdb.connect(config={"threads": 1})
        numbers = {f"c{i}": columns[f"number {share}"] for i, share in enumerate(SHARES)}
        arrays = {"id": np.arange(ROWS), "code": packed.view(np.uint64)[:, 0], **numbers}
        self.table.register("arrays", arrays)
        self.table.execute("CREATE TABLE rows AS SELECT * FROM arrays ORDER BY id")

    def faiss(self, mask):
        selector = faiss.IDSelectorBatch(np.flatnonzero(mask))
        if mask.mean() > 0.01:
            packed = np.packbits(mask, bitorder="little")
            selector = faiss.IDSelectorBitmap(packed)
            selector.kept = packed
        parameters = faiss.SearchParameters(sel=selector)
        parameters.kept = selector
        return lambda: self.flat.search(self.query, K, params=parameters)

    def duckdb(self, place, query):
        statement = (
            f"SELECT id, bit_count(xor(code, {query}::UBIGINT)) AS distance FROM rows WHERE c{place} = 1 "
            f"ORDER BY distance, id LIMIT {K}"
        )
        return lambda: self.table.execute(statement).fetchall()


def report(index, packed, columns, peers):
    query = packed[:1]
    for place, share in enumerate(SHARES):
        passes = columns[f"number {share}"] == 1
        others = {"FAISS": peers.faiss(passes), "DuckDB": peers.duckdb(place, packed.view(np.uint64)[0, 0])}
        truth = others["DuckDB"]()
        for kind in ("number", "text", "tags"):
            name = f"{kind} {share}"
            works = ways(index, query, kind, name, passes)
            for way in works:
                found = works[way]() if way != "unfiltered" else None
                assert found is None or found.ids[0].tolist() == [row[0] for row in truth], (name, way)
            took = best_of(ROUNDS, 5, **works)
            took |= best_of(3, 1, **(others if kind == "number" else {}))
            print_line(kind, share, took)


def ways(index, query, kind, name, passes):
    conditions = new_conditions(kind, name)
    start = time.perf_counter()
    prepared = index.filter(next(conditions))
    if kind != "number":
        print(f"  {name}: first filter of the column {1e3 * (time.perf_counter() - start):.0f} ms")
    same = next(conditions)
    works = {
        "unfiltered": lambda: index.search(query, K),
        "prepared": lambda: index.search(query, K, where=prepared),
        "repeated": lambda: index.search(query, K, where=same),
        "new": lambda: index.search(query, K, where=next(conditions)),
    }
    if kind == "number":
        works["function"] = lambda: index.search(query, K, where=lambda rows: rows[name] == 1)
        works["mask"] = lambda: index.search(query, K, where=passes)
    return works


def print_line(kind, share, took):
    least = took["unfiltered"]
    parts = [f"{way} {1e3 * seconds:.3f} ({seconds / least:.1f}x)" for way, seconds in took.items()]
    missed = [way for way, goal in GOALS.items() if took[way] > goal * least]
    print(f"  {100 * share:g} % {kind}, ms: {', '.join(parts)}{f'  MISSED {missed}' if missed else ''}")


if __name__ == "__main__":
    main()
