"""Models: fitted maps as arrays of whole numbers and a short list of steps.

A fit learns a map in floating point. At its end a `Builder` rounds it once, and everything else uses the
`WholeMap`: it gives a row the same bits on every machine, alone or in any batch, in NumPy, on a GPU, in ONNX
and in a browser. `whole_network` rounds the map of the learner, `Map.whole` any other.

A model is stored as arrays: ``steps`` is JSON, a list of ``[kind, inputs, settings]``; the arrays of step i
are called ``i.name``; ``units`` (d,) are exponents: a score is its whole number times 2^−unit.
"""

from __future__ import annotations

import hashlib
import json
import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._internal.blocks import block_slices, map_blocks
from .._internal.container import Form, check_forms
from .._internal.rows import Rows
from .._internal.texts import require_shallow
from .._internal.types import Array, Bytes, Floats
from ..codes import n_bytes, pack_bits
from ..errors import InvalidInput, KinhashWarning
from ..gpu import card_in_use, moved
from .guard import Seen
from .steps import (
    DOUBLE,
    SIMILARITY_BITS,
    SINGLE,
    STEPS,
    Bound,
    Clip,
    Columns,
    Inexact,
    Join,
    Linear,
    Relative,
    Similarities,
    Step,
    Unit,
    Unsupported,
    Workspace,
)

if TYPE_CHECKING:
    from ..learn.table import LabelTable


Arrays = dict[str, Array]
log = logging.getLogger("kinhash")
MOST_STEPS = 100
UNITS = Form("i2", "d", -1000, 1000)  # `Builder` makes no others
WIDE, CARD_NUMBERS = 1 << 23, 1 << 25  # numbers of a block of rows that a thread, or a card, reads at once
MOST_ROWS, FEWEST_ROWS, NUMBERS = 512, 16, 1 << 19  # rows at a time: for BLAS, and to stay in the cache


class Map(ABC):
    """Scores of rows. `fit` learns a map in floating point, and rounds it to a `WholeMap` at its end."""

    kind: ClassVar[str]
    n_bits: int
    n_features: int

    @abstractmethod
    def scores(self, block: Array) -> Array:
        """Scores (k, d) of raw rows (k, p)."""

    def steps(self, builder: Builder) -> tuple[int, Array]:
        """Write the map as steps: the place of its scores, and their units (d,) as exponents.

        Raises `Inexact` with the reason where that cannot be done.
        """
        raise Unsupported(f"a {type(self).__name__} has no steps of whole numbers")

    def arrays(self) -> Arrays:
        """What a model file stores; `from_arrays` undoes it."""
        raise InvalidInput(
            f"The model cannot be written to a model file: {self.why_not_whole()}",
            "a map that can be rounded to whole numbers",
            "Fit an EnergyHasher, or keep this model with joblib",
        )

    def id(self) -> str | None:
        """Digest of the arrays, 32 hex digits; None where the map cannot be stored."""
        return None

    def whole(self, spread: Array | None = None) -> Map:
        """The same map in whole numbers; the map itself where it cannot be rounded.

        ``spread`` (p,) are the standard deviations of the columns, for maps that take columns as they come.
        """
        try:
            return self._rounded(spread)
        except Unsupported as reason:
            log.info("The map stays in floating point: %s", reason)
        except Inexact as reason:
            warnings.warn(
                f"The map stays in floating point, because {reason}. It encodes, but bits near zero may "
                "differ between machines, and it cannot be saved or exported. Standardize the columns of X.",
                KinhashWarning,
                stacklevel=2,
            )
        return self

    def why_not_whole(self) -> str:
        """The reason why the map cannot be rounded."""
        try:
            self._rounded(None)
        except Inexact as reason:
            return str(reason)
        return "it was not rounded"

    def _rounded(self, spread: Array | None) -> WholeMap:
        if type(self).steps is Map.steps:  # another package's map
            raise Unsupported(f"a {type(self).__name__} has no steps of whole numbers")
        builder = Builder(self.n_features, spread)
        return builder.build(*self.steps(builder))


