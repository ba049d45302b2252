"""Encode a new row by the same energy as the training rows, with the supervision a label model expects for
it.

Steps of a fit: prepare the features, fit the label model, turn the solver's codes (where it leaves the
rotation free) so that what the model predicts rounds well, and read off the codes of all groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._check import check_choice, check_number
from .._types import Bools, Floats, Ints
from ..errors import InvalidInput, UnknownName
from ..labels import Labels
from ..solvers import Solution
from ..solvers.sample import Sample
from ..training import Training
from .base import Encoder, Fitted
from .expected import ExpectedMap, LabelSimilarity
from .features import FEATURES, RBF, FeatureMap, feature_map
from .label_models import ClassifierLabels, LabelModel, LinearLabels
from .labelled import LabelledSet, labelled_set, moments_of_labelled
from .least_squares import choose_alpha, ridge_weights
from .logistic import Coefficients, fit_logistic
from .recoding import RECODE_ROWS, Recoding
from .ridge import ROTATION_ROWS

__all__ = ["ExpectedLabels", "Start", "fit_label_model", "label_patterns", "softened"]

MANY_ROWS = 40_000  # a label model of more rows, which starts from one of some of them,
WARM_STEPS = 10  # takes no more steps than this
LABEL_MODELS = ("logistic", "ridge")
DATABASES = ("fitted", "later")


@dataclass(frozen=True)
class Start:
    """What was fitted to some of the rows, from which the fit of all of them may begin.

    ``rotation`` (r, d) is the best of several where the solver leaves it free, else None.
    """

    labelled: LabelledSet
    model: LabelModel
    rotation: Floats | None = None


@dataclass(repr=False, kw_only=True)
class ExpectedLabels(Encoder):
    """A label model, and the solver's own readout of the similarities it expects.

    Settings that are "auto" are chosen on held-out rows inside ``fit`` of the hasher; where there are too
    few rows for that, they are what stands in brackets.

    Parameters
    ----------
    label_model : "logistic", "ridge", a scikit-learn classifier with ``predict_proba``, or "auto" [logistic,
        as wherever a penalty or a temperature is given].
    penalty : of the label model: a number, or "auto" [1]; ridge takes generalised cross-validation.
    temperature : label scores are divided by it before they become probabilities; above 1 it softens a model
        that is too sure of itself, so that the runners-up shape the code too. "auto" [1]. Logistic only.
    features : "plain", "rbf", "both", a `Plain`, `RBF` or `Both` object, or "auto" [plain].
    recode : curvature with which learned codes of tag sets are fitted to the bits the map really produces; 0
        leaves them as the solver has them. "auto" [0].
    database : what will be searched, for which settings are chosen: above all rows that were "fitted", by
        learned or mapped codes, or rows that come "later", of which nothing is known while fitting.
    """

    label_model: Any = "auto"
    penalty: Any = "auto"
    temperature: Any = "auto"
    features: Any = "auto"
    recode: Any = "auto"
    database: str = "fitted"

    def check(self) -> None:
        if isinstance(self.label_model, str) and self.label_model not in ("auto", *LABEL_MODELS):
            raise UnknownName.among("label model", self.label_model, ("auto", *LABEL_MODELS))
        if not isinstance(self.label_model, str) and not hasattr(self.label_model, "predict_proba"):
            raise InvalidInput(
                f"label_model is {self.label_model!r}",
                f"one of {', '.join(LABEL_MODELS)}, or a classifier with predict_proba",
                "Pass a name, or such a classifier",
            )
        for name in ("penalty", "temperature"):
            if getattr(self, name) != "auto":
                check_number(name, getattr(self, name), 0.0, open_low=True)
        if self.recode != "auto":
            check_number("recode", self.recode, 0.0)
        check_choice("database", self.database, DATABASES)
        if not isinstance(self.features, str) or self.features not in ("auto", *FEATURES):
            feature_map(self.features).check()
        self._check_no_effect()

    def _check_no_effect(self) -> None:
        """Refuse settings that would be ignored."""
        logistic = isinstance(self.label_model, str) and self.label_model != "ridge"
        if not logistic and self.temperature not in ("auto", 1):
            raise InvalidInput(
                f"temperature={self.temperature} was asked for with label_model={self.label_model!r}",
                "label_model='logistic', whose scores can be softened",
                "Leave temperature out",
            )
        if not isinstance(self.label_model, str) and self.penalty != "auto":
            raise InvalidInput(
                f"penalty={self.penalty} was asked for with a classifier of your own",
                "the classifier's own penalty",
                "Set it on the classifier",
            )
        if self.database == "later" and not self.leaves_open:
            raise InvalidInput(
                "database='later' was asked for with every other setting given",
                "a setting that is 'auto', to be chosen for such a database",
                "Leave database out, or some other setting",
            )

    @property
    def leaves_open(self) -> bool:
        """Whether there is anything to choose."""
        settings = (self.penalty, self.temperature, self.features, self.recode)
        is_open = any(isinstance(value, str) and value == "auto" for value in settings)
        return is_open or len(self.label_models) > 1

    @property
    def label_models(self) -> list[Any]:
        """What may become the label model, the plain one first."""
        if not isinstance(self.label_model, str) or self.label_model != "auto":
            return [self.label_model]
        given = self.penalty != "auto" or self.temperature != "auto"
        return ["logistic"] if given else ["logistic", "ridge"]

    def fit(self, training: Training, solution: Solution, start: Start | None = None) -> Fitted:
        supervision, rng = training.supervision, training.rng
        labels = self._required_labels(training, solution)
        features = feature_map("plain" if self.features == "auto" else self.features)
        rotation = None if start is None else start.rotation
        if isinstance(features, RBF) and start is not None:
            tried = start.labelled.preparation.rbf
            assert tried is not None
            enough = features.count(len(training.known_rows)) <= len(tried.centers)
            start = start if enough else None  # rows that were held out may become centres now
        with training.stages("features"):
            centers = None if start is None else start.labelled.preparation.rbf
            labelled = labelled_set(training, features, rng, rbf=centers)
        with training.stages("label model"):
            short = start is not None and len(labelled.rows) > MANY_ROWS
            limits = {"max_steps": WARM_STEPS} if short else {}
            model = fit_label_model(self.label_models[0], labelled, self._penalty, start, **limits)
            patterns = label_patterns(labels, solution.sample, supervision.group_of_row)
            expected = LabelSimilarity(softened(model, self._temperature), patterns, labelled.exclusive)
        with training.stages("codes"):
            if solution.embedding is not None:
                some = labelled.some(rng, ROTATION_ROWS)
                predicted = solution.embedding.of(expected.similarity(labelled.features[some]))
                solution = solution.rotated(predicted, rng, None if rotation is None else 20, rotation)
            scores = solution.group_scores(supervision, training.n_jobs)
            bits = scores > 0
            assert solution.readout is not None
            found = ExpectedMap(labelled.preparation, expected, solution.readout, np.zeros(solution.n_bits))
            recoding = None
            if self.recode not in ("auto", 0):
                recoding, bits = _recoding(training, labelled, found, scores, solution, self.recode)
        facts = self._facts(features, model)
        marginals = solution.marginals(scores)
        fitted = Fitted.of_groups(found, bits, marginals, supervision.group_of_row, **facts)
        return replace(fitted, recoding=recoding)

    @property
    def _penalty(self) -> float | None:
        return None if self.penalty == "auto" else float(self.penalty)

    @property
    def _temperature(self) -> float:
        return 1.0 if self.temperature == "auto" else float(self.temperature)

    def _required_labels(self, training: Training, solution: Solution) -> Labels:
        labels = training.supervision.labels
        if labels is None or solution.readout is None:
            raise InvalidInput(
                "Expected labels were asked for with pairs or similarities",
                "classes or tags, which a label model can predict",
                "Call fit(X, y), or use encoder='ridge'",
            )
        if solution.rounding != "zero":
            raise InvalidInput(
                f"rounding={solution.rounding!r} was asked for together with expected labels",
                "rounding='zero', the only one that the solver's own extension knows",
                "Leave rounding out, or use encoder='ridge'",
            )
        return labels

    def _facts(self, features: FeatureMap, model: LabelModel) -> dict[str, Any]:
        logistic = isinstance(model, LinearLabels) and model.link != "cut"
        kind = self.label_models[0]
        return {
            "features": features.name,
            "label_model": kind if isinstance(kind, str) else type(kind).__name__,
            "label_penalty": (self._penalty or 1.0) if logistic else self._penalty,
            "temperature": self._temperature,
            "recode": 0.0 if self.recode == "auto" else float(self.recode),
        }


def fit_label_model(
    kind: Any, rows: LabelledSet, penalty: float | None, start: Start | None = None, **limits: Any
) -> LabelModel:
    """Fit a label model; ``penalty`` None is 1 for logistic, and chosen by cross-validation for ridge."""
    if not isinstance(kind, str):
        return _fit_classifier(kind, rows)
    if kind == "ridge":
        moments = moments_of_labelled(rows)
        weights = ridge_weights(moments, choose_alpha("gcv" if penalty is None else penalty, moments))
        intercept = moments.target_mean.astype(np.float32)
        return LinearLabels(weights.astype(np.float32), intercept, link="cut")
    begin = None if start is None else _carried_over(start.labelled, start.model, rows)
    found = fit_logistic(rows, 1.0 if penalty is None else penalty, start=begin, **limits)
    return LinearLabels(found.weights, found.intercept, link="softmax" if rows.exclusive else "sigmoid")


def _fit_classifier(classifier: Any, rows: LabelledSet) -> LabelModel:
    counted = np.arange(len(rows.rows)) if rows.weights is None else np.flatnonzero(rows.weights > 0)
    all_alike = rows.weights is None or (rows.weights[counted] == 1).all()
    weights = None if all_alike or rows.weights is None else rows.weights[counted]
    labels = rows.labels[counted]
    target = labels.toarray()
    if rows.exclusive:
        target = target.argmax(axis=1)
    return ClassifierLabels.fit(classifier, rows.features[counted], target, labels.shape[1], weights)


def _carried_over(fitted_on: LabelledSet, model: LabelModel, rows: LabelledSet) -> Coefficients | None:
    """A model of rows prepared one way, for rows prepared another way: only mean and scale differ."""
    if not isinstance(model, LinearLabels):
        return None
    old, new = fitted_on.preparation, rows.preparation
    weights = model.weights.astype(np.float64)
    shift = ((new.mean - old.mean) / old.scale) @ weights
    scaled = (new.scale / old.scale)[:, None] * weights
    return Coefficients(scaled.astype(np.float32), (model.intercept + shift).astype(np.float32))


def softened(model: LabelModel, temperature: float) -> LabelModel:
    """A logistic model whose scores are divided by ``temperature``; other models have no scores to soften."""
    if isinstance(model, LinearLabels) and model.link != "cut" and temperature != 1:
        scale = np.float32(1 / temperature)
        return LinearLabels(scale * model.weights, scale * model.intercept, model.link)
    return model


def label_patterns(labels: Labels, sample: Sample, group_of_row: Ints) -> Any:
    """Label patterns (m, t) of the sample's entries."""
    rows = sample.one_row_each(group_of_row)
    return labels.indicator()[rows].toarray().astype(np.uint8)


def _recoding(
    training: Training,
    labelled: LabelledSet,
    found: ExpectedMap,
    scores: Floats,
    solution: Solution,
    curvature: float,
) -> tuple[Recoding, Bools]:
    """How learned codes are fitted to the map's bits, and those of all groups."""
    some = labelled.some(training.rng, RECODE_ROWS)
    bits = found.readout.scores(found.expected.similarity(labelled.features[some])) > 0
    groups, rows = np.arange(training.supervision.n_groups), labelled.rows[some]
    return Recoding.fit(training, groups, scores, rows, bits, solution.sample, curvature)
