"""Encode a new row as the training rows are: by the energy, from similarities that a label model predicts.

Steps of a fit: prepare the features, fit the label model, rotate the solver's codes (where it leaves the
rotation free) so that they round well, let their bits rank rows by S, and read off the scores of all groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._internal.numerics import fit_rotation
from .._internal.types import Floats, Ints
from .._internal.validation import check_number
from ..errors import InvalidInput, UnknownName
from ..solvers import Solution, needs_codewords
from ..supervision import ClassSupervision, Labels, Supervision, TagSupervision, Training, TreeTagSupervision
from .base import Candidate, Encoder, Fitted, HoldOut, hold_out
from .features import FeatureMap, LabeledSet, Plain, feature_map, labeled_set, prepared_like, worth_trying
from .label_models import ClassifierLabels, LabelModel, log_losses, logistic_labels
from .maps import ClassSimilarity, ExpectedMap, ExpectedSimilarity, TagSimilarity, TreeTagSimilarity
from .ranking import rank_kin
from .ridge import ROTATION_ROWS

__all__ = ["ExpectedLabels", "expected_similarity"]

# Strong to weak: the search stops at the first that does not gain one standard error.
PENALTIES = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01)  # decades; 100 serves most embeddings, 0.01 clean pictures
UNTUNED_PENALTY = 1.0  # scikit-learn's C = 1
CLASS_TEMPERATURE = 2.0  # softened classes let the runners-up shape the code: later rows gain .02 mAP
CODEWORD_TEMPERATURE = 0.25  # a mean of many random codewords says nothing: the likeliest class decides
TREE_TEMPERATURE = 1.0  # codewords of siblings have most bits in common, so their mean says something
TAG_TEMPERATURE = 1.0  # tags are not exclusive, so there is no runner-up to make room for
MOST_LABELS_OF_RBF = 100  # 10 of the 1,000 centers per label; with more labels, most have no center nearby
TRIAL_STEPS, TRIAL_TOLERANCE = 12, 2e-2  # limits of a candidate's fit: enough to compare candidates
MANY_ROWS, WARM_STEPS = 40_000, 10  # a fit of more rows that starts from a candidate takes no more steps


@dataclass(frozen=True)
class _Start:
    """A candidate's label model, from which the fit of all rows begins."""

    labeled: LabeledSet
    model: LabelModel

    @property
    def n_centers(self) -> int:
        rbf = self.labeled.preparation.rbf
        return 0 if rbf is None else len(rbf.centers)


