"""Rounding of a map to whole numbers: chooses the units of each step at the end of a fit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._internal.types import Array, Floats
from ..codes import check_forms
from .step import CHANCE_BITS, DOUBLE, SHARE_BITS, SIMILARITY_BITS, SINGLE, Bound, Inexact, Step
from .steps import Columns, Join, Linear, Lookup, Relative, Similarities, Softmax, TagSimilarities, Unit
from .whole import WholeMap, prove_step

__all__ = ["LOGIT_BITS", "Builder"]

SPREAD_BITS = 13  # a column counts in parts of 2⁻¹³ of its spread,
LIMIT = 2**20  # and ends at 128 spreads from its mean
ALIKE = 4.0  # maps whose scales differ by less than this factor share whole columns
WIDEST_UNIT = 8191  # columns whose sums of squares are exact; wider rows are multiplied in float64
UNIT_BITS = 12  # length of a row before a product with weights
SHORTEST = 1000  # length of a row before a product with centers, below which it says too little
LOGIT_BITS = 16  # parts of a logit
LOOK_BITS = 10  # parts of a logit that a table tells apart
FARTHEST = 16.0  # logits beyond this from the largest, or from 0, count as this far
LOG_BITS = 12  # parts of −log(1 − p)
LOG_SHIFT = 2  # 2² of these parts share a place of a table, which keeps it below 2¹⁴ places
SUREST = 1e-4  # no tag is ever more certain than 1 − this: keeps the logarithm finite
NONE_LEFT = 11.0  # e⁻¹¹ is less than half a part of a similarity
PLACES = 14  # bits of a place in a table of distances or of a lookup
FINEST = 1000  # exponents of units, as files hold them
RAW_BITS, RAW_LIMIT = 12, 2**17  # rows that keep their lengths count in parts of 2⁻¹² widths, up to 32


class Builder:
    """Collects the steps of a model whose rows have ``n_features`` columns.

    Values are known by their places; `bounds` says how large they can become.
    """

    def __init__(self, n_features: int, spread: Array | None = None) -> None:
        self.n_features, self.spread = n_features, spread
        self.steps: list[Step] = []
        self.bounds: list[Bound] = []
        self._columns: list[tuple[int, Floats, Floats]] = []
        self._units: dict[int, int] = {}  # of columns that were brought to one length

    def add(self, step: Step) -> int:
        """Append a step, whose arrays a model file could hold; the place of its result."""
        try:
            check_forms(step.arrays(), step.forms)
        except ValueError as error:
            raise Inexact(str(error)) from error
        self.bounds.append(prove_step(step, self.bounds, self.n_features))
        self.steps.append(step)
        return len(self.steps)

    def build(self, scores: int, units: Array) -> WholeMap:
        """The model whose last step gives the scores."""
        if scores != len(self.steps):
            scores = self.add(Join((scores,)))
        units = np.asarray(units, np.int16)
        if np.abs(units.astype(np.int64)).max() > FINEST:
            raise Inexact("scores that are too large or too small")
        return WholeMap(self.n_features, tuple(self.steps), units)

    # -- features ------------------------------------------------------------------------------

    def columns(self, mean: Floats, scale: Floats, spread: Array | None = None) -> tuple[int, Floats, Floats]:
        """Place, mean and scale of whole columns. Maps of about the same scales share them."""
        for known in self._columns:
            ratio, shift = known[2] / scale, np.abs(known[1] - mean) / scale
            if (ratio < ALIKE).all() and (ratio > 1 / ALIKE).all() and (shift < ALIKE).all():
                return known
        if spread is None and (scale == 1).all():
            spread = self.spread
        if spread is not None:  # columns as they came
            scale = np.exp2(np.ceil(np.log2(np.where(spread > 0, spread, 1.0).astype(np.float64))))
        factor = np.minimum(2.0**SPREAD_BITS / scale, 1e300)
        place = self.add(Columns((0,), np.array(mean, np.float64), factor, LIMIT))
        self._columns.append((place, mean, scale))
        return self._columns[-1]

    def affine(
        self,
        mean: Floats,
        scale: Floats,
        weights: Array,
        constant: Array,
        units: int | Array | None = None,
        spread: Array | None = None,
    ) -> tuple[int, Array]:
        """``((x − mean) / scale) @ weights + constant`` in parts of 2^−units, chosen here where None."""
        place, own_mean, own_scale = self.columns(mean, scale, spread)
        with np.errstate(over="ignore"):
            weights = np.asarray(weights, np.float64)
            constant = constant + ((own_mean - mean) / scale) @ weights
            weights = weights * (own_scale / scale)[:, None]
        if self.n_features > WIDEST_UNIT:
            return self.linear(place, SPREAD_BITS, weights, constant, units)
        if place not in self._units:
            self._units[place] = self.add(Unit((place,), 2**UNIT_BITS))
        return self.linear(self._units[place], SPREAD_BITS + UNIT_BITS, weights, constant, units)

    def unit_similarities(self, centers: Array, width: float, power: int) -> int:
        """``exp(−‖u − c‖^power / (2 width²))`` of rows and centers of unit length, in parts of 2¹⁵."""
        length = int(2**UNIT_BITS - self.n_features**0.5 - 2)  # products of two such rows stay below 2²⁴
        if length < SHORTEST:
            raise Inexact(f"{self.n_features} columns are too many for exact distances")
        relative = self.add(Relative((0,), self.n_features))
        unit = self.add(Unit((relative,), length))
        whole = np.rint(np.asarray(centers, np.float64) * length)
        return self._similarities(unit, whole, length, 2.0, width, power)

    def raw_similarities(self, centers: Floats, width: float) -> int:
        """``exp(−‖x − c‖² / (2 width²))`` of rows and centers as they come."""
        factor = np.full(self.n_features, min(2.0**RAW_BITS / width, 1e300))
        rows = self.add(Columns((0,), np.array(centers[0], np.float64), factor, RAW_LIMIT))
        whole = np.clip(np.rint((centers - centers[0]) * factor), -RAW_LIMIT, RAW_LIMIT)
        return self._similarities(rows, whole, 2.0**RAW_BITS, np.inf, 1.0, 2)

    def _similarities(
        self, rows: int, centers: Floats, parts: float, farthest: float, width: float, power: int
    ) -> int:
        reach = min(farthest, (2 * width**2 * NONE_LEFT) ** (1 / power))
        most = (reach * parts) ** power  # the largest distance, squared or not
        shift = max(0, int(np.ceil(np.log2(most))) - PLACES)
        place = np.arange(int(most * 2.0**-shift) + 2)
        distance = (place * 2.0**shift) ** (1 / power) / parts
        table = np.rint(np.exp(-(distance**power) / (2 * width**2)) * 2.0**SIMILARITY_BITS)
        if reach < farthest:
            table[-1] = 0
        step = Similarities((rows,), centers.astype(np.int32), table.astype(np.int32), shift, int(power == 1))
        return self.add(step)

    # -- products ------------------------------------------------------------------------------

    def linear(
        self,
        source: int,
        bits: int,
        weights: Array,
        constant: Array,
        units: int | Array | None = None,
        plus: int | None = None,
    ) -> tuple[int, Array]:
        """``v @ weights + constant``, and a value ``plus`` in the same units; v counts in parts of 2^−bits.

        ``units`` are the exponents (q,) of the result, one for all, or None: as fine as they can be.
        """
        weights, constant = np.asarray(weights, np.float64), np.asarray(constant, np.float64)
        bound = self.bounds[source - 1]
        room, limit = (DOUBLE / 4, 2.0**24) if bound.norm is None else (SINGLE, 2.0**15 - 1)
        if not (np.isfinite(weights).all() and np.isfinite(constant).all()):
            raise Inexact("weights that are not finite")
        size = np.abs(weights).max(axis=0, initial=0.0)
        with np.errstate(divide="ignore"):
            most = np.minimum(bound.largest_factor(weights, room), limit / size)
        most = np.minimum(most, 2.0**900)  # weights near the end of float64 are none
        if (most[size > 0] <= 0).any():
            raise Inexact(f"{bound.width} entries are too many for an exact product")
        fine = np.zeros(len(size), np.int64)
        fine[size > 0] = np.floor(np.log2(most[size > 0]))
        whole = np.rint(np.ldexp(weights, fine))
        if units is None:
            units = _room_for(constant, np.where(size > 0, fine + bits, 0))
        units = np.broadcast_to(np.asarray(units, np.int64), fine.shape)
        shift = np.where(size > 0, units - bits - fine, 0)
        step = Linear(
            (source,) if plus is None else (source, plus),
            whole.astype(np.int32),
            shift.astype(np.int16),
            _whole(np.ldexp(constant, units)),
        )
        return self.add(step), units.astype(np.int16)

    # -- labels --------------------------------------------------------------------------------

    def softmax(self, logits: int) -> int:
        """Shares of classes, in parts of 2²⁴, of logits in parts of 2¹⁶."""
        away = np.arange(int(FARTHEST * 2**LOOK_BITS) + 1) * 2.0**-LOOK_BITS
        table = np.rint(np.exp(-away) * 2.0**SHARE_BITS).astype(np.int32)
        return self.add(Softmax((logits,), table, LOGIT_BITS - LOOK_BITS))

    def lookup(
        self, source: int, bits: int, low: float, high: float, of: Callable[[Array], Floats], parts: float
    ) -> int:
        """``of(v)`` in parts of 1/``parts``, by a table between ``low`` and ``high``."""
        look = min(bits, PLACES - int(np.ceil(np.log2(high - low))))
        at = low + np.arange(int((high - low) * 2**look) + 1) * 2.0**-look
        table = np.rint(of(at) * parts).astype(np.int32)
        return self.add(Lookup((source,), table, int(low * 2.0**bits), bits - look, 0))

    def tag_chances(
        self, logits: int, low: float, high: float, of: Callable[[Array], Floats]
    ) -> tuple[int, int]:
        """Probabilities of tags, and −log(1 − p); ``of`` turns logits between two ends into probabilities."""

        def logs(x: Floats) -> Floats:
            return -np.log(np.maximum(1 - of(x), SUREST))

        chances = self.lookup(logits, LOGIT_BITS, low, high, of, 2.0**CHANCE_BITS)
        return chances, self.lookup(logits, LOGIT_BITS, low, high, logs, 2.0**LOG_BITS)

    def tag_similarities(self, chances: tuple[int, int], patterns: Array, graded: bool) -> int:
        """Expected similarities to anchors with these tags, in parts of 2¹⁵."""
        place = np.arange(int(NONE_LEFT * 2 ** (LOG_BITS - LOG_SHIFT)) + 2)
        table = np.rint(np.exp(-place * 2.0 ** (LOG_SHIFT - LOG_BITS)) * 2.0**SIMILARITY_BITS)
        table[-1] = 0
        step = TagSimilarities(chances, patterns, table.astype(np.int32), LOG_SHIFT, int(graded))
        return self.add(step)


def _room_for(constant: Floats, units: Array) -> Array:
    """Those units, or coarser ones in which the constant stays below 2⁵⁰."""
    size = np.abs(constant)
    with np.errstate(divide="ignore"):
        finest = np.where(size > 0, 50 - np.ceil(np.log2(np.where(size > 0, size, 1.0))), 900)
    return np.minimum(units, finest).astype(np.int64)


def _whole(constant: Floats) -> Array:
    if not (np.abs(constant) < 2.0**52).all():
        raise Inexact("a constant that is too large beside the weights")
    return np.rint(constant).astype(np.int64)
