"""Every kind of kinship but classes: pairs, clicks, two views, trees. Ours beside metric learners and rivals.

    KINHASH_DATA=... python benchmarks/kinship.py {pairs,views,trees} [--only mrpc quora ...] [--seeds 3]
        [--side ours|rivals|both] [--methods ITML MMC ...]

*pairs*: AUC of kin pairs against strangers among rows or pairs that were not trained on (STS-B: Spearman with
the grade); sets with kin only: mAP and share of anchors with a partner among the first ten, ties broken
at random. Metric learners need strangers: where there are none they get as many random pairs. Cosine and a
logistic regression on |x − y| are floats, without codes. Seeds draw rows and pairs of digits and CIFAR; the
other sets have one split, so there ± is of the methods alone.
*views*: COCO pictures and captions, 2,000 test queries against all other rows, which are the training rows:
mAP with expected ties, mapped and (where a method has them) learned database; "labels": of both views;
"pairs": the captions have none, but their pictures are known; own: share of captions whose
picture is among the first ten of the 2,000 test pictures, ties expected.
*trees*: mAP by leaf and by every level above it: test rows against learned training rows, and against later
ones.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from kinship_data import PAIRS, TREES, Figures, PairTask, Similarity, TreeTask, ViewTask

from kinhash import EnergyHasher
from kinhash.baselines import ITQ
from kinhash.errors import KinhashWarning
from kinhash_bench.baselines import BASELINES
from kinhash_bench.crossmodal import CROSS_MODAL

METRICS = ("ITML", "MMC", "SDML", "PairLDA")
MOST_PAIRS = 20_000  # that the logistic regression sees


def by_codes(hasher: Any, task: PairTask) -> Similarity:
    codes = np.asarray(hasher.encode(task.T))
    return lambda i, j: -np.bitwise_count(codes[i] ^ codes[j]).sum(axis=1, dtype=np.int64).astype(np.float64)


def by_cosine(task: PairTask) -> Similarity:
    unit = task.T / np.maximum(np.linalg.norm(task.T, axis=1, keepdims=True), 1e-30)
    return lambda i, j: np.einsum("ij,ij->i", unit[i], unit[j], dtype=np.float64)


def by_logistic(task: PairTask, seed: int) -> Similarity:
    """P(kin) from |x − y|, penalty by cross-validated AUC."""
    from sklearn.linear_model import LogisticRegressionCV

    scale = float(task.X.std()) or 1.0
    some = np.random.default_rng((8, seed)).permutation(len(task.left))[:MOST_PAIRS]
    away = np.abs(task.X[task.left[some]] - task.X[task.right[some]]) / scale
    model = LogisticRegressionCV(
        Cs=[0.001, 0.01, 0.1, 1.0], cv=3, scoring="roc_auc", class_weight="balanced", max_iter=300
    )
    weights = model.fit(away, task.verdict[some] > 0).coef_[0]

    def near(i: Any, j: Any) -> Any:
        parts = [slice(start, start + 50_000) for start in range(0, len(i), 50_000)]
        return np.concatenate([np.abs(task.T[i[part]] - task.T[j[part]]) @ weights / scale for part in parts])

    return near


def rivals_on_pairs(
    task: PairTask, n_bits: int, seed: int, wanted: list[str]
) -> Iterator[tuple[str, Figures]]:
    """Floats first, then ITQ and the metric learners in both rotations."""
    yes_no = task.with_strangers(seed)
    if "floats" in wanted:
        yield "cosine, floats", task.judge(by_cosine(task))
        yield "logistic |x − y|, no codes", task.judge(by_logistic(yes_no, seed))
    yield "ITQ", task.judge(by_codes(ITQ(n_bits, random_state=seed).fit(task.X), task))
    for name in (name for name in METRICS if name in wanted):
        for rotation in ("itq", "random"):
            if rotation == "random" and "random" not in wanted:
                continue
            hasher = BASELINES[name](n_bits, rotation=rotation, random_state=seed)
            hasher.fit_pairs(task.X, yes_no.left, yes_no.right, yes_no.verdict)
            yield f"{name} + {rotation}", task.judge(by_codes(hasher, task))


def ours_on_pairs(task: PairTask, n_bits: int, seed: int) -> Iterator[tuple[str, Figures]]:
    hasher = EnergyHasher(n_bits=n_bits, random_state=seed)
    verdict = () if task.verdict is None else (task.verdict,)
    hasher.fit_pairs(task.X, task.left, task.right, *verdict)
    yield "EnergyHasher", task.judge(by_codes(hasher, task))


def rivals_on_views(
    task: ViewTask, n_bits: int, seed: int, wanted: list[str]
) -> Iterator[tuple[str, Figures]]:
    for name in (name for name in CROSS_MODAL if name in wanted):
        method = CROSS_MODAL[name](n_bits, random_state=seed)
        method.fit(task.pictures, task.captions, task.tags)
        yield name, task.judge(method.encode, method.codes_)


def ours_on_views(task: ViewTask, n_bits: int, seed: int) -> Iterator[tuple[str, Figures]]:
    """Labels for both views, labels for the first alone, and no labels."""

    def judged(hasher: Any) -> Figures:
        learned = hasher.codes_ if hasher.codes_.learned else None
        return task.judge(lambda rows, view: hasher.encode(rows, view="text" if view else None), learned)

    y, beside = {"y": task.tags}, {"beside": task.pictures}
    only = {"alike": 0, "kinship": "any"}
    for name, settings, known in (
        ("labels, alike=0, any", only, y),
        ("labels", {}, y),
        ("labels and pairs", {}, y | beside),
        ("pairs, alike=0, any", only, beside),
        ("pairs", {}, beside),
    ):
        hasher: Any = EnergyHasher(n_bits=n_bits, random_state=seed, **settings)
        hasher.fit(task.pictures, task.tags).add_view("text", task.captions, **known)
        yield name, judged(hasher)
    unsupervised: Any = ITQ(n_bits, random_state=seed).fit(task.pictures)
    yield "ITQ, pairs", judged(unsupervised.add_view("text", task.captions, **beside))


def rivals_on_trees(
    task: TreeTask, n_bits: int, seed: int, wanted: list[str]
) -> Iterator[tuple[str, Figures]]:
    """ITQ, and ours with the leaves as plain classes."""
    yield "ITQ", task.judge(ITQ(n_bits, random_state=seed).fit(task.X[task.train]), learned=False)
    plain = EnergyHasher(n_bits=n_bits, alike=0, random_state=seed)
    yield "EnergyHasher, leaves", task.judge(plain.fit(task.X[task.train], task.levels[task.train, 0]), True)


def ours_on_trees(task: TreeTask, n_bits: int, seed: int) -> Iterator[tuple[str, Figures]]:
    hasher = EnergyHasher(n_bits=n_bits, kinship="tree", alike=0, random_state=seed)
    yield "EnergyHasher, tree", task.judge(hasher.fit(task.X[task.train], task.paths[task.train]), True)


def tasks(part: str, only: list[str]) -> dict[str, tuple[Callable[[int], Any], int]]:
    """How the tasks of a part are made from a seed, and bits."""
    if part == "pairs":
        found: dict[str, tuple[Callable[[int], Any], int]] = dict(PAIRS)
    elif part == "views":
        found = {"coco": (lambda seed: ViewTask.load(), 64)}
    else:
        found = {name: (lambda seed, name=name: TreeTask.load(name, seed), 64) for name in TREES}  # type: ignore[misc]
    return {name: found[name] for name in only or found}


SIDES: dict[str, tuple[Any, Any]] = {
    "pairs": (ours_on_pairs, rivals_on_pairs),
    "views": (ours_on_views, rivals_on_views),
    "trees": (ours_on_trees, rivals_on_trees),
}


def measure(part: str, make: Callable[[int], Any], n_bits: int, asked: argparse.Namespace) -> None:
    """Print one table: a row per method, mean ± standard deviation over seeds."""
    table: dict[str, list[Figures]] = {}
    ours, rivals = SIDES[part]
    for seed in range(asked.seeds):
        task = make(seed)
        methods: list[Iterator[tuple[str, Figures]]] = []
        if asked.side != "ours":
            methods.append(rivals(task, n_bits, seed, asked.methods))
        if asked.side != "rivals":
            methods.append(ours(task, n_bits, seed))
        for found in methods:
            start = time.process_time()
            for name, figures in found:
                figures["cpu s"] = time.process_time() - start
                table.setdefault(name, []).append(figures)
                start = time.process_time()
    for name, runs in table.items():
        cells = [f"{key} {cell([run[key] for run in runs], key)}" for key in runs[0]]
        print(f"  {name:<28}{'  '.join(cells)}", flush=True)


def cell(values: list[float], key: str) -> str:
    if key == "cpu s":
        return f"{np.mean(values):.0f}"
    spread = f" ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else ""
    return f"{np.mean(values):.4f}{spread}".replace("0.", ".")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("part", choices=tuple(SIDES))
    parser.add_argument("--only", nargs="+", default=[], metavar="SET")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--side", choices=("ours", "rivals", "both"), default="both")
    parser.add_argument(
        "--methods", nargs="+", default=["floats", "random", *METRICS, *CROSS_MODAL], metavar="METHOD"
    )
    asked = parser.parse_args()
    warnings.simplefilter("ignore", KinhashWarning)
    for name, (make, n_bits) in tasks(asked.part, asked.only).items():
        print(f"{name}, {n_bits} bits, {asked.seeds} seeds", flush=True)
        measure(asked.part, make, n_bits, asked)


if __name__ == "__main__":
    main()
