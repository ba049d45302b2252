"""Figures of one learner on everything but classes and tags: pairs, clicks, grades, trees, views.

    KINHASH_DATA=... python -m kinhash_bench.kinship_figures --method kinhash --tasks digits-8000 quora views
        trees-newsgroups --partitions 0-2 --out results.jsonl [--with looks=1]

Records are those of `learner_figures`; the partition draws rows and pairs of digits and CIFAR, the other sets
have one split. *Pairs*: AUC of similar pairs against others among rows or pairs that were not fitted (STS-B:
Spearman with the grade). *Clicks*: mAP and the first ten. "-zeros": twenty columns of zeros beside unit rows;
"-small", "-large": features times 1e-6, 1e6; "-inverted": every verdict is the opposite. *Popular*: seconds
of a fit in which one row has 4,000 partners, and of the same number of clicks spread evenly. *Views*: COCO
pictures and captions, fitted rows are the database. *Trees*: mAP by leaf and by every level above it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .learner_figures import say
from .learner_rivals import RIVALS
from .learner_scores import Array, Figures, agreement, scored, unit

Similarity = Callable[[Array, Array], Array]  # of rows numbered left and right among the test rows


def read(name: str) -> Any:
    """A data set."""
    return np.load(Path(os.environ["KINHASH_DATA"]) / f"{name}.npz")


def floats(z: Any, what: str = "features", prefix: str = "") -> Array:
    """Features as they were before they were quantized."""
    return np.asarray(z[what] * z[f"{prefix}scale"] + z[f"{prefix}offset"], np.float32)


@dataclass
class Method:
    """`EnergyHasher` of the installed kinhash with some settings, or a rival."""

    name: str
    settings: dict[str, Any]

    def hasher(self, n_bits: int, seed: int, **more: Any) -> Any:
        from kinhash import EnergyHasher

        return EnergyHasher(n_bits, random_state=seed, **{**self.settings, **more})

    def packed(self, codes: Any, alone: bool = False) -> Array:
        """Bits that count more than once are repeated; ``alone`` leaves out bits that a view may lack."""
        if "repeated" not in dir(codes):
            return np.asarray(codes)
        return np.asarray((codes.kin_alone() if alone else codes).repeated())


# ---- pairs and clicks --------------------------------------------------------------------------


@dataclass
class Pairs:
    """Rows X with pairs to learn from; test rows T with pairs (``truth``) or anchors and partners."""

    X: Array
    left: Array
    right: Array
    verdict: Array | None  # in [−1, 1]; None: all are similar
    T: Array
    pairs: Array
    truth: Array | None = None  # bool, or grades
    partners: list[Array] | None = None

    def judge(self, near: Similarity) -> Figures:
        if self.partners is not None:
            return self._ranked(near)
        scores = near(self.pairs[:, 0], self.pairs[:, 1])
        from scipy.stats import rankdata, spearmanr

        assert self.truth is not None
        if self.truth.dtype != bool:
            return {"spearman": float(spearmanr(scores, self.truth).statistic)}
        ranks, n = rankdata(scores), self.truth.sum()
        area = (ranks[self.truth].sum() - n * (n + 1) / 2) / (n * (len(ranks) - n))
        return {"auc": float(area)}

    def _ranked(self, near: Similarity) -> Figures:
        everybody, runs = np.arange(len(self.T)), []
        assert self.partners is not None
        for anchor, partners in zip(self.pairs, self.partners, strict=True):
            scores = near(np.full(len(everybody), anchor), everybody)
            distances = np.round((scores.max() - scores) * (1 if scores.dtype.kind == "i" else 60_000))
            gains = np.isin(everybody, partners)[None, :, None].astype(np.float32)
            runs.append(scored(distances[None].astype(np.int64), gains, own=np.array([anchor])))
        return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}


def of_classes(X: Array, y: Array, n_train: int, n_pairs: int, similar_only: bool, seed: int) -> Pairs:
    """Random pairs of fitted rows; AUC over pairs of other rows."""
    rng = np.random.default_rng(1000 + seed)
    order = rng.permutation(len(X))
    train, test = order[:n_train], order[n_train : n_train + 2000]
    left = rng.integers(n_train, size=n_pairs)
    right = (left + rng.integers(1, n_train, size=n_pairs)) % n_train
    same = y[train[left]] == y[train[right]]
    if similar_only:
        left, right = left[same], right[same]
    ends = np.column_stack(np.triu_indices(len(test), 1))
    ends = ends[rng.choice(len(ends), min(len(ends), 400_000), replace=False)]
    truth = y[test[ends[:, 0]]] == y[test[ends[:, 1]]]
    return Pairs(
        X[train], left, right, None if similar_only else np.where(same, 1.0, -1.0), X[test], ends, truth
    )


def digits(n_pairs: int, similar_only: bool = False) -> Callable[[int], Pairs]:
    """Pairs by class."""

    def task(seed: int) -> Pairs:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return of_classes(X.astype(np.float32), y, 1257, n_pairs, similar_only, seed)

    return task


def cifar(n_pairs: int, similar_only: bool = False) -> Callable[[int], Pairs]:
    """Pairs by class."""

    def task(seed: int) -> Pairs:
        z = read("cifar10_efficientnet_lite0_pca256")
        return of_classes(floats(z), z["labels"].astype(int), 20_000, n_pairs, similar_only, seed)

    return task


def sentences(name: str) -> Callable[[int], Pairs]:
    """Listed pairs of sentences; all sentences are rows of the fit."""

    def task(seed: int) -> Pairs:
        z = read(name)
        X, pairs, split = floats(z), z["pairs"].astype(int), z["split"]
        graded = "score" in z.files
        verdict = z["score"] / 2.5 - 1.0 if graded else np.where(z["verdict"] > 0, 1.0, -1.0)
        train, test = split < 2, split == 2
        truth = verdict[test] if graded else verdict[test] > 0
        return Pairs(X, pairs[train, 0], pairs[train, 1], verdict[train], X, pairs[test], truth)

    return task


def clicks(name: str) -> Callable[[int], Pairs]:
    """Similar pairs only; partners of test anchors are sought among all rows."""

    def task(seed: int) -> Pairs:
        z = read(name)
        X, pairs = floats(z), z["pairs"].astype(int)
        train, test = pairs[z["split"] == 0], pairs[z["split"] == 2]
        if "debian" in name:  # read both ways
            test = np.concatenate([test, test[:, ::-1]])
            test = test[z["row_split"][test[:, 0]] == 2]
        anchors = np.unique(test[:, 0])
        partners = [test[test[:, 0] == anchor, 1] for anchor in anchors]
        return Pairs(X, train[:, 0], train[:, 1], None, X, anchors, partners=partners)

    return task


def changed(make: Callable[[int], Pairs], how: str) -> Callable[[int], Pairs]:
    """The same task with odd features, or with every verdict inverted."""

    def odd(X: Array) -> Array:
        if how == "zeros":
            return np.hstack(
                [X / np.linalg.norm(X, axis=1, keepdims=True), np.zeros((len(X), 20), np.float32)]
            )
        return X * np.float32({"small": 1e-6, "large": 1e6}.get(how, 1))

    def task(seed: int) -> Pairs:
        plain = make(seed)
        verdict = -plain.verdict if how == "inverted" and plain.verdict is not None else plain.verdict
        return replace(plain, X=odd(plain.X), T=odd(plain.T), verdict=verdict)

    return task


PAIRS: dict[str, tuple[Callable[[int], Pairs], int]] = {  # how a task is made, and bits
    "digits-2000": (digits(2000), 32),
    "digits-8000": (digits(8000), 32),
    "digits-similar": (digits(7690, similar_only=True), 32),
    "cifar-20000": (cifar(20_000), 64),
    "cifar-100000": (cifar(100_000), 64),
    "cifar-similar": (cifar(99_340, similar_only=True), 64),
    "quora": (sentences("quora_pairs_minilm384"), 64),
    "mrpc": (sentences("mrpc_pairs_minilm384"), 64),
    "stsb": (sentences("stsb_graded_minilm384"), 64),
    "movielens": (clicks("movielens_small_colikes_minilm384"), 64),
    "debian": (clicks("debian_suggests_minilm384"), 64),
    **{
        f"digits-8000-{how}": (changed(digits(8000), how), 32)
        for how in ("zeros", "small", "large", "inverted")
    },
    **{
        f"cifar-similar-{how}": (changed(cifar(99_340, True), how), 64) for how in ("zeros", "small", "large")
    },
    "cifar-20000-inverted": (changed(cifar(20_000), "inverted"), 64),
}


def by_codes(packed: Array) -> Similarity:
    """Minus the Hamming distance."""
    return lambda i, j: -np.bitwise_count(packed[i] ^ packed[j]).sum(axis=1, dtype=np.int64)


def by_cosine(X: Array) -> Similarity:
    """Cosine of the rows as they are."""
    rows = unit(X)
    return lambda i, j: np.einsum("ij,ij->i", rows[i], rows[j], dtype=np.float64)


def on_pairs(method: Method, name: str, seed: int) -> Iterator[tuple[str, Figures]]:
    """One task of `PAIRS`."""
    make, n_bits = PAIRS[name]
    task = make(seed)
    if method.name == "cosine":
        yield "", task.judge(by_cosine(task.T))
    elif method.name == "itq":
        model = RIVALS["itq"](task.X, None, n_bits, seed)
        yield "", task.judge(by_codes(np.packbits(model.encode(task.T), axis=1)))
    else:
        verdict = () if task.verdict is None else (task.verdict,)
        hasher = method.hasher(n_bits, seed).fit_pairs(task.X, task.left, task.right, *verdict)
        yield "", task.judge(by_codes(method.packed(hasher.encode(task.T))))


def on_popular(method: Method, name: str, seed: int) -> Iterator[tuple[str, Figures]]:
    """CPU seconds of 20,000 clicks, spread evenly and with one row that has 4,000 partners."""
    X, rng, n = (
        floats(read("cifar10_efficientnet_lite0_pca256"))[:20_000],
        np.random.default_rng(seed),
        20_000,
    )
    left = rng.integers(n, size=n)
    right = (left + rng.integers(1, n, size=n)) % n
    seconds = {}
    for which in ("first", "even", "popular"):  # the first fit compiles
        if which == "popular":
            left = left.copy()
            left[:4_000], right[:4_000] = 0, 1 + rng.permutation(n - 1)[:4_000]
        start = time.process_time()
        method.hasher(64, seed).fit_pairs(X, left, right)
        seconds[which] = time.process_time() - start
    yield "", {**seconds, "ratio": seconds["popular"] / seconds["even"]}


# ---- views -------------------------------------------------------------------------------------


def on_views(method: Method, name: str, seed: int) -> Iterator[tuple[str, Figures]]:
    """Captions as a view of pictures, by labels, by own partners, by both; rivals: ridge onto pictures."""
    z = read("coco10119_captions_minilm384")
    pictures, captions = floats(z, "image_features", "image_"), floats(z, "text", "text_")
    tags = np.zeros((len(pictures), 80), np.float32)
    tags[np.repeat(np.arange(len(tags)), np.diff(z["label_indptr"])), z["label_indices"]] = 1
    test = z["split"] == 2
    gains, own = agreement(tags[test], tags[~test]), np.eye(int(test.sum()), dtype=np.float32)[..., None]

    def judged(model: Any, ask: Callable[[Array, bool], Any], keep: Callable[[Array, bool], Any]) -> Figures:
        texts, images = ask(captions[test], True), ask(pictures[test], False)
        found = scored(model.distances(texts, keep(pictures[~test], False)), gains, "text ")
        found |= scored(model.distances(images, keep(captions[~test], True)), gains, "picture ")
        beside = model.distances(texts, keep(pictures[test], False))
        return found | {"own ten": 10 * scored(beside, own)["ten"]}

    if method.name not in ("kinhash", "today"):
        model = RIVALS[method.name](pictures[~test], None, 64, seed)
        mean, center = captions[~test].mean(axis=0), pictures[~test].mean(axis=0)
        A, B = captions[~test] - mean, unit(pictures[~test] - center)
        W = np.linalg.solve(A.T @ A + np.eye(A.shape[1], dtype=np.float32), A.T @ B)

        def mapped(X: Array, text: bool) -> Array:
            return np.asarray((X - mean) @ W + center if text else X, np.float32)

        yield (
            "",
            judged(model, lambda X, t: model.ask(mapped(X, t)), lambda X, t: model.kept(mapped(X, t))),
        )
        return
    model, y, beside = (
        RIVALS["itq"](pictures[:500], None, 8, seed),
        {"y": tags[~test]},
        {"beside": pictures[~test]},
    )
    for which, known in (("labels", y), ("both", y | beside), ("partners", beside)):
        hasher = method.hasher(64, seed).fit(pictures[~test], tags[~test])
        hasher.add_view("text", captions[~test], **known)

        alone = not getattr(hasher.encode(captions[:9], view="text"), "knows_looks", True)

        def signs(X: Array, text: bool, hasher: Any = hasher, alone: bool = alone) -> Array:
            codes = hasher.encode(X, view="text" if text else None)
            return np.unpackbits(method.packed(codes, alone), axis=1).astype(np.float32) * 2 - 1

        yield f"|{which}", judged(model, signs, signs)


# ---- trees -------------------------------------------------------------------------------------


def on_trees(method: Method, name: str, seed: int) -> Iterator[tuple[str, Figures]]:
    """500 test rows against fitted rows, and against the other test rows, at every level of the tree."""
    file = {"trees-newsgroups": "newsgroups20_tree_minilm384", "trees-icd10": "icd10cm_tree_minilm384"}[name]
    z = read(file)
    X, parent, names, node = floats(z), z["node_parent"], z["node_names"], z["leaf"].astype(int)
    levels = []
    while (parent[node] >= 0).all():  # up to below the root
        levels.append(node)
        node = parent[node]
    test = np.random.default_rng(1000 + seed).permutation(np.flatnonzero(z["split"] == 2))
    ask, later, train = test[:500], test[500:], np.flatnonzero(z["split"] < 2)
    paths = ["/".join(str(names[k]) for k in row[::-1]) for row in np.stack(levels, axis=1)]
    if method.name in ("kinhash", "today"):
        hasher = method.hasher(64, seed, kinship="tree").fit(X[train], [paths[row] for row in train])
        codes = [
            method.packed(one) for one in (hasher.encode(X[ask]), hasher.codes_, hasher.encode(X[later]))
        ]
        sides = [np.unpackbits(one, axis=1).astype(np.float32) * 2 - 1 for one in codes]
        model = RIVALS["itq"](X[:500], None, 8, seed)
    else:
        model = RIVALS[method.name](X[train], None, 64, seed)
        sides = [model.ask(X[ask]), model.kept(X[train]), model.kept(X[later])]
    figures: Figures = {}
    for kind, rows, side in (("learned", train, sides[1]), ("later", later, sides[2])):
        apart = model.distances(sides[0], side)
        for up, of in enumerate(levels):
            figures |= scored(
                apart, agreement(of[ask], of[rows]), f"{kind} {'leaf' if not up else f'{up} up'} "
            )
    yield "", figures


# ---- running -----------------------------------------------------------------------------------


TASKS: dict[str, Callable[[Method, str, int], Iterator[tuple[str, Figures]]]] = {
    **dict.fromkeys(PAIRS, on_pairs),
    "popular": on_popular,
    "views": on_views,
    "trees-newsgroups": on_trees,
    "trees-icd10": on_trees,
}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n\n")[0])
    parser.add_argument("--method", required=True, choices=("kinhash", "today", "itq", "opq", "cosine"))
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=tuple(TASKS))
    parser.add_argument("--partitions", default="0")
    parser.add_argument("--with", dest="settings", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    pairs = [one.split("=", 1) for one in asked.settings]
    method = Method(asked.method, {k: json.loads(v) if v[0] in "0123456789[{" else v for k, v in pairs})
    label, (first, _, last) = " ".join([asked.method, *asked.settings]), asked.partitions.partition("-")
    lines = asked.out.read_text().splitlines() if asked.out is not None and asked.out.exists() else []
    done = {tuple(json.loads(line)[key] for key in ("method", "set", "partition")) for line in lines}
    for seed in range(int(first), int(last or first) + 1):
        for name in asked.tasks:
            if (label, name, seed) in done:
                continue
            start = time.process_time()
            for suffix, figures in TASKS[name](method, name, seed):
                n_bits = PAIRS[name][1] if name in PAIRS else 64
                cell = {"set": name, "protocol": "kinship", "partition": seed, "bits": n_bits}
                rounded = {key: round(value, 4) for key, value in figures.items()}
                seconds = round(time.process_time() - start, 1)
                record = {"method": label, "run": label, **cell, "which": suffix.lstrip("|")}
                say(line := json.dumps(record | {"figures": rounded, "seconds": seconds}))
                if asked.out is not None:
                    with asked.out.open("a") as file:
                        file.write(line + "\n")
                start = time.process_time()


if __name__ == "__main__":
    main()
