"""Label models: from prepared features to probabilities of tags or classes.

The logistic model fits all labels at once: one independent problem per tag, or one softmax over classes. For
label t: ``min Σ_i w_i [log(1 + e^{z_it}) − y_it z_it] + ½λ‖W_t‖²`` with ``z = x W + c``. The labels
enter through ``XᵀY`` alone, which is summed once. The Hessian is close to ``s·XᵀX + λI`` with s the usual
``p(1 − p)``; in coordinates turned by the Cholesky factor of that it is close to the identity, and L-BFGS
needs a dozen or two steps, on correlated features too. All labels share the products with X; each tag has
its own step and its own history, while classes, which exclude each other (``log Σ_t e^{z_it} − z_{i,y_i}``),
move together.

Liu, Nocedal. On the limited memory BFGS method for large scale optimization. 1989.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices, map_blocks
from .._internal.numerics import sigmoid
from .._internal.types import Array, Bools, Floats, Floats32, Ints
from ..models import LOGIT_BITS, Builder, Unsupported
from .feature_transform import Preparation
from .features import LabeledSet

if TYPE_CHECKING:
    from .column_reduction import NarrowRows

__all__ = [
    "ClassifierLabels",
    "Coefficients",
    "LabelModel",
    "LinearLabels",
    "fit_logistic",
    "log_losses",
    "logistic_labels",
]

LEAST_CHANCE = 1e-6  # keeps the log loss of a sure and wrong model finite
MEMORY = 8  # steps L-BFGS remembers
BLOCK = 640  # rows of a block, which is read twice and should stay in the cache meanwhile;
SCORES = 4_000_000  # fewer where labels are thousands


class LabelModel(ABC):
    """P(label | row) for every label, tags taken as independent given the row."""

    @abstractmethod
    def probabilities(self, z: Floats32) -> Array:
        """Probabilities (k, t) of prepared rows (k, q)."""

    def part(self, labels: slice) -> LabelModel:
        """The same for some of the labels."""
        raise Unsupported("a scikit-learn classifier predicts the labels, in an arithmetic of its own")

    def softened(self, temperature: float) -> LabelModel:
        """The same with scores divided by ``temperature``, where there are any."""
        return self

    def start_for(self, old: Preparation, new: Preparation) -> Coefficients | None:
        """Where the fit of rows prepared as ``new`` can begin, after this fit of rows prepared as ``old``."""
        return None

    def widened(self, inner: Preparation, rows: NarrowRows) -> LabelModel:
        """The same of raw rows, where this one is of narrow rows; see `column_reduction`."""
        raise Unsupported("a scikit-learn classifier is not linear in the columns")

    def logits(self, builder: Builder, preparation: Preparation) -> int:
        """Scores of labels as steps of whole numbers; a softmax or σ turns them into probabilities."""
        raise Unsupported("a scikit-learn classifier predicts the labels, in an arithmetic of its own")


@dataclass(frozen=True)
class LinearLabels(LabelModel):
    """Scores ``z W + c`` of all labels through a link: tags by σ, classes by softmax."""

    weights: Floats32
    intercept: Floats32
    link: str = "sigmoid"

    def part(self, labels: slice) -> LinearLabels:
        return LinearLabels(self.weights[:, labels], self.intercept[labels], self.link)

    def probabilities(self, z: Floats32) -> Array:
        raw = z @ self.weights
        raw += self.intercept
        if self.link == "sigmoid":
            return sigmoid(raw)
        odds = np.exp(raw - raw.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)

    def softened(self, temperature: float) -> LabelModel:
        scale = np.float32(1 / temperature)
        return LinearLabels(scale * self.weights, scale * self.intercept, self.link)

    def start_for(self, old: Preparation, new: Preparation) -> Coefficients:
        """Only mean and scale differ, so the same scores have other coefficients."""
        weights = self.weights.astype(np.float64)
        shift = ((new.mean - old.mean) / old.scale) @ weights
        scaled = (new.scale / old.scale)[:, None] * weights
        return Coefficients(scaled.astype(np.float32), (self.intercept + shift).astype(np.float32))

    def widened(self, inner: Preparation, rows: NarrowRows) -> LabelModel:
        return LinearLabels(*rows.folded(self.weights, self.intercept, inner), link=self.link)

    def logits(self, builder: Builder, preparation: Preparation) -> int:
        return preparation.product(builder, self.weights, self.intercept, LOGIT_BITS)[0]


@dataclass(frozen=True)
class ClassifierLabels(LabelModel):
    """Any fitted scikit-learn classifier with ``predict_proba``; kept in memory only.

    Its arithmetic is its own: what `RegressorMap` says of regressors holds for it too.

    ``columns`` says where each class of the classifier stands among our labels; ``always`` are tags that
    every row carried.
    """

    classifier: Any
    columns: Ints
    n_labels: int
    always: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @classmethod
    def fit(
        cls, classifier: Any, z: Floats32, labels: Array, n_labels: int, weights: Floats | None = None
    ) -> ClassifierLabels:
        """Fit a clone on prepared rows; ``labels`` is (n,) class numbers or an (n, t) 0/1 matrix."""
        from sklearn.base import clone
        from sklearn.multioutput import MultiOutputClassifier
        from sklearn.utils import get_tags

        fitted = clone(classifier)
        extra = {} if weights is None else {"sample_weight": weights}
        if labels.ndim == 1:
            fitted.fit(z, labels, **extra)
            return cls(fitted, np.asarray(fitted.classes_, np.int64), n_labels)
        # A tag that never varies needs no model, and most classifiers refuse to fit one.
        varies = np.flatnonzero((labels.min(axis=0) == 0) & (labels.max(axis=0) == 1))
        tags = get_tags(fitted)
        if not (tags.target_tags.multi_output or getattr(tags.classifier_tags, "multi_label", False)):
            fitted = MultiOutputClassifier(fitted)
        fitted.fit(z, labels[:, varies], **extra)
        always = np.flatnonzero(labels.min(axis=0) == 1)
        return cls(fitted, varies, n_labels, always)

    def probabilities(self, z: Floats32) -> Array:
        found = self.classifier.predict_proba(z)
        if isinstance(found, list):  # one (k, 2) array per tag
            found = np.column_stack([tag[:, 1] for tag in found])
        out = np.zeros((len(z), self.n_labels), np.float32)
        out[:, self.columns] = found
        out[:, self.always] = 1.0
        return out


def log_losses(chances: Array, labels: sp.csr_array, exclusive: bool) -> Floats:
    """Negative log-likelihood (n,) of labels, an indicator (n, t) in CSR, given probabilities (n, t)."""
    chances = np.clip(chances, LEAST_CHANCE, 1 - LEAST_CHANCE).astype(np.float64)
    row = np.repeat(np.arange(len(chances)), np.diff(labels.indptr))
    own = chances[row, labels.indices]
    weights = np.log(own) if exclusive else np.log(own) - np.log1p(-own)
    found: Floats = np.bincount(row, weights, len(chances)).astype(np.float64)
    return -found if exclusive else -(found + np.log1p(-chances).sum(axis=1))


@dataclass(frozen=True)
class Coefficients:
    """Weights (q, t) and intercepts (t,) of all labels."""

    weights: Floats32
    intercept: Floats32


def fit_logistic(
    rows: LabeledSet,
    penalty: float,
    *,
    start: Coefficients | None = None,
    max_steps: int = 25,
    tolerance: float = 3e-3,
) -> Coefficients:
    """Fit until the gradient has shrunk by ``tolerance``, or ``max_steps`` passes were made.

    Each step reads all rows once: 4·n·q·t operations. Memory beyond the rows: about twenty (q, t) arrays and
    one (q, q).
    """
    problem = _Problem(rows, penalty)
    theta = problem.starting_point(start)
    value, gradient = problem(theta)
    first = float((gradient**2).sum())
    history = _History(rows.exclusive)
    dot = history.dot
    direction = -gradient
    step = np.ones(len(value))
    for _ in range(max_steps):
        if not first or float((gradient**2).sum()) <= tolerance**2 * first:
            break
        uphill = dot(gradient, direction) >= 0
        direction[:, uphill] = -gradient[:, uphill]
        slope = dot(gradient, direction)
        new_value, new_gradient = problem(theta + step * direction)
        # Labels whose step went too far stay where they are and try a shorter one next time.
        fine = new_value <= value + 1e-4 * step * slope + 1e-6 * np.abs(value)
        moved = np.where(fine, step * direction, 0.0)
        history.add(moved, np.where(fine, new_gradient - gradient, 0.0), fine)
        theta, value = theta + moved, np.where(fine, new_value, value)
        gradient = np.where(fine, new_gradient, gradient)
        direction = np.where(fine, history.direction(gradient), direction)
        step = np.where(fine, 1.0, 0.4 * step)
    return problem.coefficients(theta)


def logistic_labels(
    rows: LabeledSet, penalty: float, start: Coefficients | None = None, **limits: Any
) -> LinearLabels:
    """The label model of those coefficients: softmax over classes, a sigmoid for each tag."""
    found = fit_logistic(rows, penalty, start=start, **limits)
    return LinearLabels(found.weights, found.intercept, link="softmax" if rows.exclusive else "sigmoid")


class _Problem:
    """Value (t,) and gradient (q + 1, t) in turned coordinates; the last row is the intercept."""

    def __init__(self, rows: LabeledSet, penalty: float) -> None:
        self.rows, self.penalty = rows, penalty
        means, self.total = rows.label_means, rows.total_weight
        self.chance = (means * self.total + 0.5) / (self.total + 1)
        spread = np.minimum(self.chance * (1 - self.chance), 0.25)
        self.factor, self.inverse = _preconditioner(rows.gram_estimate * float(spread.mean()), penalty)
        self.intercept_scale = 1 / np.sqrt(np.maximum(self.total * spread, 1e-12))

    def starting_point(self, start: Coefficients | None) -> Floats:
        q, t = len(self.inverse), len(self.chance)
        theta = np.zeros((q + 1, t))
        theta[q] = np.log(self.chance / (1.0 if self.rows.exclusive else 1 - self.chance))
        if start is not None:
            theta[:q] = self.factor.T @ start.weights
            theta[q] = start.intercept
        theta[q] /= self.intercept_scale
        return theta

    def coefficients(self, theta: Floats) -> Coefficients:
        weights = self.inverse.T @ theta[:-1].astype(np.float32)
        return Coefficients(weights, (theta[-1] * self.intercept_scale).astype(np.float32))

    def __call__(self, theta: Floats) -> tuple[Floats, Floats]:
        at = self.coefficients(theta)
        features, weights, exclusive = self.rows.features, self.rows.weights, self.rows.exclusive

        def one(part: slice) -> tuple[Floats, Floats32, Floats]:
            x = features[part]
            z = x @ at.weights
            z += at.intercept
            some = None if weights is None else weights[part].astype(np.float32)
            loss, chance = _softmax_parts(z, some) if exclusive else _sigmoid_parts(z, some)
            return loss, x.T @ chance, chance.sum(axis=0, dtype=np.float64)

        blocks = block_slices(len(features), int(np.clip(SCORES // len(at.intercept), 256, BLOCK)))
        value = np.zeros(len(at.intercept))
        by_weight, by_intercept = np.zeros(at.weights.shape), np.zeros(len(at.intercept))
        for loss, gradient, chances in map_blocks(one, blocks, self.rows.n_jobs):
            value += loss
            by_weight += gradient
            by_intercept += chances
        plain = at.weights.astype(np.float64)
        sums = self.rows.label_means * self.total
        value -= (plain * self.rows.cross).sum(axis=0) + at.intercept * sums
        value += 0.5 * self.penalty * (plain**2).sum(axis=0)
        if exclusive:  # one problem: every class sees its whole value
            value[:] = value.sum()
        raw = by_weight - self.rows.cross + self.penalty * plain
        turned = self.inverse @ raw.astype(np.float32)
        return value, np.vstack([turned, ((by_intercept - sums) * self.intercept_scale)[None]])


def _preconditioner(hessian: Floats, penalty: float) -> tuple[Floats32, Floats32]:
    """Cholesky factor L of the Hessian plus the penalty, and L⁻¹, so that W = L⁻ᵀ θ.

    In float32, which is enough for what only speeds up a fit, with as much added as its rounding needs.
    """
    from scipy.linalg.lapack import spotrf, strtri

    size = float(np.trace(hessian)) / len(hessian)
    for jitter in (1e-6, 1e-5, 1e-4, 1e-3):
        raised = hessian.astype(np.float32)
        raised[np.diag_indices_from(raised)] += np.float32(penalty + jitter * size)
        lower, failed = spotrf(raised, lower=1, overwrite_a=1)
        if not failed:
            return lower, strtri(lower, lower=1)[0]
    diagonal = np.sqrt(np.diag(hessian) + penalty + 1e-3 * size).astype(np.float32)
    return np.diag(diagonal), np.diag(1 / diagonal)


def _sigmoid_parts(z: Floats32, weights: Floats32 | None) -> tuple[Floats, Floats32]:
    """Weighted sums (t,) of log(1 + e^z) over the rows, and weighted σ(z), which may take the place of z."""
    if weights is None:
        from .fit_kernels import sigmoids_and_losses

        return sigmoids_and_losses(z), z
    decay = np.exp(-np.abs(z))
    loss = np.log(1 + decay) + np.maximum(z, 0)
    chance = np.where(z > 0, np.float32(1), decay) / (1 + decay) * weights[:, None]
    return (loss * weights[:, None]).sum(axis=0, dtype=np.float64), chance


def _softmax_parts(z: Floats32, weights: Floats32 | None) -> tuple[Floats, Floats32]:
    """The same of log Σ e^z and the softmax; a row's loss counts as if it were that of the first label."""
    top = z.max(axis=1, keepdims=True)
    z -= top
    odds = np.exp(z, out=z)
    total = odds.sum(axis=1, keepdims=True)
    odds /= total
    loss = np.log(total) + top
    if weights is not None:
        loss *= weights[:, None]
        odds *= weights[:, None]
    losses = np.zeros(z.shape[1])
    losses[0] = loss.sum(dtype=np.float64)
    return losses, odds


