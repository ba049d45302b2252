"""What a fit measures about itself: whether its supervision helps, and whether its two kinds of codes mix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.metrics import roc_auc_score

from .._stages import Stages
from ..codes import Codes
from ..encoders import Fitted, Map
from ..encoders.mapped_codes import mapped_codes
from ..rows import Rows
from ..supervision import PairSupervision, Supervision
from ..training import Training
from ..tuning import ENOUGH_ROWS, Choice

__all__ = ["share_of_mapped", "weak_labels", "weak_pairs"]

SOME_ROWS = 2000  # a sample of the database
QUERIES = 300
MAPPED = 0.15  # of the database
HELD_PAIRS, FEWEST_PAIRS = 5000, 5  # to compare by: at most in all, at least of each kind
FIRST = 10  # answers that people look at
LEAST_GAIN = 0.05  # of the log loss of label frequencies; a label model that gains less predicts nothing


def weak_labels(training: Training, choice: Choice) -> tuple[str, ...]:
    """Warnings about labels that the features do not predict, or that are too few to tell."""
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


def weak_pairs(training: Training, learn: Callable[[Training], Map], n_bits: int) -> tuple[str, ...]:
    """A warning if codes that read no pairs separate held-out pairs better than those that ``learn`` makes.

    Listed pairs are held out of a second fit; a complete matrix is sampled as it is.
    """
    from ..encoders.alike import fit_alike

    supervision, rng = training.supervision, np.random.default_rng(0)
    rest: Supervision = supervision
    if isinstance(supervision, PairSupervision):
        (left, right, similarity), rest = supervision.hold_out(HELD_PAIRS, rng)
    else:
        left, right, similarity = supervision.some_pairs(HELD_PAIRS, rng)
    if min((similarity > 0).sum(), (similarity < 0).sum()) < FEWEST_PAIRS:
        return (
            "There are too few pairs to check on held-out ones whether they help. Compare with codes that "
            "read no pairs, such as ITQ.",
        )
    apart = replace(training, supervision=rest, rng=rng, stages=Stages())
    rows, places = np.unique(np.concatenate([left, right]), return_inverse=True)

    def auc(map_: Map) -> float:
        bits = map_.scores(training.rows.read(rows)) > 0
        nearness = -(bits[places[: len(left)]] != bits[places[len(left) :]]).sum(axis=1)
        return float(roc_auc_score(similarity > 0, nearness))

    with_pairs, without = auc(learn(apart)), auc(fit_alike(apart, n_bits).features)
    if with_pairs >= without:
        return ()
    return (
        f"These pairs make codes worse: the AUC of held-out pairs is {with_pairs:.3f}, and {without:.3f} by "
        "codes of the same length that read no pairs. Use those (ITQ), or pass more pairs.",
    )


def share_of_mapped(fitted: Fitted, training: Training) -> float | None:
    """What share of the first ten answers mapped rows take if they are 15 % of a database of learned ones.

    None where there are no learned codes, or too few rows to measure it.
    """
    n = len(training.rows)
    if fitted.codes is None or fitted.group_of_row is None or n < QUERIES + SOME_ROWS // 4:
        return None
    rows = np.random.default_rng(0).choice(n, min(n, SOME_ROWS + QUERIES), replace=False)
    n_mapped = int(MAPPED * (len(rows) - QUERIES))
    sample = Rows(training.rows.X[rows[: QUERIES + n_mapped]])
    mapped = mapped_codes(fitted.map, sample, training.n_jobs)
    database = np.concatenate([mapped[QUERIES:], fitted.codes[rows[QUERIES + n_mapped :]]])
    n_bits, fields = fitted.map.n_bits, fitted.fields
    queries, others = (Codes(one, n_bits, fields=fields).repeated() for one in (mapped[:QUERIES], database))
    taken = 0.0
    order = np.random.default_rng(1).random(len(others))  # ties at random
    for query in queries:
        distances = np.bitwise_count(others ^ query).sum(axis=1) + order
        taken += float((np.argpartition(distances, FIRST)[:FIRST] < n_mapped).mean())
    return round(taken / len(queries), 3)
