"""Learn the map of another view from rows that belong together in both: captions and their pictures.

The first view stays as it is, so its codes and indexes stay valid. Its scores of the partners are known.
Ridge regression predicts them from the features of the other view. From there, gradient steps minimize what
`KinExamples` minimizes for one view: with means ``q = tanh(score)``, each row has to find its partner among
the partners of the rows of a step, by ``softmax(8 c)`` of the agreements ``c``, and each partner its row.

    min over W of  mean of (H + H') / 8 + pull / 2 · (‖W − W₀‖² + mean over all rows of ‖z·W − z·W₀‖²)

where H and H' are the cross-entropies of a pair, one for each direction, and 8 is the factor of the softmax.
Held-out pairs choose the pull, and whether the ridge regression W₀ is left at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from sklearn.base import clone

from .._internal.blocks import map_blocks
from .._internal.numerics import Adam
from .._internal.rows import Rows
from .._internal.types import Array, Facts, Floats, Floats32, Ints
from ..supervision import PartnerSupervision, Training
from .base import ENOUGH_ROWS, Candidate, Encoder, Fitted
from .feature_transform import Preparation
from .least_squares import choose_alpha, moments_of_rows, ridge_weights
from .maps import LinearMap

__all__ = ["PartnerScores", "Partners"]

MOST_PAIRS = 100_000  # as many rows as a label model is fitted on,
MOST_VALUES = 40_000_000  # and fewer wide ones: 480 MB
SHARPNESS = 8.0  # as in `KinExamples`
PULLS = (0.01, 0.003, 0.001, 0.0003, 0.0001)  # half decades, nearest to the start first
STEPS, PAIRS_A_STEP = 300, 256  # as in `amortized`
RATE, DECAYS = 0.02, (0.9, 0.99)  # of Adam; the rate falls to 0
HELD_OUT, MOST_HELD = 0.2, 2000  # share of the partners that are held out, and pairs that are compared
ERRORS_FROM_START = 2.0  # standard errors by which a map must be better: the best of several looks too good


Pull: TypeAlias = float | Literal["auto", "start"]


@dataclass(frozen=True)
class PartnerScores:
    """What a map should give: scores (others, d) of the first view's rows, and what each bit counts (d,)."""

    scores: Array
    counts: Ints
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """Prepared rows (m, p) of pairs, means (m, d) and numbers (m,) of their partners, and the ridge map."""

    preparation: Preparation
    rows: Floats32
    means: Floats32
    partner: Ints
    weights: Floats32
    intercept: Floats32


@dataclass(repr=False, kw_only=True)
class Partners(Encoder):
    """Ridge regression onto the scores of partners, then gradient steps that find the partner first.

    Parameters
    ----------
    pull : how strongly the map is held to the ridge regression: a number above 0, "start" to stay there, or
        "auto", chosen on held-out pairs ["start"].

    Memory: 12 bytes for each of at most 40 million numbers, and p² numbers.
    """

    pull: Pull = "auto"

    def candidates(self, training: Training, solution: PartnerScores) -> Iterator[Candidate]:
        """The ridge regression, then weaker and weaker pulls, judged by pairs whose partner no other has."""
        pairs = _some_pairs(training)
        order = training.rng.permutation(np.unique(pairs[1]))
        held = np.isin(pairs[1], order[: int(HELD_OUT * len(order))])
        if self.pull != "auto" or held.sum() < ENOUGH_ROWS // 5:
            return
        setting = prepared(training, pairs[:, ~held], solution)
        rows, partner = pairs[:, training.rng.permutation(np.flatnonzero(held))[:MOST_HELD]]
        z, bits = setting.preparation(training.rows.read(rows)), solution.scores[partner] > 0
        seed = int(training.rng.integers(2**63))

        def one(pull: Pull) -> Floats:
            weights, intercept = train(setting, solution.counts, pull, seed)
            return shares_behind(z @ weights + intercept > 0, bits, partner, solution.counts)

        pulls: tuple[Pull, ...] = ("start", *PULLS)
        scored = map_blocks(one, pulls, training.n_jobs)
        for cost, (pull, shares) in enumerate(zip(pulls, scored, strict=True)):
            found = clone(self).set_params(pull=pull)
            errors = 1.0 if cost else ERRORS_FROM_START
            yield Candidate(found, -shares, np.full(len(shares), -0.5), cost, errors=errors)

    def fit(self, training: Training, solution: PartnerScores) -> Fitted:
        pull = "start" if self.pull == "auto" else self.pull
        with training.stages("partners"):
            setting = prepared(training, _some_pairs(training), solution)
            seed = int(training.rng.integers(2**63))
            weights, intercept = train(setting, solution.counts, pull, seed)
        return Fitted(LinearMap(setting.preparation, weights, intercept), facts={"pull": pull})


