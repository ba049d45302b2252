"""`kinhash eval`: how good codes are, with the rule for ties stated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from .._internal.aliases import Facts, Features
from .terminal import emit, json_option
from .verdict import worst_labels

if TYPE_CHECKING:
    from ..codes import Codes
    from ..supervision import Labels

__all__ = ["evaluate"]


@click.command("eval")
@click.argument("codes", nargs=-1, required=True)
@click.option("--labels", metavar="FILE", multiple=True, help="Classes, a file for each file of codes.")
@click.option("--tags", metavar="FILE", multiple=True, help="Tags, a file for each file of codes.")
@click.option(
    "--features",
    metavar="FILE",
    multiple=True,
    help="Features, a file for each file of codes: float cosine and a classifier beside the codes.",
)
@click.option("--label-column", "column", metavar="NAME", help="The column of the files of labels.")
@click.option("--tag-separator", "separator", default=";", show_default=True, help="Between tags in text.")
@click.option(
    "--ties", default="expected", show_default=True, help="expected, index, optimistic, pessimistic."
)
@click.option("--top", type=int, help="Count only the first TOP places of each ranking (mAP@TOP).")
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
    from .files import open_codes
    from .supervision_options import read_some_labels

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


def _rows_of(path: str, n_rows: int) -> Features:
    """The features in a file, one row for each code."""
    from .._internal.validation import check_finite
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


def _looks(codes: list[Codes], labels: list[Labels], features: list[Features]) -> tuple[Facts, str]:
    """What at most 500 queries see first; with features, beside float cosine and a classifier."""
    import numpy as np

    from ..codes import n_bytes
    from ..metrics import (
        MEASURES,
        RANDOM,
        AnswerSheet,
        Classifier,
        Comparison,
        Line,
        distinct_answers,
        reference_lines,
        some_queries,
        unseen_chances,
    )

    alone, known = len(codes) == 1, [np.flatnonzero(one.known) for one in labels]
    own = some_queries(len(known[0]))
    asked, rows = known[0][own], known[-1]
    if not len(asked) or not len(rows):
        return {}, "No row has a label."
    queries, database = codes[0][asked], codes[-1][rows]
    mine, theirs = labels[0][asked].aligned(labels[-1][rows])
    sides = (features[0][asked], features[-1][rows]) if features else None
    sheet = AnswerSheet(mine, theirs, own if alone else None, sides)
    lines = [Line("these codes", n_bytes(database.n_bits), sheet.of_codes(queries, database))]
    if sides is None:
        lines.append(Line(RANDOM, 0, sheet.of_random_order()))
    else:
        chances = (
            unseen_chances(sides[1], theirs, own) if alone else Classifier.fit(sides[1], theirs)(sides[0])
        )
        lines += reference_lines(sheet, *sides, chances)
    distinct = distinct_answers(queries, database, own=own if alone else None)
    said = "; ".join(f"{name}: {MEASURES[name]}" for name in lines[0].measures)
    note = f"{len(asked):,} queries get {distinct:,} different first tens.\n{said}."
    found = Comparison("mAP", note, tuple(lines))
    return {
        "answers": [line.as_dict() for line in lines],
        "distinct_answers": distinct,
        "distinct_answers_of": len(asked),
    }, str(found)


def _scores(
    codes: list[Codes], labels: list[Labels], ties: str, top: int | None, k: int, radius: int
) -> tuple[Facts, str]:
    from ..metrics import (
        bootstrap_interval,
        code_health,
        mean_average_precision,
        precision_at_k,
        precision_within_radius,
        scores_by_label,
    )

    alone = len(codes) == 1
    sides = (codes[0], codes[-1], labels[0], labels[-1])
    score = mean_average_precision(*sides, ties=ties, top=top, exclude_self=alone)
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
