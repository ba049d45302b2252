"""Trained heads: a linear map of prepared features, descended by mini-batches on any loss of its scores.

One trainer for all such rivals, so that what differs between their rows is the loss alone. What a user
leaves open (features, step, penalty, epochs) is chosen on the rows that our own tuner would hold out, by the
same average precision, and by as many candidates or more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.paper.maps import LinearMap
from kinhash.paper.similarity import Training
from kinhash.plugins import Bools, Floats32, Ints, check_integer, check_number

from .features import (
    Features,
    LabeledSet,
    features_of_name,
    hold_out,
    labeled_set,
    prepared_like,
    worth_trying,
)
from .judge import HELD_ROWS, SEEN_ROWS, MapJudge

__all__ = ["AUTO", "Batch", "Descent", "HeadLoss", "OpenSettings", "descend", "fit_head"]

AUTO = "auto"
START_STEP, START_PENALTY, START_EPOCHS = 0.01, 0.1, 10
MOST_EPOCHS = 90
GAIN = 0.001  # what a move must gain
EPOCHS_GAIN = 0.003  # what three times as many must gain
FAR_BEHIND = 0.03
LEAST_STEPS = 200  # of few rows an epoch is a batch or two
DECAYS = (0.9, 0.999)  # of Adam's two means
DENSE_LABELS = 50_000_000  # numbers

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Batch:
    """Labels (b, C) of some rows as 0 and 1, and how far training has come, from 0 to 1."""

    labels: Array
    progress: float = 0.0

    @property
    def shares(self) -> Array:
        """Labels that sum to 1 in each row; a row without labels stays 0."""
        return self.labels / np.maximum(self.labels.sum(axis=1, keepdims=True), 1)

    @property
    def kin(self) -> Bools:
        """Whether two different rows share a label (b, b)."""
        found = self.labels @ self.labels.T > 0
        np.fill_diagonal(found, False)
        return found


class HeadLoss(ABC):
    """A loss of the scores of a batch. ``weights`` are arrays of its own that are trained along."""

    weights: Sequence[Array] = ()

    @abstractmethod
    def gradient(self, scores: Array, batch: Batch) -> tuple[float, Array, Sequence[Array]]:
        """The mean loss, its gradient in the scores (b, d), and those in the loss's own weights."""

    def codes(self, labels: Array) -> Array | None:
        """Codes (n, d) that rows of these labels are drawn to; None where there are none."""
        return None


@dataclass(frozen=True)
class Descent:
    """How to descend: step of Adam, decay of the weights per unit of step, passes over the rows."""

    step: float = START_STEP
    penalty: float = START_PENALTY
    n_epochs: float = START_EPOCHS


@dataclass(frozen=True)
class OpenSettings:
    """What a user gave, or "auto"."""

    features: Any = AUTO
    step: Any = AUTO
    penalty: Any = AUTO
    n_epochs: Any = AUTO
    batch: int = 256

    def check(self) -> None:
        """Refuse what is out of range."""
        if self.features != AUTO:
            features_of_name(self.features)
        if self.step != AUTO:
            check_number("step", self.step, 0.0, open_low=True)
        if self.penalty != AUTO:
            check_number("penalty", self.penalty, 0.0)
        if self.n_epochs != AUTO:
            check_integer("n_epochs", self.n_epochs, 1)
        check_integer("batch", self.batch, 2)

    @property
    def start(self) -> Descent:
        """The given values, and those to begin with."""
        given = {name: getattr(self, name) for name in ("step", "penalty", "n_epochs")}
        return Descent(**{name: value for name, value in given.items() if value != AUTO})

    def kinds(self, training: Training) -> list[Features]:
        """Features to try: as ours does."""
        if self.features != AUTO:
            return [features_of_name(self.features)]
        return worth_trying(training.rows)

    def n_steps(self, n_rows: int, descent: Descent) -> int:
        """Batches altogether; not too few where nothing was given."""
        wanted = int(np.ceil(descent.n_epochs * n_rows / self.batch))
        return max(wanted, LEAST_STEPS) if self.n_epochs == AUTO else wanted


MakeLoss = Callable[[np.random.Generator], HeadLoss]


def fit_head(
    training: Training, open_settings: OpenSettings, n_bits: int, make_loss: MakeLoss
) -> tuple[LinearMap, dict[str, Any]]:
    """The trained map, and what was chosen. ``make_loss(rng)`` gives a fresh loss for every candidate."""
    seed = int(training.rng.integers(1 << 62))
    features, descent, value = _choose(training, open_settings, n_bits, make_loss, seed)
    rows = labeled_set(training, features, training.rng)
    weights, losses = descend(rows, make_loss, descent, open_settings, n_bits, seed)
    found = LinearMap(rows.preparation, weights[:-1].astype(np.float32), weights[-1].astype(np.float32))
    facts: dict[str, Any] = {
        "features": features.name,
        "step": descent.step,
        "penalty": descent.penalty,
        "n_epochs": descent.n_epochs,
        "loss": losses,
    }
    return found, facts if value is None else {**facts, "held_out_score": value}


