"""Work of several requests at once: one call encodes all rows, equal searches are one pass over the index.

A row has the same code alone and in a batch, and a search the same order, so an answer does not depend on
what else was asked for at that moment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import numpy as np

from .._internal.types import Array, Facts
from ..codes import Codes
from ..errors import InvalidInput
from ..index import ListColumn, Neighbors
from .pair import Pair
from .texts import write_codes

__all__ = ["EncodeJob", "Job", "Outcome", "SearchJob", "run"]

SMALL = 2_000  # values of an answer that is written at once; a larger one takes a thread of its own
Outcome = bytes | Exception | Callable[[], bytes]  # a body, what went wrong, or a body yet to be written


@dataclass(frozen=True, eq=False)
class Job:
    """One request: rows of numbers ``X``, or packed codes."""

    pair: Pair
    X: Array | None = None
    packed: Array | None = None
    view: str | None = None

    def __len__(self) -> int:
        rows: Any = self.X if self.X is not None else self.packed
        return len(rows)

    @property
    def n_values(self) -> int:
        """About how many values the answer has, at most."""
        return len(self)


@dataclass(frozen=True, eq=False)
class EncodeJob(Job):
    """Codes wanted, as text of a format or, without one, as bytes."""

    written: str | None = None

    def answer(self, codes: Codes) -> bytes:
        """The body of the response."""
        packed = codes.packed
        if self.written is None:
            return packed.tobytes()
        n_bits = self.pair.index.n_bits
        return _json(
            {
                "model_id": self.pair.model_id,
                "pair": self.pair.number,
                "n_bits": n_bits,
                "format": self.written,
                "codes": write_codes(packed, n_bits, self.written),
            }
        )


@dataclass(frozen=True, eq=False)
class SearchJob(Job):
    """Neighbors wanted: ``k`` of each query, or all within ``radius`` if they are less than ``k``.

    An answer with more than ``most_values`` values, counted as in `n_values`, is refused.
    """

    k: int = 10
    radius: int | None = None
    all_within: bool = False
    where: Facts | str | list[int | str] | None = None
    exclude: Sequence[object] | None = None
    columns: Sequence[str] = field(default_factory=tuple)
    most_values: int | None = None

    @property
    def n_values(self) -> int:
        """Rows × neighbors × (payload columns + 1): an id with its distance counts as one value."""
        return self._values_of(len(self) * min(self.k, len(self.pair.index)))

    def _values_of(self, n_neighbors: int) -> int:
        return n_neighbors * (len(self.columns) + 1)

    def check_size(self, n_values: int) -> None:
        """Refuse an answer of too many values."""
        if self.most_values is not None and n_values > self.most_values:
            counted = f"rows × neighbors × {len(self.columns) + 1} (payload columns + 1)"
            raise InvalidInput(
                f"The answer has up to {n_values:,} values: {counted}",
                f"at most {self.most_values:,}",
                "Send fewer rows at once, ask for a smaller k or fewer columns, or raise --max-answer",
            )

    @property
    def kind(self) -> Hashable:
        """Searches of one kind can be one."""
        return id(self.pair), self.k, json.dumps(self.where, sort_keys=True)

    def answer(self, found: Iterable[Neighbors]) -> bytes:
        """The body of the response.

        Each query is written by itself: the encoder of JSON lets no other thread run meanwhile.
        """
        near = [self._near(one) for one in found]
        self.check_size(self._values_of(sum(len(ids) for ids, _ in near)))
        head = _json({"model_id": self.pair.model_id, "pair": self.pair.number})
        results = b",".join([_json(self._result(ids, distances)) for ids, distances in near])
        return b"".join([head[:-1], b',"results":[', results, b"]}"])

    def _near(self, found: Neighbors) -> tuple[Array, Array]:
        """Ids and distances of the neighbors of one query that are wanted."""
        ids, distances = found.ids, found.distances
        if self.radius is not None:
            near = int(np.searchsorted(distances, self.radius, "right"))
            if self.all_within and near == self.k:
                raise InvalidInput(
                    f"More than {self.k - 1} rows are within distance {self.radius} of a query",
                    f"at most {self.k - 1}",
                    "Pass a smaller radius, or k as well for the nearest of them",
                )
            ids, distances = ids[:near], distances[:near]
        return ids, distances

    def _result(self, ids: Array, distances: Array) -> Facts:
        result: Facts = {"ids": ids.tolist(), "distances": distances.tolist()}
        if self.columns:
            ranks = self.pair.ids.find(ids)
            result["payload"] = {name: _values(self.pair.payload[name][ranks]) for name in self.columns}
        return result


def run(jobs: Sequence[Job]) -> list[Outcome]:
    """The body of every job's response, what went wrong with it, or, for a large body, what writes it."""
    outcomes: list[Any] = list(jobs)
    raw = [i for i, job in enumerate(jobs) if job.X is not None]
    _together(outcomes, raw, lambda job: (id(job.pair), job.view, job.X.shape[1], job.X.dtype), _encoded)
    for i in set(range(len(jobs))) - set(raw):
        packed: Any = jobs[i].packed
        outcomes[i] = jobs[i].pair.as_codes(packed)
    coded = [i for i in range(len(jobs)) if not isinstance(outcomes[i], Exception)]
    searches = [i for i in coded if isinstance(jobs[i], SearchJob)]
    for i in searches:
        outcomes[i] = (jobs[i], outcomes[i])
    _together(outcomes, searches, lambda asked: (asked[0].kind, *_facts(asked[1])), _searched)
    for i in coded:
        if jobs[i].n_values <= SMALL or isinstance(outcomes[i], Exception):
            outcomes[i] = _tried(jobs[i].answer, outcomes[i])  # type: ignore[attr-defined]
        else:
            outcomes[i] = partial(jobs[i].answer, outcomes[i])  # type: ignore[attr-defined]
    return outcomes