@dataclass(repr=False, kw_only=True)
class ExpectedLabels(Encoder):
    """A label model, and the solver's own readout of the similarities it expects.

    Features and penalty that are "auto" are chosen by the log loss of held-out rows inside ``fit`` of the
    hasher. With too few rows, the value in brackets is used.

    Parameters
    ----------
    label_model : "logistic", or a scikit-learn classifier with ``predict_proba``.
    penalty : L2 penalty of the logistic label model: a number, or "auto" [1].
    temperature : label scores are divided by it before they become probabilities. "auto" is 2 for classes,
        0.25 for more than three classes per bit, and 1 for tags. Logistic only.
    features : "plain", "rbf", "both", a `Plain`, `RBF` or `Both` object, or "auto" [plain].
    """

    label_model: Any = "logistic"
    penalty: float | str = "auto"
    temperature: float | str = "auto"
    features: str | FeatureMap = "auto"
    _start: _Start | None = field(default=None, init=False)

    def check(self) -> None:
        if isinstance(self.label_model, str) and self.label_model != "logistic":
            raise UnknownName.among("label model", self.label_model, ("logistic",))
        if not isinstance(self.label_model, str) and not hasattr(self.label_model, "predict_proba"):
            raise InvalidInput(
                f"label_model is {self.label_model!r}",
                "'logistic', or a classifier with predict_proba",
                "Pass one of those",
            )
        for name in ("penalty", "temperature"):
            if getattr(self, name) != "auto":
                check_number(name, getattr(self, name), 0.0, open_low=True)
                if not self._is_logistic:
                    raise InvalidInput(
                        f"{name}={getattr(self, name)} was set together with a classifier",
                        "label_model='logistic', which has this setting",
                        f"Leave {name} out",
                    )
        self._untuned_features.check()

    @property
    def _is_logistic(self) -> bool:
        return isinstance(self.label_model, str)

    @property
    def _open_features(self) -> bool:
        return isinstance(self.features, str) and self.features == "auto"

    @property
    def _untuned_features(self) -> FeatureMap:
        return Plain() if self._open_features else feature_map(self.features)

    def linear_in_columns(self) -> bool:
        return self._is_logistic and not self._untuned_features.has_centers

    def candidates(self, training: Training, solution: Any) -> Iterator[Candidate]:
        """Features, cheapest first, as long as each kind lowers the loss by more than one standard error.

        The same for the penalties of each kind, strongest first: the search stops at the first that
        does not gain so much.
        """
        split = hold_out(training)
        if split is None:
            return
        kinds = self._kinds(training)
        open_penalty = self._is_logistic and self.penalty == "auto"
        penalties = PENALTIES if open_penalty else (self.penalty,)
        if len(kinds) * len(penalties) == 1:
            return
        best: Candidate | None = None
        for features in kinds:
            best_of_kind: Candidate | None = None
            for found in self._path(training, split, features, penalties):
                yield found
                if best_of_kind is not None and not found.is_better(best_of_kind):
                    break
                best_of_kind = found
            assert best_of_kind is not None
            if best is not None and not best_of_kind.is_better(best):
                return
            best = best_of_kind

    def _path(
        self, training: Training, split: HoldOut, features: FeatureMap, penalties: Sequence[float | str]
    ) -> Iterator[Candidate]:
        """One kind of features with one penalty after the other, each fit starting from the last."""
        indicator = _required_labels(training).indicator()[split.held]
        labeled = labeled_set(training, features, training.rng, split.part)
        held = prepared_like(training, labeled, split.held)
        shares = np.broadcast_to(labeled.label_means, indicator.shape)
        chance = log_losses(shares, indicator, labeled.exclusive)
        weights = None if training.weights is None else training.weights[split.held]
        start = None
        for penalty in penalties:
            limits = {"max_steps": TRIAL_STEPS, "tolerance": TRIAL_TOLERANCE}
            model = self._fit_label_model(labeled, penalty, start, **limits)
            start = _Start(labeled, model)
            losses = log_losses(model.probabilities(held), indicator, labeled.exclusive)
            found = clone(self).set_params(features=features, penalty=penalty)
            found._start = start
            yield Candidate(found, losses, chance, int(labeled.preparation.rbf is not None), weights)

    def _kinds(self, training: Training) -> list[FeatureMap]:
        if not self._open_features:
            return [self._untuned_features]
        n_labels = len(_required_labels(training).names)
        return [Plain()] if n_labels > MOST_LABELS_OF_RBF else worth_trying(training.rows)

    def fit(self, training: Training, solution: Solution) -> Fitted:
        supervision = training.supervision
        _require_zero_rounding(solution)
        _required_labels(training)
        labeled, model = self._learned(training)
        with training.stages("label model"):
            temperature = self._temperature(supervision, solution.n_bits)
            expected = expected_similarity(model.softened(temperature), supervision, solution)
        with training.stages("codes"):
            if solution.embedding is not None:
                solution = _rotated(solution, training, labeled, expected)
            scores = solution.group_scores(supervision, training.n_jobs)
            assert solution.readout is not None
            found = ExpectedMap(labeled.preparation, expected, solution.readout, np.zeros(solution.n_bits))
        facts = {**self.chosen(), "temperature": temperature}
        marginals = solution.marginals(scores)
        return Fitted.of_groups(found, scores > 0, marginals, supervision.group_of_row, scores, **facts)

    def chosen(self) -> dict[str, object]:
        """What the label model is fitted with, for the report."""
        return {
            "features": self._untuned_features.name,
            "label_model": "logistic" if self._is_logistic else type(self.label_model).__name__,
            "penalty": _number(self.penalty) if self._is_logistic else None,
        }

    def fit_view(self, training: Training, first: ExpectedMap, temperature: float) -> ExpectedMap:
        """The map of another view of the same labels: its own label model, the readout of ``first``.

        Labels are counted as those of ``first``. ``temperature`` is the one that ``first`` has.
        """
        labeled, model = self._learned(training)
        expected = first.expected.with_model(model.softened(temperature))
        return replace(first, preparation=labeled.preparation, expected=expected)

    def _learned(self, training: Training) -> tuple[LabeledSet, LabelModel]:
        """Prepared rows, and the label model fitted on them."""
        features, start = self._untuned_features, self._start
        if start is not None and features.count_centers(len(training.known_rows)) > start.n_centers:
            start = None  # rows that were held out may become centers now
        with training.stages("features"):
            centers = None if start is None else start.labeled.preparation.rbf
            labeled = labeled_set(training, features, training.rng, rbf=centers)
        with training.stages("label model"):
            short = start is not None and len(labeled.rows) > MANY_ROWS
            limits = {"max_steps": WARM_STEPS} if short else {}
            return labeled, self._fit_label_model(labeled, self.penalty, start, **limits)

    def _fit_label_model(
        self, rows: LabeledSet, penalty: float | str, start: _Start | None = None, **limits: Any
    ) -> LabelModel:
        if not self._is_logistic:
            return _fit_classifier(self.label_model, rows)
        begin = None if start is None else start.model.start_for(start.labeled.preparation, rows.preparation)
        return logistic_labels(rows, _number(penalty), begin, **limits)

    def _temperature(self, supervision: Supervision, n_bits: int) -> float:
        if not self._is_logistic:
            return 1.0
        if self.temperature != "auto":
            return float(self.temperature)
        if not isinstance(supervision, ClassSupervision):
            return TAG_TEMPERATURE
        if supervision.between is not None or not needs_codewords(supervision.n_groups, n_bits):
            return CLASS_TEMPERATURE
        return CODEWORD_TEMPERATURE if supervision.levels is None else TREE_TEMPERATURE


