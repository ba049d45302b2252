"""Choose what was left open: features, label model, penalty, temperature, solver for tags, recoding.

All on the same held-out rows: logistic regression of the plain columns, along a path of penalties with warm
starts and several temperatures at each; the other kinds of features with one penalty; for the best kind its
path of penalties, and ridge regression; then, for tags, the anchors' rarity, codes by coordinate descent, and
whether learned codes are fitted to the map's bits. A choice that costs more at encoding, or departs from the
plain method, must gain a little to be taken.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .._blocks import map_blocks
from .._types import Floats32
from ..encoders import Encoder, Fitted
from ..encoders.expected_labels import ExpectedLabels, Start, fit_label_model, label_patterns, softened
from ..encoders.features import Both, FeatureMap, Plain, feature_map, worth_trying
from ..encoders.label_models import LabelModel, LinearLabels
from ..encoders.labelled import labelled_set, prepared_like
from ..energies import Energy
from ..fields import KIN_ONLY, Fields
from ..solvers import Solution, Solver
from ..solvers.coordinate import Polished
from ..solvers.spectral import Spectral
from ..training import Training
from .candidates import Candidate, Trial
from .recoding import recoding_gain
from .scores import Judge
from .sharing import Wish, shared_fields
from .splits import ENOUGH_ROWS, validation_split

__all__ = ["Chosen", "choose", "tune"]

BOTH_GAIN = 0.003  # what similarities beside the columns must gain: they cost more to encode with
LATER_BOTH_GAIN = -0.01  # ... for rows that come later, where many more rows than were tried serve them
RBF_SHARE = 0.03  # of what columns lack: where both gain less, similarities without columns are not tried
LATER_LOSS = 0.01  # what they may lose where all rows searched come later
MOST_RBF_CLASSES = 250  # similarities are to 1,000 centres: four a class
GAIN = 0.001  # what any other departure from the plain method must gain
FIRST_PENALTY = {"plain": 10.0, "rbf": 1.0, "both": 30.0}
PENALTIES = (0.01, 1000.0)  # ten times weaker or stronger within these
# What a stronger penalty, ridge, or similarities without columns must gain: all rows are more than were
# tried, and need less of all three; the more so where they are many, and ridge is not tried.
SLACK, SLACK_OF_MANY, MANY_ROWS = 0.003, 0.01, 20_000
SLACK_SHARE = 0.05  # ... the first two at most this share of what the best so far lacks
STEPS = 12  # of the label model's fit while tuning
TEMPERATURES = (1.0, 2.0, 4.0, 8.0)
MANY_CLASSES = 30  # among so many a model is rather too unsure, and a mean of so many codewords says nothing
SHARPER = (0.06, 0.12, 0.25, 0.5, 1.0, 2.0, 4.0)
RARITY = 0.5
FEW_TAG_SETS = 60  # at most so many may be solved by coordinate descent,
MOST_SETTLED_BITS = 64  # ... with so many bits: settling a row takes time that grows with their square
RECODE = 1.5
KINSHIP_ALONE = Wish()


@dataclass(frozen=True)
class Chosen:
    """A solution, an encoder with nothing left to choose, and where its label model may start."""

    solution: Solution
    encoder: Encoder
    start: Start | None = None
    value: float | None = None
    fields: Fields = KIN_ONLY
    solver: str = ""  # where it is not the one that was given

    def fit(self, training: Training) -> Fitted:
        """Learn the map on all rows."""
        if isinstance(self.encoder, ExpectedLabels):
            found = self.encoder.fit(training, self.solution, self.start)
        else:
            found = self.encoder.fit(training, self.solution)
        energies, divergences = self.solution.minimum.energies, self.solution.minimum.divergences
        facts: dict[str, Any] = {"energy": energies, **found.facts}
        if divergences:
            facts["divergence"] = divergences
        if self.value is not None:
            facts["held_out_score"] = self.value
        if self.solver:
            facts["solver"] = self.solver
        return replace(found, facts=facts)


def tune(
    training: Training,
    energy: Energy,
    n_bits: int,
    solver: Solver,
    encoder: Encoder,
    wish: Wish = KINSHIP_ALONE,
    *,
    any_solver: bool = False,
) -> Chosen:
    """Solve, and settle what is "auto" on held-out rows; what is not, stays.

    ``wish`` says how many of the bits are left to what rows look like; the solution chosen has the others.
    With ``any_solver`` the user asked for none, and another one may be taken.
    """
    encoder.check()
    labels = training.supervision.labels
    solvers, before = [solver], copy.deepcopy(training.rng)
    if isinstance(solver, Spectral) and solver.rarity == "auto" and labels is not None and labels.is_tags:
        solvers.append(clone(solver).set_params(rarity=RARITY))
        if any_solver and n_bits <= MOST_SETTLED_BITS and _few_tag_sets(training):
            solvers.append(Polished(n_anchors=solver.n_anchors))

    def solve(solver: Solver, n_bits: int, rng: np.random.Generator | None = None) -> Solution:
        """The same anchors every time."""
        rng = copy.deepcopy(before) if rng is None else rng
        return solver.solve(training.supervision, energy, n_bits, rng, training.weights)

    def solve_all(n_bits: int) -> list[Solution]:
        return [solve(solver, n_bits, training.rng), *(solve(other, n_bits) for other in solvers[1:])]

    with training.stages("solver"):
        to_share = wish.is_open(n_bits) and _can_measure(training, solver, encoder)
        solutions = solve_all(n_bits) if to_share else []
        # Codes of many classes are drawn instead of turned, and fewer bits cannot be tried by turning.
        to_share = to_share and solutions[0].embedding is not None
        fields = KIN_ONLY if to_share else wish.without_measuring(labels, n_bits)
        if not to_share and (fields.alike or not solutions):
            solutions = solve_all(fields.kin(n_bits))
    found = _search(training, solutions, encoder, to_share)
    if found is None:
        return Chosen(solutions[0], encoder, fields=fields)
    solution = solutions[found.place]
    if to_share:
        with training.stages("sharing of bits"):
            turned = solutions[0] if solution.embedding is None else solution
            fields = shared_fields(training, found.judge, turned, found.chances, wish)
            if fields.alike:
                solution = solve(solvers[found.place], fields.kin(n_bits))
    taken = type(solvers[found.place])
    name = "" if taken is type(solver) else taken.__name__.lower()
    return replace(found.chosen(solution, fields), solver=name)


def choose(training: Training, solutions: Sequence[Solution], encoder: Encoder) -> Chosen:
    """The best of several solutions (the first is the plain one) and of what an encoder leaves open."""
    found = _search(training, solutions, encoder)
    return Chosen(solutions[0], encoder) if found is None else found.chosen(solutions[found.place])


@dataclass(frozen=True)
class _Found:
    """What a search settled: which solution, the encoder, and its best candidate."""

    judge: Judge
    place: int
    encoder: ExpectedLabels
    best: Candidate

    @property
    def chances(self) -> tuple[Floats32, Floats32]:
        """Label probabilities of held-out rows, and of rows fitted on."""
        return self.best.trial.chances(self.best.softened)

    def chosen(self, solution: Solution, fields: Fields = KIN_ONLY) -> Chosen:
        """With the best of several rotations of the solution."""
        rotation, value = self.judge.best_rotation(solution, *self.chances)
        return Chosen(solution, self.encoder, replace(self.best.start, rotation=rotation), value, fields)


def _search(
    training: Training, solutions: Sequence[Solution], encoder: Encoder, always: bool = False
) -> _Found | None:
    """None where nothing can be chosen, or nothing is open (unless a label model is wanted ``always``)."""
    solution, labels = solutions[0], training.supervision.labels
    if not isinstance(encoder, ExpectedLabels) or labels is None or solution.readout is None:
        return None
    split = validation_split(training, training.rng)
    if split is None or not (encoder.leaves_open or len(solutions) > 1 or always):
        return None
    with training.stages("tuning"):
        patterns = label_patterns(labels, solution.sample, training.supervision.group_of_row)
        judge = Judge.of(training, solution, patterns, split, encoder.database)
        best = _best_candidate(training, judge, solution, encoder)
        place = 0
        for number, other in enumerate(solutions[1:], 1):
            score = best.trial.score(judge, other, best.softened)
            if score.value > best.value + GAIN:
                place, best = number, replace(best, score=score)
        recode = encoder.recode
        if recode == "auto":
            gain = 0.0
            if labels.is_tags:
                gain = recoding_gain(training, solutions[place], judge, best, RECODE)
            recode = RECODE if gain > GAIN else 0.0
        settled = clone(encoder).set_params(
            label_model=best.kind,
            features=best.trial.features,
            penalty="auto" if best.penalty is None else best.penalty,
            temperature=best.temperature,
            recode=recode,
        )
    return _Found(judge, place, settled, best)


def _few_tag_sets(training: Training) -> bool:
    """Whether tag sets are nearly classes, with whole codes that new rows can be settled onto.

    Of many sets, a row lies between several. Rows without a tag are no anchors of the spectral solver, and
    all solutions are judged by the same anchors.
    """
    groups = np.arange(training.supervision.n_groups)
    few = len(groups) <= FEW_TAG_SETS
    return few and bool((training.supervision.similarity(groups, groups).diagonal() > 0).all())


def _can_measure(training: Training, solver: Solver, encoder: Encoder) -> bool:
    """Whether fewer bits can be tried on held-out rows: where any rotation of a solution would do."""
    free = isinstance(solver, Spectral) and solver.rotation == "predictions"
    labelled = training.supervision.labels is not None and isinstance(encoder, ExpectedLabels)
    return free and labelled and len(training.known_rows) >= ENOUGH_ROWS


def _best_candidate(
    training: Training, judge: Judge, solution: Solution, encoder: ExpectedLabels
) -> Candidate:
    many, split = len(training.known_rows) > MANY_ROWS, judge.split

    def path_of(features: FeatureMap) -> _Path:
        labelled = labelled_set(training, features, training.rng, split.part, None, split.weights)
        trial = Trial(features, labelled, prepared_like(training, labelled, split.held))
        return _Path(judge, solution, encoder, trial, many)

    cheapest, *others = _kinds(training, encoder.features)
    path = path_of(cheapest)
    first = path.first()
    best = path.best_penalty(first)  # cheap, and what other features have to beat
    settled = True
    for features in others:
        other = path_of(features)
        found = other.first()
        if isinstance(features, Both):
            asked = LATER_BOTH_GAIN if many and encoder.database == "later" else BOTH_GAIN
            if found.value <= best.value + asked and (stronger := _stronger(first, best)) > 1:
                found = max(found, other.first(stronger), key=lambda one: one.value)
            taken = found.value > best.value + asked
        else:  # remembering rows is not enough to leave the columns out
            later = found.score.later > best.score.later - LATER_LOSS
            taken = found.value > best.value + other.slack and later
        if taken:
            path, best, settled = other, found, False
        if found.value < first.value + RBF_SHARE * (1 - first.value):
            break
    return path.refined(best if settled else path.best_penalty(best))


def _stronger(first: Candidate, best: Candidate) -> float:
    """How many times stronger a penalty the columns needed than they began with."""
    if first.penalty is None or best.penalty is None:
        return 1.0
    return max(1.0, best.penalty / first.penalty)


def _kinds(training: Training, features: Any) -> list[FeatureMap]:
    """What to try.

    A map that remembers all of few rows serves databases of tags; classes gain nothing by more centres. Of
    hundreds of classes, most would have hardly a centre near by, at thirty times the cost.
    """
    if not isinstance(features, str) or features != "auto":
        return [feature_map(features)]
    labels = training.supervision.labels
    if labels is not None and not labels.is_tags and len(labels.names) > MOST_RBF_CLASSES:
        return [Plain()]
    return worth_trying(training.rows, None if labels is not None and labels.is_tags else 1000)


@dataclass(frozen=True)
class _Path:
    """Penalties and temperatures for one kind of features, tried one after the other."""

    judge: Judge
    solution: Solution
    encoder: ExpectedLabels
    trial: Trial
    many: bool

    @property
    def slack(self) -> float:
        """What similarities without columns must gain, and at most what a stronger penalty or ridge must."""
        return SLACK_OF_MANY if self.many else SLACK

    def first(self, stronger: float = 1.0) -> Candidate:
        """One label model, to compare features by; the only one where none is left open."""
        kind, given = self.encoder.label_models[0], self.encoder.penalty
        if self._is_open:
            return self._attempt(kind, min(FIRST_PENALTY[self.trial.features.name] * stronger, PENALTIES[1]))
        return self._attempt(kind, None if given == "auto" else float(given))

    @property
    def _is_open(self) -> bool:
        return self.encoder.label_models[0] == "logistic" and self.encoder.penalty == "auto"

    def best_penalty(self, first: Candidate) -> Candidate:
        """Weaker penalties as long as they gain; if none does, stronger ones."""
        if not self._is_open:
            return first
        assert first.penalty is not None
        # A map of similarities alone remembers its rows, and needs no stronger penalty.
        remembers = self.trial.features.name == "rbf" and self.encoder.database == "fitted"
        for way in (-1,) if remembers else (-1, 1):
            best, step = first, way
            while PENALTIES[0] <= (penalty := first.penalty * 10.0**step) <= PENALTIES[1]:
                last = self._attempt("logistic", penalty, best)
                if last.value <= best.value + (self._asked(best) if way > 0 else 0.0):
                    break
                best, step = last, step + way
            if best is not first:
                return best
        return first

    def refined(self, best: Candidate) -> Candidate:
        """Half a step to either side of a temperature, and then to a weaker penalty; or another model."""
        if not self._is_open:
            return best
        between = [best.temperature * factor for factor in (0.7, 1.4)]
        at = self._at("logistic", best.model, best.penalty, between)
        best = max([best, *at], key=lambda one: one.value)
        assert best.penalty is not None
        weaker = self._attempt("logistic", best.penalty / 10**0.5, best, (best.temperature,))
        best = weaker if weaker.value > best.value else best
        for kind in () if self.many else self.encoder.label_models[1:]:
            found = self._attempt(kind, None)
            if found.value > best.value + self._asked(best):
                best = found
        return best

    def _asked(self, best: Candidate) -> float:
        """What something that more rows need less of must gain."""
        return min(self.slack, SLACK_SHARE * (1 - best.value))

    def _attempt(
        self,
        kind: Any,
        penalty: float | None,
        near: Candidate | None = None,
        temperatures: Sequence[float] | None = None,
    ) -> Candidate:
        if temperatures is None:
            many = self.judge.exclusive and self.judge.patterns.shape[1] > MANY_CLASSES
            temperatures = SHARPER if many else TEMPERATURES
        start = None if near is None else near.start
        rows = self.trial.labelled
        model = fit_label_model(kind, rows, penalty, start, max_steps=STEPS, tolerance=2e-2)
        return max(self._at(kind, model, penalty, temperatures), key=lambda one: one.value)

    def _at(
        self, kind: Any, model: LabelModel, penalty: float | None, temperatures: Sequence[float]
    ) -> Iterator[Candidate]:
        given = self.encoder.temperature
        if given != "auto":
            temperatures = (float(given),)
        elif not isinstance(model, LinearLabels) or model.link == "cut":
            temperatures = (1.0,)

        def scored(temperature: float) -> Candidate:
            score = self.trial.score(self.judge, self.solution, softened(model, temperature))
            return Candidate(self.trial, kind, model, penalty, temperature, score)

        return map_blocks(scored, temperatures, self.judge.n_jobs)
