"""Learn a map from pairs, clicks or triplets: mean field whose marginals are a function of the features.

The paper minimizes an energy over free marginals of every row. With few pairs these say nothing about other
rows. So let the mean of bit k of a row x be ``q_k = tanh(w_k·x + b_k)`` and minimize the expected energy over
the map itself, by Adam on sampled examples:

    min over W of  mean over examples of  E(τ c_ij, S_ij),   c_ij = mean_k q_ik q_jk,
    plus  pull / 2 · (‖W − W₀‖² + mean over all rows of ‖x·W − x·W₀‖²).

``W₀`` are the directions of ITQ, which read no supervision, scaled so that scores have mean size 1: the map
starts at the unsupervised codes. Held-out examples choose the pull, and whether the start is left at all.

Kingma, Ba. Adam: a method for stochastic optimization. ICLR 2015. Gong, Lazebnik. Iterative quantization: a
procrustean approach to learning binary codes. CVPR 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import clone

from .._internal.blocks import map_blocks
from .._internal.numerics import Adam, fit_rotation
from .._internal.rows import Rows
from .._internal.types import Bytes, Facts, Features, Floats, Floats32, Ints, Rng
from .._internal.validation import check_number
from ..codes import n_bytes, pack_bits
from ..energies import Energy
from ..errors import InvalidInput
from ..gpu import card_in_use, moved
from ..supervision import Examples, Force, Training, named_rows
from .base import Candidate, Encoder, Fitted
from .feature_transform import Preparation, prepare_rows
from .held_out_examples import FOLDS, Scores, folded, means, scores_of, split_among_named
from .maps import LinearMap
from .partner_codes import PartnerScores, PartnerWeight, best_weight
from .partners import Pull

if TYPE_CHECKING:
    from ..solvers import Solver

__all__ = ["Amortized", "Goal", "unsupervised_codes"]

TEMPERATURE = 4  # τ: energies see agreements as if codes had four bits; with 16 few pairs decide all
PULLS = (0.01, 0.003, 0.001, 0.0003, 0.0001)  # half decades, nearest to the start first
LEAST_PRIOR = 1.0  # the start counts as much as one example, or more: a weaker pull is not tried
STEPS, PAIRS_A_STEP = 300, 256  # twice as many of either change nothing
RATE, DECAYS = 0.02, (0.9, 0.99)  # of Adam; the rate falls to 0
START_ROWS, ROUNDS = 10_000, 50  # of the rotation that the map starts from
ERRORS_FROM_START = 2.0  # standard errors by which a map must be better: the best of several looks too good
LABEL_PAIRS = 20_000  # pairs sampled from labels, if there are no other examples


@dataclass(frozen=True)
class Goal:
    """What the bits of a map should minimize, and how many there are."""

    energy: Energy
    n_bits: int
    facts: Facts = field(default_factory=dict)

    def force(self) -> Force:
        """Derivative of the energy by the agreement of two rows, of size 1 at agreement 0 and ``|s| = 1``.

        So a pull means the same for every energy, whatever its scale.
        """
        slope, one = self.energy.slope, np.ones(1)
        unit = abs(float(slope(np.zeros(1), one, TEMPERATURE)[0])) or 1.0

        def at(agreement: Floats, s: Floats) -> Floats32:
            return (slope(TEMPERATURE * agreement, s, TEMPERATURE) / unit).astype(np.float32)

        return at


@dataclass(frozen=True)
class Setting:
    """Rows that examples name, as numbers, and where the map starts.

    ``rows`` (m, p) are prepared; ``metric`` (p, p) says what a change of weights costs: the identity plus the
    mean of x xᵀ over all rows. ``start`` (p, d) has scores of mean size 1.
    """

    preparation: Preparation
    shares: Floats32
    rows: Floats32
    metric: Floats32
    start: Floats32

    def codes(self, weights: Floats32, intercept: Floats32 | float = 0) -> Callable[[Ints], Bytes]:
        """Gives packed codes of named rows, each encoded when it is first asked for."""
        packed = np.empty((len(self.rows), n_bytes(weights.shape[1])), np.uint8)
        encoded = np.zeros(len(packed), bool)

        def of(rows: Ints) -> Bytes:
            new = np.unique(rows[~encoded[rows]])
            packed[new] = pack_bits(self.rows[new] @ weights + intercept > 0)
            encoded[new] = True
            return packed[rows]

        return of

    def scores(self, weights: Floats32, intercept: Floats32 | float = 0) -> Floats32:
        """Scores of all named rows."""
        return self.rows @ weights + intercept

    def map(self, weights: Floats32, intercept: Floats32) -> LinearMap:
        """The same for raw rows."""
        return LinearMap(self.preparation, self.shares[:, None] * weights, intercept)


@dataclass(repr=False, kw_only=True)
class Amortized(Encoder):
    """Learn the map itself by gradient steps on pairs, clicks or triplets, starting at unsupervised codes.

    Parameters
    ----------
    pull : how strongly the map is held to its unsupervised start: a number above 0, "start" to stay there, or
        "auto", chosen on held-out examples ["start"].
    partners : how much the bits of partners count in the codes of rows that pairs name, 0 or more; "auto" is
        chosen on held-out pairs of such rows [0].
    scale : "common" divides all columns by one number, as suits embeddings; "columns" gives every column the
        same spread, as suits measurements in different units; "auto" compares both on held-out examples
        ["common"].

    Memory: the named rows once as float32, the examples, and p² numbers.
    """

    pull: Pull = "auto"
    scale: str = "auto"
    partners: float | Literal["auto"] = "auto"
    _known: tuple[Setting, Ints, list[Examples]] | None = field(default=None, init=False)

    def check(self) -> None:
        if self.pull not in ("auto", "start"):
            check_number("pull", self.pull, 0.0, open_low=True)
        if self.partners != "auto":
            check_number("partners", self.partners, 0.0)
        if self.scale not in ("auto", "common", "columns"):
            raise InvalidInput(f"scale is {self.scale!r}", "auto, common or columns", "Use one of these")

    def linear_in_columns(self) -> bool:
        return True

    def solve(self, training: Training, solver: Solver, energy: Energy, n_bits: int) -> Any:
        """Nothing is solved beforehand."""
        return Goal(energy, n_bits)

    def candidates(self, training: Training, solution: Any) -> Iterator[Candidate]:
        """The unsupervised start, then weaker and weaker pulls, judged by rows that no other example has.

        Dissimilar pairs in a list often look alike, and a map that parts them can lose partners in a search.
        So a pull is left out if a search loses more held-out partners by it than it puts examples in order.
        """
        if self.pull != "auto" and self.scale != "auto":
            return
        named, examples = named_examples(training)
        folds = folded(examples, len(named), training.rng)
        n_examples = sum(len(one.ends) for one in examples)
        pulls = [pull for pull in PULLS if pull * n_examples >= LEAST_PRIOR] if self.pull == "auto" else []
        if not folds or (self.pull == "auto" and not pulls):
            return
        seed = int(training.rng.integers(2**63))
        scales = ("common", "columns") if self.scale == "auto" else (self.scale,)
        best: Candidate | None = None
        first = "start" if self.pull == "auto" else self.pull  # where it is set, starts choose the scale
        for cost, scale in enumerate(scales):
            setting = prepared(training.rows, named, solution.n_bits, scale, training.rng, training.n_jobs)
            known = setting, named, examples
            codes = setting.codes(setting.start)
            scored = [scores_of(held, codes, len(named), seed) for _, held in folds]
            found = self._candidate(scale, first, known, scored, cost, ERRORS_FROM_START)
            yield found
            if best is None or found.is_better(best):
                best, chosen, at_start = found, setting, means(scored)
        assert best is not None
        tasks = [(pull, learn, held) for pull in pulls for learn, held in folds]
        card = card_in_use()
        there = chosen if card is None else moved(chosen, card)

        def one(task: tuple[float, list[Examples], list[Examples]]) -> Scores:
            pull, learn, held = task
            codes = chosen.codes(*train(there, learn, solution.force(), pull, seed, card))
            return scores_of(held, codes, len(named), seed)

        scored = list(map_blocks(one, tasks, training.n_jobs if card is None else 1))
        for place, pull in enumerate(pulls):
            of_pull = scored[place * FOLDS : (place + 1) * FOLDS]
            order, partners = means(of_pull)
            if order - at_start[0] >= at_start[1] - partners:
                known = chosen, named, examples
                yield self._candidate(best.encoder.scale, pull, known, of_pull, len(scales) + place)

    def _candidate(
        self,
        scale: str,
        pull: Pull,
        known: tuple[Setting, Ints, list[Examples]],
        scored: Sequence[Scores],
        cost: int,
        errors: float = 1.0,
    ) -> Candidate:
        encoder = clone(self).set_params(pull=pull, scale=scale)
        encoder._known = known
        losses = -np.concatenate([one.order for one in scored])
        return Candidate(encoder, losses, np.full(len(losses), -0.5), cost, errors=errors)

    def fit(self, training: Training, solution: Any) -> Fitted:
        with training.stages("features"):
            if self._known is not None:  # examples sampled from labels would be others, of other rows
                setting, named, examples = self._known
            else:
                named, examples = named_examples(training)
                scale = "common" if self.scale == "auto" else self.scale
                setting = prepared(
                    training.rows, named, solution.n_bits, scale, training.rng, training.n_jobs
                )
        pull = "start" if self.pull == "auto" else self.pull
        if pull == "start":
            none = np.zeros(solution.n_bits, np.float32)
            facts = {"pull": pull, "scale": self.scale, "checked": self.pull != "auto"}
            return Fitted(setting.map(setting.start, none), facts=facts)
        with training.stages("pairs"):
            seed = int(training.rng.integers(2**63))
            weights, intercept = trained(setting, examples, solution.force(), float(pull), seed)
        with training.stages("partners"):
            chosen = self._partners(training, setting, examples, solution.force(), float(pull))
        facts = {"pull": pull, "scale": self.scale, **chosen.facts()}
        map_ = setting.map(weights, intercept)
        if not chosen.weight:
            return Fitted(map_, facts=facts)
        scores: Any = PartnerScores.of(setting.scores(weights, intercept), examples).at(chosen.weight)
        group = np.full(len(training.rows), -1, np.int64)
        group[named] = np.arange(len(named))
        return Fitted.of_groups(map_, scores > 0, (1 + np.tanh(scores)) / 2, group, scores, **facts)

    def _partners(
        self, training: Training, setting: Setting, examples: list[Examples], force: Force, pull: float
    ) -> PartnerWeight:
        """How much partners count: as set, or chosen with a map that did not see the held-out examples."""
        if training.supervision.labels is not None:  # codes of labels are those of groups
            return PartnerWeight()
        if self.partners != "auto":
            return PartnerWeight(float(self.partners))
        split, seed = split_among_named(examples, len(setting.rows), training.rng), 0
        if split is None:
            return PartnerWeight()
        weights, intercept = trained(setting, split[0], force, pull, seed)
        return best_weight(setting.scores(weights, intercept), *split, seed)


def named_examples(training: Training) -> tuple[Ints, list[Examples]]:
    """Rows that examples name, in order, and the examples with rows counted among those.

    Labels become sampled pairs, half of them of similar rows.
    """
    supervision = training.supervision
    examples = list(supervision.examples) or [supervision.sampled_pairs(LABEL_PAIRS, training.rng)]
    named = named_rows(len(training.rows), *(one.ends for one in examples))
    place = np.full(len(training.rows), -1, np.int64)
    place[named] = np.arange(len(named))
    return named, [one.renumbered(place, len(named)) for one in examples]


def unsupervised_codes(X: Features, wanted: Ints, n_bits: int, rng: Rng, n_jobs: int | None = None) -> Bytes:
    """Packed codes of rows by ITQ's directions of at most 10,000 rows of X."""
    found = prepared(Rows(X), wanted, n_bits, "common", rng, n_jobs)
    return found.codes(found.start)(np.arange(len(wanted)))


