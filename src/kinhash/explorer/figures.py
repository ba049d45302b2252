"""Is it any good? Figures of a page: distances, precision by rank, labels, confusions, bits.

Some rows are queries and search all others, their own row left out. Ties count as the expected value over all
orders. Queries carry their mapped codes where a model and features were given, else the codes shown.
"""

from __future__ import annotations

import numpy as np

from .._internal.types import Facts, Floats, Ints, Matrix
from ..codes import Codes, n_bytes
from ..index import HammingIndex
from ..labels import Labels
from ..metrics import (
    RANDOM,
    AnswerSheet,
    Line,
    Ranking,
    bootstrap_interval,
    code_health,
    query_blocks,
    read_sides,
    reference_lines,
    scores_by_label,
    self_retrieval,
    some_queries,
    unseen_chances,
)

QUERIES = 2000  # enough for a figure of every one of a few dozen classes
RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
FIRST = 10
MOST_CLASSES = 40  # rows and columns of a table one can still read
MOST_PAIRS = 40
MOST_LABELS = 500


def quality(
    codes: Codes, queries: Codes | None, labels: Labels, X: Matrix = None, seed: int = 0
) -> Facts | None:
    """All figures that need labels, ready for the page; None where no two rows of known label are there.

    Features X add float cosine and a classifier. Memory: tables of 2,000 queries by distance, by blocks.
    """
    known = np.flatnonzero(labels.known)
    if len(known) < 2:
        return None
    asked = known[np.unique(np.linspace(0, len(known) - 1, min(len(known), QUERIES)).astype(np.int64))]
    mine = (codes if queries is None else queries)[asked]
    sums = _ranked(mine, codes[known], labels[asked], labels[known], np.searchsorted(known, asked))
    has_kin = ~np.isnan(sums["scores"])
    figures = {
        "queries": len(asked),
        "without_kin": int((~has_kin).sum()),
        "mapped": queries is not None,
        "kin_at": sums["kin_at"],
        "strangers_at": sums["strangers_at"],
        "precision": sums["precision"],
        "map": float(sums["scores"][has_kin].mean()) if has_kin.any() else None,
        "interval": _interval(sums["scores"][has_kin]),
        "chance": sums["chance"],
        "labels": _by_label(sums, labels[asked], labels),
        **_answers(codes, queries, labels, known, X, seed),
    }
    if labels.classes is not None:
        figures["confusion"] = _confusion(mine, codes, labels, asked, known)
    return figures


def _answers(codes: Codes, queries: Codes | None, labels: Labels, known: Ints, X: Matrix, seed: int) -> Facts:
    """What a person sees in the first answers of some queries, beside what else one could do."""
    own = some_queries(len(known))
    asked = known[own]
    features = None if X is None else (X[asked], X[known])
    sheet = AnswerSheet(labels[asked], labels[known], own, features)
    mine = codes if queries is None else queries
    lines = [Line("these codes", n_bytes(codes.n_bits), sheet.of_codes(mine[asked], codes[known]))]
    if features is None:
        lines.append(Line(RANDOM, 0, sheet.of_random_order()))
    else:
        lines += reference_lines(sheet, *features, unseen_chances(X, labels, asked, seed))
    itself = None if queries is None else float(np.mean(self_retrieval(queries[asked], codes[known], own)))
    found: list[Facts] = []
    for line in lines:
        means = {name: line.mean(name) for name in line.measures}
        figures = {name: None if np.isnan(value) else value for name, value in means.items()}
        found.append({"name": line.name, "bytes": line.bytes_per_item, "figures": figures})
    return {"answers": found, "answers_of": len(asked), "self_retrieval": itself}


def _ranked(queries: Codes, database: Codes, asked: Labels, labels: Labels, own: Ints) -> Facts:
    """Sums over queries of what lies at every distance, and the scores of each query."""
    sides = read_sides(asked, labels, len(queries), len(database), own)
    ranking = Ranking(queries, database, sides)
    ranks = [rank for rank in RANKS if rank < len(database)]
    kin_at = np.zeros(database.n_bits + 1)
    all_at, first = np.zeros_like(kin_at), np.full(len(queries), np.nan)
    scores, precision = np.full(len(queries), np.nan), np.zeros(len(ranks))
    for rows, groups in query_blocks(ranking):
        kin_at += groups.r.sum(axis=0)
        all_at += groups.n.sum(axis=0)
        has = groups.n_kin > 0
        scores[rows] = groups.average_precision()
        first[rows] = np.where(has, groups.kin_among_first(FIRST) / FIRST, np.nan)
        for place, rank in enumerate(ranks):
            precision[place] += (groups.kin_among_first(rank)[has] / rank).sum()
    n_counted = max(1, int((~np.isnan(scores)).sum()))
    return {
        "kin_at": kin_at.astype(int).tolist(),
        "strangers_at": (all_at - kin_at).astype(int).tolist(),
        "precision": [
            [rank, value / n_counted] for rank, value in zip(ranks, precision.tolist(), strict=True)
        ],
        "chance": float(kin_at.sum() / max(1.0, all_at.sum())),
        "scores": scores,
        "first": first,
    }


