"""Speed of the Hamming index beside other programs, each in a process of its own.

    python benchmarks/search.py                             # everything
    python benchmarks/search.py flat supervised             # some sections
    python benchmarks/search.py flat --widths 64 256 --peers faiss --out figures.jsonl

Two programs in one process disturb each other: two OpenMP runtimes slow FAISS's threaded scan many times
over. So every peer holds the same codes in its own process and waits at a pipe; rounds go from one to the
next, so that all meet the same machine, warm. Ratios are medians over rounds, with the least and the largest;
above 1 we are faster. "faiss" is the faster of IndexBinaryFlat with and without heap in each round. Before
anything is timed, the distances of all peers are compared. A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from kinhash.index import HammingIndex

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

K = 100
ROWS = 1_000_000
CHECKED = 20  # queries whose distances every peer must give alike
WIDTHS = (64, 128, 256, 512, 768, 1024, 1536, 2048, 3072)
GOALS = {
    ("single", 1): {64: 7, 128: 4, 256: 1.4},
    ("batch", 1): {64: 8, 128: 6.5, 256: 3.4},
    ("batch", 2): {64: 8},
}


def best_of(rounds, repeats=1, **works):
    """Least seconds of each work, all of them in turn, ``rounds`` times."""
    best = dict.fromkeys(works, np.inf)
    for _ in range(rounds):
        for name, work in works.items():
            for _ in range(repeats):
                start = time.perf_counter()
                work()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def threads(count):
    os.environ["OMP_NUM_THREADS"] = str(count)


def random_codes(rng, n_rows, n_bits):
    return rng.integers(0, 256, (n_rows, n_bits // 8), dtype=np.uint8)


def verdict(ratio, goal):
    beside = f" (goal {goal}{'' if ratio >= goal else ', MISSED'})" if goal else ""
    return f"{ratio:6.2f}x{beside}"


# ---- peers: codes (n, w) as uint8 → search(queries) → distances (q, K), the nearest first ---------


def ours(codes):
    index = HammingIndex.from_codes(codes)
    return lambda queries: index.search(queries, K).distances


def faiss_flat(codes, heap):
    import faiss

    faiss.omp_set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    index = faiss.IndexBinaryFlat(8 * codes.shape[1])
    index.add(codes)
    index.use_heap = heap
    return lambda queries: index.search(queries, K)[0]


def usearch(codes):
    """An exact search of its index of bits, which has the smallest graph beside it."""
    from usearch.index import Index, MetricKind, ScalarKind

    threads = int(os.environ["OMP_NUM_THREADS"])
    how = {"metric": MetricKind.Hamming, "dtype": ScalarKind.B1, "connectivity": 2, "expansion_add": 1}
    index = Index(ndim=8 * codes.shape[1], **how)
    index.add(np.arange(len(codes)), codes, threads=threads)
    return lambda queries: index.search(queries, K, exact=True, threads=threads).distances.reshape(-1, K)


def pynear(codes):
    """One list, looked through: its other indexes of bits are approximate, or trees, which k = 100 defeats."""
    import pynear

    index = pynear.IVFFlatBinaryIndex(nlist=1, nprobe=1, max_iter=1)
    index.set(codes)
    return lambda queries: index.searchKNN_arrays(queries, K)[1]


def hexhamming(codes):
    """It finds rows within a distance, so it is told the right one, by a search that is not timed."""
    from hexhamming import check_bytes_arrays_all_within_dist as within

    rows, known = codes.tobytes(), ours(codes)
    limits = {}

    def search(queries):
        for query in queries:
            if query.tobytes() not in limits:
                limits[query.tobytes()] = int(known(query[None])[0, -1])
        return np.array([sorted(d for d, _ in within(rows, q, limits[q]))[:K] for q in map(bytes, queries)])

    return search


def plain_numpy(codes):
    """Distances by column, threshold by counting, sort what is left."""
    columns = np.ascontiguousarray(codes.view(np.uint64).T)

    def one(query):
        distances = np.zeros(len(codes), np.int64)
        for column, word in zip(columns, query, strict=True):
            distances += np.bitwise_count(column ^ word)
        limit = np.searchsorted(np.cumsum(np.bincount(distances)), K)
        near = distances[distances <= limit]
        return np.sort(near, kind="stable")[:K]

    return lambda queries: np.array([one(query) for query in queries.view(np.uint64)])


def plain_read(codes):
    """A read of all codes: the bandwidth that no scan of one query can beat."""
    from numba import njit

    words = codes.reshape(-1).view(np.uint64)

    @njit(nogil=True)
    def total(words):
        found = np.uint64(0)
        for i in range(words.size):
            found |= words[i]
        return found

    return lambda queries: total(words)


PEERS = {
    "kinhash": ours,
    "faiss heap": lambda codes: faiss_flat(codes, True),
    "faiss plain": lambda codes: faiss_flat(codes, False),
    "usearch": usearch,
    "pynear": pynear,
    "hexhamming": hexhamming,
    "numpy": plain_numpy,
    "read": plain_read,
}
SLOW = ("usearch", "pynear", "hexhamming", "numpy")  # asked fewer queries; seconds are for one query
SINGLE_THREADED = ("hexhamming", "numpy", "read")


def serve_peer(name, folder):
    """In a process of its own: load the codes, then answer "single" and "batch" until the pipe closes."""
    codes, queries = (np.load(os.path.join(folder, f"{what}.npy")) for what in ("codes", "queries"))
    search = PEERS[name](codes)
    del codes
    answer = search(queries[:CHECKED])
    asked = {"single": queries[:1], "batch": queries[: CHECKED if name in SLOW else None]}
    for some in asked.values():
        search(some)
    known = name == "read" or hashlib.sha256(np.asarray(answer, np.int32).tobytes()).hexdigest()
    print(json.dumps(known), flush=True)
    for line in sys.stdin:
        some = asked[line.strip()]
        repeats = 3 if len(some) == 1 and name not in SLOW else 1
        took = []
        for _ in range(repeats):
            start = time.perf_counter()
            search(some)
            took.append(time.perf_counter() - start)
        print(json.dumps(min(took) / len(some)), flush=True)


class Peer:
    """A program that waits for its turn."""

    def __init__(self, name, folder, count):
        self.name = name
        limits = dict.fromkeys(("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(count))
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve-peer", name, folder],
            env={**os.environ, **limits, "OMP_WAIT_POLICY": "passive"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        line = self.process.stdout.readline()
        self.answers = json.loads(line) if line else None
        if self.answers is None:
            print(f"     {name} left out: {self.process.stderr.read().strip().splitlines()[-1][:150]}")

    def seconds(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


def against_peers(codes, queries, names, count, rounds=7, batch_too=True):
    """Seconds a query of every peer, {"single" or "batch": {name: [one for each round]}}."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(os.path.join(folder, "codes.npy"), codes)
        np.save(os.path.join(folder, "queries.npy"), queries)
        peers = [Peer(name, folder, count) for name in names if count == 1 or name not in SINGLE_THREADED]
        peers = [peer for peer in peers if peer.answers is not None]
        try:
            answers = {peer.name: peer.answers for peer in peers if peer.name != "read"}
            assert len(set(answers.values())) == 1, f"distances differ: {answers}"
            took = {what: {peer.name: [] for peer in peers} for what in ("single", "batch")[: 1 + batch_too]}
            for what, by_name in took.items():
                for _ in range(rounds):
                    for peer in peers:
                        if (what, peer.name) != ("batch", "read"):
                            by_name[peer.name].append(peer.seconds(what))
        finally:
            for peer in peers:
                peer.close()
    for by_name in took.values():
        pair = [by_name.pop(name) for name in ("faiss heap", "faiss plain") if name in by_name]
        if pair:
            by_name["faiss"] = list(np.min(pair, axis=0))
    return took


