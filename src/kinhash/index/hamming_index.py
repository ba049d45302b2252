"""Exact Hamming search. Distinct codes are stored once, and answers have one defined order.

    index = HammingIndex.from_codes(hasher.encode(X), ids=names)
    found = index.search(hasher.encode(queries), k=10)
    found.ids, found.distances

A search reads one immutable state; a change builds the next state and puts it in place at once. So any number
of readers may search while a writer adds or removes rows, and each search answers from one committed state. A
change that fails, or whose warning is turned into an error, leaves the index as it was.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from .._internal.blocks import n_threads, require_memory
from .._internal.locks import new_lock
from .._internal.texts import STRING
from .._internal.types import Array, Bools, Bytes, Floats, Ints, Ints32, Words
from .._internal.validation import check_choice, check_integer, check_n_bits, unmasked
from ..codes import Codes, CodesLike, as_codes, n_bytes, to_words, weights_of
from ..errors import CodesMismatch, InvalidInput, warn
from .filters import Condition, as_condition
from .kernels import unite
from .neighbors import Neighbors, RadiusNeighbors, best_of
from .payload import (
    MOST_IDS,
    Columns,
    IdsLike,
    ListColumn,
    PayloadLike,
    as_ids,
    as_payload,
    concatenated,
    same_columns,
)
from .segments import (
    EMPTY,
    FilteredSegment,
    Ids,
    Segment,
    all_columns,
    all_ids,
    ids_order,
    in_order,
    is_ascending,
    read_only,
    read_segment,
    some_learned,
    sort_keys,
    sorting_order,
    write_segment,
)

if TYPE_CHECKING:
    from .gpu_index import GpuIndex


Index = TypeVar("Index", bound="HammingIndex")
Part: TypeAlias = Segment | FilteredSegment  # what a search looks at
# One filter: text, columns by name, a boolean mask, ids, a function, or a `Filter`.
Where: TypeAlias = Any
LARGE_ANSWER = 100_000_000  # places of an answer; from here on memory is asked for first
MOST_ROWS = 2**32 - 1


@dataclass(frozen=True)
class _State:
    """The rows of an index at one moment, which one search reads to its end."""

    segments: tuple[Segment, ...] = ()
    columns: Columns = field(default_factory=dict)  # the empty payload after all rows were removed
    next_id: int = 0
    model_id: str | None = None
    same_within: int | None = None  # the radius that the model of the first codes had decided

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    @property
    def facts(self) -> dict[str, Any]:
        """What is not about single rows."""
        return {"next_id": self.next_id, "model_id": self.model_id, "same_within": self.same_within}

    @property
    def payload(self) -> Columns:
        """Columns that new rows must have, each from the first segment where its type is known."""
        if not self.segments:
            return self.columns
        known = {}
        for name in self.segments[0].payload:
            columns = [segment.payload[name] for segment in self.segments]
            typed = [one for one in columns if not isinstance(one, ListColumn) or len(one.values)]
            known[name] = (typed or columns)[0]
        return known

    def rows(self, n_bits: int) -> tuple[Words, Array, Columns, Any]:
        """Codes as words, ids, payload and learned rows of all rows, by ascending id."""
        words, ids, payload, learned = in_order(self.segments, n_bits)
        return words, ids, payload if self.segments else dict(self.columns), learned


@dataclass(frozen=True)
class IndexStats:
    """Sizes of an index, with its bytes by purpose."""

    n_bits: int
    n_rows: int
    n_learned: int  # rows that were learned with their labels
    n_codes: int  # distinct ones, counted per segment
    n_segments: int
    longest_list: int  # most rows with one code
    code_bytes: int
    list_bytes: int
    id_bytes: int
    table_bytes: int  # multi-index hashing, once built
    model_id: str | None


class HammingIndex:
    """Codes of one length, searched exactly in the order (distance, id).

    Ids are 64-bit integers or strings, all of one type; without ids rows are numbered. ``payload`` columns
    travel with the rows for filters. Memory: the distinct codes, 8 bytes per row where codes repeat, and the
    ids unless they are consecutive.

    Parameters
    ----------
    n_bits : int
        Length of a code, 1 to 16,384.
    model_id : str or None, default=None
        The model whose codes are in the index. None takes that of the first codes.

    Examples
    --------
    >>> index = HammingIndex.from_codes(np.array([[0b1111], [0b0001], [0b1111]], np.uint8))
    >>> found = index.search(np.array([[0b0111]], np.uint8), k=2)
    >>> found.ids.tolist(), found.distances.tolist()
    ([[0, 2]], [[1, 1]])
    """

    def __init__(self, n_bits: int, model_id: str | None = None) -> None:
        self.n_bits = check_n_bits(n_bits)
        self._state = _State(model_id=model_id)
        self._writing = new_lock()

    @classmethod
    def from_codes(
        cls,
        codes: CodesLike,
        n_bits: int | None = None,
        ids: IdsLike | None = None,
        payload: PayloadLike = None,
        model_id: str | None = None,
    ) -> HammingIndex:
        """Build an index. Peak memory beyond the codes: 20 to 40 bytes per row for 64-bit codes.

        Parameters
        ----------
        codes : Codes or array-like
            `Codes`, packed uint8 rows, hex text, or what sentence-transformers calls ``ubinary`` and
            ``binary``.
        n_bits : int or None, default=None
            Length of a code; None is 8 per byte.
        ids : array-like of int or str, default=None
            One per row. None takes those of `Codes`, or numbers the rows.
        payload : mapping or data frame, default=None
            Columns by name: booleans, numbers, strings, or lists of them.
        model_id : str or None, default=None
            The model that made the codes; None takes that of `Codes`.

        Returns
        -------
        HammingIndex
        """
        codes = as_codes(codes, n_bits)
        index = cls(codes.n_bits, model_id or codes.model_id)
        index.add(codes, ids, payload)
        return index

    # ---- reading -----------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._state)

    def __repr__(self) -> str:
        return f"HammingIndex({len(self)} rows of {self.n_bits} bits)"

    @property
    def model_id(self) -> str | None:
        """The model whose codes are in the index."""
        return self._state.model_id

    @property
    def same_within(self) -> int | None:
        """The radius within which rows are the same, if the model of the codes had decided one."""
        return self._state.same_within

    @property
    def ids(self) -> Array:
        """All ids, ascending: the order of boolean masks in ``where``, of `codes` and of `payload`."""
        return all_ids(self._state.segments)

    @property
    def payload(self) -> Columns:
        """The payload columns, in the order of `ids`."""
        state = self._state
        return all_columns(state.segments) if state.segments else dict(state.columns)

    def codes(self) -> Codes:
        """Return all codes with their ids, in the order of `ids`, and which rows were learned."""
        state = self._state
        words, ids, _, learned = in_order(state.segments, self.n_bits)
        packed = np.ascontiguousarray(words.view(np.uint8)[:, : n_bytes(self.n_bits)])
        return Codes(packed, self.n_bits, ids, state.model_id, learned, state.same_within)

    def stats(self) -> IndexStats:
        """Return the sizes of the index."""
        state = self._state
        segments, lists = state.segments, [one.list_sizes() for one in state.segments if one.starts.size]
        tables = [segment.hashing.tables for segment in segments]
        return IndexStats(
            n_bits=self.n_bits,
            n_rows=len(state),
            n_learned=sum(int(np.broadcast_to(one.learned, len(one)).sum()) for one in segments),
            n_codes=sum(segment.n_codes for segment in segments),
            n_segments=len(segments),
            longest_list=max([min(1, len(state)), *(int(sizes.max()) for sizes in lists)]),
            code_bytes=sum(segment.blocks.nbytes for segment in segments),
            list_bytes=sum(segment.starts.nbytes + segment.rows.nbytes for segment in segments),
            id_bytes=sum(segment.ids.n_bytes for segment in segments),
            table_bytes=sum(array.nbytes for table in tables if table is not None for array in table),
            model_id=state.model_id,
        )

    # ---- searching ---------------------------------------------------------------------------

    def search(
        self,
        codes: CodesLike | None,
        k: int,
        *,
        where: Where | Sequence[Where] = None,
        exclude: npt.ArrayLike | Sequence[object] | None = None,
        margins: npt.ArrayLike | None = None,
    ) -> Neighbors:
        """Find the ``k`` nearest rows of every query.

        Parameters
        ----------
        codes : Codes, array-like or None
            The queries, in any form that `from_codes` takes. May be None with ``margins``, for their signs.
        k : int
            Rows to find. Where fewer pass the filter, an answer is padded, and ``counts`` says how many there
            are.
        where : filter or list of filters, default=None
            Filters before the selection: a condition on payload columns as text
            (``year >= 2010 and "Drama" in tags``) or as a mapping (to a wanted value, a list or set of them,
            or a tuple of two for a range), ids, a boolean mask in the order of `ids`, a function from the
            payload to a mask, which is called once with all rows in the order of `ids`, or what `filter`
            prepared. Or a list with one of these, or None, for every query: equal ones are evaluated once.
        exclude : array-like, default=None
            An id, or None, for every query: the row with that id, usually the query itself, is not returned,
            and the next one is.
        margins : array-like of shape (queries, n_bits), default=None
            Floats whose signs are the query bits, such as ``hasher.decision_function(X)``. A differing bit
            then counts its absolute margin, in whole numbers: the largest margin of a query counts 15, others
            in proportion, rounded to even. Distances are these sums in units of the margins; rows with the
            same sum come in the order of their ids. So answers are the same on every machine.

        Returns
        -------
        Neighbors
            ``ids`` and ``distances`` of shape (queries, k), and ``counts`` (queries,).
        """
        k = check_integer("k", k, 0)
        weights: Bytes | None = None
        unit: Floats | None = None
        if margins is not None:
            codes, weights, unit = self._weigh(codes, margins)
        state = self._state
        words = self._words(codes, state.model_id)
        if len(words) * k > LARGE_ANSWER:
            require_memory(40 * len(words) * k, f"An answer of {len(words)} × {k} rows", "Ask for fewer rows")
        own = self._left_out(exclude, len(words), state)
        strings = bool(state.segments) and state.segments[0].ids.are_strings
        answers = []
        for one, rows in self._filters(where, len(words)):
            some = slice(None) if rows is None else rows
            found = self._nearest(
                self._select(state.segments, one),
                read_only(words[some]),
                k,
                None if weights is None else weights[some],
                None if own is None else [ranks[some] for ranks in own],
                strings,
            )
            answers.append((rows, found))
        found = answers[0][1] if answers[0][0] is None else _scattered(answers, len(words), k)
        if unit is None or weights is None:
            return replace(found, full=float(self.n_bits))
        distances = np.where(found.found, found.distances * unit[:, None], -1.0)
        full = weights.sum(axis=1, dtype=np.int64) * unit
        return replace(found, distances=distances, full=np.where(full > 0, full, 1.0))

    def _nearest(
        self,
        parts: Sequence[tuple[int, Part]],
        words: Words,
        k: int,
        weights: Bytes | None,
        own: list[Ints] | None,
        strings: bool,
    ) -> Neighbors:
        """The answers of all parts as one; ``own`` has the rank that each query leaves out, by segment."""
        answers = []
        for number, part in parts:
            depth = min(k + (own is not None and k > 0), len(part))
            distances, ranks = part.top_k(words, depth, weights)
            ids, counts = part.ids.take(ranks), np.full(len(words), depth)
            if own is not None:
                gone = ranks == own[number][:, None]
                order = np.argsort(gone, axis=1, kind="stable")  # what is left out goes to the end
                flat = order + depth * np.arange(len(words))[:, None]
                ids, distances = ids.ravel()[flat], distances.ravel()[flat]
                counts = counts - gone.sum(axis=1)
            answers.append(Neighbors(ids, distances, counts))
        if len(answers) == 1 and own is None and answers[0].ids.shape[1] == k:
            return answers[0]
        return best_of(answers, k, len(words), strings)

    def same(
        self,
        codes: CodesLike,
        *,
        where: Where | Sequence[Where] = None,
        exclude: npt.ArrayLike | Sequence[object] | None = None,
    ) -> RadiusNeighbors:
        """Find the rows that are the same as each query: ``search_radius(codes, "decided")``.

        Parameters
        ----------
        codes, where, exclude
            As in `search_radius`.
        """
        return self.search_radius(codes, "decided", where=where, exclude=exclude)

    def search_radius(
        self,
        codes: CodesLike,
        r: int | Literal["decided"],
        *,
        where: Where | Sequence[Where] = None,
        exclude: npt.ArrayLike | Sequence[object] | None = None,
    ) -> RadiusNeighbors:
        """Find all rows within distance ``r`` of every query.

        Many small radii among many distinct codes use multi-index hashing; the answers are the same.

        Parameters
        ----------
        codes : Codes or array-like
            The queries, in any form that `from_codes` takes.
        r : int or "decided"
            Largest number of differing bits; "decided" is the radius that the model of the queries has decided
            (`Hasher.decide`), or else the one of the index.
        where, exclude
            As in `search`.

        Returns
        -------
        RadiusNeighbors
            Flat ``ids`` and ``distances``, and ``splits``, where each query's begin; ``found[i]`` is query
            ``i``.
        """
        state = self._state
        radius = self._decided(codes, state) if r == "decided" else check_integer("r", r, 0)
        radius = min(radius, self.n_bits)
        words = self._words(codes, state.model_id)
        own = self._left_out(exclude, len(words), state)
        found: list[tuple[Ints, Ints32, Array]] = []
        for one, rows in self._filters(where, len(words)):
            asked = np.arange(len(words)) if rows is None else rows
            for number, part in self._select(state.segments, one):
                query, distances, ranks = part.within(read_only(words[asked]), radius)
                query = asked[query]
                if own is not None:
                    kept = ranks != own[number][query]
                    query, distances, ranks = query[kept], distances[kept], ranks[kept]
                if len(query):
                    found.append((query, distances, part.ids.take(ranks)))
        if not found:
            found = [(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))]
        query, distances, ids = (np.concatenate(column) for column in zip(*found, strict=True))
        if len(found) > 1:
            order = np.lexsort((sort_keys(ids), distances, query))
            query, distances, ids = query[order], distances[order], ids[order]
        splits = np.searchsorted(query, np.arange(len(words) + 1))
        return RadiusNeighbors(ids, distances, splits, float(self.n_bits))

    def filter(self, where: Where) -> Filter:
        """Prepare a filter for many searches.

        Parameters
        ----------
        where : filter
            Any kind that `search` takes; one filter, not one for every query.

        Returns
        -------
        Filter

        Examples
        --------
        >>> index = HammingIndex.from_codes(np.zeros((3, 1), np.uint8), payload={"year": [1999, 2005, 2010]})
        >>> recent = index.filter("year >= 2000")
        >>> index.search(np.zeros((1, 1), np.uint8), k=2, where=recent).ids.tolist()
        [[1, 2]]
        """
        return Filter(self, where)

    def to_gpu(self, *, cards: Sequence[int] | None = None, memory: int | None = None) -> GpuIndex:
        """Return an index of the same rows in GPU memory, independent of this one (extra ``gpu``).

        Parameters
        ----------
        cards, memory
            As in `GpuIndex`.
        """
        from .gpu_index import GpuIndex

        state = self._state
        index = GpuIndex(self.n_bits, state.model_id, cards=cards, memory=memory)
        return index._fill(state.rows(self.n_bits), state)

    # ---- changing ----------------------------------------------------------------------------

    def add(self, codes: CodesLike, ids: IdsLike | None = None, payload: PayloadLike = None) -> Array:
        """Add all rows or none.

        Without ids, rows are numbered on from the largest number ever used. Rows go to small segments that
        are merged as they grow, so adding one by one costs little more than adding all at once.

        Parameters
        ----------
        codes, ids, payload
            As in `from_codes`; the payload has the columns of the index.

        Returns
        -------
        ids : ndarray

        Raises
        ------
        InvalidInput
            If an id exists already.

        Warns
        -----
        KinhashWarning
            If mapped rows join an index of learned rows, or learned ones an index of mapped rows.
        """
        return self._put(codes, ids, payload, replace_rows=False)

    def upsert(self, codes: CodesLike, ids: IdsLike | None = None, payload: PayloadLike = None) -> Array:
        """Add rows and replace those with existing ids, in one step. Warnings are those of `add`.

        Parameters
        ----------
        codes, ids, payload
            As in `add`.
        """
        if ids is None and not (isinstance(codes, Codes) and codes.ids is not None):
            raise InvalidInput("Rows came without ids", "the ids of the rows to replace", "Pass ids")
        return self._put(codes, ids, payload, replace_rows=True)

    def update(self, ids: IdsLike, payload: PayloadLike) -> None:
        """Give rows another payload; their codes stay. Changes all of these rows, or none.

        Parameters
        ----------
        ids : array-like
            Rows of the index.
        payload : mapping or data frame
            One value per id for each column that changes.

        Raises
        ------
        InvalidInput
            If an id does not exist or comes twice, or a column is not one of the index.
        """
        with self._writing:
            state = self._state
            values = self._known(ids, state, "Leave it out; nothing was changed")
            sorting_order(values)  # refuses an id that comes twice
            new = as_payload(payload, len(values))
            columns = {name: column[:0] for name, column in state.payload.items()}
            given = same_columns({**columns, **new}, columns if len(new) else None)
            segments = []
            for segment in state.segments:
                ranks = segment.ids.find(values)
                places = np.flatnonzero(ranks >= 0)
                order = np.arange(len(segment))
                order[ranks[places]] = len(segment) + np.arange(len(places))
                own = {
                    name: concatenated([column, given[name][places]])[order] if name in new else column
                    for name, column in segment.payload.items()
                }
                segments.append(replace(segment, payload=own, values=None) if len(places) else segment)
            self._state = replace(state, segments=tuple(segments))

    def remove(self, ids: IdsLike) -> None:
        """Remove all of these rows, or none. Takes one pass over their segments.

        Parameters
        ----------
        ids : array-like
            Rows of the index.

        Raises
        ------
        InvalidInput
            If an id does not exist or comes twice.
        """
        with self._writing:
            state = self._state
            values = self._known(ids, state, "Leave it out; nothing was removed")
            sorting_order(values)  # refuses an id that comes twice
            segments, _ = _without(state.segments, values)
            columns = {name: column[:0].copy() for name, column in state.payload.items()}
            self._state = replace(state, segments=segments, columns={} if segments else columns)

    def compact(self) -> None:
        """Merge all segments into one, which is fastest to search. Rows added at once are one segment."""
        with self._writing:
            if len(self._state.segments) > 1:
                self._state = replace(self._state, segments=(self._merged(self._state.segments),))

    def _put(self, codes: CodesLike, ids: IdsLike | None, payload: PayloadLike, replace_rows: bool) -> Array:
        with self._writing:
            state, model_id = self._state, self._state.model_id
            same_within = state.same_within
            learned: Any = False
            if isinstance(codes, Codes):
                ids = codes.ids if ids is None else ids
                model_id = codes.model_id if model_id is None and not len(state) else model_id
                learned = codes.learned
                same_within = codes.same_within if same_within is None else same_within
            words = self._words(codes, model_id)
            values = self._new_ids(ids, len(words), state)
            known = state.payload if state.segments or state.columns else None
            columns = same_columns(as_payload(payload, len(words)), known)
            segments, found = _without(state.segments, values)
            if found.any() and not replace_rows:
                raise InvalidInput(
                    f"There is a row with the id {values.tolist()[int(found.argmax())]!r} already",
                    "new ids",
                    "Use upsert to replace rows; nothing was added",
                )
            if len(words) + sum(map(len, segments)) > MOST_ROWS:
                raise InvalidInput(
                    "The index would be too large", f"at most {MOST_ROWS} rows", "Split the rows"
                )
            doubt = _mixture(segments, learned, len(words))
            next_id = state.next_id
            if len(words):
                added = self._segment(words, values, columns, learned)
                segments = (*segments, added)
                # Each segment is at least twice the next: a few, whatever was added.
                while len(segments) > 1 and len(segments[-2]) < 2 * len(segments[-1]):
                    segments = (*segments[:-2], self._merged(segments[-2:]))
                next_id = next_id if added.ids.are_strings else max(next_id, int(values.max()) + 1)
            if doubt is not None:
                warn(doubt)  # which may raise: nothing has changed yet
            columns = {} if segments else state.columns
            self._state = _State(segments, columns, next_id, model_id, same_within)
            return values

    # ---- segments: on the processor, or as `GpuIndex` says -------------------------------------

    def _build(self, words: Words, ids: Ids, payload: Columns, learned: Any) -> Any:
        return Segment.build(words, self.n_bits, ids, payload, learned)

    def _segment(self, words: Words, ids: Array, payload: Columns, learned: Any) -> Segment:
        """A segment of rows in any order; ids that come twice are refused."""
        if not is_ascending(ids):
            order = sorting_order(ids)
            ids, words, learned = ids[order], words[order], some_learned(learned, order)
            payload = {name: column[order] for name, column in payload.items()}
        segment: Segment = self._build(words, Ids.of_sorted(ids), payload, learned)
        return segment

    def _merged(self, segments: Sequence[Segment]) -> Segment:
        return self._segment(*in_order(segments, self.n_bits))

    def _fill(self: Index, rows: tuple[Words, Array, Columns, Any], state: _State) -> Index:
        """Take these rows, and the other facts of a state."""
        segments = (self._segment(*rows),) if len(rows[1]) else ()
        self._state = replace(state, segments=segments, columns={} if segments else rows[2])
        return self

    # ---- files -------------------------------------------------------------------------------

    def save(self, path: str | bytes | os.PathLike[str]) -> None:
        """Save as one checksummed file. An earlier file stays intact until the new one is complete.

        Parameters
        ----------
        path : path-like
            What is saved is the state at the time of the call, whatever other threads change meanwhile.
        """
        with self._writing:
            self.compact()
            state = self._state
        whole = state.segments[0] if state.segments else self._segment(*state.rows(self.n_bits))
        write_segment(os.fsdecode(path), whole, state.facts)

    @classmethod
    def load(cls, path: str | bytes | os.PathLike[str], mmap: bool = True) -> HammingIndex:
        """Open and verify a saved index.

        Parameters
        ----------
        path : path-like
            What `save` wrote.
        mmap : bool, default=True
            Map the file instead of reading it.
        """
        segment, facts = read_segment(os.fsdecode(path), mmap)
        index = cls(segment.n_bits)
        rows = (segment,) if len(segment) else ()
        index._state = _State(rows, {} if rows else dict(segment.payload), **facts)
        return index

    def __getstate__(self) -> dict[str, Any]:
        state = self._state
        return {"n_bits": self.n_bits, "rows": state.rows(self.n_bits), "facts": state.facts}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Rebuild the index: unpickled arrays lack the alignment that the kernels need."""
        self.__init__(kept["n_bits"])  # type: ignore[misc]
        self._fill(kept["rows"], _State(**kept["facts"]))

    # ---- what comes in -----------------------------------------------------------------------

    def _words(self, codes: CodesLike | None, model_id: str | None) -> Words:
        """Codes of the right length and model as words (n, W); bare arrays count as having them."""
        if codes is None:
            raise InvalidInput("No codes came", "packed codes, or margins", "Pass the queries")
        if not isinstance(codes, Codes):
            codes = np.asarray(unmasked(codes, "codes"))
            if codes.ndim == 1:  # hex text
                codes = as_codes(codes).packed
            fits = codes.ndim == 2 and codes.shape[1] == n_bytes(self.n_bits)
            codes = as_codes(codes, self.n_bits if fits else None)
        if codes.n_bits != self.n_bits:
            raise CodesMismatch(
                f"Codes of {codes.n_bits} bits came to an index of {self.n_bits} bits",
                "codes of one length",
                "Encode with the model the index was made with",
            )
        if model_id and codes.model_id and model_id != codes.model_id:
            raise CodesMismatch(
                f"Codes of model {codes.model_id[:12]} came to an index of model {model_id[:12]}",
                "codes made by one model",
                "Encode with the model the index was made with",
            )
        return read_only(to_words(codes.packed))

    def _decided(self, codes: CodesLike, state: _State) -> int:
        """The radius that the model of the queries has decided, or else that of the index."""
        radius = codes.same_within if isinstance(codes, Codes) else None
        radius = _decided(state.same_within if radius is None else radius)
        if any(np.any(segment.learned) for segment in state.segments):
            warn(
                "The index holds learned codes, and the decision was made on mapped ones: its evidence does not cover "
                "these rows. Encode all rows with encode(X) to search what is the same."
            )
        return radius

    def _weigh(self, codes: CodesLike | None, margins: npt.ArrayLike) -> tuple[CodesLike, Bytes, Floats]:
        """The query codes, the weight of every bit (q, n_bits), and what a weight of 1 stands for (q,)."""
        margins = np.asarray(unmasked(margins, "margins"), np.float64)
        if margins.ndim != 2 or margins.shape[1] != self.n_bits or not np.isfinite(margins).all():
            raise InvalidInput(
                f"The margins came with shape {margins.shape}, or are not finite",
                f"finite numbers of shape (queries, {self.n_bits})",
                "Pass the scores whose signs are the query bits",
            )
        if codes is None:
            codes = np.packbits(margins > 0, axis=1)
        elif len(codes) != len(margins):  # type: ignore[arg-type]
            raise InvalidInput(
                f"{len(margins)} rows of margins came with another number of codes",
                "one per query",
                "Pass both",
            )
        return codes, *weights_of(margins)

    def _same_type(self, ids: Array, state: _State) -> Array:
        if state.segments and len(ids) and (ids.dtype == STRING) != state.segments[0].ids.are_strings:
            raise InvalidInput(
                "Numbers and strings came together as ids",
                "strings" if state.segments[0].ids.are_strings else "integers",
                "Pass ids as the index has them. A filter as text is not a list",
            )
        return ids

    def _known(self, ids: IdsLike, state: _State, remedy: str, what: str = "ids") -> Array:
        """Ids of rows that are there; others are refused."""
        values = self._same_type(as_ids(ids, what), state)
        found = np.zeros(len(values), bool)
        for segment in state.segments:
            found |= segment.ids.find(values) >= 0
        if not found.all():
            raise InvalidInput(
                f"There is no row with the id {values.tolist()[int(found.argmin())]!r}",
                "ids of rows in the index",
                remedy,
            )
        return values

    def _new_ids(self, ids: IdsLike | None, n_rows: int, state: _State) -> Array:
        """Ids for new rows: those given, or the next numbers."""
        if ids is None:
            if n_rows and state.segments and state.segments[0].ids.are_strings:
                raise InvalidInput("Rows came without ids", "string ids, as the index has", "Pass ids")
            if n_rows and state.next_id + n_rows > MOST_IDS:
                raise InvalidInput(
                    f"There is no number left after {state.next_id - 1} for {n_rows} rows",
                    "ids below 2**63",
                    "Pass ids",
                )
            return np.arange(state.next_id, state.next_id + n_rows, dtype=np.int64)
        values = as_ids(ids)
        if len(values) != n_rows:
            raise InvalidInput(f"{len(values)} ids came with {n_rows} codes", "one id per code", "Pass both")
        return self._same_type(values, state)

    def _left_out(self, exclude: object, n_queries: int, state: _State) -> list[Ints] | None:
        """The rank (q,) in every segment of the row that a query leaves out, -1 where there is none."""
        if exclude is None:
            return None
        entries = list(exclude) if isinstance(exclude, (list, tuple)) else np.asanyarray(exclude).tolist()
        if not isinstance(entries, list) or len(entries) != n_queries:
            came = f"{len(entries)} entries" if isinstance(entries, list) else "one entry"
            raise InvalidInput(
                f"exclude came with {came} for {n_queries} queries",
                "an id, or None, for every query",
                "Pass as many entries as queries",
            )
        owners = np.array([number for number, entry in enumerate(entries) if entry is not None], np.int64)
        given = [entry for entry in entries if entry is not None]
        values = self._known(given, state, "Pass None for queries that are not rows", "ids to exclude")
        own = [np.full(n_queries, -1) for _ in state.segments]
        for ranks, segment in zip(own, state.segments, strict=True):
            ranks[owners] = segment.ids.find(values)
        return own

    # ---- filters -----------------------------------------------------------------------------

    def _filters(self, where: Any, n_queries: int) -> list[tuple[Any, Ints | None]]:
        """The distinct filters with the numbers of their queries; None for all of them.

        A list of ids is a single filter; a list is one of filters as soon as an entry is None, a mapping, a
        function, a `Filter`, or itself a list or an array. Then its strings are conditions.
        """
        if not isinstance(where, (list, tuple)) or not any(map(_is_filter, where)):
            return [(where, None)]
        if len(where) != n_queries:
            raise InvalidInput(
                f"{len(where)} filters came with {n_queries} queries",
                "one filter for every query, or one for all",
                "Pass as many filters as queries",
            )
        found: dict[object, tuple[object, list[int]]] = {}
        for number, one in enumerate(map(as_condition, where)):
            found.setdefault(_key(one), (one, []))[1].append(number)
        return [(one, np.array(numbers, np.int64)) for one, numbers in found.values()]

    def _select(self, segments: Sequence[Segment], where: Any) -> list[tuple[int, Part]]:
        """The rows that pass a filter, as parts of the segments with their numbers."""
        if where is None:
            return list(enumerate(segments))
        parts = where._of(self, segments) if isinstance(where, Filter) else self._passing(segments, where)
        found = enumerate(zip(segments, parts, strict=True))
        return [(n, own if len(part) == len(own) else part) for n, (own, part) in found if len(part)]

    def _passing(
        self, segments: Sequence[Segment], where: Any, all_known: bool = True
    ) -> list[FilteredSegment]:
        """The rows of every segment that pass; ids that are in none of them are refused if ``all_known``."""
        where = as_condition(where)
        if isinstance(where, Condition):
            return [
                one.values.remembered(where, lambda one=one: one.only(where(one.values))) for one in segments
            ]
        if where is None:
            return [one.only(np.ones(len(one), bool)) for one in segments]
        if callable(where):
            where = np.asarray(where(all_columns(segments))) if segments else np.empty(0, bool)
            return _cut_mask(segments, where)
        if isinstance(where, np.ma.MaskedArray):
            where = where.filled(False)
        if np.asarray(where).dtype == bool:
            return _cut_mask(segments, np.asarray(where))
        remedy = "Leave it out. A filter as text is a string, not a list of strings"
        what, state = "ids of a filter", _State(tuple(segments))
        values = self._known(where, state, remedy, what) if all_known else as_ids(where, what)
        parts = []
        for segment in segments:
            mask, ranks = np.zeros(len(segment), bool), segment.ids.find(values)
            mask[ranks[ranks >= 0]] = True
            parts.append(segment.only(mask))
        return parts


