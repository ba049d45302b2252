"""The rows of an index at one moment. A change makes the next state; a search reads one to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .._internal.types import Array, Words
from ..errors import InvalidInput
from . import validation as door
from .ids import IdsLike, as_ids, sorting_order
from .lists import Column
from .payload import PayloadLike, as_payload
from .segment import Segment
from .segments import Build, in_order, segment_of, settled, without

__all__ = ["Rows", "State"]

MOST_ROWS = 2**32 - 1
Rows = tuple[Words, Array, dict[str, Column]]  # codes, ids, payload


@dataclass(frozen=True)
class State:
    """Immutable state that one search reads."""

    segments: tuple[Segment, ...] = ()
    next_id: int = 0
    columns: dict[str, Column] = field(default_factory=dict)  # the empty payload after all rows were removed

    @classmethod
    def of(cls, rows: Rows, next_id: int, n_bits: int, build: Build) -> State:
        """The state with these rows, in one segment."""
        words, ids, payload = rows
        if not len(ids):
            return cls((), next_id, payload)
        return cls((segment_of(words, n_bits, ids, payload, build),), next_id)

    @property
    def payload(self) -> Mapping[str, Column]:
        """Columns that new rows must have: their names and types count."""
        return door.known_columns(self.segments) if self.segments else self.columns

    def rows(self, n_bits: int) -> Rows:
        """Codes as words, ids and payload of all rows, by ascending id."""
        words, ids, payload = in_order(self.segments, n_bits)
        return words, ids, payload if self.segments else dict(self.columns)

    def whole(self, n_bits: int, build: Build) -> Segment:
        """All rows in one segment."""
        if len(self.segments) == 1:
            return self.segments[0]
        words, ids, payload = self.rows(n_bits)
        return segment_of(words, n_bits, ids, payload, build)

    def put(
        self,
        words: Words,
        ids: IdsLike | None,
        payload: PayloadLike,
        replace: bool,
        n_bits: int,
        build: Build,
    ) -> tuple[State, Array]:
        """The state with these rows as well, and their ids."""
        values = door.new_ids(ids, len(words), self.next_id, self.segments)
        known = self.payload if self.segments or self.columns else None
        columns = door.same_columns(as_payload(payload, len(words)), known)
        segments, found = without(self.segments, values)
        if found.any() and not replace:
            raise InvalidInput(
                f"There is a row with the id {values.tolist()[int(found.argmax())]!r} already",
                "new ids",
                "Use upsert to replace rows; nothing was added",
            )
        if len(words) + sum(map(len, segments)) > MOST_ROWS:
            raise InvalidInput("The index would be too large", f"at most {MOST_ROWS} rows", "Split the rows")
        next_id = self.next_id
        if len(words):
            added = segment_of(words, n_bits, values, columns, build)
            segments = settled((*segments, added), n_bits, build)
            next_id = next_id if added.ids.are_strings else max(next_id, int(values.max()) + 1)
        return State(segments, next_id, self.columns), values

    def removed(self, ids: IdsLike) -> State:
        """The state without these rows. Raises `InvalidInput` if one is not there or comes twice."""
        values = door.same_type(as_ids(ids), self.segments)
        sorting_order(values)  # refuses an id that comes twice
        segments, found = without(self.segments, values)
        if not found.all():
            raise InvalidInput(
                f"There is no row with the id {values.tolist()[int(found.argmin())]!r}",
                "ids of rows in the index",
                "Leave it out; nothing was removed",
            )
        columns = {name: column[:0].copy() for name, column in self.payload.items()}
        return State(segments, self.next_id, {} if segments else columns)