def prepared(all_rows: Rows, named: Ints, n_bits: int, scale: str, rng: Rng, n_jobs: int | None) -> Setting:
    """The named rows as numbers, and ITQ's directions of some of all rows."""
    n = len(all_rows)
    some = np.arange(n) if n <= START_ROWS else np.sort(rng.choice(n, START_ROWS, replace=False))
    preparation = Preparation.first_guess(all_rows.read(some), None, True)
    spread = preparation.scale
    common = np.sqrt((spread**2).mean()) or 1.0
    shares: Floats32 = np.asarray(spread / common if scale == "common" else np.ones(len(spread)), np.float32)
    sample = prepare_rows(all_rows, preparation, some, n_jobs) * shares
    covariance = (sample.T @ sample).astype(np.float64) / len(sample)
    directions = _principal(covariance, n_bits)
    along = (sample @ directions).astype(np.float64)
    rotation = fit_rotation(along, n_bits, rng, ROUNDS)
    size = float(np.abs(along @ rotation).mean()) or 1.0
    start = (directions @ rotation / size).astype(np.float32)
    metric = (covariance + np.eye(len(covariance))).astype(np.float32)
    rows: Floats32 = prepare_rows(all_rows, preparation, named, n_jobs) * shares
    return Setting(preparation, shares, rows, metric, start)


