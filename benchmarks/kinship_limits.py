"""What pairs are worth: beside no supervision, by their number, with noise, beside some classes, at size.

    KINHASH_DATA=... python benchmarks/kinship_limits.py {floor,curve,noise,missing,size} [--seeds 10]

*floor*: the least difference over seeds between codes from pairs and ITQ, on every task of `kinship.py`.
*curve*: CIFAR-10 network features, AUC of unseen rows by the number of pairs. *noise*: the same for 20,000
pairs of which a share has the wrong verdict. *missing*: classes known for a share of the rows, alone and
beside 20,000 random pairs; mAP of unseen rows. *size*: seconds and peak memory, one process each.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
import warnings
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from kinship import by_codes
from kinship_data import PAIRS, Figures, PairTask, cifar

import kinhash
from kinhash import EnergyHasher
from kinhash.baselines import ITQ
from kinhash.errors import KinhashWarning

SIZES = {
    "pairs": (100_000, 20_000, 256),
    "many pairs": (10**7, 10**6, 512),
    "similarities": (10**7, 10**6, 64),
}


def fitted(task: PairTask, n_bits: int, seed: int, **more: Any) -> EnergyHasher:
    verdict = () if task.verdict is None else (task.verdict,)
    hasher = EnergyHasher(n_bits=n_bits, random_state=seed)
    return hasher.fit_pairs(task.X, task.left, task.right, *verdict, **more)


def score(task: PairTask, hasher: Any) -> float:
    figures: Figures = task.judge(by_codes(hasher, task))
    return next(iter(figures.values()))


def said(name: str, values: list[float]) -> None:
    print(
        f"  {name:<24}{np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}  least {min(values):+.4f}",
        flush=True,
    )


def floor(seeds: int) -> None:
    for name, (make, n_bits) in PAIRS.items():
        plain, learned = [], []
        for seed in range(seeds):
            task = make(seed)
            plain.append(score(task, ITQ(n_bits, random_state=seed).fit(task.X)))
            learned.append(score(task, fitted(task, n_bits, seed)))
        said(name, learned)
        said("  more than ITQ", np.subtract(learned, plain).tolist())


def curve(seeds: int) -> None:
    tasks = [cifar(100_000)(seed) for seed in range(seeds)]
    said("0", [score(task, ITQ(64, random_state=seed).fit(task.X)) for seed, task in enumerate(tasks)])
    for n_pairs in (1, 10, 100, 1000, 10_000, 100_000):
        said(f"{n_pairs:,}", [_first(task, n_pairs, seed) for seed, task in enumerate(tasks)])


def _first(task: PairTask, n_pairs: int, seed: int) -> float:
    """With the first pairs alone; if all are of one kind, they are as good as none."""
    assert task.verdict is not None
    some = replace(task, left=task.left[:n_pairs], right=task.right[:n_pairs], verdict=task.verdict[:n_pairs])
    if len(set(some.verdict.tolist())) == 1:
        return score(task, ITQ(64, random_state=seed).fit(task.X))
    return score(task, fitted(some, 64, seed))


def noise(seeds: int) -> None:
    for share in (0.0, 0.1, 0.3):
        found = []
        for seed in range(seeds):
            task = cifar(20_000)(seed)
            wrong = np.random.default_rng((3, seed)).random(len(task.left)) < share
            found.append(
                score(
                    task,
                    fitted(replace(task, verdict=np.where(wrong, -task.verdict, task.verdict)), 64, seed),
                )
            )
        said(f"{share:.0%} wrong", found)


def missing(seeds: int) -> None:
    from kinship_data import floats, read

    z = read("cifar10_efficientnet_lite0_pca256")
    X, y = floats(z), z["labels"].astype(int)
    for share in (0.01, 0.05, 0.2):
        alone, beside, pairs = [], [], []
        for seed in range(seeds):
            rng = np.random.default_rng((4, seed))
            order = rng.permutation(len(X))
            train, test = order[:20_000], order[20_000:22_000]
            known = [
                int(c) if keep else None for c, keep in zip(y[train], rng.random(20_000) < share, strict=True)
            ]
            task = cifar(20_000)(seed)
            left = rng.integers(20_000, size=20_000)
            right = (left + rng.integers(1, 20_000, size=20_000)) % 20_000
            verdict = y[train[left]] == y[train[right]]
            task = PairTask(X[train], left, right, verdict, X[test])
            classes = EnergyHasher(64, random_state=seed).fit(task.X, known)
            both = fitted(task, 64, seed, y=known)
            for found, hasher in ((alone, classes), (beside, both), (pairs, fitted(task, 64, seed))):
                found.append(hasher.score(X[test], y[test]))
        said(f"classes of {share:.0%}", alone)
        said("  and 20,000 pairs", beside)
        said("  pairs alone", pairs)


def size(gpu: bool) -> None:
    for name in SIZES:
        more = ["--gpu"] if gpu else []
        subprocess.run([sys.executable, __file__, "one", "--name", name, *more], check=True)


def one(name: str, gpu: bool) -> None:
    """Fit once and print seconds and peak memory beyond the input."""
    import scipy.sparse as sp

    n_pairs, n_rows, width = SIZES[name]
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, n_rows)
    X = rng.normal(size=(n_rows, width)).astype(np.float32)
    X[:, :10] += 2 * np.eye(10, dtype=np.float32)[y]
    left, right = rng.integers(n_rows, size=(2, n_pairs))
    verdict = np.where(y[left] == y[right], 1.0, -1.0)
    if name == "similarities":
        verdict *= rng.random(n_pairs)
        S = sp.coo_array((verdict, (left, right)), shape=(n_rows, n_rows)).tocsr()
        S = (S + S.T) / 2
        S.data = S.data.clip(-1, 1)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    hasher, start = EnergyHasher(64, random_state=0), time.perf_counter()
    with kinhash.on_gpu() if gpu else nullcontext():
        hasher.fit_similarity(X, S) if name == "similarities" else hasher.fit_pairs(X, left, right, verdict)
    seconds, peak = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"  {name}: {n_pairs:,} over {n_rows:,} rows × {width}: {seconds:.1f} s, "
        f"peak {peak / 2**20:.1f} GB, {(peak - held) / 2**20:.1f} GB beyond the input"
    )
    print("   ", ", ".join(f"{stage} {spent:.1f} s" for stage, spent in hasher.report_.seconds.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parts = {"floor": floor, "curve": curve, "noise": noise, "missing": missing, "size": size}
    parser.add_argument("part", choices=(*parts, "one"))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--name", choices=tuple(SIZES), help="of one size")
    parser.add_argument("--gpu", action="store_true", help="fit on a graphics card, sizes only")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", KinhashWarning)
    if asked.part == "one":
        one(asked.name, asked.gpu)
    else:
        print(asked.part, flush=True)
        parts[asked.part](asked.gpu if asked.part == "size" else asked.seeds)


if __name__ == "__main__":
    main()
