"""Fitting and encoding rows that are generated as they are read: Dask beside one process.

    python benchmarks/scale.py [--rows 20000000] [--columns 64] [--block 200000] [--repeats 2]

Both sides fit on rows drawn from the same blocks and encode all of them, on two cores: two threads of one
process, or two workers of a LocalCluster with one thread each. Each side runs in a process of its own, in
turn, the best of several counts; starting the cluster and compiling are left out. Printed are seconds by the
clock, processor seconds (which other work on the machine disturbs less), the peak memory of every process,
and whether both models are the same to the bit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

CLASSES = 20


def labels(number: int, rows: int) -> np.ndarray:
    return np.random.default_rng([7, number]).integers(0, CLASSES, rows)


def features(number: int, rows: int, columns: int) -> np.ndarray:
    centers = np.random.default_rng(7).standard_normal((CLASSES, columns), dtype=np.float32)
    noise = np.random.default_rng([8, number]).standard_normal((rows, columns), dtype=np.float32)
    noise *= 2
    noise += centers[labels(number, rows)]
    return noise


def recipe() -> dict:
    return {"n_bits": 64, "random_state": 0}


def peak_megabytes() -> float:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def one_process(sizes: list[int], columns: int) -> dict:
    from functools import partial

    from kinhash import EnergyHasher
    from kinhash._internal.blocks import map_blocks
    from kinhash.distributed import code_block, fit_blocks, packed_model

    blocks = [
        (partial(features, number, rows, columns), partial(labels, number, rows))
        for number, rows in enumerate(sizes)
    ]
    fit_blocks(EnergyHasher(**recipe()), blocks[:1]).encode(features(0, 300, columns))  # compile
    cpu, start = time.process_time(), time.perf_counter()
    hasher = fit_blocks(EnergyHasher(**recipe()), blocks)
    fitted = time.perf_counter()
    model = packed_model(hasher)
    ones = sum(map_blocks(lambda b: int(code_block(b[0](), model=model).sum(dtype=np.int64)), blocks))
    end = time.perf_counter()
    return {
        "fit": fitted - start,
        "encode": end - fitted,
        "cpu": time.process_time() - cpu,
        "client": peak_megabytes(),
        "workers": [],
        "model": hasher.model_id_,
        "codes": ones,
    }


def on_dask(sizes: list[int], columns: int) -> dict:
    import dask.array as da
    from distributed import Client, LocalCluster

    from kinhash import EnergyHasher
    from kinhash.distributed.dask import encode, fit

    def x_block(block_info: dict | None = None) -> np.ndarray:
        number = block_info[None]["chunk-location"][0]
        return features(number, sizes[number], columns)

    def y_block(block_info: dict | None = None) -> np.ndarray:
        number = block_info[None]["chunk-location"][0]
        return labels(number, sizes[number])

    def rows(sizes: list[int]) -> tuple:
        X = da.map_blocks(
            x_block, chunks=(tuple(sizes), (columns,)), dtype=np.float32, meta=np.empty((0, 0), np.float32)
        )
        return X, da.map_blocks(y_block, chunks=(tuple(sizes),), dtype=np.int64, meta=np.empty(0, np.int64))

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        for _ in range(2):  # both workers compile
            warm = fit(EnergyHasher(**recipe()), *rows(sizes[:4]))
            encode(warm, rows(sizes[:4])[0]).sum().compute()
        cpu = time.process_time() + sum(client.run(time.process_time).values())
        start = time.perf_counter()
        X, y = rows(sizes)
        hasher = fit(EnergyHasher(**recipe()), X, y)
        fitted = time.perf_counter()
        ones = int(encode(hasher, X).sum(dtype=np.int64).compute())
        end = time.perf_counter()
        return {
            "fit": fitted - start,
            "encode": end - fitted,
            "cpu": time.process_time() + sum(client.run(time.process_time).values()) - cpu,
            "client": peak_megabytes(),
            "workers": list(client.run(peak_megabytes).values()),
            "model": hasher.model_id_,
            "codes": ones,
        }


def run(how: str, options: argparse.Namespace) -> dict:
    command = [sys.executable, __file__, "--how", how]
    for name in ("rows", "columns", "block"):
        command += [f"--{name}", str(getattr(options, name))]
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(ran.stderr)
    found = json.loads(ran.stdout.splitlines()[-1])
    workers = ", ".join(f"{size:.0f}" for size in found["workers"]) or "none"
    print(
        f"{how:12s} fit {found['fit']:6.1f} s, encode {found['encode']:6.1f} s, "
        f"processor {found['cpu']:6.1f} s; peak MB: here {found['client']:.0f}, workers {workers}"
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--block", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--how", choices=["one process", "dask"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [min(options.block, options.rows - first) for first in range(0, options.rows, options.block)]
    if options.how:
        work = one_process if options.how == "one process" else on_dask
        print(json.dumps(work(sizes, options.columns)))
        return
    print(
        f"{options.rows:,} × {options.columns} float32 in {len(sizes)} blocks, load {os.getloadavg()[0]:.1f}"
    )
    found: dict[str, list[dict]] = {"one process": [], "dask": []}
    for _ in range(options.repeats):
        for how, runs in found.items():
            runs.append(run(how, options))
    one, many = found["one process"], found["dask"]
    for name in ("fit", "encode", "cpu"):
        ratio = min(r[name] for r in many) / min(r[name] for r in one)
        print(f"dask / one process, {'processor seconds' if name == 'cpu' else name}: {ratio:.2f}")
    total = [min(r["fit"] + r["encode"] for r in runs) for runs in (many, one)]
    print(f"dask / one process, fit and encode: {total[0] / total[1]:.2f} (limit 1.6)")
    print(f"largest worker {max(max(r['workers']) for r in many):.0f} MB (limit 1500), ", end="")
    print(f"largest client {max(r['client'] for r in many):.0f} MB (limit 1000)")
    print(f"models equal: {len({r['model'] for r in one + many}) == 1}, ", end="")
    print(f"codes equal: {len({r['codes'] for r in one + many}) == 1}")


if __name__ == "__main__":
    main()