def _number(penalty: float | str) -> float:
    return UNTUNED_PENALTY if penalty == "auto" else float(penalty)


def expected_similarity(
    model: LabelModel, supervision: Supervision, solution: Solution
) -> ExpectedSimilarity:
    """Similarities to the anchors of a solution, expected by a label model."""
    labels = supervision.labels
    assert labels is not None
    rows = solution.sample.one_row_each(supervision.group_of_row)
    if isinstance(supervision, ClassSupervision):
        assert labels.classes is not None
        return ClassSimilarity(model, labels.classes[rows], supervision.between)
    assert isinstance(supervision, TagSupervision)
    patterns = labels.indicator()[rows].toarray().astype(np.uint8)
    if isinstance(supervision, TreeTagSupervision):
        return TreeTagSimilarity.of_levels(model, patterns, supervision.level_of_tag, supervision.weights)
    return TagSimilarity(model, patterns, supervision.graded)


def _rotated(
    solution: Solution, training: Training, labeled: LabeledSet, expected: ExpectedSimilarity
) -> Solution:
    """Rotate relaxed codes so that they round well, then let their bits rank rows by S.

    Rows are queries by what features predict, and a database halfway between that and what labels say.
    """
    assert solution.embedding is not None
    supervision = training.supervision
    some = labeled.some(training.rng, ROTATION_ROWS)
    group = supervision.group_of_row[labeled.rows[some]]
    groups, own = np.unique(group, return_inverse=True)
    known = solution.embedding.of(supervision.similarity(groups, solution.sample.groups))[own]
    predicted = solution.embedding.of(expected.similarity(labeled.features[some]))
    halfway = (known + predicted) / 2
    rotation = fit_rotation(halfway, solution.n_bits, training.rng, solution.embedding.n_rounds)

    def similarity(left: Ints, right: Ints) -> Floats:
        return supervision.similarity(group[left], group[right])

    weights = rank_kin(rotation, predicted, halfway, similarity, training.rng)
    return solution.turned(weights)


def _required_labels(training: Training) -> Labels:
    labels = training.supervision.labels
    if labels is None:
        raise InvalidInput(
            "Expected labels were asked for with pairs or similarities",
            "classes or tags, which a label model can predict",
            "Call fit(X, y), or use encoder='ridge'",
        )
    return labels


def _require_zero_rounding(solution: Solution) -> None:
    if solution.rounding != "zero":
        raise InvalidInput(
            f"rounding={solution.rounding!r} was asked for together with expected labels",
            "rounding='zero', the only one that the solver's own extension knows",
            "Leave rounding out, or use encoder='ridge'",
        )


def _fit_classifier(classifier: Any, rows: LabeledSet) -> LabelModel:
    counted: Ints = np.arange(len(rows.rows)) if rows.weights is None else np.flatnonzero(rows.weights > 0)
    all_equal = rows.weights is None or (rows.weights[counted] == 1).all()
    weights = None if all_equal or rows.weights is None else rows.weights[counted]
    labels = rows.labels[counted]
    target = labels.toarray()
    if rows.exclusive:
        target = target.argmax(axis=1)
    return ClassifierLabels.fit(classifier, rows.features[counted], target, labels.shape[1], weights)
