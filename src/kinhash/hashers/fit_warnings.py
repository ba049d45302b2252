"""What a fit measures about itself and warns of.

Labels and pairs that do not help, learned and mapped codes that do not mix, classes that share a code, rows
that features cannot tell apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._internal.rows import Rows
from .._internal.stages import Stages
from .._internal.types import Bytes, Floats, Ints
from ..codes import BitLayout, Codes, pack_bits
from ..encoders import ENOUGH_ROWS, Fitted, mapped_codes
from ..models import Map
from ..solvers import bits_for, comfortable
from ..supervision import ClassSupervision, Supervision, Training
from ..tuning import Choice

__all__ = [
    "all_equal_warning",
    "classes_sharing_codes",
    "count_distinct",
    "held_out_facts",
    "share_of_mapped",
    "shared_codes_doubts",
    "shared_codes_warning",
    "weak_examples",
    "weak_labels",
    "weak_pairs",
    "weak_partners",
]

SAMPLE = 2000  # rows of the database
LOOKED_AT = 256  # rows whose features are compared,
MOST_NUMBERS = 1 << 23  # and numbers: 64 MB
QUERIES = 300
MAPPED = 0.15  # of the database
HELD_PAIRS, FEWEST_PAIRS = 5000, 5  # to compare by: at most in all, at least of each kind
FIRST = 10  # answers that people look at
ERRORS_FROM_CHANCE = 2.0  # standard errors by which held-out partners must be nearer than others
LEAST_GAIN = 0.05  # of the log loss of label frequencies; a label model that gains less predicts nothing


def weak_labels(training: Training, choice: Choice) -> tuple[str, ...]:
    """Warnings about labels that the features do not predict, or that are too few to judge."""
    if choice.loss is not None and choice.chance is not None:
        if choice.loss > (1 - LEAST_GAIN) * choice.chance:
            return (
                f"Features hardly predict the labels: the log loss of held-out rows is {choice.loss:.3f}, "
                f"and {choice.chance:.3f} by label frequencies alone. Codes of new rows will not follow the "
                "labels; codes that read no labels, such as ITQ, may serve better. Do labels and rows belong "
                "together?",
            )
        return ()
    known = len(training.known_rows)
    if known < ENOUGH_ROWS and known < len(training.rows) / 2:
        return (
            f"Only {known:,} of {len(training.rows):,} rows have a label, too few to check on held-out rows "
            "whether labels help. Compare with codes that read no labels, such as ITQ.",
        )
    return ()


def weak_examples(choice: Choice) -> tuple[str, ...]:
    """A warning if pairs, clicks or triplets did not improve on codes that read none."""
    if choice.encoder.get_params().get("pull") not in ("auto", "start"):
        return ()
    if not choice.tried:
        return (
            "There are too few pairs or triplets to check on held-out ones whether they help. The codes are "
            "those of ITQ, which reads none.",
        )
    without, with_it = _in_order(choice)
    best = f" and at best {max(with_it):.3f} with it" if with_it else ""
    return (
        f"Supervision did not help: {max(without):.3f} of held-out pairs are in order without it{best}. "
        "The codes are those of ITQ, which reads none.",
    )


def weak_partners(choice: Choice) -> tuple[str, ...]:
    """A warning if rows of a view find their partners of the first view no better than by chance."""
    chosen = next((one for one in choice.tried if one.encoder is choice.encoder), None)
    if chosen is None or chosen.is_better(replace(chosen, losses=chosen.chance, errors=ERRORS_FROM_CHANCE)):
        return ()
    return (
        "Rows of the view do not find the rows they belong with: a held-out partner is nearer than "
        f"{-chosen.mean(chosen.losses):.3f} of other rows (0.5 is chance). Are the rows in the same order?",
    )


def held_out_facts(choice: Choice) -> dict[str, object]:
    """How many held-out examples are in order by the map that was chosen, and by codes that read none."""
    if choice.loss is None or "pull" not in choice.encoder.get_params():
        return {}
    without, _ = _in_order(choice)
    facts: dict[str, object] = {"held_out_in_order": -choice.loss}
    return facts | ({"without_pairs": max(without)} if without else {})


def _in_order(choice: Choice) -> tuple[list[float], list[float]]:
    """Scores of the candidates that stay at the unsupervised start, and of the others."""
    scores: tuple[list[float], list[float]] = ([], [])
    for one in choice.tried:
        scores[one.encoder.get_params()["pull"] != "start"].append(-one.mean(one.losses))
    return scores


def weak_pairs(training: Training, learned: Map) -> tuple[str, ...]:
    """A warning if pairs of S are separated no better than by chance, or by codes that read no S."""
    from ..encoders import fit_alike

    rng = np.random.default_rng(0)
    left, right, similarity = training.supervision.some_pairs(HELD_PAIRS, rng)
    n_least = int(min((similarity > 0).sum(), (similarity < 0).sum()))
    if n_least < FEWEST_PAIRS:  # S of one sign: there is nothing to separate
        return ()
    apart = replace(training, rng=rng, stages=Stages())
    rows, places = np.unique(np.concatenate([left, right]), return_inverse=True)

    from sklearn.metrics import roc_auc_score  # loading a model needs none of it

    def auc(one: Map) -> float:
        bits = one.scores(training.rows.read(rows)) > 0
        nearness = -(bits[places[: len(left)]] != bits[places[len(left) :]]).sum(axis=1)
        return float(roc_auc_score(similarity > 0, nearness))

    with_pairs, without = auc(learned), auc(fit_alike(apart, learned.n_bits).features)
    error = np.sqrt(with_pairs * (1 - with_pairs) / n_least)
    if with_pairs < without - error:
        return (
            f"Similarities make codes worse: the AUC of sampled pairs is {with_pairs:.3f}, and {without:.3f} "
            "by codes of the same length that read none. Use those (ITQ).",
        )
    if with_pairs < 0.5 + 2 * error:
        return (
            f"Codes separate sampled pairs hardly better than chance: their AUC is {with_pairs:.3f}. Do S "
            "and rows belong together?",
        )
    return ()


def share_of_mapped(
    map_: Map, fields: BitLayout, codes: Bytes | None, group_of_row: Ints | None, training: Training
) -> float | None:
    """What share of the first ten answers mapped rows take if they are 15 % of a database of learned ones.

    None where there are no learned codes, or too few rows to measure it.
    """
    n = len(training.rows)
    if codes is None or group_of_row is None or n < QUERIES + SAMPLE // 4:
        return None
    rows = np.random.default_rng(0).choice(n, min(n, SAMPLE + QUERIES), replace=False)
    n_mapped = int(MAPPED * (len(rows) - QUERIES))
    sample = Rows(training.rows.X[rows[: QUERIES + n_mapped]])
    mapped = mapped_codes(map_, sample, training.n_jobs)
    database = np.concatenate([mapped[QUERIES:], codes[rows[QUERIES + n_mapped :]]])
    n_bits = map_.n_bits
    queries, others = (Codes(one, n_bits, fields=fields).repeated() for one in (mapped[:QUERIES], database))
    taken = 0.0
    order = np.random.default_rng(1).random(len(others))  # ties at random
    for query in queries:
        distances = np.bitwise_count(others ^ query).sum(axis=1) + order
        taken += float((np.argpartition(distances, FIRST)[:FIRST] < n_mapped).mean())
    return round(taken / len(queries), 3)


def classes_sharing_codes(fitted: Fitted, supervision: Supervision) -> int:
    """How many classes have the kin bits of another class, by their labels alone; 0 for tags and pairs."""
    if not isinstance(supervision, ClassSupervision) or fitted.scores is None:
        return 0
    present = np.unique(supervision.group_of_row)
    own = pack_bits(fitted.scores[present[present >= 0]] > 0)
    counts = np.unique(own, axis=0, return_counts=True)[1]
    return int(counts[counts > 1].sum())


def shared_codes_doubts(sharing: int, supervision: Supervision, n_bits: int, n_alike: int = 0) -> list[str]:
    """A warning if classes share codes that should not: each of one row, but related, may well share them."""
    if not sharing or not isinstance(supervision, ClassSupervision):
        return []
    counts = supervision.group_weights()
    related = supervision.relates(counts > 0)
    if related and counts.max() <= 1:
        return []
    tree = related and supervision.levels is not None
    return [shared_codes_warning(sharing, supervision.n_groups, n_bits, n_alike, tree)]


def shared_codes_warning(
    sharing: int, n_classes: int, n_bits: int, n_alike: int = 0, tree: bool = False
) -> str:
    """Warn that classes share codes; ``n_alike`` of the bits carry no information on classes.

    In a ``tree`` classes are leaves, and bits also tell branches apart.
    """
    enough = bits_for(n_classes)
    advice = "Use more bits" if n_bits >= enough else f"Use n_bits={enough}"
    if tree:
        return (
            f"{sharing:,} of {n_classes:,} leaves of the tree share their code with another leaf. "
            f"Only features distinguish rows of these leaves. {advice} if leaves matter like branches."
        )
    if n_alike and n_bits >= enough:
        advice = "Fit with alike=0, so that all bits tell classes apart"
    return (
        f"{sharing:,} of {n_classes:,} classes share their code with another class and cannot be "
        f"distinguished. {n_bits} bits hold {comfortable(n_bits):,} classes well. {advice}."
    )


def count_distinct(codes: Bytes, group: Ints | None) -> int:
    """Distinct packed codes; rows of one group share theirs, so one row of each is enough to look at."""
    if group is not None and (group >= 0).all() and len(group) > 10_000:
        first = np.zeros(int(group.max()) + 1, np.int64)
        first[group[::-1]] = np.arange(len(group))[::-1]
        shared = codes[first[group]]
        if np.array_equal(shared, codes):
            codes = codes[np.unique(first[group])]
    whole = np.ascontiguousarray(codes).view(f"V{codes.shape[1]}")  # compared as one piece, and not by byte
    return len(np.unique(whole))


def all_equal_warning(fitted: Fitted, rows: Rows) -> list[str]:
    """Warning where sampled rows of X share one code, or differ too little for RBF features.

    RBF features compare directions in float32: rows that share all but a thousandth of theirs look alike.
    """
    n_some = min(len(rows), LOOKED_AT, max(2, MOST_NUMBERS // rows.shape[1]))
    some = np.unique(np.linspace(0, len(rows) - 1, n_some).astype(np.int64))
    block = rows.read(some)
    codes = pack_bits(fitted.map.scores(block) > 0)
    one_sided = fitted.codes is not None and _largest_share(fitted.codes[some]) > 0.9
    if (block == block[0]).all():
        why, remedy = "every column of X is constant", "Pass features that vary"
    elif fitted.facts.get("features") == "rbf" and _relative_spread(block) < 1e-3:
        why = f"X varies by {_relative_spread(block):.0e} of its size, too little for RBF features"
        remedy = "Subtract the mean of every column, or use plain features"
    elif fitted.facts.get("features") == "both" and _relative_spread(block) < 1e-3:
        spread = _relative_spread(block)
        return [
            f"Similarities to training rows say nothing here: X varies by {spread:.0e} of its size. "
            "Subtract the mean of every column, or use plain features."
        ]
    elif _largest_share(codes) == 1.0 and not one_sided:
        why, remedy = f"{len(some)} of them get the same code", "Check the features, and how they are scaled"
    else:
        return []
    return [f"New rows cannot be distinguished by their features: {why}. {remedy}."] if len(some) > 1 else []


def _largest_share(codes: Bytes) -> float:
    """Share of rows that have the commonest code."""
    return float(np.unique(codes, axis=0, return_counts=True)[1].max() / len(codes))


def _relative_spread(block: Floats) -> float:
    """Length of the rows' differences from their mean as a share of the length of rows; scale-free."""
    block = block / (np.abs(block).max() or 1.0)
    away = np.linalg.norm(block - block.mean(axis=0))
    return float(away / (np.linalg.norm(block) or 1.0))
