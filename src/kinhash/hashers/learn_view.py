"""Learn another view of a fitted hasher: from labels, from partners among rows of the first, or from both."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.blocks import keep_threads, single_blas_thread
from .._internal.rows import Rows
from .._internal.stages import Stages
from .._internal.types import Array, Features, LabelsLike, Rng
from .._internal.validation import make_rng
from ..encoders import (
    ENCODERS,
    MOST_PAIRS,
    WIDE,
    ClassSimilarity,
    ExpectedLabels,
    ExpectedMap,
    Fitted,
    LinearMap,
    Partners,
    PartnerScores,
    Preparation,
    StackedMap,
    narrowed,
)
from ..errors import InvalidInput
from ..models import Map, Seen
from ..supervision import (
    ClassSupervision,
    Labels,
    Pairs,
    PartnerSupervision,
    Supervision,
    TagSupervision,
    Training,
    from_partners,
)
from ..tuning import tune
from .fit_warnings import weak_labels, weak_partners
from .report import FitReport

if TYPE_CHECKING:
    from .energy import EnergyHasher

__all__ = ["learn_view", "takes_labels"]


@dataclass(frozen=True)
class Beside:
    """Rows of the view that belong with rows of the first, and the scores (others, d) of those."""

    supervision: PartnerSupervision
    scores: Array


def learn_view(
    hasher: Any, X: Features, y: LabelsLike, beside: Features, pairs: Pairs
) -> tuple[Fitted, FitReport]:
    """Learn the view with checked rows X (n, p); see `EnergyHasher.add_view`."""
    if y is None and beside is None:
        raise InvalidInput(
            "add_view was called with rows alone",
            "labels y of the rows, or rows of the first view that belong with them",
            "Pass y, or beside=X, or both",
        )
    if pairs is not None and beside is None:
        raise InvalidInput("pairs came without beside", "the rows that they number", "Pass beside=X")
    rng = make_rng(hasher.random_state)
    other = None if beside is None else _beside(hasher, beside, pairs, X.shape[0], rng)
    apart = other if y is None else None
    supervision = _supervision(hasher, y, X.shape[0]) if apart is None else apart.supervision
    training = Training(Rows(X), supervision, None, rng, Stages(hasher._listener), hasher.n_jobs)
    with single_blas_thread(), keep_threads(hasher.n_jobs):
        return _learn(hasher, training, other)


def _learn(hasher: EnergyHasher, training: Training, other: Beside | None) -> tuple[Fitted, FitReport]:
    fitted = hasher.fitted_
    fields, n_bits = fitted.fields, fitted.map.n_bits
    n_kin, doubts = fields.kin(n_bits), tuple[str, ...]()
    narrow = narrowed(training) if training.rows.shape[1] > WIDE else training
    map_: Map
    if training.supervision.labels is None:
        assert other is not None
        map_, facts, doubts = _by_partners(narrow, other, np.arange(n_bits), fields.weights(n_bits))
    else:
        map_, facts, doubts = _by_labels(hasher, narrow)
        alike = np.arange(n_kin, n_bits)
        if fields.alike and other is None:
            map_ = StackedMap((map_, _silent(narrow, fields.alike)))
        elif fields.alike:
            looks, found, more = _by_partners(narrow, other, alike, np.ones(len(alike), np.int64))
            map_, facts, doubts = StackedMap((map_, looks)), {**found, **facts}, doubts + more
    if narrow is not training:
        map_ = map_.widened(narrow.rows)
    view = Fitted(
        map_,
        fields=fields,
        seen=Seen.of(training.rows),
        knows_looks=other is not None or not fields.alike,
    )
    report = FitReport(
        n_rows=len(training.rows),
        n_bits=n_bits,
        fields=fields,
        warnings=list(doubts),
        seconds=dict(training.stages.seconds),
        facts=facts,
    )
    return view.whole(), report


def _by_partners(
    training: Training, other: Beside | None, bits: Array, counts: Array
) -> tuple[Map, dict[str, object], tuple[str, ...]]:
    """A map to some of the first view's scores, from rows that belong together."""
    assert other is not None
    apart = replace(training, supervision=other.supervision)
    solution = PartnerScores(other.scores[:, bits], counts)
    choice = tune(apart, Partners(), solution)
    found = choice.encoder.fit(apart, solution)
    facts = found.facts if choice.loss is None else {**found.facts, "held_out_in_order": -choice.loss}
    return found.map, facts, weak_partners(choice)