class Filter:
    """A prepared filter, as `HammingIndex.filter` makes it; ``len`` says how many rows pass.

    After a change of the index it evaluates itself again. A mask keeps meaning the same rows: those that are
    still there pass, rows added later do not.

    Parameters
    ----------
    index : HammingIndex
    where : filter
        As in `HammingIndex.search`.
    """

    def __init__(self, index: HammingIndex, where: Where) -> None:
        self._index, self._where = index, where
        segments = index._state.segments
        parts = index._passing(segments, where)
        if not isinstance(where, (str, Mapping)) and not callable(where) and where is not None:
            masks = [np.flatnonzero(_here(part.mask)) for part in parts]
            ids = [one.ids.take(ranks) for one, ranks in zip(segments, masks, strict=True)]
            self._where = np.concatenate(ids) if ids else np.empty(0, np.int64)
        self._parts = {one: part.prepared() for one, part in zip(segments, parts, strict=True)}

    def __len__(self) -> int:
        return sum(map(len, self._of(self._index, self._index._state.segments)))

    def __repr__(self) -> str:
        return f"Filter({len(self)} of {len(self._index)} rows)"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_parts": {}}

    def _of(self, index: HammingIndex, segments: Sequence[Segment]) -> list[FilteredSegment]:
        """The rows that pass of every segment, evaluated where it is not known.

        Two threads may do the same work at once; each leaves a whole result.
        """
        if index is not self._index:
            raise InvalidInput(
                "A filter came to another index than the one that prepared it",
                "a filter of the index that is searched",
                "Prepare it with the filter method of that index",
            )
        parts = self._parts
        fresh = [one for one in segments if one not in parts]
        if fresh or len(parts) > len(segments):
            if callable(self._where):
                fresh = list(segments)  # a function sees all rows at once
            found = index._passing(fresh, self._where, all_known=False)
            known = {**parts, **{one: part.prepared() for one, part in zip(fresh, found, strict=True)}}
            self._parts = parts = {one: known[one] for one in segments}
        return [parts[one] for one in segments]