@dataclass(frozen=True, eq=False)
class WholeMap(Map):
    """Steps from raw rows to whole scores (k, d). Building one proves that all its sums are exact."""

    n_features: int
    steps_: tuple[Step, ...]
    units: Array
    bounds: tuple[Bound, ...] = field(init=False)
    kind: ClassVar[str] = "whole"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", prove(self.steps_, self.n_features))
        if self.bounds[-1].width != len(self.units):
            raise Inexact(f"{self.bounds[-1].width} scores and {len(self.units)} units")
        with np.errstate(over="ignore"):
            largest = self.bounds[-1].entry * self._scale
        if not np.isfinite(largest).all():
            raise Inexact("scores beyond the range of float64")

    @property
    def n_bits(self) -> int:  # type: ignore[override]
        """Number of scores."""
        return len(self.units)

    @property
    def widest(self) -> int:
        """The width of the widest value."""
        return max(bound.width for bound in self.bounds)

    def id(self) -> str:
        return arrays_id(self.arrays())

    def whole(self, spread: Array | None = None) -> Map:
        return self

    def scores(self, block: Array) -> Floats:
        """Scores (k, d) of raw rows (k, p), float32 or float64; the same on every machine."""
        return self.run(block) * self._scale

    def run(self, block: Array) -> Floats:
        """Whole scores (k, d), by compiled kernels."""
        out = np.empty((len(block), self.n_bits))
        at_once = min(MOST_ROWS, max(FEWEST_ROWS, NUMBERS // self.widest))
        for start in range(0, len(block), at_once):
            part = slice(start, start + at_once)
            out[part] = self._values(block[part])[-1]
        return out

    def _values(self, block: Array) -> list[Any]:
        """The row itself and all values, which the next call overwrites."""
        values: list[Any] = [np.ascontiguousarray(block)]
        for step in self.steps_:
            values.append(step.fast(self._room, *(values[place] for place in step.inputs)))
        return values

    @cached_property
    def _room(self) -> Workspace:
        return Workspace()

    def run_with(self, xp: ModuleType, block: Array) -> Array:
        """The same by NumPy or CuPy alone: the definition of a model."""
        values: list[Any] = [block]
        for step in self.steps_:
            values.append(step.run(xp, *(values[place] for place in step.inputs)))
        return values[-1]

    @cached_property
    def _scale(self) -> Floats:
        return np.ldexp(1.0, -self.units.astype(np.int64))

    # -- files ---------------------------------------------------------------------------------

    def arrays(self) -> Arrays:
        listed = [[step.kind, list(step.inputs), step.numbers()] for step in self.steps_]
        text = json.dumps(listed, separators=(",", ":")).encode("ascii")
        found = {"steps": np.frombuffer(text, np.uint8), "units": self.units}
        for place, step in enumerate(self.steps_):
            found |= {f"{place}.{name}": array for name, array in step.arrays().items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> WholeMap:
        listed = _read_steps(arrays)
        check_forms({"units": arrays["units"]}, {"units": UNITS})
        rest = {name for name in arrays if name not in ("steps", "units")}
        steps, width = [], None
        for place, (kind, inputs, numbers) in enumerate(listed):
            own = {name.partition(".")[2]: arrays[name] for name in rest if name.startswith(f"{place}.")}
            rest -= {f"{place}.{name}" for name in own}
            check_forms(own, STEPS[kind].forms)
            steps.append(STEPS[kind](tuple(inputs), **own, **numbers))
            if steps[-1].takes_row:
                width = steps[-1].bound().width
        if rest:
            raise ValueError(f"arrays that are unknown: {', '.join(sorted(rest)[:5])}")
        if width is None:
            raise ValueError("no step that takes a row")
        return cls(width, tuple(steps), arrays["units"])


def prove(steps: tuple[Step, ...], n_features: int) -> tuple[Bound, ...]:
    """Bounds of all values but the row itself; raises `Inexact` if a sum could leave its exact range."""
    bounds: list[Bound] = []
    for step in steps:
        bounds.append(prove_step(step, bounds, n_features))
    if not bounds or bounds[-1].norm is not None:
        raise Inexact("no steps, or none that gives scores")
    return tuple(bounds)


def prove_step(step: Step, bounds: Sequence[Bound], n_features: int) -> Bound:
    """Bound of the next value, given those of all values so far but the row itself."""
    least, most = step.n_inputs
    if not least <= len(step.inputs) <= most:
        raise Inexact(f"a step {step.kind!r} of {len(step.inputs)} inputs")
    if any(not 0 <= place <= len(bounds) for place in step.inputs):
        raise Inexact("a step that takes the value of a later one")
    if step.takes_row != (0 in step.inputs):
        raise Inexact(f"a step {step.kind!r} that takes the row itself, or does not")
    given = [] if step.takes_row else [bounds[place - 1] for place in step.inputs]
    if any(one.norm is not None for one in given[1:]) or (
        given and given[0].norm is not None and not step.takes_lengths
    ):
        raise Inexact(f"a step {step.kind!r} after one that keeps lengths")
    found = step.bound(*given)
    if step.takes_row and found.width != n_features:
        raise Inexact(f"{found.width} columns and not {n_features}")
    return found


def _read_steps(arrays: Arrays) -> list[tuple[str, list[int], dict[str, int]]]:
    """The list of steps, whose kinds, inputs and settings are known to be of the right types and ranges."""
    text = arrays["steps"]
    if text.dtype != np.uint8 or text.ndim != 1 or text.size > 100_000:
        raise ValueError("the list of steps is not text")
    raw = text.tobytes().decode("ascii")
    require_shallow(raw)
    listed = json.loads(raw)
    if not isinstance(listed, list) or not 0 < len(listed) <= MOST_STEPS:
        raise ValueError("no list of steps, or too long a one")
    for entry in listed:
        if (
            not isinstance(entry, list)
            or len(entry) != 3
            or type(entry[0]) is not str
            or entry[0] not in STEPS
        ):
            raise ValueError(f"the step {str(entry)[:60]}, which this version does not know")
        kind, inputs, numbers = entry
        ranges = STEPS[kind].settings
        if not isinstance(inputs, list) or not all(type(place) is int for place in inputs):
            raise ValueError("a step has an invalid input")
        if not isinstance(numbers, dict) or numbers.keys() != ranges.keys():
            raise ValueError(f"settings of a step {kind!r} that are missing or unknown")
        for name, (low, high) in ranges.items():
            if type(numbers[name]) is not int or not low <= numbers[name] <= high:
                raise ValueError(f"{name} of a step {kind!r} that is not from {low} to {high}")
    return [(kind, inputs, numbers) for kind, inputs, numbers in listed]


def require_whole(map_: Map) -> WholeMap:
    """The map if it is one of whole numbers; an error that names the reason if not."""
    if isinstance(map_, WholeMap):
        return map_
    raise InvalidInput(
        f"The model cannot be exported: {map_.why_not_whole()}",
        "a model of whole numbers",
        "Fit an EnergyHasher",
    )


def packed_codes(map_: WholeMap, rows: Rows, n_jobs: int | None = None) -> Bytes:
    """Packed codes (n, bytes) of rows, by several threads, or on the card of `kinhash.on_gpu`.

    Memory beyond them: a few blocks per thread; on a card the model, and about six arrays of 256 MB.
    """
    packed = np.empty((len(rows), n_bytes(map_.n_bits)), np.uint8)
    width, card = max(rows.shape[1], map_.widest), card_in_use()
    if card is None or not all(step.on_card for step in map_.steps_):

        def encode(part: slice) -> None:
            packed[part] = pack_bits(map_.run(rows.plain(part)) > 0)

        for _ in map_blocks(
            encode, block_slices(len(rows), max(FEWEST_ROWS, min(MOST_ROWS, WIDE // width))), n_jobs
        ):
            pass
        return packed
    map_.run_with(np, np.zeros((1, map_.n_features)))  # derives what the steps need, so that it moves too
    there = moved(map_, card)
    for part in block_slices(len(rows), max(1024, CARD_NUMBERS // width)):
        with card.active() as xp:
            packed[part] = card.packed_bits(there.run_with(xp, card.put(rows.plain(part))) > 0)
    return packed


def arrays_id(arrays: Arrays) -> str:
    """The id of the map of whole numbers that has these arrays."""
    digest = hashlib.blake2b(WholeMap.kind.encode(), digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


# -- from floating point to whole numbers --

SPREAD_BITS = 13  # a column counts in parts of 2⁻¹³ of its spread,
LIMIT = 2**20  # and ends at 128 spreads from its mean
UNIT_BITS = 12  # length of a row before a product with weights,
WIDEST_UNIT = 1024  # which is exact in float32; wider rows would lose digits and are multiplied in float64
SHORTEST = 1000  # length of a row before a product with centers, below which it says too little
NONE_LEFT = 11.0  # e⁻¹¹ is less than half a part of a similarity
PLACES = 14  # bits of a place in a table of distances
FINEST = 1000  # exponents of units, as files hold them
RAW_BITS, RAW_LIMIT = 12, 2**17  # rows that keep their lengths count in parts of 2⁻¹² widths, up to 32
SCORE_BITS = 45  # bits of the largest score of a network that could be
HIDDEN_BITS = 35  # bits of the sum of all its hidden units, which leaves 16 for their weights
WEAKEST, LARGEST_WEIGHT = 2.0**-900, 1e300  # a score below this counts as this


@dataclass(frozen=True)
class Model:
    """What a model file holds of one view: the map, what rows looked like, and scores of labels."""

    map: Map
    seen: Seen | None = None
    table: LabelTable | None = None


class Builder:
    """Collects the steps of a model whose rows have ``n_features`` columns.

    Values are known by their places; `bounds` says how large they can become.
    """

    def __init__(self, n_features: int, spread: Array | None = None) -> None:
        self.n_features, self.spread = n_features, spread
        self.steps: list[Step] = []
        self.bounds: list[Bound] = []

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
        """Place, mean and scale of whole columns."""
        if spread is None and (scale == 1).all():
            spread = self.spread
        if spread is not None:  # columns as they came
            scale = np.exp2(np.ceil(np.log2(np.where(spread > 0, spread, 1.0).astype(np.float64))))
        return self.add(_columns(mean, 1 / scale)), mean, scale

    def one_length(self, rows: int) -> tuple[int, int]:
        """Whole columns brought to one length where products of them are exact enough, and their bits."""
        if self.bounds[rows - 1].width > WIDEST_UNIT:
            return rows, SPREAD_BITS
        return self.add(Unit((rows,), 2**UNIT_BITS)), SPREAD_BITS + UNIT_BITS

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
        place, _, own_scale = self.columns(mean, scale, spread)
        with np.errstate(over="ignore"):
            weights = np.asarray(weights, np.float64) * (own_scale / scale)[:, None]
        return self.linear(*self.one_length(place), weights, constant, units)

    def unit_similarities(self, centers: Array, width: float, power: int = 2, rows: int | None = None) -> int:
        """``exp(−‖u − c‖^power / (2 width²))`` of rows and centers of unit length, in parts of 2¹⁵.

        ``rows`` is the place of the rows, None the row itself.
        """
        p = centers.shape[1]
        length = int(2**UNIT_BITS - p**0.5 - 2)  # products of two such rows stay below 2²⁴
        if length < SHORTEST:
            raise Inexact(f"{p} columns are too many for exact distances")
        unit = self.add(Unit((self.add(Relative((0,), p)) if rows is None else rows,), length))
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


def _columns(mean: Array, inv: Array) -> Columns:
    return Columns((0,), np.array(mean, np.float64), np.minimum(inv * 2.0**SPREAD_BITS, 1e300), LIMIT)


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


def whole_network(
    mean: Floats,
    inv: Floats,
    W: Array,
    b: Array,
    U: Array,
    c: Array,
    V: Array,
    *,
    before: tuple[Floats, Floats, Array] | None = None,
    near: tuple[Floats, Array, float] | None = None,
) -> WholeMap:
    """The map ``z W + b + relu(z U + c) V`` with ``z = (x − mean) · inv``, rounded to whole numbers.

    Columns whose ``inv`` is 0 are left out, and all others end at 128 spreads, that is at z = ±128.

    Parameters
    ----------
    mean, inv : array of shape (p,)
        Means and reciprocal spreads of the columns.
    W, b : array of shape (p, d) and (d,)
        The direct part.
    U, c, V : array of shape (p, h), (h,) and (h, d)
        The hidden units and what they add; h may be 0.
    before : tuple (mean, inv, basis), default=None
        For rows of many columns q: x is then ``((row − mean) · inv) @ basis`` with basis (q, p).
    near : tuple (origin, centers, width), default=None
        Similarities ``exp(−‖u − c‖² / (2 width²))`` that follow the columns in z: of the row less ``origin``
        at length 1, to ``centers`` (m, p − m) of length 1. Without ``before``.

    Raises `Inexact` if sums of such a map cannot be exact.
    """
    mean, inv, W, b, U, c, V = (np.asarray(each, np.float64) for each in (mean, inv, W, b, U, c, V))
    if not all(np.abs(each).max(initial=0.0) < LARGEST_WEIGHT for each in (mean, inv, W, b, U, c, V)):
        raise Inexact("weights that are too large or not finite")
    p, d = len(mean) - (0 if near is None else len(near[1])), len(b)
    builder = Builder(p if before is None else len(before[0]))
    if before is None:
        columns = builder.add(_columns(mean[:p], inv[:p]))
    else:
        wide, basis = builder.add(_columns(before[0], np.asarray(before[1]))), np.asarray(before[2]) * inv
        narrow, _ = builder.linear(wide, SPREAD_BITS, basis, -mean * inv, SPREAD_BITS)
        columns = builder.add(Clip((narrow,), -LIMIT, LIMIT))
    # Values that make up z, their bits, the longest of their rows, and the weights of each.
    values, longest = [builder.one_length(columns)], [LIMIT / 2**SPREAD_BITS * p**0.5]
    direct, inner = [W[:p]], [U[:p]]
    if near is not None:
        origin, centers, width = near
        least = inv[:p].min(initial=np.inf, where=inv[:p] > 0)  # of the column of the largest spread
        around = builder.add(_columns(origin, np.full(p, least if least < np.inf else 1.0)))
        values.append((builder.unit_similarities(centers, width, rows=around), SIMILARITY_BITS))
        longest.append(len(centers) ** 0.5)
        direct, inner = [*direct, inv[p:, None] * W[p:]], [*inner, inv[p:, None] * U[p:]]
        b, c = b - mean[p:] @ direct[1], c - mean[p:] @ inner[1]

    def largest(weights: list[Floats], constant: Floats) -> Floats:
        lengths = [far * np.linalg.norm(each, axis=0) for far, each in zip(longest, weights, strict=True)]
        return np.sum(lengths, axis=0) + np.abs(constant)

    def product(weights: list[Floats], constant: Floats, units: int | Array) -> int:
        total, _ = builder.linear(*values[0], weights[0], constant, units)
        for (place, bits), each in zip(values[1:], weights[1:], strict=True):
            total, _ = builder.linear(place, bits, each, 0 * constant, units, plus=total)
        return total

    with np.errstate(over="ignore"):
        hidden = largest(inner, c)
        most, total = largest(direct, b) + hidden @ np.abs(V), float(hidden.sum())
    if not (most < LARGEST_WEIGHT).all() or not total < LARGEST_WEIGHT:
        raise Inexact("weights that are too large")
    units = SCORE_BITS - np.ceil(np.log2(np.maximum(most, WEAKEST))).astype(np.int64)
    scores = product(direct, b, units)
    if total > WEAKEST:
        own = HIDDEN_BITS - int(np.ceil(np.log2(total)))
        layer = builder.add(Clip((product(inner, c, own),), 0, 2**HIDDEN_BITS))
        scores, _ = builder.linear(layer, own, V, np.zeros(d), units, scores)
    return builder.build(scores, units)