def _interval(scores: Floats) -> list[float] | None:
    if not len(scores):
        return None
    found = bootstrap_interval(scores, n_resamples=1000)
    return [found.low, found.high]


def _by_label(sums: Facts, asked: Labels, labels: Labels) -> list[list[object]]:
    """Place of the label, its rows, its queries, mAP and precision among the first ten; the worst on top."""
    places = Labels(np.arange(len(labels.names)), asked.known, asked.classes, asked.tags)
    sizes = np.bincount(labels.indicator().indices, minlength=len(labels.names))
    found = scores_by_label(sums["scores"], sums["first"], places)
    return [
        [one.label, int(sizes[one.label]), one.queries, one.score, one.other] for one in found[:MOST_LABELS]
    ]


def _confusion(queries: Codes, codes: Codes, labels: Labels, asked: Ints, known: Ints) -> Facts:
    """Whose rows are among the first ten: shares by class of the query; the worst pairs of many classes."""
    assert labels.classes is not None
    bare = Codes(codes.packed[known], codes.n_bits)
    mine = Codes(queries.packed, queries.n_bits)
    k = min(FIRST, len(known) - 1)
    found = HammingIndex.from_codes(bare).search(mine, k, exclude=np.searchsorted(known, asked))
    theirs = labels.classes[known][found.ids]
    own = np.repeat(labels.classes[asked], k)
    return _shares(own, theirs.ravel(), len(labels.names))


def _shares(own: Ints, theirs: Ints, n_labels: int) -> Facts:
    """Pairs of different labels, the most frequent first: [own, other, count, share of own]; and a table."""
    sizes = np.bincount(own, minlength=n_labels)
    pairs, counts = np.unique(own * n_labels + theirs, return_counts=True)
    left, right = pairs // n_labels, pairs % n_labels
    table = None
    if n_labels <= MOST_CLASSES:
        table = np.zeros((n_labels, n_labels))
        table[left, right] = counts / sizes[left]
    wrong = np.flatnonzero(left != right)
    wrong = wrong[np.argsort(-counts[wrong], kind="stable")][:MOST_PAIRS]
    listed = [[int(left[i]), int(right[i]), int(counts[i]), float(counts[i] / sizes[left[i]])] for i in wrong]
    return {"pairs": listed, "table": None if table is None else table.round(4).tolist()}


def bit_figures(codes: Codes, labels: Labels | None) -> Facts:
    """Of every bit the share of ones, what it says about the label, and the labels it separates best."""
    health = code_health(codes)
    figures: Facts = {
        "ones": health.ones.round(4).tolist(),
        "dead": health.dead_bits.tolist(),
        "twins": [list(pair) for pair in health.twin_bits[:MOST_PAIRS]],
        "distinct": health.n_unique,
        "in_company": health.share_in_company,
    }
    if labels is not None and labels.known.sum() > 1:
        known = np.flatnonzero(labels.known)
        indicator = labels.indicator()[known].astype(np.float64)
        sizes = np.asarray(indicator.sum(axis=0)).ravel()
        ones = np.asarray(indicator.T @ codes.bits()[known].astype(np.float64))
        share = (ones / np.maximum(sizes, 1)[:, None]).T
        if labels.classes is not None:
            figures["information"] = _information(share, sizes).round(4).tolist()
        order = np.lexsort((np.arange(len(sizes)), -sizes))[:MOST_CLASSES]
        figures["labels"] = order.tolist()
        figures["share"] = share[:, order].round(3).tolist()
    return figures


def _information(share: Floats, sizes: Floats) -> Floats:
    """Mutual information (d,) of each bit and the class, in bits."""
    weights = sizes / sizes.sum()
    return np.maximum(_entropy(share @ weights) - _entropy(share) @ weights, 0)


def _entropy(p: Floats) -> Floats:
    q = np.clip(p, 1e-12, 1 - 1e-12)
    return -(q * np.log2(q) + (1 - q) * np.log2(1 - q))
