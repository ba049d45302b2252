"""Compare a fitted hasher with float cosine, sign bits and LSH on rows that were held out of the fit.

The sizes are bounded, so that comparing costs a fraction of learning, and stated, so that the numbers can
be compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._types import Floats
from ..codes import MAX_BITS, n_bytes, to_words
from ..labels import Labels
from .by_label import scores_by_label
from .code_references import CodeReferences
from .comparison import COSINE, LEARNED, MAPPED, SIGN_BITS, Comparison, Line, lsh_name, scored
from .float_rankings import Cosine, score_rows, unit_rows
from .given_rankings import average_precision_from_scores
from .hamming_rankings import average_precision
from .hold_out import label_counts
from .nearest_kin import near_kin, some_queries

__all__ = ["compare_labels"]

MOST_DATABASE = 10_000
MOST_NUMBERS = 50_000_000  # of a database of wide rows

Packed = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]


def compare_labels(
    hasher: Any, X: Any, labels: Labels, train: Rows, queries: Rows, rng: np.random.Generator
) -> Comparison:
    """Mean average precision of held-out queries, the database being rows the hasher was fitted on.

    ``hasher`` was fitted on ``X[train]``. Peak memory beyond the features: about 250 MB.
    """
    known = np.flatnonzero(labels.known[train])  # rows of unknown label are in no ranking
    size = min(len(known), MOST_DATABASE, max(1_000, MOST_NUMBERS // X.shape[1]))
    chosen = np.sort(rng.permutation(known)[:size])
    database = train[chosen]
    both = labels[queries], labels[database]
    new, mapped = hasher.encode(X[queries]), hasher.encode(X[database])
    references = CodeReferences(X, database, new.n_bits, rng)
    lsh = average_precision(references.lsh(queries), references.lsh(database), *both)
    unit, ranking = unit_rows(X, queries), Cosine()
    cosine = average_precision_from_scores(score_rows(ranking, unit, unit_rows(X, database)), *both)
    signs = _sign_scores(references.sign_bits(queries), references.sign_bits(database), X.shape[1], *both)
    n_columns, size_now = int(X.shape[1]), n_bytes(new.n_bits)
    by_map = average_precision(new, mapped, *both)
    best, searched = by_map, mapped
    lines: tuple[Line, ...] = (
        scored(MAPPED, size_now, by_map),
        scored(COSINE, 4 * n_columns, cosine),
        scored(SIGN_BITS, n_bytes(n_columns), signs),
        scored(lsh_name(new.n_bits), size_now, lsh),
    )
    facts: dict[str, Any] = {
        "codes": hasher.report_.get("codes", "learned"),
        "queries": len(queries),
        "queries_without_kin": int(np.isnan(by_map).sum()),
        "database_rows": len(database),
        "training_rows": len(train),
        "unique_codes_mapped": len(np.unique(mapped.packed, axis=0)),
        "bytes_per_item_before": 4 * n_columns,
        "bytes_per_item_after": size_now,
        "n_bits": new.n_bits,
        "labels": int((label_counts(labels[train]) > 0).sum()),
        "labels_are": "tags" if labels.is_tags else "classes",
        "classes_sharing_a_code": hasher.report_.get("classes_sharing_a_code", 0),
    }
    if facts["codes"] == "learned":  # some methods only map: their codes_ are the mapped ones again
        learned = hasher.codes_[chosen]
        best, searched = average_precision(new, learned, *both), learned
        lines = (scored(LEARNED, size_now, best), *lines)
        facts["unique_codes_learned"] = len(np.unique(learned.packed, axis=0))
    asked = some_queries(len(queries))
    near = near_kin(new[asked], searched, labels[queries[asked]], both[1], X[queries[asked]], X[database])
    facts |= {
        "near_kin": near.value,
        "nearest_kin_among_100": near.recall,
        "distinct_answers": near.distinct,
        "distinct_answers_of": near.n_queries,
        "alike_bits": new.fields.alike,
        "kin_weight": new.fields.kin_weight,
    }
    facts["by_label"] = [one._asdict() for one in scores_by_label(best, cosine, labels[queries])]
    if len(queries) > 1:  # both sides unseen: no row of the fit can flatter this pair of figures
        y, among = labels[queries], score_rows(ranking, unit, unit)
        facts["unseen_codes"] = _mean(average_precision(new, new, y, y, exclude_self=True))
        facts["unseen_cosine"] = _mean(average_precision_from_scores(among, y, y, exclude_self=True))
    return Comparison("mAP", _protocol(facts, labels), lines, facts)


def _sign_scores(
    queries: Packed, database: Packed, n_columns: int, query_labels: Labels, database_labels: Labels
) -> Floats:
    """Average precision by sign bits, of any number of columns."""
    if n_columns <= MAX_BITS:
        return average_precision(queries, database, query_labels, database_labels, n_bits=n_columns)
    left, right = to_words(queries), to_words(database)

    def nearness(wanted: Rows) -> Any:
        counts = [np.bitwise_count(left[row] ^ right).sum(axis=1, dtype=np.int64) for row in wanted]
        return -np.stack(counts)

    return average_precision_from_scores(nearness, query_labels, database_labels)


def _mean(per_query: Floats) -> float:
    return float("nan") if np.isnan(per_query).all() else float(np.nanmean(per_query))


def _protocol(facts: dict[str, Any], labels: Labels) -> str:
    n_database, n_train = facts["database_rows"], facts["training_rows"]
    which = f"all {n_train:,}" if n_database == n_train else f"{n_database:,} of the {n_train:,}"
    skipped = facts["queries_without_kin"]
    kin = "at least one shared tag" if labels.is_tags else "the same class"
    origin = "learned codes come from labels, mapped ones from features"
    if facts["codes"] == "mapped":
        origin = "all codes come from features, since this method learns a map alone"
    return (
        f"Protocol: {facts['queries']:,} random rows were kept out of the fit and are the queries.\n"
        f"Database: {which} rows of the fit; {origin}.\n"
        f"Kin: {kin}. Whole ranking; ties: expected value over all orders; interval: over queries."
        + (f" {skipped:,} queries have no kin and are left out." if skipped else "")
    )
