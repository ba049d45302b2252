"""Mean average precision: 1,000 queries, 267,648 codes of 64 bits, the 81 tags of NUS-WIDE.

    KINHASH_DATA=... python benchmarks/map.py [--rounds 5] [--peers 32] [--large 10000000]

Compared, interleaved, best round of each:

* kinhash         `evaluate` on packed codes and a sparse tag matrix, all included;
* research        ±1 float32 product (one GEMM for 16 queries), argsort per query, cumulative sums;
* research, plain the same with one product per query, as most published evaluators do it;
* numpy           XOR, `np.bitwise_count`, `np.bincount`, and the same closed form for ties.

The peers run on ``--peers`` queries and are scaled per query; data preparation is not timed for
them and is timed for kinhash. Memory is how far the resident size of a fresh process rises above
what it holds with the inputs loaded (Linux).
Without the data set, tags of the same shape are drawn at random, and the output says so.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kinhash.metrics import TieGroups, evaluate

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

N_QUERIES, N_VALIDATION, N_BITS = 1000, 1000, 64


def nuswide_tags():
    """The real tags in a random order, or tags of the same shape and popularity."""
    path = Path(os.environ.get("KINHASH_DATA", ".")) / "nuswide81_tags.npz"
    rng = np.random.default_rng(0)
    n, k = 269_648, 81
    if path.exists():
        with np.load(path) as stored:
            ones = np.ones(len(stored["indices"]), np.int8)
            tags = sp.csr_array((ones, stored["indices"], stored["indptr"]), shape=(n, k))
        return tags[rng.permutation(n)], "NUS-WIDE's real tags"
    shares = np.minimum(0.28, 0.55 / np.arange(1, k + 1))
    return sp.csr_array(rng.random((n, k)) < shares, dtype=np.int8), "synthetic tags of NUS-WIDE's shape"


def codes_of(tags):
    """Codes that know the tags about as well as a learned hasher does: signs of a noisy projection."""
    rng = np.random.default_rng(1)
    scores = tags @ rng.normal(size=(tags.shape[1], N_BITS)) + rng.normal(size=(tags.shape[0], N_BITS))
    return np.packbits(scores > 0, axis=1)


def average_precision_of(kin_in_order):
    places = np.flatnonzero(kin_in_order) + 1
    return np.mean(np.arange(1, len(places) + 1) / places) if len(places) else np.nan


def research(signs, tags, query_signs, query_tags, block):
    """The usual evaluator. ``block`` queries share one product; every query is sorted on its own."""
    scores = []
    for first in range(0, len(query_signs), block):
        part = slice(first, first + block)
        distances = 0.5 * (N_BITS - query_signs[part] @ signs.T)
        kin = query_tags[part] @ tags.T > 0
        scores += [average_precision_of(k[np.argsort(d)]) for d, k in zip(distances, kin, strict=True)]
    return np.array(scores)


def numpy_counts(words, tag_words, query_words, query_tag_words):
    """Vectorized NumPy without a sort: one byte per pair, counted by `np.bincount`."""
    counts = np.empty((len(query_words), 2, 128), np.int64)
    for i, (code, tags) in enumerate(zip(query_words, query_tag_words, strict=True)):
        key = np.bitwise_count(words ^ code)
        kin = ((tag_words[0] & tags[0]) | (tag_words[1] & tags[1])) != 0
        key |= kin.view(np.uint8) << 7
        counts[i] = np.bincount(key, minlength=256).reshape(2, 128)
    return TieGroups.of_grades(counts.transpose(0, 2, 1)).average_precision()


def race(candidates, rounds):
    """Best seconds of each, taken in turns so that a busy moment hits them all alike."""
    best = dict.fromkeys(candidates, np.inf)
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def status_mb(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def measure_memory(rows):
    """In a fresh process: make the inputs, forget that peak, then see how high one evaluation goes."""
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 256, (rows, N_BITS // 8), np.uint8)
    columns = rng.integers(0, 40, 2 * rows, dtype=np.int32)
    columns[1::2] += 41  # two different tags per row
    tags = sp.csr_array((np.ones(2 * rows, np.int8), columns, np.arange(rows + 1) * 2), shape=(rows, 81))
    small = slice(0, 50)
    evaluate(codes[small], codes[small], tags[small], tags[small])  # compiled and loaded
    queries, query_tags = codes[:N_QUERIES].copy(), tags[:N_QUERIES]
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # Linux: the peak starts again from here
    before = status_mb("VmRSS")
    start = time.perf_counter()
    evaluate(queries, codes, query_tags, tags)
    seconds, grown = time.perf_counter() - start, status_mb("VmHWM") - before
    tracemalloc.start()
    evaluate(queries[:100], codes, query_tags[:100], tags)
    inputs = codes.nbytes + tags.data.nbytes + tags.indices.nbytes + tags.indptr.nbytes
    return seconds, grown, tracemalloc.get_traced_memory()[1] / 1e6, inputs / 1e6


def in_fresh_process(function, *arguments):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", type=int, default=32, help="queries the peers are timed on")
    parser.add_argument(
        "--large", type=int, default=10_000_000, help="rows of the large run, 0 to leave it out"
    )
    options = parser.parse_args()

    tags, source = nuswide_tags()
    codes = codes_of(tags)
    data = slice(N_QUERIES + N_VALIDATION, None)
    queries, database = codes[:N_QUERIES], codes[data]
    query_tags, database_tags = tags[:N_QUERIES], tags[data]
    print(f"{len(queries)} queries x {len(database)} codes of {N_BITS} bits, {source}")

    few = slice(0, options.peers)
    signs = np.unpackbits(database, axis=1).astype(np.float32) * 2 - 1
    query_signs = np.unpackbits(queries[few], axis=1).astype(np.float32) * 2 - 1
    dense, query_dense = (t.toarray().astype(np.float32) for t in (database_tags, query_tags[few]))
    words, query_words = (c.view(np.uint64)[:, 0] for c in (database, queries[few]))
    padded = np.pad(np.packbits(dense > 0, axis=1), ((0, 0), (0, 5))).view(np.uint64)
    tag_words = np.ascontiguousarray(padded.T)
    query_tag_words = np.pad(np.packbits(query_dense > 0, axis=1), ((0, 0), (0, 5))).view(np.uint64)

    exact = evaluate(queries[few], database, query_tags[few], database_tags)
    counted = numpy_counts(words, tag_words, query_words, query_tag_words)
    np.testing.assert_allclose(exact.per_query, counted, rtol=0, atol=1e-12)
    sorted_ = research(signs, dense, query_signs, query_dense, 16)
    assert np.nanmin(sorted_ - exact.worst) > -1e-6
    assert np.nanmax(sorted_ - exact.best) < 1e-6
    print(
        f"on {options.peers} queries: expected {exact.value:.6f}, "
        f"band {exact.band[0]:.4f} .. {exact.band[1]:.4f}, argsort's order {np.nanmean(sorted_):.6f}"
    )

    times = race(
        {
            "kinhash": lambda: evaluate(queries, database, query_tags, database_tags),
            "kinhash, 1 thread": lambda: evaluate(queries, database, query_tags, database_tags, n_jobs=1),
            "numpy": lambda: numpy_counts(words, tag_words, query_words, query_tag_words),
            "research": lambda: research(signs, dense, query_signs, query_dense, 16),
            "research, plain": lambda: research(signs, dense, query_signs, query_dense, 1),
        },
        options.rounds,
    )
    per_query = {n: t / (N_QUERIES if n.startswith("kinhash") else options.peers) for n, t in times.items()}
    for name, seconds in per_query.items():
        ratio, alone = seconds / per_query["kinhash"], seconds / per_query["kinhash, 1 thread"]
        print(
            f"{name:18s} {seconds * 1e6:9.1f} us/query   {ratio:6.1f} x kinhash   {alone:6.1f} x one thread"
        )

    for rows in filter(None, (len(database), options.large)):
        seconds, grown, traced, inputs = in_fresh_process(measure_memory, rows)
        print(
            f"{rows} rows: {seconds:.2f} s for {N_QUERIES} queries, inputs {inputs:.0f} MB, peak beyond them "
            f"{grown:.0f} MB resident, {traced:.0f} MB traced"
        )


if __name__ == "__main__":
    main()
