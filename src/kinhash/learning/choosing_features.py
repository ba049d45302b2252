"""Features as they are, or compared with RBF centres: chosen on rows split off from the training rows.

Up to `TRY_ROWS` rows everything is settled with both kinds, and codes are compared. Of more rows some are
drawn, and the kinds are judged before rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .._hasher import Training
from ..inference.sample import Sample
from ..maps.expected import expected_similarity
from .choosing import CodedAnchors, Settled, settle
from .expected import labelled_part, split_rows, yardstick_for
from .features import FeatureOptions
from .label_learners import LabelLearner, LabelledSet, RidgeLearner, anchor_average_precision
from .labelled import labelled_set, learner_for
from .settings import Settings
from .spectral_ridge import n_known_rows

__all__ = [
    "RBF_GAIN",
    "RBF_GAIN_ON_PART",
    "TRY_ROWS",
    "both_kinds",
    "choose_features",
    "mostly_zero",
    "rbf_unless_worse",
    "unrounded_value",
]

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
TRY_ROWS = 4000  # features are chosen on so many rows
RBF_GAIN = 0.025  # what RBF features must earn: they cost more, and a lead on few rows may be luck (± .02)
RBF_GAIN_ON_PART = 0.005  # before rounding there is less luck; and what they earn grows with the rows to come
RBF_LOSS = 0.1  # what they may lose where they are wanted for what they keep (a wrong scale loses .5)


def choose_features(
    around: CodedAnchors, settings: Settings, rng: np.random.Generator
) -> tuple[FeatureOptions, Settled | None]:
    """Features as they are, or compared with RBF centres: whichever is better on split-off rows.

    On few rows everything else was chosen on the way, and is handed on. Rows that are mostly zeros (words,
    tags) are left as they are: a distance between them says little.
    """
    training = around.training
    plain = replace(settings.features, kind="plain")
    if mostly_zero(training):
        return plain, None
    with training.stages("features"):
        both = list(both_kinds(training, plain, rng, dense=settings.label_model == "ridge"))
    if n_known_rows(training) > TRY_ROWS:
        gain = _unrounded_gain(around, learner_for(settings), both)
        return both[gain > RBF_GAIN_ON_PART][0], None
    found = [settle(around, full, settings, split) for _, full, split in both]
    gain = (found[1].value or 0.0) - (found[0].value or 0.0)
    return both[gain > RBF_GAIN][0], found[gain > RBF_GAIN]


def rbf_unless_worse(around: CodedAnchors, settings: Settings, rng: np.random.Generator) -> Settings:
    """For a ridge map that is to keep what is new in a row: RBF features keep more of it than plain ones.

    They are worse where columns have very unequal sizes, since rows are compared at unit length.
    """
    if settings.features.kind != "auto" or mostly_zero(around.training):
        return settings
    plain = replace(settings.features, kind="plain")
    with around.training.stages("features"):
        both = list(both_kinds(around.training, plain, rng, dense=True))
    if _unrounded_gain(around, RidgeLearner("gcv"), both) < -RBF_LOSS:
        return settings
    alpha = "gcv" if settings.alpha == "auto" else settings.alpha
    return replace(settings, features=both[1][0], alpha=alpha)


def both_kinds(
    training: Training, plain: FeatureOptions, rng: np.random.Generator, *, dense: bool = False
) -> Iterator[tuple[FeatureOptions, LabelledSet, np.random.Generator]]:
    """Plain and RBF features of the same rows, each with a generator that splits off the same rows."""
    seed = int(rng.integers(2**62))
    for kind in ("plain", "rbf"):
        options, drawn = replace(plain, kind=kind), np.random.default_rng(seed)
        full = labelled_set(training, options, drawn, most=TRY_ROWS, dense=dense)
        yield options, full, np.random.default_rng([seed, 1])


def _unrounded_gain(
    around: CodedAnchors,
    learner: LabelLearner,
    both: Sequence[tuple[FeatureOptions, LabelledSet, np.random.Generator]],
) -> float:
    """What RBF features earn before rounding."""
    training, coder = around.training, around.coder
    with training.stages("choosing the features"):
        relaxed = coder.embedding(0.0).of
        plain, rbf = (
            unrounded_value(training, coder.sample, around.patterns, relaxed, full, learner, split)
            for _, full, split in both
        )
    return rbf - plain


def unrounded_value(
    training: Training,
    sample: Sample,
    patterns: npt.NDArray[np.uint8],
    relaxed: Callable[[Floats], Floats],
    full: LabelledSet,
    learner: LabelLearner,
    rng: np.random.Generator,
) -> float:
    """What these features are worth before rounding: held-out rows rank the anchors by expected similarity,
    and other rows by the cosine of their relaxed codes, which ``relaxed`` makes of similarities.

    How well one random rotation rounds says nothing about features, and would drown what does: between draws
    of 4,000 rows the rounded lead of RBF features scatters by .04, this one by half of that.
    Memory: 60 bytes for each held-out row and other row, 165 MB at most (800 and 3,200 of them).
    """
    rows = split_rows(full, rng)
    yardstick = yardstick_for(training, sample, patterns, full.exclusive, rows)
    model = learner.tuned(labelled_part(full, rows), yardstick)[1]
    supervision, shown = training.supervision, rows.part[:TRY_ROWS]
    asked, others = (supervision.group_of_row[some] for some in (rows.held, shown))

    def directions(features: Floats32) -> Floats:
        codes = relaxed(expected_similarity(model.probabilities(features), patterns, full.exclusive))
        return codes / np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-12)

    scores = directions(rows.held_features) @ directions(rows.part_features[: len(shown)]).T
    kin = supervision.similarity(others, asked).T > 0  # the shorter list last: its labels become dense
    return yardstick.measure(model) + anchor_average_precision(scores, kin, np.ones(len(shown)))


def mostly_zero(training: Training) -> bool:
    """Whether fewer than a fifth of the values are anything but 0."""
    n = len(training.rows)
    some = np.unique(np.linspace(0, n - 1, min(n, 256)).astype(np.int64))
    return bool((training.rows.read(some) != 0).mean() < 0.2)