def _together(
    outcomes: list[Any],
    places: Sequence[int],
    kind: Callable[[Any], Hashable],
    work: Callable[[list[Any]], list[Any]],
) -> None:
    """Replace what is at these places by what ``work`` makes of all of one kind at once.

    Where that fails, each is tried alone: one bad request must not spoil the others.
    """
    groups: dict[Hashable, list[int]] = {}
    for place in places:
        groups.setdefault(kind(outcomes[place]), []).append(place)
    for group in groups.values():
        asked = [outcomes[place] for place in group]
        made = _tried(work, asked)
        if isinstance(made, Exception):
            alone = [made] if len(group) == 1 else [_tried(work, [one]) for one in asked]
            made = [one if isinstance(one, Exception) else one[0] for one in alone]
        for place, one in zip(group, made, strict=True):
            outcomes[place] = one


def _tried(work: Callable[[Any], Any], given: Any) -> Any:
    """What the work gives, or the error it ends with."""
    try:
        return given if isinstance(given, Exception) else work(given)
    except Exception as problem:  # it goes to the one request, as its answer
        return problem


def _encoded(jobs: list[Job]) -> list[Codes]:
    """Codes of each job's rows."""
    first = jobs[0]
    view = {} if first.view is None else {"view": first.view}
    codes = first.pair.model.encode(np.concatenate([job.X for job in jobs]), **view)
    ends = np.cumsum([len(job) for job in jobs]).tolist()
    return [codes[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def _facts(codes: Codes) -> tuple[object, ...]:
    """What codes say beside their bits: only codes that say the same can be searched for together."""
    return tuple(getattr(codes, one.name) for one in fields(codes) if one.name not in ("packed", "ids"))


def _searched(asked: list[tuple[SearchJob, Codes]]) -> list[list[Neighbors]]:
    """Neighbors of each job's queries."""
    first, codes = asked[0]
    if not codes.knows_looks and any(job.radius is not None for job, _ in asked):
        raise InvalidInput(
            "A radius came with rows of a view that has no look-alike bits",
            "rows of a view that has them",
            "Ask for k neighbors",
        )
    codes = replace(codes, packed=np.concatenate([one.packed for _, one in asked]))
    left_out: list[object] = []
    for job, one in asked:
        left_out += [None] * len(one) if job.exclude is None else job.exclude
    exclude = None if all(one is None for one in left_out) else left_out
    found = first.pair.index.search(codes, first.k, where=first.where, exclude=exclude)
    ends = np.cumsum([len(one) for _, one in asked]).tolist()
    return [[found[i] for i in range(a, b)] for a, b in zip([0, *ends], ends, strict=False)]


def _values(column: Any) -> list[Any]:
    """Values of a payload column for JSON, which has no NaN and no infinity."""
    flat = column.values if isinstance(column, ListColumn) else column
    values: list[Any] = flat.tolist()
    if flat.dtype.kind == "f":
        for place in np.flatnonzero(~np.isfinite(flat)).tolist():
            values[place] = None
    if not isinstance(column, ListColumn):
        return values
    ends = column.ends.tolist()
    return [values[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _json(value: Facts) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
