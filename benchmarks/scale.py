"""Rows that are generated as they are read: the whole path in one process and another, and Dask beside one.

    python benchmarks/scale.py path --rows 100000000 [--columns 32] [--out figures.jsonl]
    python benchmarks/scale.py dask [--rows 20000000] [--columns 64] [--block 200000] [--repeats 2]

path: one process fits by blocks, encodes, builds the index with payload columns and saves it. Another opens
the file, searches with and without filters, changes rows, searches again and saves. Every step prints seconds,
the peak memory of its process, and how much of it lies beyond codes, ids and payload. Answers of ``--checked``
queries are compared with a plain pass over all codes, before and after the changes: the order is (distance,
id), so ids must be equal.

dask: both sides fit on rows drawn from the same blocks and encode all of them, on two cores: two threads of
one process, or two workers of a LocalCluster with one thread each. Each side runs in a process of its own, in
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
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

CLASSES = 20
K = 100


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


# ---- the whole path ----------------------------------------------------------------------------


class Steps:
    """Seconds and peak memory of one step after the other."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
        more: dict[str, Any] = {}
        start, before = time.perf_counter(), os.times()
        yield more
        took, after = time.perf_counter() - start, os.times()
        cpu = sum(after[:4]) - sum(before[:4])
        record = {"rows": self.options.rows, "columns": self.options.columns, "step": name}
        record |= {
            "seconds": round(took, 4),
            "cpu": round(cpu, 2),
            "peak_mb": round(peak_megabytes()),
            **more,
        }
        beside = "".join(f", {key} {value}" for key, value in more.items())
        print(
            f"{name:<44}{took:9.3f} s {cpu:8.2f} s of CPU, peak {record['peak_mb']:6d} MB{beside}", flush=True
        )
        if self.options.out:
            with open(self.options.out, "a") as file:
                file.write(json.dumps(record) + "\n")


def blocks_of(sizes: list[int], columns: int) -> list[tuple]:
    return [
        (partial(features, number, rows, columns), partial(labels, number, rows))
        for number, rows in enumerate(sizes)
    ]


def payload_of(ids: np.ndarray) -> dict[str, np.ndarray]:
    """A column that 1 in 100 rows has at 0, and one that half of the rows have."""
    return {"group": (ids * 40_503 % 100).astype(np.uint8), "even": ids % 2 == 0}


def make(folder: Path, sizes: list[int], options: argparse.Namespace) -> None:
    """Fit, encode, index, save."""
    from kinhash import EnergyHasher, HammingIndex
    from kinhash.distributed import fit_blocks

    steps, blocks = Steps(options), blocks_of(sizes, options.columns)
    fit_blocks(EnergyHasher(**recipe()), blocks[:1]).encode(features(0, 300, options.columns))  # compile
    with steps.step("fit by blocks"):
        hasher = fit_blocks(EnergyHasher(**recipe()), blocks)
    hasher.save(folder / "model.kin")
    codes = np.lib.format.open_memmap(folder / "codes.npy", "w+", np.uint8, (options.rows, 8))
    with steps.step("generate and encode"):
        first = 0
        for load, _ in blocks:
            block = np.asarray(hasher.encode(load()))
            codes[first : first + len(block)] = block
            first += len(block)
    codes.flush()
    size = options.rows * 8 / 1e6
    with steps.step("index") as more:
        index = HammingIndex.from_codes(
            np.load(folder / "codes.npy"), payload=payload_of(np.arange(options.rows))
        )
        more["codes_mb"] = round(size)
    stats = index.stats()
    with steps.step("save") as more:
        index.save(folder / "index.kin")
        more["file_mb"] = round((folder / "index.kin").stat().st_size / 1e6)
        more["distinct"] = stats.n_codes


