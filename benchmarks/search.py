"""Speed of the Hamming index beside FAISS, USearch and NumPy, in one run.

    python benchmarks/search.py                      # everything
    python benchmarks/search.py flat radius          # some sections
    python benchmarks/search.py wide

Peers run interleaved with us on the same data and threads; each figure is the best of several. "faiss" is
the faster of IndexBinaryFlat with and without heap. Ratios above 1 mean that we are faster. Answers are
checked before anything is timed: distances against FAISS for all queries.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
import time

import faiss
import numpy as np
from numba import njit

from kinhash.index import HammingIndex

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

K = 100
ROWS = 1_000_000
GOALS = {
    "single": {64: 7, 128: 4, 256: 1.4},
    "batch": {64: 8, 128: 6.5, 256: 3.4},
}


def best_of(rounds, repeats=1, clock=time.perf_counter, **works):
    """Least seconds of each work, all of them in turn, ``rounds`` times."""
    best = dict.fromkeys(works, np.inf)
    for _ in range(rounds):
        for name, work in works.items():
            for _ in range(repeats):
                start = clock()
                work()
                best[name] = min(best[name], clock() - start)
    return best


def threads(count):
    faiss.omp_set_num_threads(count)
    os.environ["OMP_NUM_THREADS"] = str(count)


def random_codes(rng, n_rows, n_bits):
    return rng.integers(0, 256, (n_rows, n_bits // 8), dtype=np.uint8)


def faiss_pair(packed):
    pair = [faiss.IndexBinaryFlat(8 * packed.shape[1]) for _ in range(2)]
    for index, heap in zip(pair, (True, False), strict=True):
        index.add(packed)
        index.use_heap = heap
    return pair


def verdict(ratio, goal):
    return f"{ratio:6.2f}x (goal {goal}{'' if ratio >= goal else ', MISSED'})"


def numpy_search(columns, query, k):
    """Plain NumPy: distances by column, threshold by counting, sort what is left."""
    distances = sum(np.bitwise_count(column ^ word) for column, word in zip(columns, query, strict=True))
    limit = np.searchsorted(np.cumsum(np.bincount(distances)), k)
    near = np.flatnonzero(distances <= limit)
    return near[np.argsort(distances[near], kind="stable")[:k]]


@njit(nogil=True)
def read_all(words):
    """A plain read of an array: the bandwidth no scan can beat."""
    total = np.uint64(0)
    for i in range(words.size):
        total |= words[i]
    return total


def against_faiss(index, heap, plain, queries, rounds, repeats=1, words=None, clock=time.perf_counter):
    """Our seconds, the ratio of the faster FAISS to them, and the share of the speed of reading."""
    works = {
        "ours": lambda: index.search(queries, K),
        "heap": lambda: heap.search(queries, K),
        "plain": lambda: plain.search(queries, K),
    }
    if words is not None:
        read_all(words)
        works["read"] = lambda: read_all(words)
    took = best_of(rounds, repeats, clock, **works)
    ours = took["ours"]
    return ours, min(took["heap"], took["plain"]) / ours, took.get("read", 0) / ours


def check(index, flat, queries):
    found = index.search(queries, K)
    assert (found.distances == flat.search(queries, K)[0]).all(), "distances differ from FAISS"


def flat(_options):
    """A million distinct random codes, top 100: single queries and batches."""
    rng = np.random.default_rng(0)
    for n_bits in (64, 128, 256):
        packed, queries = random_codes(rng, ROWS, n_bits), random_codes(rng, 1000, n_bits)
        peers = (HammingIndex.from_codes(packed), *faiss_pair(packed))
        threads(1)
        check(peers[0], peers[1], queries)
        words = peers[0]._state.segments[0].blocks.reshape(-1)
        single, ratio, share = against_faiss(*peers, queries[:1], 30, 3, words)
        goal = verdict(ratio, GOALS["single"][n_bits])
        print(f"{n_bits:4d} bits  single, 1 thread, warm {1e3 * single:8.3f} ms  faiss / {goal},", end="")
        print(f" {share:.0%} of the speed of a plain read")
        batch, ratio, _ = against_faiss(*peers, queries, 3)
        goal = verdict(ratio, GOALS["batch"][n_bits])
        print(f"{n_bits:4d} bits  batch 1000, 1 thread   {1e3 * batch:8.1f} ms  faiss / {goal}")
        threads(2)
        two, ratio, _ = against_faiss(*peers, queries, 3)
        goal = verdict(ratio, 8) if n_bits == 64 else f"{ratio:6.2f}x"
        print(f"{n_bits:4d} bits  batch 1000, 2 threads  {1e3 * two:8.1f} ms  faiss / {goal},", end="")
        print(f" our scaling {verdict(batch / two, 1.7)}")
        threads(1)
        slow_peers(packed, queries, n_bits, single, batch)


def slow_peers(packed, queries, n_bits, single, batch):
    columns = np.ascontiguousarray(packed.view(np.uint64).T)
    words = queries.view(np.uint64)
    numpy = best_of(3, numpy=lambda: numpy_search(columns, words[0], K))["numpy"]
    line = f"{n_bits:4d} bits  NumPy / single {numpy / single:.0f}x"
    try:
        from usearch.index import MetricKind, ScalarKind
        from usearch.index import search as usearch
    except ImportError:
        print(line)
        return

    def exact(some):
        return usearch(packed, some, K, metric=MetricKind.Hamming, exact=True, threads=1, dtype=ScalarKind.B1)

    try:
        took = best_of(2, one=lambda: exact(queries[:1]), many=lambda: exact(queries[:20]))
    except (TypeError, ValueError, RuntimeError) as problem:
        print(line, f", USearch exact not run: {problem}")
        return
    print(
        f"{line}, USearch exact / single {took['one'] / single:.0f}x, batch {50 * took['many'] / batch:.0f}x"
    )


def clustered(rng, noise, n_rows=ROWS):
    """Codes as supervision gives them: 1,000 centers and a little noise, and queries of the same kind."""
    centers = rng.integers(0, 2, (1000, 64), dtype=np.uint8)
    bits = centers[rng.integers(0, 1000, n_rows + 1000)]
    for start in range(0, len(bits), 100_000):
        part = bits[start : start + 100_000]
        part ^= rng.random(part.shape, np.float32) < noise
    packed = np.packbits(bits, axis=1)
    return packed[:n_rows], packed[n_rows:]


def supervised(_options):
    """A million rows with few distinct codes."""
    rng = np.random.default_rng(1)
    threads(1)
    for noise, goal in ((2e-5, 300), (1e-3, 80), (2e-2, 10)):
        packed, queries = clustered(rng, noise)
        peers = (HammingIndex.from_codes(packed), *faiss_pair(packed))
        check(peers[0], peers[1], queries)
        took, ratio, _ = against_faiss(*peers, queries, 2)
        stats = peers[0].stats()
        size = (stats.code_bytes + stats.list_bytes) / 1e6
        print(
            f"{stats.n_codes:7d} distinct  batch 1000 {1e3 * took:8.2f} ms  faiss / {verdict(ratio, goal)},",
            end="",
        )
        print(f" recall 1.0, {size:.1f} MB (flat codes {packed.nbytes / 1e6:.1f})")


def many_codes(n_rows):
    rng = np.random.default_rng(3)
    words = np.unique(rng.integers(0, 2**64, n_rows + 1000, dtype=np.uint64))[:n_rows]
    return rng.permutation(words)[:, None].view(np.uint8)


def radius(options):
    """Ten million distinct codes: multi-index hashing against our own scan, on many different queries."""
    packed = many_codes(options.rows)
    rng = np.random.default_rng(4)
    queries = packed[rng.integers(0, len(packed), 4000)].copy()
    flips = np.packbits(rng.random((4000, 64)) < 0.05, axis=1)
    queries ^= flips
    threads(1)
    scanning, hashing = HammingIndex.from_codes(packed), HammingIndex.from_codes(packed)
    start = time.perf_counter()
    hashing.search_radius(queries[:1000], 3)  # as many as pay for the tables
    size = hashing.stats().table_bytes / 1e6
    took = time.perf_counter() - start
    print(f"1,000 queries and tables for {len(packed)} codes: {took:.2f} s, {size:.0f} MB")
    for r, goal in ((0, 200), (1, 200), (2, 200), (3, 200), (4, 25), (5, 25), (6, 25), (8, None)):
        scan, in_batch, probe, alone = radius_times(scanning, hashing, queries, r)
        ratio = verdict(scan / probe, goal) if goal else f"{scan / probe:6.2f}x"
        print(f"radius {r}: scan {1e3 * scan:.2f} ms ({1e3 * in_batch:.2f} in a batch),", end="")
        print(f" hashing {1e6 * probe:.1f} us in a batch, {1e6 * alone:.0f} us alone: scan / {ratio}", end="")
        print(f", scan in a batch / {in_batch / probe:.0f}x")


def radius_times(scanning, hashing, queries, r):
    """Seconds a query: scan of one and of a batch, hashing of a batch of new queries and of one."""
    few, many = queries[:20], queries[20:]
    scanning._state.segments[0].hashing.steps = -(2**62)  # so that it keeps scanning
    slow, fast = scanning.search_radius(few, r), hashing.search_radius(few, r)
    assert (slow.ids == fast.ids).all()
    assert (slow.splits == fast.splits).all()
    took = best_of(
        3,
        scan=lambda: scanning.search_radius(few[:1], r),
        in_batch=lambda: scanning.search_radius(few, r),
        probe=lambda: hashing.search_radius(many, r),
        alone=lambda: hashing.search_radius(few[:1], r),
    )
    return took["scan"], took["in_batch"] / len(few), took["probe"] / len(many), took["alone"]


BUILD = """
import sys, time
import numpy as np
from kinhash.index import HammingIndex
HammingIndex.from_codes(np.zeros((2, 8), np.uint8)).search(np.zeros((1, 8), np.uint8), 1)
packed = np.load(sys.argv[1])
ids = np.arange(len(packed)) * 3
def memory(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
open("/proc/self/clear_refs", "w").write("5")  # the peak counts from here
before = memory("VmRSS")
start = time.perf_counter()
index = HammingIndex.from_codes(packed, ids=ids)
built = time.perf_counter() - start
print(built, memory("VmHWM") - before, packed.nbytes + ids.nbytes)
index.save(sys.argv[2])
"""

OPEN = """
import sys, time
from kinhash.index import HammingIndex
start = time.perf_counter()
index = HammingIndex.load(sys.argv[1])
print(time.perf_counter() - start)
"""


def build(options):
    """Building, saving and opening ten million distinct 64-bit codes with their own ids, on all threads."""
    os.environ.pop("OMP_NUM_THREADS", None)
    with tempfile.TemporaryDirectory() as folder:
        codes, file = os.path.join(folder, "codes.npy"), os.path.join(folder, "index.kin")
        np.save(codes, many_codes(options.rows))
        gc.collect()
        seconds, memory, size = map(float, python(BUILD, codes, file).split())
        print(
            f"build of {options.rows} codes: {seconds:.2f} s (goal 10), peak memory {memory / 1e6:.0f} MB ="
            f" {memory / size:.2f} x (codes + ids) (goal 3)"
        )
        times = [float(python(OPEN, file)) for _ in range(3)]
        size = os.path.getsize(file) / 1e6
        print(f"open by memory map, verified: {min(times):.3f} s (goal 0.5), {size:.0f} MB")


FIRST = """
import sys, time
start = time.perf_counter()
import numpy as np
from kinhash.index import HammingIndex
width = int(sys.argv[1])
index = HammingIndex.from_codes(np.zeros((3, width), np.uint8))
index.search(np.zeros((5, width), np.uint8), 2)
print(time.perf_counter() - start, time.process_time())
"""


def python(program, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def start(_options):
    """First search after installation, and in a process that finds the compiled code."""
    for n_bits in (64, 128, 256, 1024):
        with tempfile.TemporaryDirectory() as folder:
            cold = python(FIRST, n_bits // 8, NUMBA_CACHE_DIR=folder).split()
            warm = min(python(FIRST, n_bits // 8, NUMBA_CACHE_DIR=folder).split() for _ in range(3))
        print(
            f"{n_bits:5d} bits  cold start {float(cold[0]):.2f} s ({float(cold[1]):.2f} s of CPU, goal 6),"
            f" warm start {float(warm[0]):.2f} s ({float(warm[1]):.2f} s of CPU, goal 1)"
        )


def asymmetric(_options):
    """Search from margins: exact over all codes, beside the plain search."""
    rng = np.random.default_rng(6)
    threads(1)
    for n_bits in (64, 256):
        index = HammingIndex.from_codes(random_codes(rng, ROWS, n_bits))
        plain, weighted = margin_times(index, rng.normal(size=(50, n_bits)))
        print(f"{n_bits:4d} bits  margins {1e3 * weighted / 50:.2f} ms a query,", end="")
        print(f" {weighted / plain:.1f} times the plain search")


def margin_times(index, margins):
    queries = np.packbits(margins > 0, axis=1)
    took = best_of(
        3,
        plain=lambda: index.search(queries, K),
        weighted=lambda: index.search(queries, K, margins=margins),
    )
    return took["plain"], took["weighted"]


OURS = """
import sys
sys.path.insert(0, sys.argv[1])
import search
from kinhash.index import HammingIndex
search.threads(1)
packed, queries = search.wide_codes(int(sys.argv[2]))
index = HammingIndex.from_codes(packed)
search.print_times(lambda some: index.search(some, search.K).distances, queries)
"""
THEIRS = """
import sys
sys.path.insert(0, sys.argv[1])
import search
search.threads(1)
packed, queries = search.wide_codes(int(sys.argv[2]))
pair = search.faiss_pair(packed)
for index in pair:
    search.print_times(lambda some: index.search(some, search.K)[0], queries)
"""


def wide_codes(n_bits):
    rng = np.random.default_rng(7)
    n_rows = ROWS if n_bits <= 256 else ROWS // 4
    return random_codes(rng, n_rows, n_bits), random_codes(rng, 200, n_bits)


def print_times(work, queries):
    took = best_of(5, one=lambda: work(queries[:1]), many=lambda: work(queries))
    print(took["one"], took["many"], int(work(queries).sum()))


def wide(_options):
    """Up to 3,072 bits, ours and FAISS in processes of their own, one thread, in turn."""
    here = os.path.dirname(os.path.abspath(__file__))
    for n_bits in (64, 128, 256, 768, 1536, 2048, 3072):
        ours, theirs = [], []
        for _ in range(2):
            ours += python(OURS, here, n_bits).splitlines()
            theirs += python(THEIRS, here, n_bits).splitlines()
        assert len({line.split()[2] for line in ours + theirs}) == 1, "distances differ from FAISS"
        best = [[min(float(line.split()[i]) for line in side) for i in (0, 1)] for side in (ours, theirs)]
        (one, many), (their_one, their_many) = best
        print(f"{n_bits:4d} bits  one query {1e3 * one:7.3f} ms  faiss / {their_one / one:5.2f}x,", end="")
        print(f" batch of 200 {1e3 * many:8.1f} ms  faiss / {their_many / many:5.2f}x", flush=True)


SECTIONS = {
    "flat": flat, "wide": wide, "supervised": supervised, "radius": radius, "build": build,
    "start": start, "asymmetric": asymmetric,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", help=f"some of {', '.join(SECTIONS)}")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the sections radius and build")
    options = parser.parse_args()
    print(f"FAISS {faiss.__version__} at {faiss.SIMDConfig.get_level_name()}")
    for name in options.sections or SECTIONS:
        print(f"\n== {name}: {SECTIONS[name].__doc__}")
        SECTIONS[name](options)


if __name__ == "__main__":
    main()
