"""Hamming search on GPUs, with the arguments, answers and order of `HammingIndex`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .._internal.types import Words
from .._internal.validation import check_integer
from ..errors import InvalidInput
from .gpu_segment import Cards, CardSegment
from .hamming_index import HammingIndex, IndexStats, Part, _State
from .payload import Column, Ids
from .segments import Segment

__all__ = ["GpuIndex"]

MAX_GPU_BITS = 1024


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

    def __setstate__(self, facts: dict[str, Any]) -> None:
        """Restore on the same GPUs if they exist."""
        cards, memory = facts["named"]
        index = GpuIndex(facts["n_bits"], facts["model_id"], cards=cards, memory=memory)
        self.__dict__ = index.__dict__
        self._fill(facts["rows"], _State((), facts["next_id"], {}, facts["model_id"]))

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

    def _build(
        self, words: Words, n_bits: int, ids: Ids, payload: Mapping[str, Column] | None, learned: Any
    ) -> Any:
        return CardSegment.build(words, n_bits, ids, payload, learned, self._cards)

    def _select(self, segments: Sequence[Segment], where: object) -> list[Part]:
        if hasattr(where, "__cuda_array_interface__"):
            mask: Any = where
            if mask.dtype == bool and len(segments) == 1 and mask.shape == (len(segments[0]),):
                return [segments[0].only(mask)] if bool(mask.any()) else []
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
