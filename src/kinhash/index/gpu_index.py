"""Hamming search on GPUs, with the arguments, answers and order of `HammingIndex`.

Codes are not made distinct: a card reads equal codes faster than it could leave them out. Each part of the
rows lies on one card, or, where no card has room, in the memory of the machine, from where it is copied to a
card for every search.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._internal.types import Array, Bools, Bytes, Ints, Ints32, Words
from .._internal.validation import check_integer
from ..errors import InvalidInput, NotEnoughMemory
from ..gpu import ROW, SHIFT, Queries, Rows, nearest, within
from .filters import RowValues
from .hamming_index import HammingIndex, IndexStats, Part, _State
from .payload import Column, Columns, ListColumn
from .segments import Finds, Ids, Segment, some_learned

MAX_GPU_BITS = 1024
LEAST_SLICE = 1 << 20  # rows of a part that is copied for every search
SPARE = 1 << 31  # bytes of a card that are left for searching, or half of it


class GpuIndex(HammingIndex):
    """A `HammingIndex` whose codes are in GPU memory (extra ``gpu``: CuPy and an NVIDIA GPU).

    Made by `HammingIndex.to_gpu`, or like any index by ``GpuIndex.from_codes``, which takes codes of NumPy.
    Every method of `HammingIndex` is there and gives the same answers, ties included. A boolean mask in
    ``where`` may be an array of CuPy, which stays on the card as long as the index has one segment. Rows are
    added and removed by rebuilding the segments on the cards.

    ``cards`` are the numbers of the cards to use (default: all), ``memory`` the bytes of each that codes may
    take in each segment (default: what is free, less what searching needs). Codes beyond that stay in the
    memory of the machine and are copied to the cards slice by slice for every search. A segment that is built
    anew lies beside the old one for a moment, and needs room for both to stay on the cards.
    """

    def __init__(
        self,
        n_bits: int,
        model_id: str | None = None,
        *,
        cards: Sequence[int] | None = None,
        memory: int | None = None,
    ) -> None:
        super().__init__(n_bits, model_id)
        if self.n_bits > MAX_GPU_BITS:
            raise InvalidInput(
                f"Codes of {self.n_bits} bits came to a GPU",
                f"at most {MAX_GPU_BITS} bits",
                "Search them with a HammingIndex",
            )
        self._named = cards, memory
        self._cards = _cards(cards, memory)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"named": self._named}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Restore on the same GPUs if they exist."""
        cards, memory = kept["named"]
        self.__init__(kept["n_bits"], cards=cards, memory=memory)  # type: ignore[misc]
        self._fill(kept["rows"], _State(**kept["facts"]))

    def __repr__(self) -> str:
        return f"GpuIndex({len(self)} rows of {self.n_bits} bits on {', '.join(self.card_names)})"

    @property
    def card_names(self) -> list[str]:
        """Names of the GPUs in use."""
        return [card.name for card in self._cards.cards]

    def to_cpu(self) -> HammingIndex:
        """Return an index of the same rows in main memory."""
        state = self._state
        return HammingIndex(self.n_bits)._fill(state.rows(self.n_bits), state)

    def stats(self) -> IndexStats:
        """Statistics of the index that `save` would write. Builds that index."""
        return self.to_cpu().stats()

    def save(self, path: str | bytes | os.PathLike[str]) -> None:
        """Save as an index that opens on any machine, with or without a GPU."""
        self.to_cpu().save(path)

    @classmethod
    def load(
        cls,
        path: str | bytes | os.PathLike[str],
        mmap: bool = True,
        *,
        cards: Sequence[int] | None = None,
        memory: int | None = None,
    ) -> GpuIndex:
        """Open a saved index and copy its codes to the GPUs."""
        return HammingIndex.load(path, mmap).to_gpu(cards=cards, memory=memory)

    def _build(self, words: Words, ids: Ids, payload: Columns, learned: Any) -> Any:
        return CardSegment.build(words, self.n_bits, ids, payload, learned, self._cards)

    def _select(self, segments: Sequence[Segment], where: object) -> list[tuple[int, Part]]:
        if hasattr(where, "__cuda_array_interface__"):
            mask: Any = where
            if mask.dtype == bool and len(segments) == 1 and mask.shape == (len(segments[0]),):
                return [(0, segments[0].only(mask))] if bool(mask.any()) else []
            where = mask.get()
        return super()._select(segments, where)


