"""The verdict `kinhash fit` and `kinhash demo` end with: codes beside what one would use without them.

Everything is measured on rows that were kept out of the fit. The sizes are bounded, so that judging
costs a fraction of learning, and stated, so that the numbers can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..codes import MAX_BITS, Codes, n_bytes, to_words
from ..labels import Labels
from ..metrics import average_precision, average_precision_from_scores, bootstrap_interval
from ._rivals import Rivals
from ._terminal import table

__all__ = ["LEARNED", "MAPPED", "Line", "Verdict", "hold_out", "judge_labels", "scored"]

MOST_DATABASE = 10_000
MOST_NUMBERS = 50_000_000  # of a database of wide rows
FEWEST_ROWS = 20  # with fewer, nothing is kept out
LEARNED, MAPPED, COSINE = "codes, learned database", "codes, mapped database", "float cosine"

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Line:
    """One line of the table: a way to search, its size, its score and the 95 % interval of that."""

    name: str
    bytes_per_item: int
    score: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """The table, how it was measured, and what else was counted."""

    metric: str
    protocol: str
    lines: tuple[Line, ...]
    facts: dict[str, Any] = field(default_factory=dict)

    def score(self, name: str) -> float:
        """The score in the line of that name."""
        return next(line.score for line in self.lines if line.name == name)

    def as_dict(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "metric": self.metric,
            "protocol": self.protocol,
            "lines": [asdict(line) for line in self.lines],
            **self.facts,
        }

    def __str__(self) -> str:
        rows = [["", "bytes per item", self.metric, "95 % interval"]]
        for line in self.lines:
            interval = f"{line.low:.3f} to {line.high:.3f}"
            rows.append([line.name, f"{line.bytes_per_item:,}", f"{line.score:.3f}", interval])
        return f"{table(rows)}\n{self.protocol}"


def scored(name: str, bytes_per_item: int, per_query: Floats) -> Line:
    """A line from the scores of single queries; all NaN where no query has kin."""
    if np.isnan(per_query).all():
        return Line(name, bytes_per_item, float("nan"), float("nan"), float("nan"))
    interval = bootstrap_interval(per_query, n_resamples=1000)
    return Line(name, bytes_per_item, interval.value, interval.low, interval.high)


def hold_out(labels: Labels, most: int, share: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Row numbers to learn from and to keep out: rows with a label, and never the last one of a class."""
    everything = np.arange(len(labels))
    carrying = np.flatnonzero(labels.known & (np.diff(labels.indicator().indptr) > 0))
    wanted = min(most, int(share * len(carrying)))
    if len(labels) < FEWEST_ROWS or wanted < 1:
        return everything, np.empty(0, np.int64)
    order = rng.permutation(carrying)
    if labels.classes is not None:  # the first of each class in this order stays with the fit
        order = np.delete(order, np.unique(labels.classes[order], return_index=True)[1])
    kept_out = np.sort(order[:wanted])
    return np.setdiff1d(everything, kept_out, assume_unique=True), kept_out


