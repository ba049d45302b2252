"""The tasks of `kinship.py`: rows, what is known about who belongs together, and how codes are judged."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinhash.metrics import average_precision
from kinhash_bench.baselines import pair_auc

TREES = {"newsgroups": "newsgroups20_tree_minilm384", "icd10": "icd10cm_tree_minilm384"}
N_QUERIES = 500  # of trees

Figures = dict[str, float]
Similarity = Callable[[Any, Any], Any]  # of rows numbered left and right among the test rows


def read(name: str) -> Any:
    return np.load(Path(os.environ["KINHASH_DATA"]) / f"{name}.npz")


def floats(z: Any, what: str = "features", prefix: str = "") -> Any:
    return (z[what] * z[f"{prefix}scale"] + z[f"{prefix}offset"]).astype(np.float32)


@dataclass
class PairTask:
    """Rows X with pairs to learn from, and test rows T with pairs (``truth``) or partners (``relevant``)."""

    X: Any
    left: Any
    right: Any
    verdict: Any  # in [−1, 1]; None: kin only
    T: Any
    pairs: Any = None
    truth: Any = None
    relevant: Any = None  # (anchors, T) sparse, with the anchors' places in ``pairs``

    def judge(self, near: Similarity) -> Figures:
        """Scores of a similarity; see the top of this file."""
        if self.relevant is not None:
            return self._ranked(near)
        scores = near(self.pairs[:, 0], self.pairs[:, 1])
        if self.truth.dtype == bool:
            return {"AUC": pair_auc(scores, self.truth)}
        from scipy.stats import spearmanr

        return {"Spearman": float(spearmanr(scores, self.truth).statistic)}

    def _ranked(self, near: Similarity) -> Figures:
        rng, everybody = np.random.default_rng(0), np.arange(len(self.T))
        precisions, hits = [], []
        for k, anchor in enumerate(self.pairs):
            scores = near(np.full(len(everybody), anchor), everybody).astype(np.float64)
            scores[anchor] = -np.inf
            order = np.lexsort((rng.random(len(scores)), -scores))
            place = np.empty(len(order), np.int64)
            place[order] = everybody
            found = np.sort(place[self.relevant[k].indices])
            precisions.append(np.mean((np.arange(len(found)) + 1) / (found + 1)))
            hits.append(found[0] < 10)
        return {"mAP": float(np.mean(precisions)), "hit@10": float(np.mean(hits))}

    def with_strangers(self, seed: int) -> PairTask:
        """Yes/no verdicts, once per pair; random pairs as strangers where there are none."""
        n, left, right, verdict = len(self.X), self.left, self.right, self.verdict
        if verdict is None:
            rng = np.random.default_rng((7, seed))
            other = rng.integers(n, size=len(left))
            away = (other + rng.integers(1, n, size=len(left))) % n
            verdict = np.repeat([1.0, -1.0], len(left))
            left, right = np.concatenate([left, other]), np.concatenate([right, away])
        clear = (verdict != 0) & (left != right)
        left, right, verdict = left[clear], right[clear], np.sign(verdict[clear])
        key = np.minimum(left, right) * n + np.maximum(left, right)
        first = np.unique(key, return_index=True)[1]  # kin come first, so they stay kin
        return replace(self, left=left[first], right=right[first], verdict=verdict[first])


def of_classes(X: Any, y: Any, n_train: int, n_pairs: int, kin_only: bool, seed: int) -> PairTask:
    """Random pairs of training rows; AUC over pairs of other rows."""
    rng = np.random.default_rng(1000 + seed)
    order = rng.permutation(len(X))
    train, test = order[:n_train], order[n_train : n_train + 2000]
    left = rng.integers(n_train, size=n_pairs)
    right = (left + rng.integers(1, n_train, size=n_pairs)) % n_train
    kin = y[train[left]] == y[train[right]]
    if kin_only:
        left, right = left[kin], right[kin]
    ends = np.column_stack(np.triu_indices(len(test), 1))
    ends = ends[rng.choice(len(ends), min(len(ends), 400_000), replace=False)]
    truth = y[test[ends[:, 0]]] == y[test[ends[:, 1]]]
    verdict = None if kin_only else np.where(kin, 1.0, -1.0)
    return PairTask(X[train], left, right, verdict, X[test], ends, truth)


def digits(n_pairs: int, kin_only: bool = False) -> Callable[[int], PairTask]:
    def task(seed: int) -> PairTask:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return of_classes(X.astype(np.float32), y, 1257, n_pairs, kin_only, seed)

    return task


def cifar(n_pairs: int, kin_only: bool = False) -> Callable[[int], PairTask]:
    def task(seed: int) -> PairTask:
        z = read("cifar10_efficientnet_lite0_pca256")
        return of_classes(floats(z), z["labels"].astype(int), 20_000, n_pairs, kin_only, seed)

    return task


def sentences(name: str, features: str = "known") -> Callable[[int], PairTask]:
    """Listed pairs; all rows are given as X, or if features are "unseen" those of training pairs alone."""

    def task(seed: int) -> PairTask:
        z = read(name)
        X, pairs, split = floats(z), z["pairs"].astype(int), z["split"]
        graded = "score" in z.files
        verdict = z["score"] / 2.5 - 1.0 if graded else np.where(z["verdict"] > 0, 1.0, -1.0)
        train, test = split < 2, split == 2
        rows = np.arange(len(X)) if features == "known" else np.unique(pairs[train])
        left, right = np.searchsorted(rows, pairs[train]).T
        truth = verdict[test] if graded else verdict[test] > 0
        return PairTask(X[rows], left, right, verdict[train], X, pairs[test], truth)

    return task


def clicks(name: str) -> Callable[[int], PairTask]:
    """Kin only; partners of test anchors are sought among all rows."""

    def task(seed: int) -> PairTask:
        z = read(name)
        X, pairs = floats(z), z["pairs"].astype(int)
        train, test = pairs[z["split"] == 0], pairs[z["split"] == 2]
        if "debian" in name:  # read both ways
            test = np.concatenate([test, test[:, ::-1]])
            test = test[z["row_split"][test[:, 0]] == 2]
        anchors, group = np.unique(test[:, 0], return_inverse=True)
        relevant = sp.csr_array((np.ones(len(test)), (group, test[:, 1])), shape=(len(anchors), len(X)))
        return PairTask(X, train[:, 0], train[:, 1], None, X, anchors, None, sp.csr_matrix(relevant))

    return task


PAIRS = {  # name: how it is made, and bits
    "digits-2000": (digits(2000), 32),
    "digits-8000": (digits(8000), 32),
    "digits-kin": (digits(7690, kin_only=True), 32),
    "cifar-20000": (cifar(20_000), 64),
    "cifar-100000": (cifar(100_000), 64),
    "cifar-kin": (cifar(99_340, kin_only=True), 64),
    "quora": (sentences("quora_pairs_minilm384"), 64),
    "quora-unseen": (sentences("quora_pairs_minilm384", "unseen"), 64),
    "mrpc": (sentences("mrpc_pairs_minilm384"), 64),
    "stsb": (sentences("stsb_graded_minilm384"), 64),
    "movielens": (clicks("movielens_small_colikes_minilm384"), 64),
    "debian": (clicks("debian_suggests_minilm384"), 64),
}


@dataclass
class ViewTask:
    """Pictures and captions: training rows, which are the database, and test queries."""

    pictures: Any
    captions: Any
    tags: Any
    queries: Any  # (pictures, captions, tags)

    @classmethod
    def load(cls) -> ViewTask:
        z = read("coco10119_captions_minilm384")
        pictures, captions = floats(z, "image_features", "image_"), floats(z, "text", "text_")
        ones = np.ones(len(z["label_indices"]), np.int8)
        tags = sp.csr_matrix((ones, z["label_indices"], z["label_indptr"]), shape=(len(pictures), 80))
        test = z["split"] == 2
        sides = pictures, captions, tags
        return cls(*(side[~test] for side in sides), tuple(side[test] for side in sides))

    def judge(self, encode: Callable[[Any, int], Any], learned: Any) -> Figures:
        """``encode(rows, view)``: view 0 are pictures, 1 captions; ``learned``: of training rows, or None.

        Bits count as their fields say, and look-alike bits not at all where a view has none.
        """
        rows = self.pictures, self.captions
        asked = [encode(self.queries[view], view) for view in (0, 1)]
        database = [encode(rows[view], view) for view in (0, 1)]
        found = [*asked, *database, *([] if learned is None else [learned])]
        alone = not all(codes.knows_looks for codes in found)
        plain = [(codes.kin_alone() if alone else codes).repeated() for codes in found]
        asked, database, learned = plain[:2], plain[2:4], plain[4] if plain[4:] else None
        figures = {
            "text→picture": self._map(asked[1], database[0]),
            "picture→text": self._map(asked[0], database[1]),
        }
        if learned is not None:
            figures["text→learned"] = self._map(asked[1], learned)
            figures["picture→learned"] = self._map(asked[0], learned)
        return {**figures, "own": own_among_first(asked[1], asked[0])}

    def _map(self, asked: Any, database: Any) -> float:
        return float(np.nanmean(average_precision(asked, database, self.queries[2], self.tags)))


def own_among_first(asked: Any, database: Any, first: int = 10) -> float:
    """Expected share of queries whose own row, the one of their number, is among the first answers."""
    shares = []
    for k, code in enumerate(asked):
        away = np.bitwise_count(code ^ database).sum(axis=1, dtype=np.int64)
        nearer, level = (away < away[k]).sum(), (away == away[k]).sum()
        shares.append(np.clip((first - nearer) / level, 0, 1))
    return float(np.mean(shares))


@dataclass
class TreeTask:
    """Rows with a path in a tree; ``levels`` (n, depth) has the nodes of a row, the leaf first."""

    X: Any
    levels: Any
    paths: Any
    train: Any
    queries: Any
    later: Any

    @classmethod
    def load(cls, name: str, seed: int) -> TreeTask:
        z = read(TREES[name])
        parent, names, node = z["node_parent"], z["node_names"], z["leaf"].astype(int)
        levels = []
        while (parent[node] >= 0).all():  # up to below the root
            levels.append(node)
            node = parent[node]
        paths = np.array(["/".join(str(names[k]) for k in row[::-1]) for row in np.stack(levels, axis=1)])
        test = np.random.default_rng(1000 + seed).permutation(np.flatnonzero(z["split"] == 2))
        train = np.flatnonzero(z["split"] < 2)
        return cls(floats(z), np.stack(levels, axis=1), paths, train, test[:N_QUERIES], test[N_QUERIES:])

    def judge(self, hasher: Any, learned: bool) -> Figures:
        asked, figures = hasher.encode(self.X[self.queries]), {}
        train = hasher.codes_ if learned else hasher.encode(self.X[self.train])
        sides = {"learned" if learned else "mapped": (train, self.train)}
        sides["later"] = hasher.encode(self.X[self.later]), self.later
        for kind, (codes, rows) in sides.items():
            for k, nodes in enumerate(self.levels.T):
                found = average_precision(asked, codes, nodes[self.queries], nodes[rows])
                figures[f"{kind}, {'leaf' if k == 0 else f'{k} up'}"] = float(np.nanmean(found))
        return figures