def _here(mask: Any) -> Bools:
    """A mask of NumPy, or of CuPy as one of NumPy."""
    return mask.get() if hasattr(mask, "get") else mask


def _is_filter(entry: object) -> bool:
    if isinstance(entry, np.ndarray):
        return entry.ndim > 0
    if hasattr(entry, "__cuda_array_interface__") or entry is None or callable(entry):
        return True
    return isinstance(entry, (Mapping, list, tuple, Filter))


def _key(one: Any) -> object:
    """Equal keys mean equal filters; what cannot be compared is equal to itself alone."""
    if isinstance(one, np.ndarray) and one.dtype.kind in "biu":
        return one.dtype.str, one.tobytes()
    if isinstance(one, (list, tuple)):
        return type(one).__name__, *((type(entry), entry) for entry in one)
    try:
        hash(one)
    except TypeError:
        return id(one)
    return one if one is None or isinstance(one, Condition) else id(one)


def _scattered(parts: Sequence[tuple[Any, Neighbors]], n_queries: int, k: int) -> Neighbors:
    """Answers to some of the queries each as one."""
    first = parts[0][1]
    ids, distances = (
        np.empty((n_queries, k), first.ids.dtype),
        np.empty((n_queries, k), first.distances.dtype),
    )
    counts = np.zeros(n_queries, np.int64)
    for rows, found in parts:
        ids[rows], distances[rows], counts[rows] = found.ids, found.distances, found.counts
    return Neighbors(ids, distances, counts)


