"""`kinhash eval`: how good codes are, with the rule for ties stated."""

from __future__ import annotations

import math

import click
import numpy as np

from .. import metrics
from .._internal.types import Facts
from ..codes import n_bytes
from ..errors import warn
from ..labels import read_labels as read_labels_of
from .inputs import open_codes, read_features, read_labels
from .terminal import emit, file_option, json_option, refuse, visible

WORST, ALL_FOUND = 5, 0.995  # labels that are named, and those that are not


@click.command("eval")
@click.argument("codes", nargs=-1, required=True)
@file_option("labels", "Classes, a file for each file of codes.", multiple=True)
@file_option("tags", "Tags, a file for each file of codes.", multiple=True)
@file_option(
    "features", "Features, a file for each file of codes: float cosine beside the codes.", multiple=True
)
@click.option(
    "--ties", type=click.Choice(metrics.TIES), default="expected", show_default=True, help="How ties count."
)
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
    files = labels or tags
    refuse(
        (
            len(codes) > 2 or (labels and tags) or len(files) != len(codes),
            f"{len(codes)} files of codes came with {len(labels)} of --labels and {len(tags)} of --tags; "
            "pass one of each, or queries and database with a file of labels each.",
        ),
        (
            len(features) not in (0, len(codes)),
            f"{len(codes)} files of codes came with {len(features)} of --features; pass as many, or none.",
        ),
    )
    opened = [open_codes(path) for path in codes]
    known = [
        read_labels(None, spec, len(own)) if tags else read_labels(spec, None, len(own))
        for spec, own in zip(files, opened, strict=True)
    ]
    if np.any(opened[0].learned):
        warn(
            f"{codes[0]} holds learned codes: they were made from the labels of these rows, so a score by the same "
            "labels flatters. Score codes of `kinhash encode`, best of rows that were not fitted on; the verdict "
            "of `kinhash fit` is on such rows."
        )
    alone = len(codes) == 1
    sides = (opened[0], opened[-1], known[0], known[-1])
    scores = metrics.evaluate(*sides, ["map", f"precision@{k}"], ties=ties, exclude_self=alone)
    score, at_k = scores["map"], scores[f"precision@{k}"]
    health = metrics.code_health(opened[-1])
    lines = [str(score)]
    by_label = metrics.scores_by_label(score.per_query, None, read_labels_of(known[0]))
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
        "by_label": [{"label": one.label, "score": one.score, "queries": one.queries} for one in by_label],
    }
    if not math.isnan(score.value):
        interval = metrics.bootstrap_interval(score.per_query, n_resamples=1000)
        result["interval"] = [interval.low, interval.high]
        lines.append(f"  95 % interval over queries: {interval.low:.4f} .. {interval.high:.4f}")
    lines.append(str(at_k))
    if features:
        rows = [
            metrics.unit_rows(read_features(spec, len(own), "codes"))
            for spec, own in zip(features, opened, strict=True)
        ]
        among = metrics.cosine_scores(rows[0], rows[-1])
        cosine = metrics.evaluate(among, None, known[0], known[-1], ties=ties, exclude_self=alone).per_query
        result["float_cosine"] = float(np.nanmean(cosine)) if not np.isnan(cosine).all() else None
        result["float_bytes_per_item"] = 4 * rows[0].shape[1]
        lines.append(f"Float cosine of the features: mAP {np.nanmean(cosine):.4f}.")
    lines.append("Every row is a query and searches the others." if alone else "Queries search the database.")
    lines += _worst(result["by_label"])
    emit(result, "\n".join([*lines, "", str(health)]), as_json)


def _worst(labels: list[Facts]) -> list[str]:
    """One line with the labels that are found worst; none where there are two at most."""
    worst = [one for one in labels[:WORST] if one["score"] < ALL_FOUND]
    if len(labels) < 3 or not worst:
        return []
    named = ", ".join(f"{visible(str(one['label']), one_line=True)} {one['score']:.3f}" for one in worst)
    return [f"Found worst: {named}; all of them with --json."]