def _principal(covariance: Floats, most: int) -> Floats32:
    """Top eigenvectors (p, r), the entry of largest size positive."""
    vectors = np.linalg.eigh(covariance)[1][:, ::-1][:, :most]
    peaks = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return (vectors * np.where(peaks < 0, -1.0, 1.0)).astype(np.float32)


def trained(
    setting: Setting, examples: Sequence[Examples], force: Force, pull: float, seed: int
) -> tuple[Floats32, Floats32]:
    """Weights (p, d) and intercepts (d,) after Adam steps, on the card in use, if any."""
    card = card_in_use()
    there = setting if card is None else moved(setting, card)
    return train(there, examples, force, pull, seed, card)


def train(
    setting: Setting, examples: Sequence[Examples], force: Force, pull: float, seed: int, card: Any = None
) -> tuple[Floats32, Floats32]:
    """Weights (p, d) and intercepts (d,) after Adam steps, on the card that holds ``setting``, if any."""
    if card is None:
        return _descend(setting, examples, force, pull, seed, lambda thing: thing)
    with card.active():
        weights, intercept = _descend(setting, examples, force, pull, seed, lambda thing: moved(thing, card))
        return card.get(weights), card.get(intercept)


def _descend(
    setting: Setting,
    examples: Sequence[Examples],
    force: Force,
    pull: float,
    seed: int,
    put: Callable[[Any], Any],
) -> tuple[Floats32, Floats32]:
    """The same where ``put`` brings arrays to those of the setting."""
    rng = np.random.default_rng(seed)
    weights, intercept = setting.start.copy(), np.zeros_like(setting.start[0])
    adam = Adam([weights, intercept], DECAYS)
    for step in range(STEPS):
        drawn = [one.draw(PAIRS_A_STEP, rng) for one in examples]
        rows = setting.rows[put(np.concatenate([each.rows for each in drawn]))]
        means = np.tanh(rows @ weights + intercept)
        parts = np.split(means, np.cumsum([len(each.rows) for each in drawn])[:-1])
        pushes = [
            one.push(part, put(each.known), force) * np.float32(one.weight)
            for one, part, each in zip(examples, parts, drawn, strict=True)
        ]
        push = np.concatenate(pushes) * (1 - means * means)
        back = np.float32(pull) * (weights - setting.start)
        gradient = rows.T @ push + setting.metric @ back
        adam.move([gradient, push.sum(axis=0) + np.float32(pull) * intercept], RATE * (1 - step / STEPS))
    return weights, intercept
