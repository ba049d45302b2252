"""Rows that are probably mislabeled: those whose own label is least expected of them.

Codes remember the labels that they were learned from, so they cannot judge them. From the features, a classifier
is fitted five times, each time without the rows it judges.

Probabilities are calibrated by a temperature and a share of wrong labels, both fitted to labels that the
judge did not see. A judge whose log loss is hardly below that of the label frequencies cannot judge, and
nothing is listed.

The order is by the chance of the label given (self-confidence). For tags it is by the least expected tag, or
lack of one, relative to how common it is: a rare tag is never likely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from .._internal.types import Array, Bools, Floats, Ints, Matrix
from ..labels import Labels
from ..metrics import FLOOR, Chances, log_losses, out_of_fold

DOUBTFUL_RATIO = 0.1  # a tag, or lack of one, ten times less likely than it is common
FEWEST_CARRIERS = 5  # what rows of a rarer label are like cannot be known
CLEARLY = 0.02  # share of the log loss of the label frequencies that a judge must save
HOTTEST = 20.0  # largest temperature that is tried; the smallest is 1/20
NOISE = (0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)  # shares of wrong labels that are tried


@dataclass(frozen=True, eq=False)
class Doubts:
    """For every row: the chance of its label ``given``, the label ``expected`` instead, and its chance.

    For tags these are of the least expected one: ``expected`` is the tag in question, and ``missing`` says
    that the row lacks it. ``score`` orders rows, the most doubtful has the smallest. Rows of unknown label
    have NaN. ``losses`` (n, 2) are the log losses of the judge and of the label frequencies.
    """

    given: Floats
    expected: Ints
    chance: Floats
    missing: Bools
    score: Floats
    doubtful: Bools
    losses: Floats

    @property
    def log_losses(self) -> tuple[float, float]:
        """Mean log loss of the judge, and of the label frequencies."""
        ours, usual = np.nanmean(self.losses, axis=0)
        return float(ours), float(usual)

    @property
    def can_judge(self) -> bool:
        """Whether the judge is clearly better than the frequencies: by two standard errors, and by 2 %."""
        judged = self.losses[~np.isnan(self.losses[:, 0])]
        if len(judged) < 2:
            return False
        gain = judged[:, 1] - judged[:, 0]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        return bool(gain.mean() > max(2 * error, CLEARLY * judged[:, 1].mean()))

    @property
    def agreement(self) -> float:
        """Share of labels that are as expected. A judge with a low share finds hard rows, not wrong ones."""
        judged = ~np.isnan(self.given)
        return float(1 - self.doubtful[judged].mean()) if judged.any() else 0.0

    def ranked(self) -> Ints:
        """Rows of which another label is expected, the most doubtful first."""
        rows = np.flatnonzero(self.doubtful)
        return rows[np.lexsort((-self.chance[rows], self.score[rows]))]


def judge_labels(X: Matrix, labels: Labels, seed: int) -> Doubts:
    """Judge every label by classifiers that did not see its row; the first of them fits the calibration."""
    given, chance, score = np.full((3, len(labels)), np.nan)
    missing, doubtful = np.zeros((2, len(labels)), bool)
    losses = np.full((len(labels), 2), np.nan)
    out = Doubts(given, np.zeros(len(labels), np.int64), chance, missing, score, doubtful, losses)
    usual = np.asarray(labels.indicator().sum(axis=0)).ravel() / max(1, int(labels.known.sum()))
    calibration: Calibration | None = None
    for rows, chances in out_of_fold(X, labels, seed):
        calibration = calibration or Calibration.fit(chances, labels[rows], usual)
        calibrated = calibration(chances)
        losses[rows, 0] = log_losses(calibrated, labels[rows])
        losses[rows, 1] = log_losses(np.broadcast_to(usual, chances.shape), labels[rows])
        _judge_rows(out, rows, calibrated, labels)
    return out


@dataclass(frozen=True, eq=False)
class Calibration:
    """Log-odds are divided by a temperature; with probability ``noise`` a label is drawn by frequency."""

    tags: bool
    usual: Floats
    temperature: float
    noise: float

    @classmethod
    def fit(cls, chances: Chances, labels: Labels, usual: Floats) -> Calibration:
        """The temperature and noise with the smallest log loss of these labels."""
        end, found = float(np.log(HOTTEST)), []
        for noise in NOISE:
            if labels.is_tags and noise >= DOUBTFUL_RATIO:
                continue  # no tag could be doubted

            def loss(log_temperature: float, noise: float = noise) -> float:
                softened = cls(labels.is_tags, usual, float(np.exp(log_temperature)), noise)(chances)
                return float(log_losses(softened, labels).mean())

            best = minimize_scalar(loss, bounds=(-end, end), method="bounded", options={"xatol": 0.02})
            found.append((float(best.fun), float(np.exp(best.x)), noise))
        _, temperature, noise = min(found)
        return cls(labels.is_tags, usual, temperature, noise)

    def __call__(self, chances: Chances) -> Floats:
        """Calibrated probabilities (k, t); of classes they sum to one."""
        p = np.clip(chances, FLOOR, 1 - FLOOR, dtype=np.float64)
        if self.tags:
            p = 1 / (1 + ((1 - p) / p) ** (1 / self.temperature))
        else:
            p **= 1 / self.temperature
            p /= p.sum(axis=1, keepdims=True)
        return np.asarray((1 - self.noise) * p + self.noise * self.usual)


def _judge_rows(out: Doubts, rows: Ints, chances: Array, labels: Labels) -> None:
    """Write what these chances (k, t) say of these rows into ``out``."""
    at = np.arange(len(rows))
    sizes = np.asarray(labels.indicator().sum(axis=0)).ravel()
    if labels.classes is not None:
        own = labels.classes[rows]
        out.given[rows] = chances[at, own]
        others = chances.copy()
        others[at, own] = -1
        out.expected[rows] = others.argmax(axis=1)
        out.chance[rows] = others.max(axis=1)
        out.score[rows] = out.given[rows]
        out.doubtful[rows] = (out.chance[rows] > out.given[rows]) & (sizes[own] >= FEWEST_CARRIERS)
        return
    carried = labels.indicator()[rows].toarray().astype(bool)
    usual = sizes / max(1, int(labels.known.sum()))
    as_it_is = np.where(carried, chances, 1 - chances)
    ratio = as_it_is / np.maximum(np.where(carried, usual, 1 - usual), FLOOR)
    ratio[:, sizes < FEWEST_CARRIERS] = 1.0
    worst = ratio.argmin(axis=1)
    out.given[rows] = as_it_is[at, worst]
    out.expected[rows] = worst
    out.chance[rows] = 1 - as_it_is[at, worst]
    out.missing[rows] = ~carried[at, worst]
    out.score[rows] = ratio[at, worst]
    out.doubtful[rows] = ratio[at, worst] < DOUBTFUL_RATIO