def report(label, n_bits, count, took, options, goals=GOALS):
    """Print the ratios of all peers, and append them to a file of records."""
    for what, by_name in took.items():
        mine = np.array(by_name["kinhash"])
        parts = []
        for name, seconds in by_name.items():
            if name == "kinhash" or not seconds:
                continue
            ratios = np.array(seconds) / mine
            middle, least, most = float(np.median(ratios)), float(ratios.min()), float(ratios.max())
            goal = goals.get((what, count), {}).get(n_bits) if name == "faiss" else None
            parts.append(f"{name} {verdict(middle, goal)} [{least:.2f} to {most:.2f}]")
            record = {"section": label, "bits": n_bits, "threads": count, "what": what, "peer": name}
            record |= {"ratio": round(middle, 3), "least": round(least, 3), "most": round(most, 3)}
            record |= {"rounds": len(ratios), "kinhash_us": round(1e6 * float(np.median(mine)), 2)}
            if options.out:
                with open(options.out, "a") as file:
                    file.write(json.dumps(record) + "\n")
        ours_us = 1e6 * np.median(mine)
        print(
            f"{label} {n_bits:4d} bits {what:6s} {count} thread{'s' * (count > 1)} {ours_us:9.1f} us a query | "
            + ", ".join(parts)
        )
        sys.stdout.flush()