def judge_labels(
    hasher: Any, X: Any, labels: Labels, train: Rows, queries: Rows, rng: np.random.Generator
) -> Verdict:
    """Mean average precision of the rows kept out, searching among rows the hasher was fitted on.

    ``hasher`` was fitted on ``X[train]``. Peak memory beyond the features: about 250 MB.
    """
    known = np.flatnonzero(labels.known[train])  # rows of unknown label are in no ranking
    size = min(len(known), MOST_DATABASE, max(1_000, MOST_NUMBERS // X.shape[1]))
    chosen = np.sort(rng.permutation(known)[:size])
    database = train[chosen]
    asked, searched = labels[queries], labels[database]
    new, mapped = hasher.encode_codes(X[queries]), hasher.encode_codes(X[database])
    rivals = Rivals(X, database, new.n_bits, rng)
    lsh = [Codes(rivals.lsh_bits(rows), new.n_bits) for rows in (queries, database)]
    size_now, size_before = n_bytes(new.n_bits), 4 * rivals.n_columns
    by_map = average_precision(new, mapped, asked, searched)
    lines: tuple[Line, ...] = (
        scored(MAPPED, size_now, by_map),
        scored(COSINE, size_before, _cosine_scores(rivals, queries, database, asked, searched)),
        scored(
            "sign bits", n_bytes(rivals.n_columns), _sign_scores(rivals, queries, database, asked, searched)
        ),
        scored(f"LSH, {new.n_bits} bits", size_now, average_precision(lsh[0], lsh[1], asked, searched)),
    )
    facts: dict[str, Any] = {
        "codes": hasher.report_.get("codes", "learned"),
        "queries": len(queries),
        "queries_without_kin": int(np.isnan(by_map).sum()),
        "database_rows": len(database),
        "training_rows": len(train),
        "unique_codes_mapped": len(np.unique(mapped.packed, axis=0)),
        "bytes_per_item_before": size_before,
        "bytes_per_item_after": size_now,
    }
    if facts["codes"] == "learned":  # some methods only map: their codes_ are the mapped ones again
        learned = Codes(hasher.codes_[chosen], new.n_bits, model_id=new.model_id)
        lines = (scored(LEARNED, size_now, average_precision(new, learned, asked, searched)), *lines)
        facts["unique_codes_learned"] = len(np.unique(learned.packed, axis=0))
    if len(queries) > 1:  # both sides unseen: no row of the fit can flatter this pair of figures
        facts["unseen_codes"] = _mean(average_precision(new, new, asked, asked, exclude_self=True))
        facts["unseen_cosine"] = _mean(_cosine_scores(rivals, queries, queries, asked, asked, own=True))
    return Verdict("mAP", _protocol(facts, labels), lines, facts)


def _cosine_scores(
    rivals: Rivals, queries: Rows, database: Rows, asked: Labels, searched: Labels, own: bool = False
) -> Floats:
    left, right = rivals.unit_rows(queries), rivals.unit_rows(database).T
    return average_precision_from_scores(_products(left, right), asked, searched, exclude_self=own)


def _products(left: Any, right: Any) -> Callable[[Rows], Any]:
    def rows(wanted: Rows) -> Any:
        block = left[wanted] @ right
        return block.toarray() if hasattr(block, "toarray") else block

    return rows


def _sign_scores(rivals: Rivals, queries: Rows, database: Rows, asked: Labels, searched: Labels) -> Floats:
    mine, theirs = rivals.sign_bits(queries), rivals.sign_bits(database)
    if rivals.n_columns <= MAX_BITS:
        return average_precision(mine, theirs, asked, searched, n_bits=rivals.n_columns)
    left, right = to_words(mine), to_words(theirs)

    def nearness(wanted: Rows) -> Any:
        counts = [np.bitwise_count(left[row] ^ right).sum(axis=1, dtype=np.int64) for row in wanted]
        return -np.stack(counts)

    return average_precision_from_scores(nearness, asked, searched)


def _mean(per_query: Floats) -> float:
    return float("nan") if np.isnan(per_query).all() else float(np.nanmean(per_query))


def _protocol(facts: dict[str, Any], labels: Labels) -> str:
    part = facts["database_rows"], facts["training_rows"]
    searched = f"all {part[1]:,}" if part[0] == part[1] else f"{part[0]:,} of the {part[1]:,}"
    skipped = facts["queries_without_kin"]
    kin = "at least one shared tag" if labels.is_tags else "the same class"
    origin = "learned codes come from labels, mapped ones from features"
    if facts["codes"] == "mapped":
        origin = "all codes come from features, since this method learns a map alone"
    return (
        f"Protocol: {facts['queries']:,} random rows were kept out of the fit and are the queries.\n"
        f"Database: {searched} rows of the fit; {origin}.\n"
        f"Kin: {kin}. Whole ranking; ties: expected value over all orders; interval: over queries."
        + (f" {skipped:,} queries have no kin and are left out." if skipped else "")
    )
