"""What the paper's methods and the rivals share: how they are given labels, pairs or S, and what they return.

`Method` reads supervision; `Baseline` is a method with a map of its own, and `Unsupervised` reads no labels. A
package that adds a method subclasses one of the two, whose ``_solve(training)`` returns a `Solved`, and registers
it under the entry point group "kinhash.hashers".
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from .. import base
from .._internal.types import Facts, Features, Floats, LabelsLike, Matrix, Numbers, Seed
from .._internal.validation import make_rng
from ..base import Hasher, Learned
from ..codes import pack_bits
from ..errors import InvalidInput
from ..models import Map
from .similarity import NoSupervision, Training, from_labels, from_pairs, from_similarity

FEATURES = "features alone"


class Method(Hasher):
    """A hasher that learns from the similarity matrix S, in whichever form it comes."""

    def fit(self, X: Features, y: LabelsLike = None, sample_weight: Numbers | None = None) -> Self:
        """Learn codes from rows and their labels.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,), indicator matrix, or list of tag sets
            Classes or tags. ``None`` or NaN means unknown; see `kinhash.labels`.
        sample_weight : array-like of shape (n,), default=None
            How much each row counts beside the others; a row of weight 0 is left out.
        """
        return self._fit(X, lambda n: from_labels(y, n), sample_weight, y)

    def fit_pairs(self, X: Features, left: Numbers, right: Numbers, same: Numbers) -> Self:
        """Learn from pairs of rows. Pairs that are not listed are unknown; rows in no pair take the map's code.

        Parameters
        ----------
        X : array-like of shape (n, p)
        left, right : array-like of shape (m,)
            Row numbers of both ends.
        same : array-like of shape (m,)
            Whether they are similar: booleans, 1 and −1, or grades between.
        """
        return self._fit(X, lambda n: from_pairs(left, right, same, n))

    def fit_similarity(self, X: Features, S: Matrix, anchors: Numbers | None = None) -> Self:
        """Learn from similarities in [−1, 1], where 0 means unknown and the diagonal is ignored.

        Parameters
        ----------
        X : array-like of shape (n, p)
        S : array-like or sparse matrix of shape (n, n) or (n, m)
            A pair may be listed in one direction.
        anchors : array-like of shape (m,), default=None
            The row number of each column, where there are fewer columns than rows.
        """
        return self._fit(X, lambda n: from_similarity(S, anchors, n, make_rng(self.random_state)))

    def _learn(self, training: base.Training) -> Learned:
        own = Training(**vars(training))
        own.supervision.check(own.weights)
        return self._learn_from(own)

    @abstractmethod
    def _learn_from(self, training: Training) -> Learned:
        """Learn codes and a map from supervision that has been checked."""


@dataclass(frozen=True)
class Card:
    """What a reader wants to know of a method at a glance: one row of docs/rivals.md.

    ``learns_from`` is what the method reads, such as `FEATURES`; ``ours`` says what does not come from the
    authors: reconstruction, constants, departures from their program.
    """

    source: str
    learns_from: str
    own_map: str
    ours: str


@dataclass(frozen=True)
class Solved:
    """What a baseline found.

    ``targets`` (n, d) have the learned codes as their signs; None if it has no codes of its own.
    ``map`` is the authors' map; None if that is a ridge onto the targets. ``facts`` go to ``report_``.
    """

    targets: Floats | None = None
    map: Map | None = None
    facts: Facts = field(default_factory=dict)


@dataclass(eq=False, repr=False, kw_only=True)
class Baseline(Method):
    """A method with a map of its own. Subclasses implement `_solve`.

    Those with settings of their own are dataclasses, too, with the same options.

    Parameters
    ----------
    n_bits : int, default=64
    random_state : int or Generator, default=None
    n_jobs : int, default=None
        Threads; results do not depend on it.
    verbose : int, default=0
    """

    n_bits: int = field(default=64, kw_only=False)
    random_state: Seed = None
    n_jobs: int | None = None
    verbose: int = 0
    card: ClassVar[Card | None] = None

    @abstractmethod
    def _solve(self, training: Training) -> Solved:
        """Learn from the training rows; everything that came in has been checked."""

    def _learn_from(self, training: Training) -> Learned:
        with training.stages("codes"):
            solved = self._solve(training)
        with training.stages("map"):
            found, facts = self._map_of(training, solved)
        if solved.targets is None:
            return Learned(found, facts=solved.facts | facts)
        unknown = training.supervision.group_of_row < 0
        return Learned(found, pack_bits(solved.targets > 0), unknown, facts=solved.facts | facts)

    def _map_of(self, training: Training, solved: Solved) -> tuple[Map, Facts]:
        """The map of new rows, and what was chosen about it."""
        if solved.map is None:
            raise InvalidInput(
                f"{type(self).__name__} gave no map of its own",
                "a map from a Baseline or an Unsupervised",
                "Return one from _solve",
            )
        return solved.map, {}


class Unsupervised(Baseline):
    """A baseline that looks at the features alone: y may be left out, and is not read where it is given."""

    requires_labels = False

    def fit(self, X: Features, y: LabelsLike = None, sample_weight: Numbers | None = None) -> Self:
        """Learn from rows X (n, p); y is there for pipelines only."""
        return self._fit(X, NoSupervision, sample_weight, y)

    def _learn(self, training: base.Training) -> Learned:
        return super()._learn(replace(training, supervision=NoSupervision(len(training.rows))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