def _cut_mask(segments: Sequence[Segment], mask: Array) -> list[FilteredSegment]:
    """The rows of one mask over all rows in the order of their ids; copies of the caller's array."""
    sizes = [len(segment) for segment in segments]
    if mask.dtype != bool or mask.shape != (sum(sizes),):
        raise InvalidInput(
            f"A filter gave an array of shape {mask.shape} and dtype {mask.dtype}",
            f"one boolean for each of {sum(sizes)} rows",
            "Combine conditions with & and |, as in lambda p: (p['year'] > 2000) & p['public']",
        )
    order = ids_order(segments)
    if order is not None:
        spread = np.empty_like(mask)
        spread[order] = mask
        mask = spread
    cuts = np.split(mask, np.cumsum(sizes)[:-1]) if segments else []
    return [segment.only(own.copy()) for segment, own in zip(segments, cuts, strict=True)]


def _without(segments: tuple[Segment, ...], ids: Array) -> tuple[tuple[Segment, ...], Bools]:
    """The segments without the rows of these ids, and which of the ids were there."""
    found = np.zeros(len(ids), bool)
    left = []
    for segment in segments:
        ranks = segment.ids.find(ids)
        here = ranks >= 0
        found |= here
        if here.any():
            mask = np.ones(len(segment), bool)
            mask[ranks[here]] = False
            segment = segment.keep(mask)
        if len(segment):
            left.append(segment)
    return tuple(left), found