def _some_pairs(training: Training) -> Ints:
    """Pairs (2, m), the row first; at random where there are too many."""
    supervision = training.supervision
    assert isinstance(supervision, PartnerSupervision)
    pairs = np.stack([supervision.rows, supervision.partner])
    most = int(np.clip(MOST_VALUES // training.rows.shape[1], 500, MOST_PAIRS))
    if pairs.shape[1] <= most:
        return pairs
    return pairs[:, np.sort(training.rng.choice(pairs.shape[1], most, replace=False))]


def prepared(training: Training, pairs: Ints, solution: PartnerScores) -> Setting:
    """Rows of the pairs, and the ridge regression onto the means of their partners, of mean size 1."""
    X, scores = training.rows.read(pairs[0]), solution.scores[pairs[1]]
    size = np.abs(scores).mean(axis=0)
    means = np.tanh(scores / np.where(size > 0, size, 1.0)).astype(np.float32)
    first = Preparation.first_guess(X, None, True)
    moments = moments_of_rows(Rows(X), first, lambda part: means[part], None, training.n_jobs)
    standard = moments.standardized(True)
    weights = ridge_weights(standard, choose_alpha("gcv", standard)).astype(np.float32)
    intercept = standard.target_mean.astype(np.float32)
    rows = standard.preparation(X)
    scale = np.float32(1 / (float(np.abs(rows @ weights + intercept).mean()) or 1.0))
    return Setting(standard.preparation, rows, means, pairs[1], scale * weights, scale * intercept)


def train(setting: Setting, counts: Ints, pull: Pull, seed: int) -> tuple[Floats32, Floats32]:
    """Weights (p, d) and intercepts (d,) after Adam steps from the ridge regression, or those themselves."""
    weights, intercept = setting.weights.copy(), setting.intercept.copy()
    if pull == "start":
        return weights, intercept
    rng, rows, back = np.random.default_rng(seed), setting.rows, np.float32(pull)
    metric = rows.T @ rows / np.float32(len(rows))
    metric[np.diag_indices_from(metric)] += 1
    shares = (counts / counts.sum()).astype(np.float32)
    adam = Adam([weights, intercept], DECAYS)
    for step in range(STEPS):
        drawn = rng.integers(len(rows), size=PAIRS_A_STEP)
        z, v = rows[drawn], setting.means[drawn]
        u = np.tanh(z @ weights + intercept)
        push = (_wrong(u, v * shares, setting.partner[drawn]) @ v) * shares * (1 - u * u)
        gradient = z.T @ push + back * (metric @ (weights - setting.weights))
        shift = push.sum(axis=0) + back * (intercept - setting.intercept)
        adam.move([gradient, shift], RATE * (1 - step / STEPS))
    return weights, intercept


def _wrong(u: Floats32, v: Floats32, partner: Ints) -> Floats32:
    """Derivative (k, k) of the mean of (H + H') / 8 by the agreements of rows and partners."""
    logits = np.float32(SHARPNESS) * (u @ v.T)
    same = partner[:, None] == partner
    np.fill_diagonal(same, False)
    logits[same] = -np.inf
    odds = np.exp(logits - np.float32(SHARPNESS))  # logits are at most SHARPNESS: no overflow
    wrong: Floats32 = (odds / odds.sum(axis=1, keepdims=True) + odds / odds.sum(axis=0)) / 2
    wrong[np.diag_indices_from(wrong)] -= 1
    return wrong * np.float32(2 / len(u))


def shares_behind(bits: Array, others: Array, partner: Ints, counts: Ints) -> Floats:
    """For each pair the share of other partners that are farther from its row, and of rows from its partner.

    Ties count half. Memory: a few matrices of pairs × pairs.
    """
    left, right = (np.where(side, 1, -1).astype(np.float32) for side in (bits, others))
    near = left @ (right * counts.astype(np.float32)).T
    other = partner[:, None] != partner
    own = np.diag(near)
    behind = (np.sign(own[:, None] - near) + np.sign(own - near).T + 2) / 4
    found: Floats = (behind * other).sum(axis=1) / np.maximum(other.sum(axis=1), 1)
    return found.astype(np.float64)