def use(folder: Path, sizes: list[int], options: argparse.Namespace) -> None:
    """Open, search, change, search again, save."""
    import kinhash
    from kinhash import HammingIndex

    HammingIndex.from_codes(np.zeros((2, 8), np.uint8)).search(np.zeros((1, 8), np.uint8), 1)  # compile
    steps, hasher = Steps(options), kinhash.load(folder / "model.kin")
    queries = np.asarray(hasher.encode(features(len(sizes), 1_000, options.columns)))
    with steps.step("open in another process"):
        index = HammingIndex.load(folder / "index.kin")
    codes = np.load(folder / "codes.npy", mmap_mode="r")
    ids = np.arange(options.rows)
    ways = {"": None, ", filter of 1 %": "group == 0", ", filter of 50 %": {"even": True}}

    def search(when: str, codes: np.ndarray, ids: np.ndarray) -> None:
        for name, where in ways.items():
            for how, asked in (("one query", queries[:1]), ("1,000 queries", queries)):
                index.search(asked[:1], K, where=where)  # warm
                with steps.step(f"{how}{name}{when}"):
                    found = index.search(asked, K, where=where)
        with steps.step(f"plain pass{when}") as more:
            wrong = 0
            payload = payload_of(ids)
            passing = {
                "": None,
                ", filter of 1 %": payload["group"] == 0,
                ", filter of 50 %": payload["even"],
            }
            for name, where in ways.items():
                found = index.search(queries[: options.checked], K, where=where)
                truth = plain_pass(codes, ids, queries[: options.checked], passing[name])
                wrong += int((found.ids != truth).any(axis=1).sum())
            more["checked"], more["wrong"] = 3 * options.checked, wrong

    search("", codes, ids)
    changed = min(100_000, options.rows // 10)
    rng = np.random.default_rng(3)
    chosen = rng.choice(options.rows, 2 * changed, replace=False)
    replaced, removed = np.sort(chosen[:changed]), np.sort(chosen[changed:])
    fresh = np.asarray(hasher.encode(features(len(sizes) + 1, 2 * changed, options.columns)))
    new_ids = options.rows + np.arange(changed)
    with steps.step(f"replace {changed:,} rows"):
        index.upsert(fresh[:changed], replaced, payload_of(replaced))
    with steps.step(f"remove {changed:,} rows"):
        index.remove(removed)
    with steps.step(f"add {changed:,} rows"):
        index.add(fresh[changed:], new_ids, payload_of(new_ids))
    codes = np.concatenate([codes, fresh[changed:]])
    codes[replaced] = fresh[:changed]
    kept = np.ones(len(codes), bool)
    kept[removed] = False
    search(" after changes", codes[kept], np.concatenate([ids, new_ids])[kept])
    with steps.step("save after changes"):
        index.save(folder / "index.kin")


def plain_pass(
    codes: np.ndarray, ids: np.ndarray, queries: np.ndarray, passing: np.ndarray | None
) -> np.ndarray:
    """Ids (q, K) in the order (distance, id), a million codes at a time; ids ascend."""
    asked = queries.view(np.uint64)[:, 0]
    best = [np.empty((0, 2), np.int64) for _ in asked]
    for first in range(0, len(codes), 1_000_000):
        part = slice(first, first + 1_000_000)
        words = np.ascontiguousarray(codes[part]).view(np.uint64)[:, 0]
        own = ids[part]
        if passing is not None:
            words, own = words[passing[part]], own[passing[part]]
        for number, query in enumerate(asked):
            distances = np.bitwise_count(words ^ query)
            limit = best[number][-1, 0] if len(best[number]) == K else 64
            near = np.flatnonzero(distances <= limit)
            if len(near) > K:
                near = near[np.argsort(distances[near], kind="stable")[:K]]
            rows = np.concatenate([best[number], np.column_stack([distances[near], own[near]])])
            best[number] = rows[np.lexsort((rows[:, 1], rows[:, 0]))[:K]]
    return np.array([rows[:, 1] for rows in best])


def whole_path(sizes: list[int], options: argparse.Namespace) -> None:
    if options.how:
        {"make": make, "use": use}[options.how](Path(options.folder), sizes, options)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for how in ("make", "use"):
            subprocess.run(
                [sys.executable, __file__, *sys.argv[1:], "--how", how, "--folder", folder], check=True
            )


# ---- Dask beside one process -------------------------------------------------------------------


def one_process(sizes: list[int], columns: int) -> dict:
    from kinhash import EnergyHasher
    from kinhash._internal.blocks import map_blocks
    from kinhash.distributed import code_block, fit_blocks, packed_model

    blocks = blocks_of(sizes, columns)
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
    command = [sys.executable, __file__, "dask", "--how", how]
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
    parser.add_argument("section", choices=["path", "dask"])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--block", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--checked", type=int, default=100, help="queries compared with a plain pass")
    parser.add_argument(
        "--folder", help="where the files of the path are written; the system's own if left out"
    )
    parser.add_argument(
        "--out", help="a file that the steps of the path are appended to, one line of JSON each"
    )
    parser.add_argument("--how", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [min(options.block, options.rows - first) for first in range(0, options.rows, options.block)]
    if options.section == "path":
        whole_path(sizes, options)
        return
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