def _by_labels(hasher: EnergyHasher, training: Training) -> tuple[Map, dict[str, object], tuple[str, ...]]:
    """A map to the kin bits: a label model of these features, and the readout of the first view."""
    first, encoder = _first_map(hasher), hasher.encoder
    if isinstance(encoder, str):
        encoder = ENCODERS.make("expected")
    choice = tune(training, encoder, None)
    assert isinstance(choice.encoder, ExpectedLabels)
    map_ = choice.encoder.fit_view(training, first, float(hasher.fitted_.facts["temperature"]))
    return map_, choice.encoder.chosen(), weak_labels(training, choice)


def takes_labels(hasher: EnergyHasher) -> bool:
    """Whether a view can be learned from labels: the fit had some, and its label model is still there."""
    return _expected_map(hasher.fitted_) is not None


def _expected_map(fitted: Fitted) -> ExpectedMap | None:
    """The map to the kin bits as the fit left it, where it reads predicted labels with names."""
    map_ = fitted.map if fitted.unrounded is None else fitted.unrounded
    kin = map_.parts[0] if isinstance(map_, StackedMap) else map_
    return kin if fitted.label_names is not None and isinstance(kin, ExpectedMap) else None


def _first_map(hasher: EnergyHasher) -> ExpectedMap:
    """The kin bits of the first view as the fit left them, whose readout the view shares."""
    found = _expected_map(hasher.fitted_)
    if found is not None:
        return found
    raise InvalidInput(
        "A view with labels came to a hasher that does not hold the label model of its fit",
        "a hasher fitted on labels with encoder='expected', in the same process, before save and load",
        "Add the view right after fit, or pass beside=X instead of y",
    )


def _silent(training: Training, n_bits: int) -> LinearMap:
    """Scores of 0 for bits that the view does not know."""
    p = training.rows.shape[1]
    weights, intercept = np.zeros((p, n_bits), np.float32), np.zeros(n_bits, np.float32)
    return LinearMap(Preparation(np.zeros(p), np.ones(p)), weights, intercept)


def _beside(hasher: EnergyHasher, X: Features, pairs: Pairs, n_rows: int, rng: Rng) -> Beside:
    """Which rows belong together; some at random where there are too many."""
    X = hasher._checked(X)
    found = from_partners(pairs, n_rows, X.shape[0])
    rows, partner = found.rows, found.partner
    if len(rows) > MOST_PAIRS:
        some = np.sort(rng.choice(len(rows), MOST_PAIRS, replace=False))
        rows, partner = rows[some], partner[some]
    named, place = np.unique(partner, return_inverse=True)
    scores = hasher._scores(Rows(X[named]))
    return Beside(PartnerSupervision(rows, place, n_rows), scores)


def _supervision(hasher: EnergyHasher, y: LabelsLike, n_rows: int) -> Supervision:
    """Labels counted as the label model of the first view counts them."""
    _first_map(hasher)
    names, labels = hasher.fitted_.label_names, hasher.labels_as_fitted(y, n_rows)
    assert names is not None
    _require_known(labels, names, hasher)
    labels = labels.renamed(names)
    supervision: Supervision = TagSupervision(labels) if labels.is_tags else ClassSupervision(labels)
    supervision.check(None)
    return supervision


def _require_known(labels: Labels, names: Array, hasher: EnergyHasher) -> None:
    """Refuse labels that the first view does not have, and tags for classes."""
    are_tags = not isinstance(_first_map(hasher).expected, ClassSimilarity)
    if labels.is_tags != are_tags:
        kinds = ("classes", "tags")
        raise InvalidInput(
            f"The view has {kinds[labels.is_tags]} and the first view has {kinds[are_tags]}",
            "the same kind of labels in all views",
            f"Pass {kinds[are_tags]}",
        )
    known = set(names.tolist())
    strange = [name for name in labels.names.tolist() if name not in known]
    if strange:
        raise InvalidInput(
            f"The first view does not have {len(strange):,} of the labels, {strange[0]!r} among them",
            "labels that the hasher was fitted on",
            "Fit again with rows of these labels, or leave such rows out",
        )
