"""Figures of decisions and of bridges: is the promise kept, what does it cost, what does a new model find.

    KINHASH_DATA=... python -m kinhash_bench.decision_figures decide --sets quora digits --out decide.jsonl
    KINHASH_DATA=... python -m kinhash_bench.decision_figures dedup --out dedup.jsonl
    KINHASH_DATA=... python -m kinhash_bench.decision_figures bridge --out bridge.jsonl

*decide*: one model of 64 bits is fitted on half of a set, labels or pairs. Of the other half, some rows (or groups of
pairs that share rows) are drawn again and again and choose the radius for a share of false matches. *kept*: in which
share of the draws at most that share of the matches is false, among all that was held out, or no radius was given; by
*rest*, among what was held out and not drawn, which is false the more often the less the drawn part is. Both at the
share of true pairs in the drawn part. The threshold of the cosine is chosen in the same way.

*dedup*: a million codes, a tenth of them planted: noisy copies of others. 2,000 of the copies are listed.

*bridge*: a model fitted on old embeddings, and a view of n rows embedded by both models. Held-out rows, embedded by the
new model alone, search the old codes. Beside it: maps of the new floats onto the old ones (orthogonal, after
Procrustes, and ridge regression) followed by the old encoder, the old model on old floats, and everything anew.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from .learner_scores import Array
from .learner_sets import draw

PAIRED = {"quora": "quora_pairs_minilm384", "mrpc": "mrpc_pairs_minilm384", "stsb": "stsb_graded_minilm384"}
LABELED = ("digits", "network", "newsgroups")
SHARES, BITS = (0.2, 0.1, 0.05, 0.01, 0.001), 64
MOST = 2_000  # rows that decide, and that validate, of labeled sets
Record = dict[str, Any]


def decide(name: str, splits: int) -> Iterator[Record]:
    """Resplits of what was held out of one fit."""
    from kinhash import EnergyHasher
    from kinhash.decision import (
        COSINES,
        Evidence,
        Tester,
        cosine_steps,
        cosines_of_pairs,
        hamming,
        labeled_pairs,
        listed_pairs,
        share_of_false,
    )
    from kinhash.labels import read_labels

    hasher, rng = EnergyHasher(BITS, random_state=0), np.random.default_rng(0)
    if name in LABELED:
        X, y, _ = draw(name, 0)
        half = len(X) // 2
        hasher.fit(X[:half], y[:half])
        X, labels, codes = X[half:], read_labels(y[half:]), hasher.encode(X[half:])
        size = min(MOST, len(X) // 2)

        def sides(everything: bool = False) -> Iterator[list[Evidence]]:
            rows = rng.permutation(len(X))
            for some in (rows,) if everything else (rows[:size], rows[size : size + MOST]):
                yield [
                    labeled_pairs(distances, steps + 1, labels[some], False)
                    for distances, steps in ((hamming(codes[some], codes[some]), BITS),
                                             (cosine_steps(X[some], X[some]), COSINES))
                ]  # fmt: skip
    else:
        X, ends, same = pairs_of(name)
        left, right = ends.T
        groups = connected_components(coo_array((np.ones(len(ends)), (left, right)), shape=(len(X),) * 2))[1]
        fitted = rng.random(groups.max() + 1) < 0.5
        learnt = fitted[groups[left]]
        rows, place = np.unique(ends[learnt], return_inverse=True)
        ours, theirs = place.reshape(-1, 2).T
        hasher.fit_pairs(X[rows], ours, theirs, same[learnt])
        left, right, same, groups = left[~learnt], right[~learnt], same[~learnt], groups[left[~learnt]]
        codes = hasher.encode(X)
        steps = codes[left].distances(codes[right]), cosines_of_pairs((X, X), left, right)

        def sides(everything: bool = False) -> Iterator[list[Evidence]]:
            first = (rng.random(groups.max() + 1) < 0.5)[groups]
            for part in (first | True,) if everything else (first, ~first):
                kinds = part & same, part & ~same
                yield [
                    Evidence(*(listed_pairs(own[one], (left[one], right[one]), n + 1) for one in kinds))
                    for own, n in zip(steps, (BITS, COSINES), strict=True)
                ]

    found: dict[tuple[float, int], list[tuple[float, ...]]] = {}
    sizes, (whole,) = [], sides(everything=True)
    truth = [Tester(one, 0.5) for one in whole]
    for _ in range(splits):
        chosen, judged = sides()
        prior = chosen[0].true.n_pairs / (chosen[0].true.n_pairs + chosen[0].strangers.n_pairs)
        sizes.append((chosen[0].true.n_pairs, chosen[0].strangers.n_pairs, prior))
        for kind in (0, 1):
            tester, judge = Tester(chosen[kind], prior), Tester(judged[kind], prior)
            for share in SHARES:
                radius = tester.radius(share)
                value: tuple[float, ...] = np.nan, np.nan, np.nan
                if radius is not None:
                    false, rest = (
                        float(share_of_false(one.false[radius], one.found[radius], prior))
                        for one in (truth[kind], judge)
                    )
                    value = false, rest, float(truth[kind].found[radius])
                found.setdefault((share, kind), []).append(value)
    n_true, n_strangers, prior = np.mean(sizes, axis=0)
    for share in SHARES:
        record: Record = {"task": "decide", "set": name, "max_false": share, "splits": splits,
                          "share_true": float(prior), "n_true": int(n_true),
                          "n_strangers": int(n_strangers)}  # fmt: skip
        for kind, prefix in ((0, ""), (1, "cosine_")):
            false, rest, recall = np.array(found[share, kind]).T
            given = ~np.isnan(false)
            record |= {
                f"{prefix}kept": float((~(false > share)).mean()),
                f"{prefix}kept_by_rest": float((~(rest > share)).mean()),
                f"{prefix}refused": float(1 - given.mean()),
                f"{prefix}recall": float(recall[given].mean()) if given.any() else None,
                f"{prefix}false_share": float(false[given].mean()) if given.any() else None,
            }
        yield record


def pairs_of(name: str) -> tuple[Array, Array, Array]:
    """Rows, pairs and whether they are the same: verdicts, or a grade of at least 4 of 5."""
    z = np.load(Path(os.environ["KINHASH_DATA"]) / f"{PAIRED[name]}.npz")
    X = np.asarray(z["features"] * z["scale"] + z["offset"], np.float32)
    same = z["verdict"] > 0 if "verdict" in z.files else z["score"] >= 4
    pairs = z["pairs"].astype(np.int64)
    return X, pairs, same


# -- duplicates ------------------------------------------------------------------------------------


def dedup(n: int) -> Iterator[Record]:
    """Planted copies among codes of a mixture: what groups within the radius get right."""
    from kinhash import Codes, HammingIndex
    from kinhash.decision import decide_duplicates
    from kinhash.index import near_duplicates

    rng = np.random.default_rng(0)
    n_copies, W = n // 10, rng.standard_normal((32, BITS)).astype(np.float32)
    centers = rng.standard_normal((2_000, 32)).astype(np.float32)
    rows = centers[rng.integers(2_000, size=n - n_copies)] + rng.standard_normal((n - n_copies, 32)).astype(
        np.float32
    )
    origin = rng.choice(n - n_copies, n_copies, replace=False)
    copies = rows[origin] + 0.08 * rng.standard_normal((n_copies, 32)).astype(np.float32)
    order = rng.permutation(n)
    codes = Codes.from_bits((np.concatenate([rows, copies]) @ W > 0)[np.argsort(order)])
    pairs = np.stack([order[origin], order[n - n_copies :]], axis=1)  # row numbers after shuffling
    index = HammingIndex.from_codes(codes)
    partner = np.full(n, -1)
    partner[pairs[:, 0]], partner[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
    start = time.perf_counter()
    decision = decide_duplicates(index, *pairs[:2_000].T, max_false=0.01)
    decided = time.perf_counter() - start
    record: Record = {"task": "dedup", "rows": n, "planted": n_copies, "listed": 2_000, "max_false": 0.01,
                      "radius": decision.radius, "seconds_deciding": decided, "text": decision.text()}  # fmt: skip
    for linkage in ("star", "chain"):
        if decision.radius is None:
            break
        start = time.perf_counter()
        found = near_duplicates(index, decision.radius, linkage=linkage)
        kept = found.ids[found.kept][found.groups]
        hits = (partner[found.ids] == kept)[~found.kept]
        record |= {
            f"{linkage}_precision": float(hits.mean()),
            f"{linkage}_recall": float(hits.sum() / n_copies),
            f"{linkage}_farthest": int(found.distances.max()),
            f"{linkage}_largest_group": int(np.bincount(found.groups).max()),
            f"{linkage}_seconds": time.perf_counter() - start,
        }
    yield record


# -- bridges ---------------------------------------------------------------------------------------


def bridge(sets: list[str]) -> Iterator[Record]:
    """Queries of one embedding model on codes of another, by the number of rows that both embedded."""
    from kinhash import EnergyHasher
    from kinhash.metrics import Split, compare_bridge

    for name in sets:
        pair = embeddings(name)
        for old, new in (tuple(pair), tuple(pair)[::-1]):
            X, Z, y = pair[old][0], pair[new][0], pair[old][1]
            rng = np.random.default_rng(0)
            rows = rng.permutation(len(X))[:20_000]
            held, train = rows[:500], rows[500:]
            hasher = EnergyHasher(BITS, random_state=0).fit(X[train], None if y is None else y[train])
            for n in (500, 5_000, len(train)):
                shared, start = train[:n], time.perf_counter()
                hasher.add_view("new", Z[shared], beside=X[shared])
                seconds = time.perf_counter() - start
                found = compare_bridge(
                    hasher, "new", X, Z, y, split=Split(shared, held), database=train, random_state=0
                )
                for line in found.lines:
                    figures = {measure: line.mean(measure) for measure in line.measures}
                    yield {"task": "bridge", "set": name, "old": old, "new": new, "shared": n, "search": line.name,
                           "seconds": seconds, **figures}  # fmt: skip


def embeddings(name: str) -> dict[str, tuple[Array, Array | None]]:
    """The same rows as two models embed them, and their labels."""
    folder = Path(os.environ["KINHASH_DATA"])

    def features(file: str, what: str = "features") -> tuple[Array, Any]:
        z = np.load(folder / f"{file}.npz")
        return np.asarray(z[what] * z["scale"] + z["offset"], np.float32), z

    if name == "cifar":
        gist, z = features("cifar10_gist512", "gist")
        return {
            "gist": (gist, z["labels"]),
            "network": (features("cifar10_efficientnet_lite0_pca256")[0], z["labels"]),
        }
    file = "newsgroups20_tree_minilm384" if name == "newsgroups" else PAIRED[name]
    X, z = features(file)
    y = z["leaf"] if "leaf" in z.files else None
    raw = np.load(folder / f"{file}_texts.npz")
    body, ends = raw["utf8"].tobytes(), raw["offsets"].tolist()
    texts = [body[a:b].decode("utf-8", "replace") for a, b in pairwise(ends)]
    return {"minilm": (X, y), "wordllama": (wordllama(texts), y)}


def wordllama(texts: list[str]) -> Array:
    """Mean token vectors of wordllama, whose weights and tokenizer are files of its package."""
    spec = importlib.util.find_spec("wordllama")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0])
    load_file = importlib.import_module("safetensors.numpy").load_file
    weights = load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(
        str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json")
    )
    out = np.empty((len(texts), weights.shape[1]), np.float32)
    for row, text in enumerate(texts):
        tokens = tokenizer.encode(text[:4_000], add_special_tokens=False).ids or [0]
        out[row] = weights[tokens].astype(np.float32).mean(axis=0)
    return out


def main() -> None:
    """Write one JSON line for every record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("task", choices=["decide", "dedup", "bridge"])
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    tasks: dict[str, Callable[[], Iterator[Record]]] = {
        "decide": lambda: (
            one for name in given.sets or (*PAIRED, *LABELED) for one in decide(name, given.splits)
        ),
        "dedup": lambda: dedup(given.rows),
        "bridge": lambda: bridge(given.sets or ["newsgroups", "quora", "cifar"]),
    }
    with open(given.out, "a", encoding="utf-8") as out:
        for record in tasks[given.task]():
            print(json.dumps(record), file=out, flush=True)


if __name__ == "__main__":
    main()
