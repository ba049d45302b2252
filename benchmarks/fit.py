"""Fitting speed beside scikit-learn's Ridge on the same matrix, in one run.

    python benchmarks/fit.py [--rows 267648] [--rounds 3] [--quick]

X is random float32, rows × 500; the tags are NUS-WIDE's real ones where KINHASH_DATA has them, otherwise
synthetic tags of the same shape. Fits are interleaved with Ridge(solver="cholesky") on as many targets,
best of several rounds; what counts is the ratio. Memory is the growth of the process's peak beyond X.
"""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

PAPER_SECONDS = {8: 10.36, 16: 10.53, 32: 12.12, 64: 17.52, 128: 27.12, 256: 55.68}  # its tables 2 and 4
WIDTH = 500


def real_or_synthetic_tags(n: int) -> tuple[sp.csr_array, str]:
    home = os.environ.get("KINHASH_DATA")
    path = Path(home, "nuswide81_tags.npz") if home else None
    if path and path.exists():
        stored = np.load(path)
        data = np.ones(len(stored["indices"]), np.int8)
        tags = sp.csr_array((data, stored["indices"], stored["indptr"]), shape=(269648, 81))
        return sp.csr_array(tags[:n]), "NUS-WIDE's tags"
    rng = np.random.default_rng(3)
    chance = np.minimum(0.3, 0.6 / np.arange(1, 82))
    return sp.csr_array((rng.random((n, 81)) < chance).astype(np.int8)), "synthetic tags"


def features(tags: sp.csr_array) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((tags.shape[0], WIDTH), dtype=np.float32)
    X += (tags.astype(np.float32) @ rng.standard_normal((81, WIDTH), dtype=np.float32)) * np.float32(0.5)
    return X


def seconds(work) -> float:
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def race(contestants: dict, rounds: int) -> dict[str, float]:
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, work in contestants.items():
            best[name] = min(best[name], seconds(work))
    return best


def against_ridge(X: np.ndarray, tags: sp.csr_array, bits: list[int], rounds: int) -> None:
    from sklearn.linear_model import Ridge

    from kinhash import EMKSH

    rng = np.random.default_rng(1)
    print(f"{'bits':>5} {'Ridge s':>8} {'EM-KSH s':>9} {'ratio':>6}   paper's seconds (its machine)")
    for d in bits:
        y = rng.standard_normal((len(X), d), dtype=np.float32)
        best = race(
            {
                "ridge": lambda y=y: Ridge(solver="cholesky").fit(X, y),
                "emksh": lambda d=d: EMKSH(d, random_state=0).fit(X, tags),
            },
            rounds,
        )
        ratio = best["emksh"] / best["ridge"]
        print(
            f"{d:5d} {best['ridge']:8.2f} {best['emksh']:9.2f} {ratio:6.2f}   {PAPER_SECONDS[d]}", flush=True
        )


def energy_hasher(X: np.ndarray, tags: sp.csr_array, rounds: int) -> None:
    from sklearn.linear_model import Ridge

    from kinhash import EnergyHasher

    y = np.random.default_rng(1).standard_normal((len(X), 64), dtype=np.float32)
    best = race(
        {
            "Ridge, 64 targets": lambda: Ridge(solver="cholesky").fit(X, y),
            "EnergyHasher, defaults": lambda: EnergyHasher(64, random_state=0).fit(X, tags),
        },
        rounds,
    )
    base = best["Ridge, 64 targets"]
    for name, value in best.items():
        print(f"{name:40s} {value:7.2f} s  {value / base:6.2f} x Ridge", flush=True)


def growth(X: np.ndarray, tags: sp.csr_array, rounds: int) -> None:
    from kinhash import EMKSH

    def best(n: int, m: int, d: int) -> float:
        hasher = EMKSH(d, n_anchors=m, random_state=0)
        return min(seconds(lambda: hasher.fit(X[:n], tags[:n])) for _ in range(rounds))

    full = len(X)
    curves = {
        "n": {n: best(n, 1000, 64) for n in (30_000, 67_000, 133_000, full)},
        "m": {m: best(full, m, 64) for m in (250, 500, 1000, 2000)},
        "d": {d: best(full, 1000, d) for d in (16, 32, 64, 128, 256)},
    }
    for name, times in curves.items():
        slope = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]
        shown = ", ".join(f"{value:,}: {spent:.2f} s" for value, spent in times.items())
        print(f"growth with {name}: log-log {slope:.2f} ({shown})", flush=True)


def peak_memory(n: int) -> None:
    """In a process of its own: how far one fit raises the peak beyond the inputs."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import fit as bench
from kinhash import EMKSH
tags, _ = bench.real_or_synthetic_tags({n}); X = bench.features(tags)
EMKSH(64, random_state=0).fit(X[:5000], tags[:5000])
with open('/proc/self/clear_refs', 'w') as f: f.write('5')
def status(key): return int([l for l in open('/proc/self/status') if l.startswith(key)][0].split()[1]) / 1024
before = status('VmRSS')
EMKSH(64, random_state=0).fit(X, tags)
grown = status('VmHWM') - before
print(f"peak memory beyond X, EM-KSH 64 bits: {{grown:.0f}} MB (X itself {{X.nbytes / 1e6:.0f}} MB)")
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=267_648)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="64 and 256 bits only, no growth curves")
    options = parser.parse_args()
    tags, source = real_or_synthetic_tags(options.rows)
    X = features(tags)
    print(f"X float32 {X.shape[0]:,} × {X.shape[1]}, {source}; best of {options.rounds}")
    against_ridge(X, tags, [64, 256] if options.quick else [8, 16, 32, 64, 128, 256], options.rounds)
    energy_hasher(X, tags, options.rounds)
    peak_memory(options.rows)
    if not options.quick:
        growth(X, tags, max(1, options.rounds - 1))


if __name__ == "__main__":
    main()
