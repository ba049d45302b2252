"""Keep some of what is known out of a fit, fit, and say how to judge: for labels and for pairs of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from .._internal.types import Array, Facts, Features, Ints, Rng
from ..codes import Codes
from ..errors import InvalidInput
from ..metrics import (
    FEWEST_ROWS,
    MOST_HELD_OUT,
    SHARE_HELD_OUT,
    Comparison,
    compare_examples,
    compare_labels,
    hold_out_examples,
    label_counts,
)
from ..supervision import Labels, PairExamples, labels_of_levels
from .held_out import split_rows
from .pair_files import Between

if TYPE_CHECKING:
    from ..hashers import Hasher
    from .fitting import Request

__all__ = ["Learned", "all_codes", "learn_between", "learn_labels", "levels_above", "named_as_fitted"]


PAIRS_EACH = 10  # of a held-out row with others, where similarities of all are known


class Learned(NamedTuple):
    """Rows kept out of the fit, how to judge, or why there is no verdict; what was held out, in words."""

    kept_out: Ints
    judge: Callable[[], Comparison] | None
    why: str | None
    held_out: str | None = None


def learn_labels(
    hasher: Hasher, X: Features, labels: Labels, request: Request, times: Array | None, rng: Rng
) -> Learned:
    """Fit on labels of some rows; the others are the queries of the verdict."""
    wanted = request.held_out
    train, kept_out, queries = split_rows(labels, wanted, times, rng)
    above = levels_above(hasher, labels)  # before the fit: errors number all rows, not those of the fit
    hasher.fit(*((X[train], labels[train]) if len(kept_out) else (X, labels)))
    if len(queries):
        return Learned(kept_out, lambda: compare_labels(hasher, X, labels, train, queries, rng, above), None)
    why = f"Nothing was kept out ({_why_nothing(labels)}), so there is no verdict."
    if wanted.count == 0:
        why = "Nothing was kept out, as asked, so there is no verdict."
    elif len(kept_out):
        why = "None of the rows kept out has a label, so there is no verdict."
    return Learned(kept_out, None, why)


def _why_nothing(labels: Labels) -> str:
    """Why `split_rows` held out no row, although it was asked to."""
    counts = label_counts(labels)
    if len(labels) >= FEWEST_ROWS and not labels.is_tags and counts.max(initial=0) == 1:
        return "no two rows share a label"
    rows = f"{FEWEST_ROWS} rows"
    if len(labels) >= FEWEST_ROWS:
        rows = f"{round(1 / SHARE_HELD_OUT)} rows with a label"
    return f"that takes {rows}"


def levels_above(hasher: Hasher, labels: Labels) -> list[Labels]:
    """The labels one level up in the tree, two, and so on; none without a tree."""
    kinship = getattr(hasher, "kinship", None)
    if isinstance(kinship, Mapping):
        return labels_of_levels(labels, None, kinship)[1:]
    if isinstance(kinship, str) and kinship == "tree":
        return labels_of_levels(labels, None)[1:]
    return []


def named_as_fitted(hasher: Hasher, labels: Labels | None) -> Labels | None:
    """The labels by the names that the model knows: those of a tree's nodes, where there is one."""
    if labels is None or not hasattr(hasher, "labels_as_fitted"):
        return labels
    return cast(Labels, hasher.labels_as_fitted(labels))


def learn_between(
    hasher: Hasher, X: Features, between: Between, labels: Labels | None, request: Request, rng: Rng
) -> Learned:
    """Fit on most of the pairs, with labels beside them if there are any; the others are judged by."""
    if between.examples is None:
        return _learn_matrix(hasher, X, between.matrix, labels, request, rng)
    examples = between.examples
    _require_able(hasher, request, between, labels)
    split = hold_out_examples(examples, X.shape[0], rng) if request.held_out.count else None
    none = np.empty(0, np.int64)
    if split is None:
        examples.fit(hasher, X, **_beside(labels, none, request))
        why = "Nothing was held out, as asked, so there is no verdict."
        if request.held_out.count:
            why = "Too few pairs to hold some out (ten of each kind are needed), so there is no verdict."
        return Learned(none, None, why, "nothing")
    learn, held_out = split
    hidden = np.setdiff1d(held_out.ends, learn.ends)  # a label would name them, too
    learn.fit(hasher, X, **_beside(labels, hidden, request))
    what = "triplets" if request.triplets else "pairs"
    said = f"{len(held_out.ends):,} of {len(examples.ends):,} {what}"
    return Learned(none, lambda: compare_examples(hasher, X, learn, held_out, rng), None, said)


