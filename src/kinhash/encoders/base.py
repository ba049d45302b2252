"""Encoders learn maps; a map gives rows their scores, and a bit is 1 where its score is above zero."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from .._internal.registry import Table
from .._internal.types import Array, Bools, Bytes, Facts, Floats, Floats32, Ints
from ..codes import KIN_ONLY, BitLayout, pack_bits
from ..energies import Energy
from ..models import Arrays, Map, Seen
from ..solvers import Solver
from ..supervision import Training

if TYPE_CHECKING:
    from .codes_of_rows import LabelCodes

__all__ = ["ENCODERS", "ENOUGH_ROWS", "Candidate", "Encoder", "Fitted", "HoldOut", "hold_out", "select"]

ENOUGH_ROWS = 250  # fewer than 50 held-out rows cannot tell candidates apart
MOST_ROWS = 5_000  # candidates are compared on at most this many rows


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves: a map, and the learned packed codes (n, bytes) of the training rows.

    Methods without codes of their own leave ``codes`` None. ``group_of_row`` (n,) is −1 for rows without
    supervision, which take the map's code; it points into ``marginals`` (g, d) and into ``scores`` (g, d),
    which the supervision alone gives. ``facts`` go into the report, ``fields`` say how much each bit counts,
    ``labels`` which scores a label has, ``seen`` what rows look like, ``mapped_share`` whether learned and
    mapped rows mix (see `Codes`), ``warnings`` what to warn of. ``unrounded`` is the map in floating point
    that ``map`` was rounded from. ``codes_are_learned`` says that codes follow from labels, not from features
    alone; the hasher sets it. ``label_names`` are the labels in the order of the label model, for other
    views. ``knows_looks`` is False for a view without look-alike bits of its own (see `Codes`).
    """

    map: Map
    codes: Bytes | None = None
    group_of_row: Ints | None = None
    marginals: Floats32 | None = None
    scores: Floats32 | None = None
    facts: Facts = field(default_factory=dict)
    fields: BitLayout = KIN_ONLY
    labels: LabelCodes | None = None
    seen: Seen | None = None
    unrounded: Map | None = None
    mapped_share: float | None = None
    warnings: tuple[str, ...] = ()
    codes_are_learned: bool = False
    label_names: Array | None = None
    knows_looks: bool = True

    @classmethod
    def of_groups(
        cls,
        map: Map,
        bits: Bools,
        marginals: Floats,
        group_of_row: Ints,
        scores: Floats | None = None,
        **facts: object,
    ) -> Fitted:
        """Every row takes the bits (g, d) of its group: the signs of ``scores``, if there are any."""
        codes = pack_bits(bits)[group_of_row]
        kept = None if scores is None else scores.astype(np.float32)
        return cls(map, codes, group_of_row, marginals.astype(np.float32), kept, facts)

    def whole(self) -> Fitted:
        """The same with a map of whole numbers, where it can be rounded; see `Map.whole`."""
        map_ = self.map.whole(None if self.seen is None else self.seen.spread)
        return self if map_ is self.map else replace(self, map=map_, unrounded=self.map)


@dataclass(frozen=True)
class HoldOut:
    """Row numbers: ``part`` to fit candidates on, in random order, and ``held`` to compare them by."""

    part: Ints
    held: Ints


@dataclass(frozen=True)
class Candidate:
    """An encoder with nothing left open, fitted on a part of the rows.

    ``losses`` (h,) are those of the held-out rows, ``chance`` (h,) those of not looking at the features;
    ``cost`` ranks candidates by the time they take to encode. ``weights`` (h,) say how much rows count, and
    ``errors`` by how many standard errors another candidate must be better.
    """

    encoder: Encoder
    losses: Floats
    chance: Floats
    cost: int
    weights: Floats | None = None
    errors: float = 1.0

    def mean(self, losses: Floats) -> float:
        """Weighted mean over the held-out rows."""
        return float(np.average(losses, weights=self.weights))

    def is_better(self, than: Candidate) -> bool:
        """Whether the mean loss is lower by ``than.errors`` standard errors of paired differences or more."""
        gains = than.losses - self.losses
        mean, w = self.mean(gains), np.ones(len(gains)) if self.weights is None else self.weights
        return bool(mean > than.errors * np.sqrt((w**2 * (gains - mean) ** 2).sum()) / w.sum())


class Encoder(BaseEstimator, ABC):
    """Settings of a way to encode new rows: scikit-learn style (``get_params``, ``clone``)."""

    def check(self) -> None:
        """Refuse settings outside their range."""

    def solve(self, training: Training, solver: Solver, energy: Energy, n_bits: int) -> Any:
        """The solution of the solver, which `fit` learns to encode."""
        return solver.solve(training.supervision, energy, n_bits, training.rng, training.weights)

    def linear_in_columns(self) -> bool:
        """Whether what it learns is linear in the columns, so that a fit may combine many into fewer."""
        return False

    def candidates(self, training: Training, solution: Any) -> Iterator[Candidate]:
        """Encoders with the open settings filled in, one for each choice; none if nothing is open."""
        return iter(())

    @abstractmethod
    def fit(self, training: Training, solution: Any) -> Fitted:
        """Learn the map from rows to what `solve` gave."""


def hold_out(training: Training) -> HoldOut | None:
    """A fifth of at most `MOST_ROWS` labeled rows; None if there are fewer than `ENOUGH_ROWS`.

    No class loses its last row.
    """
    rows = training.some_known_rows(training.rng, MOST_ROWS)
    if len(rows) < ENOUGH_ROWS:
        return None
    order = training.rng.permutation(rows)
    labels = training.supervision.labels
    spare = np.ones(len(order), bool)
    if labels is not None and labels.classes is not None:
        spare[np.unique(labels.classes[order], return_index=True)[1]] = False
    held = np.flatnonzero(spare)[: len(order) // 5]
    return HoldOut(np.delete(order, held), order[held]) if len(held) else None


def select(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names start with ``prefix``, without it."""
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}


ENCODERS = Table(
    "encoder",
    {
        "amortized": "kinhash.encoders.amortized:Amortized",
        "expected": "kinhash.encoders.expected_labels:ExpectedLabels",
        "regressor": "kinhash.encoders.regressor:Regressor",
        "ridge": "kinhash.encoders.ridge:Ridge",
    },
    entry_points="kinhash.encoders",
)
