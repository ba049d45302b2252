"""Exact Hamming search. Distinct codes are stored once, and answers have one defined order.

    index = HammingIndex.from_codes(hasher.encode(X), ids=names)
    found = index.search(hasher.encode(queries), k=10)
    found.ids, found.distances

A search reads one immutable state; a change builds the next state and puts it in place at once. So any
number of readers may search while a writer adds or removes rows, and each search answers from one
committed state.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._internal.locks import new_lock
from .._internal.validation import check_integer, check_n_bits
from ..codes import KIN_ONLY, BitLayout, Codes, as_codes, n_bytes
from ..errors import InvalidInput, KinhashWarning
from . import validation as door
from .file import IndexFile, read_index, write_index
from .filters import Filter, filters_of
from .ids import as_ids, sorting_order
from .lists import Column, ListColumn
from .nearest import QueryBatch, answer
from .neighbors import Neighbors, joined
from .payload import Where, as_payload, select
from .radius_search import around, together
from .rerank import Vectors, second_look
from .segment import Segment
from .segments import all_ids, in_order, merged, segment_of, settled, without

if TYPE_CHECKING:
    from .gpu_index import GpuIndex

__all__ = ["HammingIndex", "IndexStats"]

CodesLike = Codes | npt.ArrayLike
IdsLike = npt.ArrayLike | Sequence[str]
MOST_ROWS = 2**32 - 1
_Rows = tuple[Any, npt.NDArray[Any], dict[str, Column]]  # codes as words, ids, payload


@dataclass(frozen=True)
class _State:
    """Immutable state that one search reads."""

    segments: tuple[Segment, ...] = ()
    next_id: int = 0
    columns: dict[str, Column] = field(default_factory=dict)  # the empty payload after all rows were removed

    @property
    def payload(self) -> Mapping[str, Column]:
        """Columns that new rows must have: their names and types count."""
        return door.known_columns(self.segments) if self.segments else self.columns


@dataclass(frozen=True)
class IndexStats:
    """Sizes of an index, with its bytes by purpose."""

    n_bits: int
    fields: BitLayout
    n_rows: int
    n_codes: int  # distinct ones, counted per segment
    n_segments: int
    longest_list: int  # most rows with one code
    code_bytes: int
    list_bytes: int
    id_bytes: int
    table_bytes: int  # multi-index hashing, once built
    group_bytes: int  # groups of kin codes, once built
    model_id: str | None


class HammingIndex:
    """Codes of ``n_bits`` bits (1 to 1024), searched exactly in the order (distance, id).

    ``fields`` (`kinhash.BitLayout`) say what a differing bit counts: one, unless kin bits count more than the
    bits that say what a row looks like. Bare uint8 arrays are taken as codes with the fields of the index.

    Ids are 64-bit integers or strings, all of one type; without ids rows are numbered. ``payload`` columns
    travel with the rows for filters. Memory: the distinct codes, 8 bytes per row where codes repeat, and
    the ids unless they are consecutive.

    >>> index = HammingIndex.from_codes(np.array([[0b1111], [0b0001], [0b1111]], np.uint8))
    >>> found = index.search(np.array([[0b0111]], np.uint8), k=2)
    >>> found.ids.tolist(), found.distances.tolist()
    ([[0, 2]], [[1, 1]])
    """

    def __init__(self, n_bits: int, model_id: str | None = None, fields: BitLayout = KIN_ONLY) -> None:
        self.n_bits = check_n_bits(n_bits)
        self.model_id = model_id
        fields.check(self.n_bits)
        self._fields = fields
        self._state = _State()
        self._writing = new_lock()
        self._kinds: set[bool] = set()  # whether rows were learned from labels, or mapped

    @classmethod
    def from_codes(
        cls,
        codes: CodesLike,
        n_bits: int | None = None,
        ids: IdsLike | None = None,
        payload: Any = None,
        model_id: str | None = None,
    ) -> HammingIndex:
        """Build an index of `Codes`, or of packed uint8 rows (``n_bits`` defaults to 8 per byte).

        Peak memory beyond the codes: 20 to 40 bytes per row for 64-bit codes.
        """
        codes = as_codes(codes, n_bits)
        index = cls(codes.n_bits, model_id or codes.model_id, codes.fields)
        index.add(codes, ids, payload)
        return index

    # ---- reading -----------------------------------------------------------------------------

    def __len__(self) -> int:
        return sum(map(len, self._state.segments))

    def __repr__(self) -> str:
        return f"HammingIndex({len(self)} rows of {self.n_bits} bits)"

    @property
    def fields(self) -> BitLayout:
        """Weights of the bits."""
        return self._fields

    @property
    def ids(self) -> npt.NDArray[Any]:
        """All ids, ascending: the order of boolean masks in ``where``, of `codes` and of `payload`."""
        return all_ids(self._state.segments)

    @property
    def payload(self) -> dict[str, npt.NDArray[Any] | ListColumn]:
        """The payload columns, in the order of `ids`."""
        return self._rows()[2]

    def codes(self) -> Codes:
        """All codes with their ids, in the order of `ids`."""
        words, ids, _ = in_order(self._state.segments, self.n_bits)
        packed = np.ascontiguousarray(words.view(np.uint8)[:, : n_bytes(self.n_bits)])
        return Codes(packed, self.n_bits, ids, self.model_id, self.fields, learned=True in self._kinds)

    def stats(self) -> IndexStats:
        """Return the sizes of the index."""
        segments = self._state.segments
        tables = [segment.hashing.tables for segment in segments]
        groups = [segment.grouping.groups for segment in segments]
        return IndexStats(
            n_bits=self.n_bits,
            fields=self.fields,
            n_rows=sum(map(len, segments)),
            n_codes=sum(segment.n_codes for segment in segments),
            n_segments=len(segments),
            longest_list=max((segment.longest_list() for segment in segments), default=0),
            code_bytes=sum(segment.blocks.nbytes for segment in segments),
            list_bytes=sum(segment.starts.nbytes + segment.rows.nbytes for segment in segments),
            id_bytes=sum(segment.ids.n_bytes for segment in segments),
            table_bytes=sum(table.n_bytes for table in tables if table is not None),
            group_bytes=sum(group.n_bytes for group in groups if group is not None),
            model_id=self.model_id,
        )

    # ---- searching ---------------------------------------------------------------------------

    def search(
        self,
        codes: CodesLike | None,
        k: int,
        *,
        where: Where | Filter | Sequence[Where | Filter] = None,
        exclude: Any = None,
        margins: npt.ArrayLike | None = None,
        margins_of: str | None = None,
        vectors: Vectors | None = None,
        rerank: str = "shortlist",
        shortlist: int | None = None,
    ) -> Neighbors:
        """Find the ``k`` nearest rows of every query, or all rows that pass the filter if they are fewer.

        ``where`` filters before the selection: a condition on payload columns as text
        (``year >= 2010 and "Drama" in tags``) or as a mapping (to a wanted value, a list or set of them, or
        a tuple of two for a range), a list of ids, a boolean mask in the order of `ids`, a function from the
        payload to a mask, which is called once with all rows in the order of `ids`, or what `filter`
        prepared. Or a list with one of these, or None, for every query: each distinct filter is evaluated
        once, and the result is flat, as that of `search_radius`, because queries may get different numbers
        of rows.

        ``exclude`` has an id, or None, for every query: the row with that id, usually the query itself, is
        not returned, and the next one is. If there is no next one, because ``k`` is at or above the number
        of rows, that query gets one row less; where other queries do not, the result is flat, too.

        ``margins`` (q, n_bits) weigh each differing bit by its absolute margin, exactly over all codes;
        ``codes`` may then be None, for the signs of the margins. Codes with two fields keep the weights of
        their fields: the margins of a query count relative to their mean over the field, and
        ``margins_of="kin"`` or ``"alike"`` takes those of one field alone.

        ``vectors``, a pair (query vectors, row vectors by id), looks again: with ``rerank="shortlist"`` the
        ``shortlist`` (default ``10 k``) is ranked by Euclidean distance; with ``rerank="ties"`` the order is
        (distance, Euclidean distance, id), and ``distances`` are the first of these. Either way, rows as near
        as the last one looked at are looked at too, however many: they are gathered by asking for four
        times as many rows until a farther one comes, and their vectors are taken 4,096 at a time.
        """
        k = check_integer("k", k, 0)
        if margins is None and (kin_alone := door.kin_margins(codes)) is not None:
            margins, margins_of = kin_alone, "alike"
        elif margins_of == "kin" and door.kin_margins(codes) is not None:
            margins_of = None  # look-alike bits that are not known have margin 0: they do not count
        weights: Any = None
        full: Any = float(self.fields.max_distance(self.n_bits))
        if margins is not None:
            given = (margins, margins_of, self.n_bits, self.fields)
            codes, weights, full = door.weighted_queries(codes, *given)
        elif margins_of is not None:
            raise InvalidInput(
                "margins_of came without margins", "both or neither", "Pass the margins as well"
            )
        words = door.query_words(codes, self.n_bits, self.model_id, self.fields)
        segments = self._state.segments
        asked = QueryBatch(words, self.fields, weights, *door.left_out(exclude, len(words), segments))
        look = second_look(vectors, rerank, shortlist, k, len(words))
        if look is not None and not look.ties:
            full = None
        filters = filters_of(where, len(words))
        if filters is None:
            found = answer(self._select(segments, where), asked, k, look)
            if found[2] is None:
                return Neighbors(found[1], found[0], full=full)
            return joined([(np.arange(len(words)), found)], len(words), full)
        parts = []
        for one, rows in filters:
            again = None if look is None else look.take(rows)
            parts.append((rows, answer(self._select(segments, one), asked.take(rows), k, again)))
        return joined(parts, len(words), full)

    def search_radius(
        self,
        codes: CodesLike,
        r: int,
        *,
        where: Where | Filter | Sequence[Where | Filter] = None,
        exclude: Any = None,
    ) -> Neighbors:
        """Find all rows within distance ``r`` of every query; ``found[i]`` is query ``i``.

        ``where`` and ``exclude`` are those of `search`. Small radii on many distinct codes use multi-index
        hashing, once enough time went into scanning to pay for its tables (or after `prepare_radius`); the
        answers are the same.
        """
        full = self.fields.max_distance(self.n_bits)
        r = min(check_integer("r", r, 0), full)
        door.require_looks(codes)
        words = door.query_words(codes, self.n_bits, self.model_id, self.fields)
        segments = self._state.segments
        asked = QueryBatch(words, self.fields, None, *door.left_out(exclude, len(words), segments))
        filters = filters_of(where, len(words))
        if filters is None:
            query, distances, ids = around(self._select(segments, where), asked, r)
        else:
            parts = []
            for one, rows in filters:
                query, distances, ids = around(self._select(segments, one), asked.take(rows), r)
                parts.append((rows[query], distances, ids))
            query, distances, ids = together(parts)
        splits = np.searchsorted(query, np.arange(len(words) + 1))
        return Neighbors(ids, distances, splits, float(full))

    def filter(self, where: Where) -> Filter:
        """Prepare a filter for many searches, of the kinds `search` takes (one, not one for every query).

        >>> index = HammingIndex.from_codes(np.zeros((3, 1), np.uint8), payload={"year": [1999, 2005, 2010]})
        >>> recent = index.filter("year >= 2000")
        >>> index.search(np.zeros((1, 1), np.uint8), k=3, where=recent).ids.tolist()
        [[1, 2]]
        """
        return Filter(self, where)

    def prepare(self) -> None:
        """Build the groups of kin codes for `search` now. Memory: 12 bytes per distinct 64-bit code.

        Otherwise `search` builds them once scanning has taken as long as that, where codes have two fields.
        They are kept if kin codes have many rows each and a few searches were measured to gain by them; the
        answers are the same.
        """
        for segment in self._state.segments:
            segment.build_groups(self.fields)

    def prepare_radius(self) -> None:
        """Build the tables of multi-index hashing now. Memory: 48 bytes per distinct 64-bit code."""
        for segment in self._state.segments:
            segment.build_tables()

    def to_gpu(self, *, cards: Sequence[int] | None = None, memory: int | None = None) -> GpuIndex:
        """Return a `GpuIndex` of the same rows (extra ``gpu``); arguments as of `GpuIndex`.

        The two indexes are independent afterwards.
        """
        from .gpu_index import GpuIndex

        index = GpuIndex(self.n_bits, self.model_id, self.fields, cards=cards, memory=memory)
        moved: GpuIndex = self._moved_to(index, *self._rows())
        return moved

    # ---- changing ----------------------------------------------------------------------------

    def add(self, codes: CodesLike, ids: IdsLike | None = None, payload: Any = None) -> npt.NDArray[Any]:
        """Add all rows or none, and return their ids. Raises `InvalidInput` if an id exists already.

        Without ids, rows are numbered on from the largest number ever used. Rows go to small segments that
        are merged as they grow, so adding one by one costs little more than adding all at once.
        """
        return self._put(codes, ids, payload, replace=False)

    def upsert(self, codes: CodesLike, ids: IdsLike, payload: Any = None) -> npt.NDArray[Any]:
        """Add rows and replace those with existing ids, in one step."""
        return self._put(codes, ids, payload, replace=True)

    def remove(self, ids: IdsLike) -> None:
        """Remove all of these rows, or none. Takes one pass over their segments.

        Raises `InvalidInput` if an id does not exist or comes twice.
        """
        with self._writing:
            state = self._state
            values = door.same_type(as_ids(ids), state.segments)
            sorting_order(values)  # refuses an id that comes twice
            segments, found = without(state.segments, values)
            if not found.all():
                raise InvalidInput(
                    f"There is no row with the id {values.tolist()[int(found.argmin())]!r}",
                    "ids of rows in the index",
                    "Leave it out; nothing was removed",
                )
            columns = {name: column[:0].copy() for name, column in state.payload.items()}
            self._state = _State(segments, state.next_id, {} if segments else columns)

    def compact(self) -> None:
        """Merge all segments into one, which is fastest to search. Rows added at once are one segment."""
        with self._writing:
            whole = merged(self._state.segments, self.n_bits, self._build)
            state = self._state
            self._state = _State((whole,) if len(whole) else (), state.next_id, state.columns)

    # ---- files -------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save as one checksummed file. An earlier file stays intact until the new one is complete."""
        with self._writing:
            self.compact()
            state = self._state
        if state.segments:
            (whole,) = state.segments
        else:
            words, ids, _ = in_order((), self.n_bits)
            whole = segment_of(words, self.n_bits, ids, state.columns, self._build)
        write_index(path, IndexFile(whole, state.next_id, self.model_id, self.fields, frozenset(self._kinds)))

    @classmethod
    def load(cls, path: str | os.PathLike[str], mmap: bool = True) -> HammingIndex:
        """Open and verify a saved index, by default memory-mapped."""
        segment, next_id, model_id, fields, kinds = read_index(path, mmap)
        index = cls(segment.n_bits, model_id, fields)
        index._kinds = set(kinds)
        rows = (segment,) if len(segment) else ()
        index._state = _State(rows, next_id, {} if rows else dict(segment.payload))
        return index

    def __getstate__(self) -> dict[str, Any]:
        return {
            "n_bits": self.n_bits,
            "model_id": self.model_id,
            "fields": self.fields,
            "next_id": self._state.next_id,
            "kinds": self._kinds,
            "rows": self._rows(),
        }

    def __setstate__(self, facts: dict[str, Any]) -> None:
        """Rebuild the index: unpickled arrays lack the alignment that the kernels need."""
        self.__init__(facts["n_bits"], facts["model_id"], facts["fields"])  # type: ignore[misc]
        self._fill(facts)

    def _fill(self, facts: dict[str, Any]) -> None:
        self._state = self._state_of(facts["rows"], facts["next_id"])
        self._kinds = set(facts.get("kinds", ()))

    # ---- where rows lie: on the processor, or as `GpuIndex` says ----------------------------------

    _build = staticmethod(Segment.build)

    def _select(self, segments: Sequence[Segment], where: Any) -> list[Any]:
        """The rows that pass a filter, as parts of the segments."""
        return where.select(self, segments) if isinstance(where, Filter) else select(segments, where)

    def _rows(self) -> _Rows:
        """Codes as words, ids and payload of all rows, by ascending id."""
        state = self._state
        words, ids, payload = in_order(state.segments, self.n_bits)
        return words, ids, payload if state.segments else dict(state.columns)

    def _state_of(self, rows: _Rows, next_id: int) -> _State:
        """The state with these rows."""
        words, ids, payload = rows
        if not len(ids):
            return _State((), next_id, payload)
        return _State((segment_of(words, self.n_bits, ids, payload, self._build),), next_id)

    def _moved_to(self, index: Any, words: Any, ids: npt.NDArray[Any], payload: Any) -> Any:
        """Another index, still empty, with these rows and the next id of this one."""
        index._state = index._state_of((words, ids, payload), self._state.next_id)
        index._kinds = set(self._kinds)
        return index

    def _note_kind(self, codes: Codes) -> None:
        """Warn once if learned and mapped rows are mixed and mapped ones would be ranked first."""
        if not len(codes) or codes.model_id is None:
            return
        joins = bool(self._kinds) and codes.learned not in self._kinds
        self._kinds.add(codes.learned)
        share = codes.mapped_share
        if joins and share is not None and share > door.UNFAIR_SHARE:
            warnings.warn(door.unfair_mixture(share), KinhashWarning, stacklevel=4)

    def _put(self, codes: CodesLike, ids: Any, payload: Any, replace: bool) -> npt.NDArray[Any]:
        with self._writing:
            state = self._state
            model_id = self.model_id
            if isinstance(codes, Codes):
                ids = codes.ids if ids is None else ids
                model_id = codes.model_id if model_id is None and not len(self) else model_id
            words = door.query_words(codes, self.n_bits, model_id, self.fields)
            values = door.new_ids(ids, len(words), state.next_id, state.segments)
            known = state.payload if state.segments or state.columns else None
            columns = door.same_columns(as_payload(payload, len(words)), known)
            segments, found = without(state.segments, values)
            if found.any() and not replace:
                raise InvalidInput(
                    f"There is a row with the id {values.tolist()[int(found.argmax())]!r} already",
                    "new ids",
                    "Use upsert to replace rows; nothing was added",
                )
            if len(words) + sum(map(len, segments)) > MOST_ROWS:
                raise InvalidInput(
                    "The index would be too large", f"at most {MOST_ROWS} rows", "Split the rows"
                )
            next_id = state.next_id
            if len(words):
                added = segment_of(words, self.n_bits, values, columns, self._build)
                segments = settled((*segments, added), self.n_bits, self._build)
                next_id = next_id if added.ids.are_strings else max(next_id, int(values.max()) + 1)
            self._state = _State(segments, next_id, state.columns)
            self.model_id = model_id
            if isinstance(codes, Codes):
                self._note_kind(codes)
            return values