def descend(
    rows: LabeledSet,
    make_loss: MakeLoss,
    descent: Descent,
    settings: OpenSettings,
    n_bits: int,
    seed: int,
) -> tuple[Floats32, list[float]]:
    """Weights (q + 1, d), intercepts last, by Adam with a step that falls to 0; and the loss at ten times."""
    rng = np.random.default_rng(seed)
    loss, n = make_loss(rng), len(rows.features)
    head = np.zeros((rows.features.shape[1] + 1, n_bits), np.float32)
    head[:-1] = rng.standard_normal((len(head) - 1, n_bits)) / np.sqrt(max(len(head) - 1, 1))
    adam = Adam([head, *loss.weights], DECAYS)
    n_steps = settings.n_steps(n, descent)
    batches = _Batches(rows, min(settings.batch, n), rng)
    seen: list[float] = []
    for t in range(n_steps):
        chosen, labels = batches.draw()
        z = rows.features[chosen]
        scores = z @ head[:-1] + head[-1]
        value, pull, others = loss.gradient(scores, Batch(labels, t / n_steps))
        pull = pull.astype(np.float32)
        step = descent.step * 0.5 * (1 + np.cos(np.pi * t / n_steps))
        head[:-1] *= 1 - min(step * descent.penalty, 1.0)
        adam.move([np.concatenate([z.T @ pull, pull.sum(axis=0)[None]]), *others], step)
        seen.append(value)
    return head, [float(np.mean(part)) for part in np.array_split(seen, min(10, len(seen)))]


class _Batches:
    """Rows in random order, epoch after epoch; rows with weights are drawn as often as they weigh."""

    def __init__(self, rows: LabeledSet, size: int, rng: np.random.Generator) -> None:
        self.rows, self.size, self.rng = rows, size, rng
        self.waiting: Ints = np.zeros(0, np.int64)
        dense = rows.labels.shape[0] * rows.labels.shape[1] <= DENSE_LABELS
        self.labels = rows.labels.toarray().astype(np.float32) if dense else None

    def draw(self) -> tuple[Ints, Array]:
        if len(self.waiting) < self.size:
            self.waiting = self._epoch()
        chosen, self.waiting = self.waiting[: self.size], self.waiting[self.size :]
        if self.labels is not None:
            return chosen, self.labels[chosen]
        return chosen, self.rows.labels[chosen].toarray().astype(np.float32)

    def _epoch(self) -> Ints:
        n, weights = len(self.rows.features), self.rows.weights
        if weights is None:
            return self.rng.permutation(n)
        return self.rng.choice(n, max(n, self.size), p=weights / weights.sum())


def _choose(
    training: Training, settings: OpenSettings, n_bits: int, make_loss: MakeLoss, seed: int
) -> tuple[Features, Descent, float | None]:
    kinds = settings.kinds(training)
    wanted = len(kinds) > 1 or AUTO in (settings.step, settings.penalty, settings.n_epochs)
    split = hold_out(training) if wanted else None
    if split is None:
        return kinds[0], settings.start, None
    judge = MapJudge.of(training, split)
    best: tuple[Features, Descent, float] | None = None
    for features in kinds:
        rows = labeled_set(training, features, training.rng, split.part)
        held = prepared_like(training, rows, split.held[:HELD_ROWS])

        def value(descent: Descent, rows: LabeledSet = rows, held: Floats32 = held) -> float:
            weights, _ = descend(rows, make_loss, descent, settings, n_bits, seed)
            labels = rows.labels[:SEEN_ROWS].toarray()
            target = make_loss(np.random.default_rng(seed)).codes(labels)
            seen = rows.features[:SEEN_ROWS]
            asked, database = (z @ weights[:-1] + weights[-1] for z in (held, seen))
            return judge.value(asked, database, target)

        found = _walk(settings, value, None if best is None else best[1:])
        if best is None or found[1] > best[2]:
            best = (features, *found)
    assert best is not None
    return best


def _walk(
    settings: OpenSettings, value: Callable[[Descent], float], others: tuple[Descent, float] | None
) -> tuple[Descent, float]:
    """One setting after the other, either way as long as that gains.

    ``others`` is the best of other features: the walk starts there, and ends where it is far behind.
    """
    best = settings.start if others is None else others[0]
    reached = value(best)
    if others is not None and reached < others[1] - FAR_BEHIND:
        return best, reached
    ways = {"step": (3.0, 1 / 3), "penalty": (10.0, 0.1), "n_epochs": (3.0,)}
    for name, factors in ways.items():
        if getattr(settings, name) != AUTO or (name == "step" and others is not None):
            continue
        least = EPOCHS_GAIN if name == "n_epochs" else GAIN
        for factor in factors:
            before = best
            for _ in range(3):
                other = replace(best, **{name: getattr(best, name) * factor})
                found = value(other) if other.n_epochs <= MOST_EPOCHS else 0.0
                if found <= reached + least:
                    break
                best, reached = other, found
            if best != before:
                break
    return best, reached


class Adam:
    """Moves several arrays of weights in place; ``decays`` say how much is kept of each running mean."""

    def __init__(self, weights: Sequence[Array], decays: tuple[float, float]) -> None:
        self.weights, self.decays, self.t = weights, decays, 0
        self.means = [np.zeros_like(w) for w in weights]
        self.squares = [np.zeros_like(w) for w in weights]

    def move(self, gradients: Sequence[Array], step: float) -> None:
        """One step against the gradients, an array for each array of weights."""
        self.t += 1
        slow, slower = self.decays
        size = step * np.sqrt(1 - slower**self.t) / (1 - slow**self.t)
        for w, m, s, g in zip(self.weights, self.means, self.squares, gradients, strict=True):
            m += (1 - slow) * (g - m)
            s += (1 - slower) * (g * g - s)
            w -= size * m / (np.sqrt(s) + 1e-8)