# ---- warnings ----------------------------------------------------------------------------------


def _mixture(segments: Sequence[Segment], learned: Any, n_rows: int) -> str | None:
    """A warning if rows of one kind join an index of the other, with their numbers."""
    n_old = sum(map(len, segments))
    old_learned = sum(int(np.broadcast_to(one.learned, len(one)).sum()) for one in segments)
    new_learned = int(np.broadcast_to(learned, n_rows).sum())
    if n_old and old_learned == n_old and new_learned < n_rows:
        came = f"{n_rows - new_learned:,} mapped rows joined an index of {n_old:,} learned rows"
    elif n_old and not old_learned and new_learned:
        came = f"{new_learned:,} learned rows joined an index of {n_old:,} mapped rows"
    else:
        return None
    return (
        f"{came}. Queries, which are mapped, may rank rows of one kind before the other. Code all rows in "
        "one way: learned_codes(X, y) for rows with labels, or encode(X) for all."
    )


def _decided(radius: int | None) -> int:
    """A radius that was decided, or an error."""
    if radius is None:
        raise InvalidInput(
            "No radius was decided for these codes",
            "codes of a model that has decided within which radius rows are the same",
            "Pass a radius (--radius), or call decide of the hasher on rows that were not in the fit, and encode again",
        )
    return radius