def flat(options):
    """Distinct random codes (a million; above 256 bits a quarter of it), top 100: one query, and 1,000 or 200."""
    rng = np.random.default_rng(0)
    for n_bits in options.widths:
        wide = n_bits > 256
        codes = random_codes(rng, options.codes // (4 if wide else 1), n_bits)
        queries = random_codes(rng, 200 if wide else 1_000, n_bits)
        for count in options.threads:
            took = against_peers(codes, queries, options.peers, count, options.rounds)
            report("flat", n_bits, count, took, options)


def clustered(rng, noise, n_rows=ROWS):
    """Codes as supervision gives them: 1,000 centers and a little noise, and queries of the same kind."""
    centers = rng.integers(0, 2, (1000, 64), dtype=np.uint8)
    bits = centers[rng.integers(0, 1000, n_rows + 1000)]
    for start in range(0, len(bits), 100_000):
        part = bits[start : start + 100_000]
        part ^= rng.random(part.shape, np.float32) < noise
    packed = np.packbits(bits, axis=1)
    return packed[:n_rows], packed[n_rows:]


def supervised(options):
    """Rows with few distinct codes."""
    rng = np.random.default_rng(1)
    names = [name for name in options.peers if name not in ("usearch", "hexhamming", "numpy", "read")]
    for noise, goal in ((2e-5, 300), (1e-3, 80), (2e-2, 10)):
        codes, queries = clustered(rng, noise, options.codes)
        stats = HammingIndex.from_codes(codes).stats()
        size = (stats.code_bytes + stats.list_bytes) / 1e6
        print(f"{stats.n_codes} distinct: {size:.1f} MB (flat codes {codes.nbytes / 1e6:.1f})")
        took = against_peers(codes, queries, names, 1, options.rounds)
        report(f"{stats.n_codes} distinct", 64, 1, took, options, {("batch", 1): {64: goal}})


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
        ratio = verdict(scan / probe, goal)
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


SECTIONS = {
    "flat": flat, "supervised": supervised, "radius": radius, "build": build,
    "start": start, "asymmetric": asymmetric,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", help=f"some of {', '.join(SECTIONS)}")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the sections radius and build")
    parser.add_argument("--codes", type=int, default=ROWS, help="rows of the sections flat and supervised")
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--threads", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--peers", nargs="+", default=tuple(PEERS), help="kinhash is always there")
    parser.add_argument("--out", help="a file that records are appended to, one line of JSON each")
    parser.add_argument("--serve-peer", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve_peer:
        serve_peer(*options.serve_peer)
        return
    wanted = {"kinhash", *(name for name in PEERS for asked in options.peers if name.startswith(asked))}
    options.peers = [name for name in PEERS if name in wanted]
    for name in options.sections or SECTIONS:
        print(f"\n== {name}: {SECTIONS[name].__doc__}")
        SECTIONS[name](options)


if __name__ == "__main__":
    main()
