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
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from .._internal.locks import new_lock
from .._internal.types import Array, Floats, Words
from .._internal.validation import check_integer, check_n_bits
from ..codes import KIN_ONLY, BitLayout, Codes, as_codes, n_bytes
from ..errors import InvalidInput, KinhashWarning
from . import validation as door
from .file import IndexFile, read_index, write_index
from .filters import Filter, filters_of
from .ids import IdsLike
from .lists import Column, ListColumn
from .nearest import QueryBatch, answer
from .neighbors import Neighbors, joined
from .payload import PayloadLike, Where, select
from .radius_search import around, together
from .rerank import Vectors, second_look
from .segment import Segment
from .segments import Part, all_ids, in_order
from .state import State
from .stats import IndexStats

if TYPE_CHECKING:
    from .gpu_index import GpuIndex

__all__ = ["HammingIndex"]

CodesLike = Codes | npt.ArrayLike
Index = TypeVar("Index", bound="HammingIndex")


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
        self._state = State()
        self._writing = new_lock()
        self._kinds: set[bool] = set()  # whether rows were learned from labels, or mapped

    @classmethod
    def from_codes(
        cls,
        codes: CodesLike,
        n_bits: int | None = None,
        ids: IdsLike | None = None,
        payload: PayloadLike = None,
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
    def ids(self) -> Array:
        """All ids, ascending: the order of boolean masks in ``where``, of `codes` and of `payload`."""
        return all_ids(self._state.segments)

    @property
    def payload(self) -> dict[str, Array | ListColumn]:
        """The payload columns, in the order of `ids`."""
        return self._state.rows(self.n_bits)[2]

    def codes(self) -> Codes:
        """All codes with their ids, in the order of `ids`."""
        words, ids, _ = in_order(self._state.segments, self.n_bits)
        packed = np.ascontiguousarray(words.view(np.uint8)[:, : n_bytes(self.n_bits)])
        return Codes(packed, self.n_bits, ids, self.model_id, self.fields, learned=True in self._kinds)

    def stats(self) -> IndexStats:
        """Return the sizes of the index."""
        return IndexStats.of(self._state.segments, self.n_bits, self.fields, self.model_id)

    # ---- searching ---------------------------------------------------------------------------

    def search(
        self,
        codes: CodesLike | None,
        k: int,
        *,
        where: Where | Filter | Sequence[Where | Filter] = None,
        exclude: npt.ArrayLike | Sequence[object] | None = None,
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
        weights: Floats | None = None
        full: Floats | float | None = float(self.fields.max_distance(self.n_bits))
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
        exclude: npt.ArrayLike | Sequence[object] | None = None,
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
        return self._moved_to(index, *self._state.rows(self.n_bits))

    # ---- changing ----------------------------------------------------------------------------

    def add(self, codes: CodesLike, ids: IdsLike | None = None, payload: PayloadLike = None) -> Array:
        """Add all rows or none, and return their ids. Raises `InvalidInput` if an id exists already.

        Without ids, rows are numbered on from the largest number ever used. Rows go to small segments that
        are merged as they grow, so adding one by one costs little more than adding all at once.
        """
        return self._put(codes, ids, payload, replace=False)

    def upsert(self, codes: CodesLike, ids: IdsLike, payload: PayloadLike = None) -> Array:
        """Add rows and replace those with existing ids, in one step."""
        return self._put(codes, ids, payload, replace=True)

    def remove(self, ids: IdsLike) -> None:
        """Remove all of these rows, or none. Takes one pass over their segments.

        Raises `InvalidInput` if an id does not exist or comes twice.
        """
        with self._writing:
            self._state = self._state.removed(ids)

    def compact(self) -> None:
        """Merge all segments into one, which is fastest to search. Rows added at once are one segment."""
        with self._writing:
            state = self._state
            whole = state.whole(self.n_bits, self._build)
            self._state = State((whole,) if len(whole) else (), state.next_id, state.columns)

    # ---- files -------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save as one checksummed file. An earlier file stays intact until the new one is complete."""
        with self._writing:
            self.compact()
            state = self._state
        whole = state.whole(self.n_bits, self._build)
        write_index(path, IndexFile(whole, state.next_id, self.model_id, self.fields, frozenset(self._kinds)))

    @classmethod
    def load(cls, path: str | os.PathLike[str], mmap: bool = True) -> HammingIndex:
        """Open and verify a saved index, by default memory-mapped."""
        segment, next_id, model_id, fields, kinds = read_index(path, mmap)
        index = cls(segment.n_bits, model_id, fields)
        index._kinds = set(kinds)
        rows = (segment,) if len(segment) else ()
        index._state = State(rows, next_id, {} if rows else dict(segment.payload))
        return index

    def __getstate__(self) -> dict[str, Any]:
        return {
            "n_bits": self.n_bits,
            "model_id": self.model_id,
            "fields": self.fields,
            "next_id": self._state.next_id,
            "kinds": self._kinds,
            "rows": self._state.rows(self.n_bits),
        }

    def __setstate__(self, facts: dict[str, Any]) -> None:
        """Rebuild the index: unpickled arrays lack the alignment that the kernels need."""
        self.__init__(facts["n_bits"], facts["model_id"], facts["fields"])  # type: ignore[misc]
        self._fill(facts)

    def _fill(self, facts: dict[str, Any]) -> None:
        self._state = State.of(facts["rows"], facts["next_id"], self.n_bits, self._build)
        self._kinds = set(facts.get("kinds", ()))

    # ---- where rows lie: on the processor, or as `GpuIndex` says ----------------------------------

    _build = staticmethod(Segment.build)

    def _select(self, segments: Sequence[Segment], where: object) -> list[Part]:
        """The rows that pass a filter, as parts of the segments."""
        return where.select(self, segments) if isinstance(where, Filter) else select(segments, where)

    def _moved_to(self, index: Index, words: Words, ids: Array, payload: dict[str, Column]) -> Index:
        """Another index, still empty, with these rows and the next id of this one."""
        next_id = self._state.next_id
        index._state = State.of((words, ids, payload), next_id, index.n_bits, index._build)
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

    def _put(self, codes: CodesLike, ids: IdsLike | None, payload: PayloadLike, replace: bool) -> Array:
        with self._writing:
            model_id = self.model_id
            if isinstance(codes, Codes):
                ids = codes.ids if ids is None else ids
                model_id = codes.model_id if model_id is None and not len(self) else model_id
            words = door.query_words(codes, self.n_bits, model_id, self.fields)
            self._state, added = self._state.put(words, ids, payload, replace, self.n_bits, self._build)
            self.model_id = model_id
            if isinstance(codes, Codes):
                self._note_kind(codes)
            return added