# ---- near duplicates ---------------------------------------------------------------------------

MOST_PAIRS = 2**23  # pairs that a search can find at most, per thread: some 80 bytes each while it runs
MOST_QUERIES = 100  # codes of a search, per thread, where that bound leaves more


@dataclass(frozen=True, eq=False)
class NearDuplicates:
    """The rows in groups of two or more, group after group, each in the order of the rows.

    ``distances`` are those to the row of the group that is kept. Only in chains they may exceed the radius.
    """

    n_rows: int
    radius: int
    ids: Array
    groups: Ints
    kept: Bools
    distances: Ints32

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.kept.sum())

    @property
    def dropped(self) -> Array:
        """The ids that are not kept, as `HammingIndex.remove` takes them."""
        return self.ids[~self.kept]

    def __repr__(self) -> str:
        return f"NearDuplicates({len(self.ids)} of {self.n_rows} rows in {self.n_groups} groups)"


def near_duplicates(
    codes: HammingIndex | CodesLike,
    radius: int | Literal["decided"],
    *,
    keep: str = "first",
    linkage: str = "star",
) -> NearDuplicates:
    """Find groups of rows that are nearly the same, exactly; one row of each group is kept.

    A row is kept if it is not within ``radius`` of one that is kept already, and otherwise joins the group of the
    first such row: so every row is within the radius of the one that stands for it. Distinct codes are compared,
    so a million equal rows cost no more than one. Never n × n: they are searched in blocks that find 2**23 pairs
    per thread at most, 80 bytes each. Beyond that, some 100 bytes per row of 64 bits.

    Parameters
    ----------
    codes : HammingIndex, Codes or array-like
        An index, or codes in any form that `HammingIndex.from_codes` takes.
    radius : int or "decided"
        Largest distance of a row to the one that is kept; 0 finds equal codes. "decided" is the radius of the
        model's decision; `kinhash.decision.decide_duplicates` chooses one by known duplicates.
    keep : {"first", "last"}, default="first"
        Which row of a group is kept, in the order of the ids of an index, or of the rows of codes.
    linkage : {"star", "chain"}, default="star"
        "chain": two rows are in one group if a chain of rows leads from one to the other, each within the radius
        of the next. Its ends may be far apart.

    Returns
    -------
    NearDuplicates

    Examples
    --------
    >>> found = near_duplicates(np.array([[0b0000], [0b1111], [0b0001], [0b1111]], np.uint8), radius=1)
    >>> found.ids.tolist(), found.groups.tolist(), found.dropped.tolist()
    ([0, 2, 1, 3], [0, 0, 1, 1], [2, 3])
    """
    check_choice("keep", keep, ("first", "last"))
    check_choice("linkage", linkage, ("star", "chain"))
    rows = codes.codes() if isinstance(codes, HammingIndex) else as_codes(codes)
    within = _decided(rows.same_within) if radius == "decided" else check_integer("radius", radius, 0)
    within = min(within, rows.n_bits)
    words = read_only(to_words(rows.packed))
    segment = Segment.build(words, rows.n_bits, Ids(len(rows)), {}, False)
    code_of_row = segment.code_of_rank()
    last = np.zeros(segment.n_codes, np.int64)
    np.maximum.at(last, code_of_row, np.arange(len(rows)))
    order = np.arange(segment.n_codes) if keep == "first" else np.argsort(-last)
    roots = _roots(segment, within, None if linkage == "chain" else order)[code_of_row]
    members = np.flatnonzero(np.bincount(roots, minlength=1)[roots] > 1)
    _, groups = np.unique(roots[members], return_inverse=True)
    order = np.argsort(groups, kind="stable")
    members, groups = members[order], groups[order]
    turns = groups[1:] != groups[:-1]
    edge = [True] * min(1, len(groups))
    kept = np.concatenate([edge, turns] if keep == "first" else [turns, edge]).astype(bool)
    differing = words[members] ^ words[members[kept]][groups]
    distances = np.bitwise_count(differing).sum(axis=1, dtype=np.int32)
    ids = members if rows.ids is None else as_ids(rows.ids)[members]
    return NearDuplicates(len(rows), within, ids, groups, kept, distances)


