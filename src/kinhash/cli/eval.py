"""`kinhash eval`: how good codes are, with the rule for ties stated."""

from __future__ import annotations

import math
import warnings
from typing import Any

import click
import numpy as np

from .._internal.aliases import Facts
from ..errors import KinhashWarning
from .terminal import emit, json_option, visible

TIES = ("expected", "index", "optimistic", "pessimistic")
WORST, ALL_FOUND = 5, 0.995  # labels that are named, and those that are not


@click.command("eval")
@click.argument("codes", nargs=-1, required=True)
@click.option(
    "--labels", metavar="FILE[:COLUMN]", multiple=True, help="Classes, a file for each file of codes."
)
@click.option("--tags", metavar="FILE[:COLUMN]", multiple=True, help="Tags, a file for each file of codes.")
@click.option(
    "--features", metavar="FILE[:COLUMN]", multiple=True,
    help="Features, a file for each file of codes: float cosine beside the codes.",
)  # fmt: skip
@click.option("--ties", type=click.Choice(TIES), default=TIES[0], show_default=True, help="How ties count.")
@click.option("-k", type=click.IntRange(1), default=10, show_default=True, help="Places for precision at k.")
@json_option
def eval_command(
    codes: tuple[str, ...],
    labels: tuple[str, ...],
    tags: tuple[str, ...],
    features: tuple[str, ...],
    ties: str,
    k: int,
    as_json: bool,
) -> None:
    """Score CODES against labels: one file searched among itself, or queries and then a database.

    \b
    Examples:
      kinhash eval db.kin --labels y.txt
      kinhash eval queries.kin db.kin --labels query_y.txt --labels y.txt
      kinhash eval queries.kin db.kin --labels query_y.txt --labels y.txt --features XQ.npy --features X.npy
    """
    from ..codes import n_bytes
    from ..metrics import (
        average_precision_from_scores,
        bootstrap_interval,
        code_health,
        evaluate,
    )
    from .inputs import open_codes, read_features, read_labels

    files = labels or tags
    if len(codes) > 2 or (labels and tags) or len(files) != len(codes):
        raise click.UsageError(
            f"{len(codes)} files of codes came with {len(labels)} of --labels and {len(tags)} of --tags; "
            "pass one of each, or queries and database with a file of labels each."
        )
    if len(features) not in (0, len(codes)):
        raise click.UsageError(
            f"{len(codes)} files of codes came with {len(features)} of --features; pass as many, or none."
        )
    opened = [open_codes(path) for path in codes]
    known = [
        read_labels(None, spec, len(own)) if tags else read_labels(spec, None, len(own))
        for spec, own in zip(files, opened, strict=True)
    ]
    _warn_of_learned(codes[0], opened[0])
    alone = len(codes) == 1
    sides = (opened[0], opened[-1], known[0], known[-1])
    scores = evaluate(*sides, ["map", f"precision@{k}"], ties=ties, exclude_self=alone)
    score, at_k = scores["map"], scores[f"precision@{k}"]
    health = code_health(opened[-1])
    lines = [str(score)]
    result: Facts = {
        "codes": list(codes),
        "metric": score.metric,
        "value": score.value,
        "interval": None,
        "band": score.band,
        "ties": ties,
        "queries": score.n_queries,
        "queries_without_kin": score.n_without_kin,
        "database_rows": score.n_database,
        "unknown_queries": score.n_unknown_queries,
        "unknown_rows": score.n_unknown_rows,
        "own_row_left_out": alone,
        f"precision_at_{k}": at_k.value,
        "unique_codes": health.n_unique,
        "dead_bits": health.dead_bits,
        "bytes_per_item": n_bytes(opened[0].n_bits),
    }
    if not math.isnan(score.value):
        interval = bootstrap_interval(score.per_query, n_resamples=1000)
        result["interval"] = [interval.low, interval.high]
        lines.append(f"  95 % interval over queries: {interval.low:.4f} .. {interval.high:.4f}")
    lines.append(str(at_k))
    if features:
        rows = [
            _unit(read_features(spec, len(own), "codes")) for spec, own in zip(features, opened, strict=True)
        ]
        cosine = average_precision_from_scores(
            lambda some: np.asarray((rows[0][some] @ rows[-1].T), np.float64),
            known[0],
            known[-1],
            ties=ties,
            exclude_self=alone,
        )
        result["float_cosine"] = float(np.nanmean(cosine)) if not np.isnan(cosine).all() else None
        result["float_bytes_per_item"] = 4 * rows[0].shape[1]
        lines.append(f"Float cosine of the features: mAP {np.nanmean(cosine):.4f}.")
    lines.append("Every row is a query and searches the others." if alone else "Queries search the database.")
    result["by_label"] = _by_label(score.per_query, known[0])
    lines += _worst(result["by_label"])
    emit(result, "\n".join([*lines, "", str(health)]), as_json)


def _warn_of_learned(path: str, codes: Any) -> None:
    """Learned codes are made of labels: no row was new to them."""
    if np.any(codes.learned):
        warnings.warn(
            f"{path} holds learned codes: they were made from the labels of these rows, so a score by the same "
            "labels flatters. Score codes of `kinhash encode`, best of rows that were not fitted on; the verdict "
            "of `kinhash fit` is on such rows.",
            KinhashWarning,
            stacklevel=2,
        )


def _unit(X: Any) -> Any:
    """Rows of length one, dense."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    X = X.astype(np.float64)
    scale = np.abs(X).max(axis=1, keepdims=True)
    X = X / np.where(scale > 0, scale, 1)
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1)


def _by_label(scores: Any, y: Any) -> list[Facts]:
    """The mean score of the queries of each label, the worst first."""
    if y.ndim == 2:
        rows: list[Any] = [row.nonzero()[-1].tolist() for row in y]
    else:
        rows = [one if isinstance(one, (set, frozenset)) else [one] for one in y.tolist()]
    found: dict[Any, list[float]] = {}
    for row, score in zip(rows, scores.tolist(), strict=True):
        for name in row if score == score else ():
            found.setdefault(name, []).append(score)
    means = [
        {"label": name, "score": float(np.mean(each)), "queries": len(each)} for name, each in found.items()
    ]
    return sorted(means, key=lambda one: (one["score"], str(one["label"])))


def _worst(labels: list[Facts]) -> list[str]:
    """One line with the labels that are found worst; none where there are two at most."""
    worst = [one for one in labels[:WORST] if one["score"] < ALL_FOUND]
    if len(labels) < 3 or not worst:
        return []
    named = ", ".join(f"{visible(str(one['label']), one_line=True)} {one['score']:.3f}" for one in worst)
    return [f"Found worst: {named}; all of them with --json."]
