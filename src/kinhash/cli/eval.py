"""`kinhash eval`: how good codes are, with the rule for ties said."""

from __future__ import annotations

import math
from typing import Any

import click

from ._terminal import emit, json_option
from ._verdict import worst_labels

__all__ = ["evaluate"]


@click.command("eval")
@click.argument("codes", nargs=-1, required=True)
@click.option("--labels", metavar="FILE", multiple=True, help="Classes, a file for each file of codes.")
@click.option("--tags", metavar="FILE", multiple=True, help="Tags, a file for each file of codes.")
@click.option(
    "--features",
    metavar="FILE",
    multiple=True,
    help="Features, a file for each file of codes: are the nearest kin found?",
)
@click.option("--label-column", "column", metavar="NAME", help="The column of the files of labels.")
@click.option("--tag-separator", "separator", default=";", show_default=True, help="Between tags in text.")
@click.option(
    "--ties", default="expected", show_default=True, help="expected, index, optimistic, pessimistic."
)
@click.option("--top", type=int, help="Only so many places of each ranking count (mAP@top).")
@click.option("-k", type=int, default=10, show_default=True, help="Places for precision at k.")
@click.option(
    "--radius", type=int, default=2, show_default=True, help="Weighted distance for precision within."
)
@click.option("--bits", "n_bits", type=int, help="Length of the codes in a .npy, if not 8 per byte.")
@json_option
def evaluate(
    codes: tuple[str, ...],
    labels: tuple[str, ...],
    tags: tuple[str, ...],
    features: tuple[str, ...],
    column: str | None,
    separator: str,
    n_bits: int | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Score CODES against labels: one file searched among itself, or queries and then a database.

    \b
    Examples:
      kinhash eval db.kin --labels y.txt
      kinhash eval queries.kin db.kin --labels query_y.txt --labels y.txt
      kinhash eval queries.kin db.kin --labels query_y.txt --labels y.txt --features XQ.npy --features X.npy
    """
    from ._files import open_codes
    from ._supervision import read_some_labels

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
    opened = [open_codes(path, n_bits) for path in codes]
    known = [read_some_labels(path, bool(tags), column, separator) for path in files]
    if opened[0].learned:
        _warn_of_learned(codes[0])
    result, text = _scores(opened, known, **how)
    rows = [_rows_of(path, len(some)) for path, some in zip(features, opened, strict=False)]
    looks, said = _looks(opened, known, rows)
    emit({"codes": list(codes), **result, **looks}, f"{text}\n\n{said}", as_json)


def _warn_of_learned(path: str) -> None:
    """Learned codes are made of labels: no row was new to them."""
    import warnings

    from ..errors import KinhashWarning

    warnings.warn(
        f"{path} holds learned codes: they were made from the labels of these rows, so a score by the same "
        "labels flatters. Score codes of `kinhash encode`, best of rows that were not fitted on; the verdict "
        "of `kinhash fit` is on such rows.",
        KinhashWarning,
        stacklevel=2,
    )


def _rows_of(path: str, n_rows: int) -> Any:
    """The features in a file, one row for each code."""
    from .._check import check_finite
    from ..datasets import open_matrix
    from ..errors import InvalidInput

    X = open_matrix(path).read()
    if X.shape[0] != n_rows:
        raise InvalidInput(
            f"{path} has {X.shape[0]:,} rows, and there are {n_rows:,} codes",
            "a row of features for every code, in the same order",
            "Pass the features that the codes were made of",
        )
    check_finite(X)
    return X


def _looks(codes: list[Any], labels: list[Any], features: list[Any]) -> tuple[dict[str, Any], str]:
    """Distinct answers, and with features how well the nearest kin are found; of at most 500 queries."""
    from ..evaluation import NearestKin, distinct_answers, some_queries

    asked = some_queries(len(codes[0]))
    own, queries = asked if len(codes) == 1 else None, codes[0][asked]
    if not features:
        distinct = distinct_answers(queries, codes[-1], own=own)
        text = f"{len(asked):,} queries get {distinct:,} different first tens."
        return {"distinct_answers": distinct, "distinct_answers_of": len(asked)}, text
    sides = labels[0][asked], labels[-1], features[0][asked], features[-1]
    near = NearestKin.of(*sides, own=own).score_codes(queries, codes[-1])
    return {
        "near_kin": near.value,
        "nearest_kin_among_100": near.recall,
        "distinct_answers": near.distinct,
        "distinct_answers_of": near.n_queries,
    }, f"{near}."


def _scores(
    codes: list[Any], labels: list[Any], ties: str, top: int | None, k: int, radius: int
) -> tuple[dict[str, Any], str]:
    from ..evaluation import (
        bootstrap_interval,
        code_health,
        mean_average_precision,
        precision_at_k,
        precision_within_radius,
        scores_by_label,
    )

    alone = len(codes) == 1
    sides = (codes[0], codes[-1], labels[0], labels[-1])
    score = mean_average_precision(*sides, ties=ties, top=top, exclude_self=alone, return_details=True)
    at_k = precision_at_k(*sides, k=k, ties=ties, exclude_self=alone)
    within = precision_within_radius(*sides, radius=radius, exclude_self=alone)
    health = code_health(codes[-1])
    by_label = scores_by_label(score.per_query, None, labels[0])
    interval = None if math.isnan(score.value) else bootstrap_interval(score.per_query, n_resamples=1000)
    kind = "tags" if labels[0].is_tags else "classes"
    who = "Every row is a query and searches the others." if alone else "Queries search the database."
    worst = worst_labels([one._asdict() for one in by_label], kind)
    lines = [str(score), str(at_k), str(within), who, *worst]
    if interval is not None:
        lines.insert(1, f"  95 % interval over queries: {interval.low:.4f} .. {interval.high:.4f}")
    result = {
        "metric": score.metric,
        "value": score.value,
        "interval": None if interval is None else [interval.low, interval.high],
        "band": score.band,
        "ties": ties,
        "queries": score.n_queries,
        "queries_without_kin": score.n_without_kin,
        "database_rows": score.n_database,
        "unknown_queries": score.n_unknown_queries,
        "unknown_rows": score.n_unknown_rows,
        "own_row_left_out": alone,
        f"precision_at_{k}": at_k.value,
        f"precision_within_{radius}": within.value,
        "empty_look_ups": within.n_empty,
        "unique_codes": health.n_unique,
        "dead_bits": health.dead_bits,
        "by_label": [one._asdict() for one in by_label],
    }
    return result, "\n".join([*lines, "", str(health)])
