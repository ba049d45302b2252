"""A map as whole numbers: a list of steps that gives the same bits in every runtime.

Stored as arrays: ``steps`` is JSON, a list of ``[kind, inputs, settings]``; the arrays of step i are called
``i.name``; ``units`` (d,) are exponents: a score is its whole number times 2^−unit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._forms import Form, check_forms
from .._json import require_shallow
from .._types import Array, Floats
from ..errors import InvalidInput
from .base import Arrays, Map
from .bounds import Bound, Inexact
from .step import CHANCE_BITS, SHARE_BITS, Step
from .steps import STEPS, TagSimilarities

__all__ = ["WholeMap"]

MOST_STEPS = 100
UNITS = Form("i2", "d", -1000, 1000)  # `Builder` makes no others


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

    def whole(self, spread: Array | None = None) -> Map:
        return self

    def scores(self, block: npt.NDArray[Any]) -> Floats:
        """Scores (k, d) of raw rows (k, p), float32 or float64; the same on every machine."""
        found: Floats = self.run(block) * self._scale
        return found

    def run(self, block: npt.NDArray[Any]) -> Floats:
        """Whole scores (k, d), by compiled kernels."""
        whole: Floats = self._values(block, len(self.steps_))[-1]
        return whole

    def _values(self, block: npt.NDArray[Any], n_steps: int) -> list[Any]:
        """The row itself and the first values."""
        values: list[Any] = [np.ascontiguousarray(block)]
        for step in self.steps_[:n_steps]:
            values.append(step.fast(*(values[place] for place in step.inputs)))
        return values

    def run_with(self, xp: Any, block: Any) -> Any:
        """The same by NumPy or CuPy alone: the definition of a model."""
        values: list[Any] = [block]
        for step in self.steps_:
            values.append(step.run(xp, *(values[place] for place in step.inputs)))
        return values[-1]

    @cached_property
    def _scale(self) -> Floats:
        return np.ldexp(1.0, -self.units.astype(np.int64))

    # -- labels -------------------------------------------------------------------------------

    def chances(self, block: npt.NDArray[Any]) -> Floats:
        """Probabilities (k, t) of the labels of rows, of a model that predicts labels."""
        for place, step in enumerate(self.steps_, 1):
            if step.kind in ("softmax", "tags"):
                wanted, bits = (
                    (place, SHARE_BITS) if step.kind == "softmax" else (step.inputs[0], CHANCE_BITS)
                )
                found: Floats = self._values(block, wanted)[wanted] * 2.0**-bits
                return found
        raise InvalidInput(
            "The model predicts no labels", "a model with encoder='expected'", "Fit one on classes or tags"
        )

    # -- tags ----------------------------------------------------------------------------------

    @property
    def n_tags(self) -> int | None:
        """How many tags the model predicts; None for models of something else."""
        return None if self._tags is None else int(self.steps_[self._tags].patterns.shape[1])  # type: ignore[attr-defined]

    @cached_property
    def _tags(self) -> int | None:
        found = [i for i, step in enumerate(self.steps_) if isinstance(step, TagSimilarities)]
        return found[0] if len(found) == 1 else None

    def scores_of_tags(self, tags: sp.csr_array, n_bits: int) -> Floats:
        """The first ``n_bits`` scores (k, n_bits) of rows whose tags, an indicator (k, t), are known.

        They go the way that predicted tags go, with probabilities of 0 and 1.
        """
        assert self._tags is not None
        known = tags.toarray().astype(np.float64)
        step = self.steps_[self._tags]
        logs = self.bounds[step.inputs[1] - 1].entry
        values: dict[int, Any] = {
            step.inputs[0]: known * 2.0**CHANCE_BITS,
            step.inputs[1]: known * logs,
        }
        for place, one in enumerate(self.steps_[self._tags :], self._tags + 1):
            if all(i in values for i in one.inputs):
                values[place] = one.fast(*(values[i] for i in one.inputs))
        last = self.steps_[-1]
        part = last.inputs[0] if last.kind == "join" else len(self.steps_)
        whole: Floats = values[part][:, :n_bits] * self._scale[:n_bits]
        return whole

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
        raise ValueError("steps that are no text")
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
            raise ValueError("inputs of a step that are no places")
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