def _cards(numbers: Sequence[int] | None, memory: int | None) -> Cards:
    from ..gpu import all_cards

    if memory is not None:
        memory = check_integer("memory", memory, 1)
    cards = all_cards()
    if numbers is not None and (not len(numbers) or len(set(numbers)) < len(numbers)):
        raise InvalidInput(
            f"cards is {list(numbers)}", "different numbers of cards", "Name at least one, each once"
        )
    if numbers is not None:
        cards = tuple(cards[check_integer("cards", number, 0, len(cards) - 1)] for number in numbers)
    return Cards(cards, memory)


# ---- rows on cards ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cards:
    """Cards to use, and how many bytes of each are for codes; None takes what is free."""

    cards: tuple[Any, ...]
    memory: int | None = None

    def rooms(self) -> list[int]:
        """Bytes for codes on each card."""
        free = [card.free_bytes() for card in self.cards]
        rooms = [max(size // 2, size - SPARE) for size in free]
        return rooms if self.memory is None else [min(room, self.memory) for room in rooms]


@dataclass(frozen=True, eq=False)
class _Part:
    """Rows ``first`` to ``first + count - 1``: ``rows`` on the card, or ``words`` (n, W) here."""

    card: Any
    first: int
    count: int
    rows: Rows | None = None
    words: Words | None = None

    def load(self, mask: Bools | None) -> Rows:
        """The rows on the card, with the bits of a mask over the whole segment."""
        rows = self.card.rows(self.words) if self.rows is None else self.rows
        if mask is not None:
            rows = replace(rows, mask=self.card.mask(mask[self.first : self.first + self.count]))
        return rows

    def bring(self) -> Words:
        """The codes (n, W) here."""
        if self.rows is None:
            assert self.words is not None
            return self.words
        words = self.card.get(self.rows.words)[:, : self.count]
        return np.ascontiguousarray(words.T)


@dataclass(frozen=True, eq=False)
class CardSegment:
    """Codes on cards in the order of their ids; ``mask``, if there is one, says which rows count."""

    n_bits: int
    cards: Cards
    parts: tuple[_Part, ...]
    ids: Ids
    payload: Mapping[str, Column] = field(default_factory=dict)
    learned: Any = False
    mask: Bools | None = None
    count: int = -1  # rows that count; -1 for all of them
    values: Any = None  # `RowValues` of the payload

    def __post_init__(self) -> None:
        for array in (self.ids.values, *self.payload.values()):
            if array is not None and not isinstance(array, ListColumn):
                array.flags.writeable = False
        if self.values is None:
            object.__setattr__(self, "values", RowValues(self.payload, len(self.ids)))

    def __len__(self) -> int:
        return len(self.ids) if self.count < 0 else self.count

    @classmethod
    def build(
        cls,
        words: Words,
        n_bits: int,
        ids: Ids,
        payload: Columns,
        learned: Any,
        cards: Cards,
    ) -> CardSegment:
        """From codes (n, W) in the order of their ids."""
        parts = tuple(_spread(words, cards))
        return cls(n_bits, cards, parts, ids, payload, learned)

    def words(self) -> Words:
        """The codes (n, W), one per row, in the order of the ids."""
        return np.concatenate(
            [np.empty((0, -(-self.n_bits // 64)), np.uint64), *map(_Part.bring, self.parts)]
        )

    def keep(self, mask: Bools) -> CardSegment:
        """The rows of a mask as a segment of their own."""
        ranks = np.flatnonzero(mask)
        payload = {name: column[ranks] for name, column in self.payload.items()}
        ids, learned = Ids.of_sorted(self.ids.take(ranks)), some_learned(self.learned, ranks)
        return self.build(self.words()[ranks], self.n_bits, ids, payload, learned, self.cards)

    def only(self, mask: Bools) -> CardSegment:
        """The rows of a mask, of NumPy or CuPy, for one search: the codes stay where they are."""
        return replace(self, mask=mask, count=int(mask.sum()))

    def prepared(self) -> CardSegment:
        """The same rows for many searches."""
        return self

    # ---- searching ---------------------------------------------------------------------------

    def top_k(self, queries: Words, k: int, weights: Bytes | None = None) -> tuple[Ints32, Ints]:
        """As `Segment.top_k`."""
        asked = Queries(queries, None, self.n_bits)
        if weights is not None:
            padded = np.zeros((len(queries), 64 * queries.shape[1]), np.uint8)
            padded[:, : self.n_bits] = weights
            asked = Queries(queries, padded, int(weights.sum(axis=1, dtype=np.int64).max(initial=0)))
        found = [np.empty((len(queries), 0), np.uint64)]

        def search(part: _Part, rows: Rows, passing: int) -> None:
            keys = nearest(part.card, rows, asked, min(k, passing))
            found.append(keys + np.uint64(part.first) if part.first else keys)

        self._each_part(search)
        keys = found[-1] if len(found) == 2 else np.sort(np.concatenate(found, axis=1), axis=1)[:, :k]
        return (keys >> np.uint64(SHIFT)).astype(np.int32), (keys & np.uint64(ROW)).astype(np.int64)

    def within(self, queries: Words, radius: int) -> Finds:
        """Number of its query, distance and rank of every row within the radius, in that order."""
        asked = Queries(queries, None, self.n_bits)
        query, keys = [np.empty(0, np.int64)], [np.empty(0, np.uint64)]

        def search(part: _Part, rows: Rows, passing: int) -> None:
            number, found = within(part.card, rows, asked, np.full(len(queries), radius))
            query.append(number)
            keys.append(found + np.uint64(part.first))

        self._each_part(search)
        number, found = np.concatenate(query), np.concatenate(keys)
        if len(self.parts) > 1:
            order = np.lexsort((found, number))
            number, found = number[order], found[order]
        distances = (found >> np.uint64(SHIFT)).astype(np.int32)
        return number, distances, (found & np.uint64(ROW)).astype(np.int64)

    def _each_part(self, search: Callable[[_Part, Rows, int], None]) -> None:
        """Search the parts with rows that count: the part, its rows on the card, and how many count.

        Nobody holds the rows of a part while the next one comes, so one slice at a time lies on a card.
        """
        for part in self.parts:
            passing = part.count
            if self.mask is not None:
                passing = int(self.mask[part.first : part.first + part.count].sum())
            if passing:
                with _plain_words():
                    search(part, part.load(self.mask), passing)


def _spread(words: Words, cards: Cards) -> Iterator[_Part]:
    """Parts on all cards; what these cannot hold stays here, copied, in slices."""
    n_rows, n_words = words.shape
    each = 8 * n_words
    rooms = [room // each for room in cards.rooms()]
    first = 0
    if sum(rooms) < n_rows:  # leave room for a slice on every card
        rooms = [room // 2 for room in rooms]
    for card, room in zip(cards.cards, rooms, strict=True):
        share = -(-n_rows * room // max(1, sum(rooms)))  # as much more as a card has more room
        count = min(room, n_rows - first, share)
        if count > 0:
            with _plain_words():
                yield _Part(card, first, count, card.rows(words[first : first + count]))
            first += count
    _require_room(n_rows - first, max(rooms), each)
    numbers = _slices(first, n_rows, rooms)
    for number, begin, end in numbers:
        yield _Part(cards.cards[number], begin, end - begin, words=np.array(_here(words[begin:end])))


def _here(array: Array) -> Array:
    """An array of NumPy, or of CuPy as one of NumPy."""
    here: Array = array.get() if hasattr(array, "get") else array
    return here


@contextmanager
def _plain_words() -> Iterator[None]:
    """CuPy's own error for a full card, as ours."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise NotEnoughMemory(
            f"A card is full: {error}",
            "room beside the codes for what a search notes, 8 bytes a row, up to 3 GB",
            "Ask for fewer rows or with fewer queries at a time, or let codes take less (to_gpu(memory=...))",
        ) from None


def _require_room(left: int, room: int, each: int) -> None:
    if left > 0 and room < min(left, LEAST_SLICE):
        raise NotEnoughMemory(
            f"{left} codes of {each} bytes have no room on a card, which has {2 * room * each} bytes free",
            f"room for {min(left, LEAST_SLICE)} codes at a time, {2 * min(left, LEAST_SLICE) * each} bytes",
            "Free memory on the card, pass a larger memory, or search on the processor",
        )


def _slices(first: int, n_rows: int, rooms: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Card, begin and end of the slices that are copied for every search, the cards in turn."""
    number = 0
    while first < n_rows:
        if rooms[number]:
            end = min(n_rows, first + rooms[number])
            yield number, first, end
            first = end
        number = (number + 1) % len(rooms)
