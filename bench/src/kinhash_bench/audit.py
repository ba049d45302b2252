"""Given codes and labels scored again: exact ties, chance beside every figure, known mistakes.

What a ranking must beat is a random one: its expected average precision is that of all rows in one tie.
The mistakes are those that published figures were made of, or could have been:

* labels as one-hot matrices, indexed as if they were lists (MATLAB's linear index): then only the first
  column is compared, "in the first class or not". On ten even classes a random ranking scores .82 that way.
* ties in the order of a database that is sorted by its labels.
* the row itself left among its own answers.
* codes that are the labels: one code per class, learned from the labels they are scored by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinhash.codes import Codes
from kinhash.labels import Labels
from kinhash.metrics import TieGroups, code_health, evaluate, read_sides
from kinhash.plugins import Floats

__all__ = ["CUTS", "AtK", "Audit", "audit_codes"]

CUTS = (1000, 5000)
SORTED = 1.2  # times what a random ranking scores; the order of a shuffled database stays below


@dataclass(frozen=True)
class AtK:
    """mAP of the first ``k`` places by both definitions; ``by_kin`` divides by min(kin, k)."""

    k: int
    by_kin: float
    by_found: float
    random_by_kin: float


@dataclass(frozen=True)
class Audit:
    """Kin mAP under every rule for ties, what chance gives, and what is suspicious, in sentences.

    ``chance``: mean share of kin in the database. ``random``: mAP of a random ranking. ``index``: ties in the
    order of the database; ``database_order``: mAP of that order alone. ``with_own_row``: mAP where rows find
    themselves, None for queries of their own. ``one_hot`` and ``one_hot_random``: these codes and a random
    ranking where only the first class is compared; None for tags.
    """

    n_queries: int
    n_database: int
    n_without_kin: int
    n_bits: int
    expected: float
    best: float
    worst: float
    index: float
    chance: float
    random: float
    database_order: float
    at_k: tuple[AtK, ...]
    distinct_codes: int
    dead_bits: int
    with_own_row: float | None
    one_hot: float | None
    one_hot_random: float | None
    findings: tuple[str, ...]


def audit_codes(
    queries: Codes | None,
    database: Codes,
    query_labels: Labels | None,
    database_labels: Labels,
    cuts: Sequence[int] = CUTS,
) -> Audit:
    """Score codes against labels; without ``queries`` every row searches all others.

    Time: a few passes over all pairs. Memory beyond the inputs: about 40 MB.
    """
    alone = queries is None or query_labels is None
    ours, known = (database, database_labels) if alone else (queries, query_labels)
    assert ours is not None
    assert known is not None
    sides = (ours, database, known, database_labels)
    score = evaluate(*sides, exclude_self=alone)
    n, kin = _kin_counts(known, database_labels, alone)
    flat = Codes(np.zeros((len(ours), 1), np.uint8), 8), Codes(np.zeros((len(database), 1), np.uint8), 8)
    health = code_health(database)
    slip = _one_hot(sides, alone)
    found: dict[str, Any] = {
        "expected": score.value,
        "best": score.band[1],
        "worst": score.band[0],
        "index": evaluate(*sides, ties="index", exclude_self=alone),
        "chance": float((kin / n).mean()) if len(kin) else float("nan"),
        "random": _random(n, kin),
        "database_order": evaluate(*flat, known, database_labels, ties="index", exclude_self=alone),
        "distinct_codes": health.n_unique,
        "dead_bits": len(health.dead_bits),
        "with_own_row": evaluate(*sides) if alone else None,
        "one_hot": slip[0],
        "one_hot_random": slip[1],
    }
    at_k = tuple(_at_k(sides, alone, n, kin, k) for k in cuts if k < n)
    findings = _findings(found, ours, database, known, database_labels, alone)
    return Audit(
        score.n_queries, score.n_database, score.n_without_kin, database.n_bits, at_k=at_k, findings=findings,
        **found,
    )  # fmt: skip


def _kin_counts(queries: Labels, database: Labels, alone: bool) -> tuple[int, Any]:
    """Rows a query searches, and the kin it has there, for the queries that have any."""
    own = np.arange(len(database)) if alone else None
    sides = read_sides(queries, database, len(queries), len(database), own)
    counts = []
    step = max(1, (1 << 24) // max(1, len(database)))
    n_known = len(queries) - sides.n_unknown_queries
    for first in range(0, n_known, step):
        part = slice(first, min(first + step, n_known))
        grades = sides.grades(part) > 0
        total = grades.sum(axis=1)
        if sides.own is not None:
            at = sides.own[part]
            there = np.flatnonzero(at >= 0)
            total[there] -= grades[there, at[there]]
        counts.append(total)
    kin = np.concatenate(counts) if counts else np.empty(0, np.int64)
    n = len(database) - sides.n_unknown_rows - int(alone)
    return max(n, 1), kin[kin > 0].astype(np.int64)


def _random(n: int, kin: Any, top: int | None = None) -> float:
    """mAP of a random ranking of ``n`` rows: all of them in one tie."""
    return float(_of_random(n, kin, top).mean()) if len(kin) else float("nan")


def _of_random(n: int, kin: Any, top: int | None) -> Floats:
    return TieGroups.of_counts(np.full((len(kin), 1), n), kin[:, None]).average_precision(top)


def _at_k(sides: tuple[Any, Any, Any, Any], alone: bool, n: int, kin: Any, k: int) -> AtK:
    both = [evaluate(*sides, measures=f"map@{k}{rule}", exclude_self=alone) for rule in ("", "/found")]
    return AtK(k, both[0], both[1], _random(n, kin, k))


def _one_hot(sides: tuple[Any, Any, Any, Any], alone: bool) -> tuple[float | None, float | None]:
    """These codes, and a random ranking, where "in the first class or not" is all that is compared."""
    queries, database, mine, theirs = sides
    if _several(mine) or _several(theirs) or len(theirs.names) < 3:
        return None, None
    first = theirs.names[0]
    flags = [_carries(labels, first) for labels in (mine, theirs)]
    score = evaluate(queries, database, *flags, exclude_self=alone).per_query
    n, kin = len(database) - int(alone), [(flags[1] == flag).sum() - int(alone) for flag in flags[0]]
    return float(np.nanmean(score)), _random(n, np.array(kin, np.int64))


def _several(labels: Labels) -> bool:
    """Whether any row carries several labels, or none."""
    return bool((np.diff(labels.indicator().indptr) != 1).any())


def _carries(labels: Labels, name: Any) -> Any:
    place = np.flatnonzero(labels.names == name)
    if not len(place):
        return np.zeros(len(labels), np.int64)
    return np.asarray(labels.indicator()[:, place[0]].todense()).ravel().astype(np.int64)


def _findings(
    found: dict[str, Any], queries: Codes, database: Codes, mine: Labels, theirs: Labels, alone: bool
) -> tuple[str, ...]:
    """What a reader of the figure should know before believing it."""
    said = []
    if found["distinct_codes"] == 1:
        said.append(
            "All codes of the database are the same: every order of it is as good, and chance decides."
        )
    elif found["expected"] <= found["random"]:
        said.append("The codes rank no better than chance.")
    if found["database_order"] > SORTED * found["random"]:
        said.append(
            f"The database is sorted by its labels: its order alone scores {found['database_order']:.4f} "
            f"where a random one scores {found['random']:.4f}. An evaluator that leaves ties in that order "
            f"gives these codes {found['index']:.4f}, not {found['expected']:.4f}."
        )
    if not alone and len(queries) == len(database) and np.array_equal(queries.packed, database.packed):
        said.append(
            "The queries are the database, row for row, so each finds itself first. Pass the file once."
        )
    if _codes_are_labels(database, theirs):
        said.append(
            "Every label of the database has one code, and no two labels share it: the database knows its "
            "labels (learned codes). The score then says how well queries are classified."
        )
    return tuple(said)


def _codes_are_labels(codes: Codes, labels: Labels) -> bool:
    """Whether codes and labels say the same of every row."""
    if _several(labels) or len(codes) < 2:
        return False
    code = np.unique(codes.packed, axis=0, return_inverse=True)[1].ravel()
    label = labels.indicator().indices
    pairs = len(np.unique(np.stack([code, label]), axis=1).T)
    return 1 < pairs == len(np.unique(code)) == len(np.unique(label)) < len(codes)
