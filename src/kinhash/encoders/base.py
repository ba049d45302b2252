"""Encoders learn maps; a map gives rows their scores, and a bit is 1 where its score is above zero."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from .._types import Bools, Bytes, Floats, Floats32, Ints
from ..codes import pack_bits
from ..fields import KIN_ONLY, Fields
from ..models import Arrays, Map, Seen
from ..solvers import Solution
from ..training import Training

if TYPE_CHECKING:
    from .label_codes import LabelCodes

__all__ = ["Candidate", "Encoder", "Fitted", "HoldOut", "select"]


@dataclass(frozen=True)
class Fitted:
    """What a fit leaves: a map, and the learned packed codes (n, bytes) of the training rows.

    Methods without codes of their own leave ``codes`` None. ``group_of_row`` (n,) is −1 for rows without
    supervision, which take the map's code; it points into ``marginals`` (g, d) and into ``scores`` (g, d),
    which the supervision alone gives. ``facts`` go into the report, ``fields`` say how much each bit counts,
    ``labels`` which scores a label has, ``seen`` what rows look like, ``mapped_share`` whether learned and
    mapped rows mix (see `Codes`), ``warnings`` what to warn of. ``unrounded`` is the map in floating point
    that ``map`` was rounded from.
    """

    map: Map
    codes: Bytes | None = None
    group_of_row: Ints | None = None
    marginals: Floats32 | None = None
    scores: Floats32 | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    fields: Fields = KIN_ONLY
    labels: LabelCodes | None = None
    seen: Seen | None = None
    unrounded: Map | None = None
    mapped_share: float | None = None
    warnings: tuple[str, ...] = ()

    @classmethod
    def of_groups(
        cls,
        map: Map,
        bits: Bools,
        marginals: Floats,
        group_of_row: Ints,
        scores: Floats | None = None,
        **facts: Any,
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
    ``cost`` ranks candidates by the time they take to encode. ``weights`` (h,) say how much rows count.
    """

    encoder: Encoder
    losses: Floats
    chance: Floats
    cost: int
    weights: Floats | None = None

    def mean(self, losses: Floats) -> float:
        """Weighted mean over the held-out rows."""
        return float(np.average(losses, weights=self.weights))

    def is_better(self, than: Candidate) -> bool:
        """Whether the mean loss is lower by more than one standard error of the paired differences."""
        gains = than.losses - self.losses
        mean, w = self.mean(gains), np.ones(len(gains)) if self.weights is None else self.weights
        return bool(mean > np.sqrt((w**2 * (gains - mean) ** 2).sum()) / w.sum())


class Encoder(BaseEstimator, ABC):
    """Settings of a way to encode new rows: scikit-learn style (``get_params``, ``clone``)."""

    def check(self) -> None:
        """Refuse settings outside their range."""

    def candidates(self, training: Training, split: HoldOut) -> Iterator[Candidate]:
        """What this encoder leaves open, settled in several ways; nothing if all is settled."""
        return iter(())

    @abstractmethod
    def fit(self, training: Training, solution: Solution) -> Fitted:
        """Learn the map from rows to the codes of a solution."""


def select(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names start with ``prefix``, without it."""
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