def _beside(labels: Labels | None, hidden: Ints, request: Request) -> Facts:
    if labels is None:
        return {}
    known = labels.known.copy()
    known[hidden] = False
    classes = None if labels.classes is None else np.where(known, labels.classes, -1)
    tags = None if labels.tags is None else labels.tags.multiply(known[:, None]).tocsr()
    shown = replace(labels, known=known, classes=classes, tags=tags)
    return {"y": shown, "y_weight": request.label_weight}


def _learn_matrix(
    hasher: Hasher, X: Features, S: Features, labels: Labels | None, request: Request, rng: Rng
) -> Learned:
    """A full matrix of similarities: rows are held out, and pairs of them judged by."""
    n = X.shape[0]
    most = min(MOST_HELD_OUT, int(SHARE_HELD_OUT * n)) if request.held_out.count else 0
    beside = _beside(labels, np.empty(0, np.int64), request)
    if n < FEWEST_ROWS or most < 2:
        hasher.fit_similarity(X, S, **beside)
        return Learned(
            np.empty(0, np.int64), None, "Nothing was held out, so there is no verdict.", "nothing"
        )
    order = rng.permutation(n)
    kept_out, train = np.sort(order[:most]), np.sort(order[most:])
    if labels is not None:
        beside["y"] = labels[train]
    hasher.fit_similarity(X[train], S[np.ix_(train, train)], **beside)

    def judge() -> Comparison:
        left, right = rng.choice(kept_out, (2, PAIRS_EACH * most))
        left, right = left[left != right], right[left != right]
        pairs = PairExamples(left, right, np.asarray(S[left, right], np.float64))
        codes = all_codes(hasher, X, None, kept_out, None)[0]
        return compare_examples(hasher, X, pairs.subset(slice(0)), pairs, rng, codes)

    return Learned(kept_out, judge, None, f"{most:,} rows at random")


def _require_able(hasher: Hasher, request: Request, between: Between, labels: Labels | None) -> None:
    """Refuse what the method cannot learn from, before it fails in its own words."""
    if "y" in signature(hasher.fit_pairs).parameters:
        return
    asked = {
        "triplets": request.triplets is not None,
        "similar pairs alone": between.examples is not None and between.examples.kind == "similar pairs",
        "labels beside pairs": labels is not None,
        "weights of pairs": between.weighted,
    }
    for what, wanted in asked.items():
        if wanted:
            raise InvalidInput(
                f"{request.method} cannot learn from {what}",
                "similar and dissimilar pairs",
                "Use --method EnergyHasher",
            )


def all_codes(
    hasher: Hasher, X: Features, labels: Labels | None, kept_out: Ints, ids: Array | None
) -> tuple[Codes, int]:
    """One code per row of the file, and how many of them are mapped beside learned ones.

    Rows kept out get the learned codes of their labels, as the others have, where the model has such codes:
    among learned codes mapped ones may be nearer to every query.
    """
    codes = hasher.codes_
    if not len(kept_out):
        return replace(codes, ids=ids), 0
    whole = np.empty((X.shape[0], codes.packed.shape[1]), np.uint8)
    fitted = np.ones(X.shape[0], bool)
    fitted[kept_out] = False
    whole[fitted] = codes.packed
    known, mapped = hasher.fitted_.labels, kept_out
    if labels is not None and known is not None:
        able = known.knows(labels[kept_out])
        by_label, mapped = kept_out[able], kept_out[~able]
        if len(by_label):
            whole[by_label] = hasher.learned_codes(labels[by_label], X[by_label]).packed
    if len(mapped):
        whole[mapped] = hasher.encode(X[mapped]).packed
    return replace(codes, packed=whole, ids=ids), len(mapped)
