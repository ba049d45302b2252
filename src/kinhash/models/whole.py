"""Maps: scores of rows, in floating point while a fit lasts, then as whole numbers.

A `WholeMap` is a list of steps that gives the same bits in every runtime. Stored as arrays: ``steps`` is
JSON, a list of ``[kind, inputs, settings]``; the arrays of step i are called ``i.name``; ``units`` (d,) are
exponents: a score is its whole number times 2^−unit.
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
import scipy.sparse as sp

from .._internal.json import require_shallow
from .._internal.types import Array, Floats
from ..codes import Form, check_forms
from ..errors import InvalidInput, KinhashWarning
from .step import CHANCE_BITS, SHARE_BITS, Bound, Inexact, Step, Unsupported
from .steps import STEPS, TagSimilarities

if TYPE_CHECKING:
    from .builder import Builder

__all__ = ["Arrays", "Map", "WholeMap", "arrays_id"]

Arrays = dict[str, Array]
log = logging.getLogger("kinhash")
MOST_STEPS = 100
UNITS = Form("i2", "d", -1000, 1000)  # `Builder` makes no others


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

    def widened(self, rows: Any) -> Map:
        """The same map of raw rows, where this one takes combinations of their columns (`NarrowRows`)."""
        raise Unsupported(f"a {type(self).__name__} is not linear in the columns")

    def arrays(self) -> Arrays:
        """What a model file stores; `from_arrays` undoes it."""
        raise InvalidInput(
            f"The model cannot be written to a model file: {self.why_not_whole()}",
            "a map that can be rounded to whole numbers",
            "Fit with encoder='ridge', or keep this model with joblib",
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
        from .builder import Builder

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
        return self._values(block, len(self.steps_))[-1]

    def _values(self, block: Array, n_steps: int) -> list[Any]:
        """The row itself and the first values."""
        values: list[Any] = [np.ascontiguousarray(block)]
        for step in self.steps_[:n_steps]:
            values.append(step.fast(*(values[place] for place in step.inputs)))
        return values

    def run_with(self, xp: ModuleType, block: Array) -> Array:
        """The same by NumPy or CuPy alone: the definition of a model."""
        values: list[Any] = [block]
        for step in self.steps_:
            values.append(step.run(xp, *(values[place] for place in step.inputs)))
        return values[-1]

    @cached_property
    def _scale(self) -> Floats:
        return np.ldexp(1.0, -self.units.astype(np.int64))

    # -- labels -------------------------------------------------------------------------------

    def chances(self, block: Array) -> Floats:
        """Probabilities (k, t) of the labels of rows, of a model that predicts labels."""
        for place, step in enumerate(self.steps_, 1):
            if step.kind in ("softmax", "tags"):
                wanted, bits = (
                    (place, SHARE_BITS) if step.kind == "softmax" else (step.inputs[0], CHANCE_BITS)
                )
                return self._values(block, wanted)[wanted] * 2.0**-bits
        raise InvalidInput(
            "The model predicts no labels", "a model with encoder='expected'", "Fit one on classes or tags"
        )

    # -- tags ----------------------------------------------------------------------------------

    @property
    def n_tags(self) -> int | None:
        """How many tags the model predicts; None for models of something else."""
        return sum(step.patterns.shape[1] for _, step in self._tags) if self._tags else None

    @cached_property
    def _tags(self) -> list[tuple[int, TagSimilarities]]:
        """Places of the steps that turn tags into similarities: one, or one for each level of a tree."""
        return [(i, step) for i, step in enumerate(self.steps_) if isinstance(step, TagSimilarities)]

    def scores_of_tags(self, tags: sp.csr_array, n_bits: int) -> Floats:
        """The first ``n_bits`` scores (k, n_bits) of rows whose tags, an indicator (k, t), are known.

        They go the way that predicted tags go, with probabilities of 0 and 1.
        """
        assert self._tags
        known, values = tags.toarray().astype(np.float64), dict[int, Any]()
        for _, step in self._tags:
            own, known = np.split(known, [step.patterns.shape[1]], axis=1)
            values[step.inputs[0]] = own * 2.0**CHANCE_BITS
            values[step.inputs[1]] = own * self.bounds[step.inputs[1] - 1].entry
        for place, one in enumerate(self.steps_, 1):
            if place not in values and all(i in values for i in one.inputs):
                values[place] = one.fast(*(values[i] for i in one.inputs))
        last = self.steps_[-1]
        part = last.inputs[0] if last.kind == "join" else len(self.steps_)
        return values[part][:, :n_bits] * self._scale[:n_bits]

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
        if not isinstance(entry, list) or len(entry) != 3 or entry[0] not in STEPS:
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
        "Fit with encoder='ridge', which any energy can use",
    )


def arrays_id(arrays: Arrays) -> str:
    """The id of the map of whole numbers that has these arrays."""
    digest = hashlib.blake2b(WholeMap.kind.encode(), digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()
