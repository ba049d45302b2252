"""Search on a graphics card beside torch's int8 product + topk, and the limits of the card itself.

    python benchmarks/gpu.py                     # everything; needs about 20 GB on the card
    python benchmarks/gpu.py --rows 100_000_000

Times are the best of several, wall clock, from Python and back, queries and answers copied.
"""

import argparse
import os
import time

import numpy as np
import scipy.sparse as sp

import kinhash
from kinhash import Codes, metrics
from kinhash.index import GpuIndex

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins


def best(work, repeats: int = 7) -> float:
    work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def random_codes(n_rows: int, n_bits: int, seed: int = 0) -> Codes:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 2**64, (n_rows, n_bits // 64), np.uint64)
    return Codes(words.view(np.uint8), n_bits)


def copy_speed() -> float:
    """Bytes a second that the card reads and writes when it copies."""
    import cupy as cp

    one, two = cp.zeros(1 << 29, cp.uint64), cp.empty(1 << 29, cp.uint64)

    def work() -> None:
        two[:] = one
        cp.cuda.Device().synchronize()

    return 2 * one.nbytes / best(work)


def search(n_rows: int, n_bits: int) -> None:
    begin = time.perf_counter()
    index = GpuIndex.from_codes(random_codes(n_rows, n_bits))
    print(f"{n_rows:.0e} rows of {n_bits} bits: made in {time.perf_counter() - begin:.1f} s")
    for n_queries, k in (
        (1, 100),
        (1, 1000),
        (4, 100),
        (16, 100),
        (100, 100),
        (1000, 10),
        (1000, 100),
        (1000, 1000),
    ):
        queries = random_codes(n_queries, n_bits, seed=1)
        seconds = best(lambda queries=queries, k=k: index.search(queries, k), 7 if n_queries < 100 else 3)
        print(
            f"  {n_queries:5} queries, k = {k:5}: {1e3 * seconds:9.3f} ms, "
            f"{n_queries * n_rows / seconds:.2e} pairs/s, {n_rows * n_bits / 8 / seconds / 1e12:.2f} TB/s",
            flush=True,
        )


def beside_torch(n_rows: int = 10_000_000, n_queries: int = 1024, k: int = 100) -> None:
    """What people write today: a product of ±1 in int8 and topk, in blocks of a million rows."""
    import torch

    codes, queries = random_codes(n_rows, 64), random_codes(n_queries, 64, seed=1)
    index = GpuIndex.from_codes(codes)
    signs = torch.empty((n_rows, 64), dtype=torch.int8, device="cuda")
    words = torch.from_numpy(codes.words().view(np.int64)[:, 0]).cuda()
    for bit in range(64):
        signs[:, bit] = ((words >> bit) & 1).to(torch.int8) * 2 - 1
    asked = torch.from_numpy(queries.words().view(np.int64)[:, 0]).cuda()
    of_queries = torch.stack([((asked >> bit) & 1).to(torch.int8) * 2 - 1 for bit in range(64)], 1)

    def torch_topk() -> np.ndarray:
        found = []
        for start in range(0, n_rows, 1_000_000):
            product = torch._int_mm(of_queries, signs[start : start + 1_000_000].t())
            found.append(product.topk(k, dim=1).values)
        return ((64 - torch.cat(found, 1).topk(k, dim=1).values) // 2).cpu().numpy()

    ours, theirs = best(lambda: index.search(queries, k)), best(torch_topk, 3)
    equal = (index.search(queries, k).distances == torch_topk()).all()
    print(
        f"torch int8 + topk, {n_queries} queries × {n_rows:.0e}: {1e3 * theirs:.1f} ms; "
        f"ours {1e3 * ours:.2f} ms,"
    )
    print(f"  {theirs / ours:.1f} × faster, distances {'equal' if equal else 'DIFFERENT'}")


def score(n_queries: int = 100_000, n_rows: int = 10_000_000, n_tags: int = 81) -> None:
    """mAP with tags; a part of the queries again on the processor."""
    rng = np.random.default_rng(0)
    queries, database = random_codes(n_queries, 64, seed=1), random_codes(n_rows, 64)
    sides = []
    for n in (n_queries, n_rows):
        tags = rng.integers(0, n_tags, (n, 2)).ravel()
        starts = np.arange(0, 2 * n + 1, 2)
        sides.append(sp.csr_array((np.ones(2 * n, np.uint8), tags, starts), shape=(n, n_tags)))
    begin = time.perf_counter()
    with kinhash.on_gpu():
        ours = metrics.evaluate(queries, database, *sides).per_query
    seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    part = metrics.evaluate(queries[:64], database, sides[0][:64], sides[1]).per_query
    again = time.perf_counter() - begin
    print(f"mAP of {n_queries:.0e} queries × {n_rows:.0e} rows with {n_tags} tags: {seconds:.2f} s,")
    print(
        f"  {n_queries * n_rows / seconds:.2e} pairs/s; processor {64 * n_rows / again:.2e} pairs/s,", end=" "
    )
    print(f"largest difference of 64 queries {np.nanmax(np.abs(part - ours[:64])):.1e}")


def encode(n_rows: int = 10_000_000, n_columns: int = 512, part: int = 200_000) -> None:
    """The default hasher on rows of ten classes; the bits of a part compared with the processor's."""
    rng = np.random.default_rng(0)
    centers, y = rng.standard_normal((10, n_columns)), rng.integers(0, 10, 20_000)
    known = (centers[y] + 4 * rng.standard_normal((len(y), n_columns))).astype(np.float32)
    hasher = kinhash.EnergyHasher(random_state=0).fit(known, y)
    X = rng.standard_normal((n_rows, n_columns), np.float32)
    with kinhash.on_gpu():
        hasher.encode(X[:1000])
        begin = time.perf_counter()
        codes = hasher.encode(X)
        seconds = time.perf_counter() - begin
    hasher.encode(X[:1000])
    begin = time.perf_counter()
    here = hasher.encode(X[:part])
    again = time.perf_counter() - begin
    differing = int(np.bitwise_count(here.packed ^ codes.packed[:part]).sum())
    chosen = type(hasher.fitted_.map).__name__
    print(f"encoding {n_rows:.0e} × {n_columns} ({chosen}): {seconds:.2f} s, {n_rows / seconds:.2e} rows/s;")
    print(f"  processor {part / again:.2e} rows/s; {differing} of {64 * part} bits differ", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000_000)
    rows = parser.parse_args().rows
    print(f"copy inside the card: {copy_speed() / 1e12:.2f} TB/s")
    beside_torch()
    score()
    encode()
    search(rows // 10, 64)
    search(rows // 10, 256)
    search(rows, 64)