def _roots(segment: Segment, radius: int, order: Ints | None) -> Ints:
    """A code of the group of every distinct code: in stars the one that is kept, the first by ``order``."""
    n_codes = segment.n_codes
    distinct = Segment(segment.n_bits, segment.blocks, n_codes, EMPTY, EMPTY, Ids(n_codes))
    words = distinct.words()
    parents = np.arange(n_codes)
    size = n_threads() * max(1, min(MOST_QUERIES, MOST_PAIRS // max(1, n_codes)))
    if order is not None and radius:
        free, place = np.ones(n_codes, bool), 0
        while place < n_codes:
            block, seen = order[place : place + 16 * size], free[order[place : place + 16 * size]]
            block = block[seen][:size]  # codes that have joined a group are not searched
            place = place + 16 * size if seen.sum() <= size else place + int(np.flatnonzero(seen)[size])
            query, _, others = distinct.within(read_only(words[block]), radius)
            splits = np.searchsorted(query, np.arange(len(block) + 1))
            for number, code in enumerate(block.tolist()):
                if free[code]:
                    near = others[splits[number] : splits[number + 1]]
                    near = near[free[near]]
                    parents[near], free[near] = code, False
        return parents
    for start in range(0, n_codes if radius else 0, size):
        query, _, others = distinct.within(read_only(words[start : start + size]), radius)
        query = query + start
        later = others > query  # each pair is found from both sides
        unite(parents, query[later], others[later])
    while (above := parents[parents] != parents).any():
        parents[above] = parents[parents[above]]
    return parents


# ---- other codes for the same rows -------------------------------------------------------------


def recoded(index: HammingIndex, codes: Codes) -> HammingIndex:
    """Return an index with the ids and payload of another, and new codes for its rows.

    Rows that are added later are numbered on as in the old index. Memory: a second index.

    Parameters
    ----------
    index : HammingIndex
        The index whose rows are encoded anew; it stays as it is.
    codes : Codes
        Codes with ids, those of all rows of the index; others are left out.

    Examples
    --------
    >>> index = HammingIndex.from_codes(np.array([[1], [2]], np.uint8), ids=["a", "b"])
    >>> new = recoded(index, Codes(np.array([[255], [7], [0]], np.uint8), 8, ["b", "c", "a"]))
    >>> new.ids.tolist(), new.codes().packed.tolist()
    (['a', 'b'], [[0], [255]])
    """
    rows = codes[places_of(index, codes)]
    new = HammingIndex(codes.n_bits)
    state = replace(index._state, model_id=codes.model_id, same_within=codes.same_within)
    return new._fill((to_words(rows.packed), index.ids, index.payload, rows.learned), state)


def places_of(index: HammingIndex, codes: Codes, they_have: str = "The codes have") -> Ints:
    """Where the rows of an index stand among codes with ids, or numbered codes, in the order of its ids.

    Parameters
    ----------
    index : HammingIndex
        The rows to find.
    codes : Codes
        Where they are found.
    they_have : str, default="The codes have"
        Begins the error about missing rows.
    """
    wanted = index.ids
    names = np.arange(len(codes)) if codes.ids is None else as_ids(codes.ids)
    if len(wanted) and (names.dtype.kind == "i") != (wanted.dtype.kind == "i"):
        raise InvalidInput(
            "Numbers and strings came together as ids",
            f"ids such as {wanted[:1].tolist()[0]!r}, as the index has them",
            "Pass the ids of the rows",
        )
    order = sorting_order(names)
    ranks = Ids.of_sorted(names[order]).find(wanted)
    missing = np.flatnonzero(ranks < 0)
    if len(missing):
        raise InvalidInput(
            f"{they_have} no row for {len(missing):,} of the {len(wanted):,} rows of the index, "
            f"{wanted[missing[:1]].tolist()[0]!r} among them",
            "a code for every id of the index",
            "Encode all rows, with their ids",
        )
    return order[ranks]