class _History:
    """The last steps and gradient changes of every label, and the direction they suggest."""

    def __init__(self, together: bool) -> None:
        self.together = together
        self.steps: list[Floats] = []
        self.changes: list[Floats] = []
        self.rates: list[Floats] = []

    def dot(self, left: Floats, right: Floats) -> Floats:
        """Inner products (t,) per label, or the one over all labels for every label."""
        products = np.einsum("ij,ij->j", left, right)
        return np.full_like(products, products.sum()) if self.together else products

    def add(self, step: Floats, change: Floats, fine: Bools) -> None:
        product = self.dot(step, change)
        useful = fine & (product > 1e-12 * self.dot(change, change)) & (product > 0)
        self.steps.append(step)
        self.changes.append(change)
        self.rates.append(np.where(useful, 1 / np.where(useful, product, 1.0), 0.0))
        for kept in (self.steps, self.changes, self.rates):
            del kept[:-MEMORY]

    def direction(self, gradient: Floats) -> Floats:
        """Two-loop recursion; a label without a useful last step keeps the unit metric."""
        q = gradient.copy()
        alphas = []
        for s, y, rate in zip(self.steps[::-1], self.changes[::-1], self.rates[::-1], strict=True):
            alpha = rate * self.dot(s, q)
            q -= alpha * y
            alphas.append(alpha)
        size = self.rates[-1] * self.dot(self.changes[-1], self.changes[-1])
        q /= np.where(size > 0, size, 1.0)
        for s, y, rate, alpha in zip(self.steps, self.changes, self.rates, alphas[::-1], strict=True):
            q += (alpha - rate * self.dot(y, q)) * s
        return -q
