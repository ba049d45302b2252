"""A GPU: whether one is in use, its memory, and the kernels of ``nearest.cu``, which CuPy compiles once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import is_dataclass
from functools import cache, cached_property
from importlib.resources import files
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.locks import new_lock
from .._internal.types import Array, Bytes, Ints
from .._internal.validation import check_integer
from ..codes import N_PLANES
from ..errors import InvalidInput, MissingExtra
from .search import MOST_QUERIES, Notes, Queries, Rows, Tiles

THREADS = 256
TENSOR_CORES = 80  # compute capability 8.0: whole-number products of the size used here
SHARED_FOR_QUERIES = 40 << 10  # bytes of a block
BLOCKS = 4  # for every multiprocessor
BLOCK_WORDS = 1 << 24  # copied at a time
MOST_SORTED = 1 << 24  # keys sorted at a time
LEAVE = 48 << 10  # bytes of shared memory that need no leave
NONE = np.uintp(0)  # no array
Given = tuple[Any, ...]  # arguments of a kernel
_card: ContextVar[Card | None] = ContextVar("card", default=None)
EXPRESSIONS = (*(f"few<{q},{p}>" for q in (1, 4) for p in (1, N_PLANES)), "histogram<1>", "histogram<4>")


def cupy() -> ModuleType:
    """The package, or a clear error."""
    try:
        import cupy
    except ImportError:
        raise MissingExtra.of("cupy", "gpu") from None
    return cupy


def all_cards() -> tuple[Card, ...]:
    """Every card of this machine; at least one, or an error."""
    try:
        count = cupy().cuda.runtime.getDeviceCount()
        reason = "CuPy found none"
    except cupy().cuda.runtime.CUDARuntimeError as error:
        count, reason = 0, str(error)
    if not count:
        raise InvalidInput(
            f"There is no GPU to use ({reason})",
            "an NVIDIA card with its driver",
            "Search on the processor instead: a HammingIndex does without one",
        )
    return tuple(Card(number) for number in range(count))


class Card:
    """One card. What its methods do is said in NumPy by the tests."""

    tile = 1024
    least_room = 1 << 14
    most_ties = 1 << 20
    most_sorted = 1 << 13
    few = 8  # queries that popcounts answer; more go to the tensor cores

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self._cupy = cupy()
        self._device = self._cupy.cuda.Device(number)
        self._kernels: dict[tuple[str, int], Any] = {}
        self._lock = new_lock()

    @cached_property
    def name(self) -> str:
        properties = self._cupy.cuda.runtime.getDeviceProperties(self.number)
        return str(properties["name"].decode())

    @cached_property
    def _capability(self) -> int:
        return int(self._device.compute_capability)

    def free_bytes(self) -> int:
        """Memory that is free, what CuPy keeps for itself included."""
        with self._device:
            free, _ = self._cupy.cuda.runtime.memGetInfo()
            return int(free) + int(self._cupy.get_default_memory_pool().free_bytes())

    # ---- arrays --------------------------------------------------------------------------------

    def put(self, array: Array) -> Array:
        with self._device:
            return self._cupy.asarray(np.ascontiguousarray(array))

    def get(self, array: Array) -> Array:
        with self._device:
            return self._cupy.asnumpy(array)

    def rows(self, words: Array) -> Rows:
        """Codes (n, W) of NumPy or CuPy, one after the other; copied block by block."""
        cp = self._cupy
        n_rows, n_words = words.shape
        with self._device:
            stride = -(-n_rows // self.tile) * self.tile
            planes = cp.empty((n_words, stride), cp.uint64)
            planes[:, n_rows:] = 0
            size = max(1, BLOCK_WORDS // n_words)
            for start in range(0, n_rows, size):
                block = cp.asarray(words[start : start + size])
                planes[:, start : start + len(block)] = block.T
                del block  # before the next one comes
            self._device.synchronize()  # other threads may read next
        return Rows(planes, n_rows)

    def mask(self, mask: Array) -> Array:
        """One bit for each row."""
        cp = self._cupy
        with self._device:
            packed = cp.packbits(cp.asarray(mask), bitorder="little")
            return cp.pad(packed, (0, -len(packed) % 4)).view(cp.uint32)

    def n_tiles(self, rows: Rows) -> int:
        return int(rows.words.shape[1]) // self.tile

    def notes(self, n_queries: int, cap: int) -> Notes:
        cp = self._cupy
        with self._device:
            return Notes(cp.zeros(n_queries, cp.uint32), cp.empty((n_queries, cap), cp.uint64))

    def packed_bits(self, bits: Array) -> Bytes:
        """A boolean matrix (n, d) as packed rows, here."""
        cp = self._cupy
        with self._device:
            filled = cp.zeros((len(bits), -(-bits.shape[1] // 8) * 8), bool)
            filled[:, : bits.shape[1]] = bits
            return cp.asnumpy(cp.packbits(filled.ravel())).reshape(len(bits), -1)

    # ---- kernels -------------------------------------------------------------------------------

    @contextmanager
    def active(self) -> Iterator[ModuleType]:
        """CuPy, with this card as the current one."""
        with self._device:
            yield self._cupy

    @cached_property
    def most_shared(self) -> int:
        """Bytes of shared memory that a block may have."""
        return int(self._device.attributes["MaxSharedMemoryPerBlockOptin"]) - 1024

    @cached_property
    def n_processors(self) -> int:
        """Multiprocessors of the card."""
        return int(self._device.attributes["MultiProcessorCount"])

    def _kernel(self, name: str, n_words: int) -> Any:
        """A function of ``nearest.cu``, compiled for codes of that many words."""
        if (name, n_words) not in self._kernels:
            self._kernels[name, n_words] = _module(self.number, n_words).get_function(name)
        return self._kernels[name, n_words]

    def _allow(self, kernel: Any, n_bytes: int) -> int:
        """Shared memory for a kernel, which needs leave for much of it."""
        if n_bytes > LEAVE:
            with self._lock:
                if kernel.max_dynamic_shared_size_bytes < n_bytes:
                    kernel.max_dynamic_shared_size_bytes = n_bytes
        return n_bytes

    def collect(self, rows: Rows, asked: Queries, limits: Array | None, tiles: Tiles, notes: Notes) -> None:
        """Note the rows of these tiles that are within the limits."""
        if not len(asked) or not tiles.count:
            return
        n_words, stride = rows.words.shape
        sizes = np.array((stride, rows.n_rows, tiles.first, tiles.count, tiles.step))
        where = (rows.words, *sizes)
        mask = NONE if rows.mask is None else rows.mask
        noted = (NONE if limits is None else limits, mask, np.uint32(notes.cap), notes.counts, notes.keys)
        blocks = BLOCKS * self.n_processors
        with self._device:
            few = self.few if asked.weights is None else 2  # a popcount for each bit plane of the weights
            if len(asked) <= few or self._capability < TENSOR_CORES:
                for first in range(0, len(asked), 4):
                    self._few(asked, slice(first, first + 4), where, tiles, noted)
                return
            if limits is None:
                noted = (self._cupy.full(len(asked), asked.largest, np.int32), *noted[1:])
            kernel = self._kernel("many", n_words)
            n_tiles = -(-len(asked) // 8)
            per_block = min(n_tiles, max(1, SHARED_FOR_QUERIES // (512 * n_words + 32)))
            factors = (
                *self._factors(asked),
                np.int32(n_tiles), np.int32(per_block), np.int32(len(asked)),
            )  # fmt: skip
            parts = self.tile // (128 * max(1, 8 // n_words))
            grid = (min(tiles.count * parts, blocks), -(-n_tiles // per_block))
            shared = self._allow(kernel, per_block * (512 * n_words + 32))
            kernel(grid, (THREADS,), (*where, *factors, *noted), shared_mem=shared)

    def _few(self, asked: Queries, part: slice, where: Given, tiles: Tiles, noted: Given) -> None:
        """At most four queries, handed over with the call."""
        name, given = asked.by_value(part.start, part.stop)
        kernel = self._kernel(name, asked.words.shape[1])
        grid = (min(tiles.count, 16 * self.n_processors),)
        kernel(grid, (THREADS,), (*where, *given, *noted))

    def _factors(self, asked: Queries) -> tuple[Array, Array]:
        """`Queries.factors` and `Queries.own`, made on the card, once."""
        kept: dict[int, tuple[Any, Any]] = asked.__dict__.setdefault("_factors_on_cards", {})
        if self.number not in kept:
            cp, n_queries, n_words = self._cupy, len(asked), asked.words.shape[1]
            factors = cp.empty(-(-n_queries // 8) * n_words * 128, np.uint32)
            own = cp.empty(n_queries, np.int32)
            weights = NONE if asked.weights is None else self._once(asked, "weights")
            given = (self._once(asked, "words"), weights, np.int32(n_queries), factors, own)
            self._kernel("prepare", n_words)((-(-factors.size // THREADS),), (THREADS,), given)
            kept[self.number] = factors, own
        return kept[self.number]

    def _once(self, asked: Queries, name: str) -> Array:
        """An array of the queries on this card, copied once."""
        kept = asked.__dict__.setdefault("_on_cards", {})
        if (self.number, name) not in kept:
            kept[self.number, name] = self.put(getattr(asked, name))
        return kept[self.number, name]

    def lower(self, notes: Notes, wanted: int, largest: int, before: Array | None) -> Array:
        """Limits from the rows of a sample within those before; counting starts again."""
        with self._device:
            limits = self._cupy.empty(len(notes.counts), np.int32)
            kernel = self._kernel("lower", 1)
            shared = self._allow(kernel, 4 * (THREADS + largest + 1))
            given = (notes.counts, np.uint32(notes.cap), notes.keys, np.uint32(wanted), np.int32(largest))
            within = NONE if before is None else before
            kernel((len(notes.counts),), (THREADS,), (*given, within, limits), shared_mem=shared)
        return limits

    def smallest(self, notes: Notes, k: int, largest: int) -> tuple[Array, Array]:
        """The k smallest keys of every query, and what came of it."""
        cp = self._cupy
        n_queries = len(notes.counts)
        room = min(self.most_sorted, max(1024, 1 << (2 * k - 1).bit_length()))
        while 8 * room + 4 * (THREADS + largest + 1) > self.most_shared:
            room //= 2
        with self._device:
            kernel = self._kernel("smallest", 1)
            out = cp.empty(n_queries * (k + 1), cp.uint64)  # one copy back is quicker than two
            status = out[n_queries * k :]
            shared = self._allow(kernel, 8 * room + 4 * (THREADS + largest + 1))
            given = (notes.counts, np.uint32(notes.cap), notes.keys, np.uint32(k), np.int32(largest))
            kernel((n_queries,), (THREADS,), (*given, np.uint32(room), out, status), shared_mem=shared)
            host = cp.asnumpy(out)
        return host[: n_queries * k].reshape(n_queries, k), host[n_queries * k :]

    def _sorted(self, notes: Notes, queries: Ints) -> Array:
        cp = self._cupy
        some = cp.asarray(queries)
        used = cp.arange(notes.cap) < notes.counts[some][:, None]
        return cp.sort(cp.where(used, notes.keys[some], cp.uint64(2**64 - 1)), axis=1)

    def sorted_keys(self, notes: Notes, queries: Ints, k: int) -> npt.NDArray[np.uint64]:
        """The first k keys of some queries in ascending order."""
        size = max(1, MOST_SORTED // notes.cap)
        parts = [queries[start : start + size] for start in range(0, len(queries), size)]
        with self._device:
            return np.concatenate([self._cupy.asnumpy(self._sorted(notes, part)[:, :k]) for part in parts])

    def flat(self, notes: Notes, queries: Ints) -> tuple[Array, Array]:
        """Keys of some queries, in the order (query, key), and the place of each query in the list."""
        cp = self._cupy
        with self._device:
            counts = notes.counts[cp.asarray(queries)].get()
            longest = int(counts.max(initial=0))
            keys = notes.keys[cp.asarray(queries), :longest]
            used = cp.arange(longest) < cp.asarray(counts)[:, None]
            number = np.repeat(np.arange(len(queries)), counts)
            mixed = keys[used] | (cp.asarray(number.astype(np.uint64)) << cp.uint64(54))
            mixed.sort()
            return number, cp.asnumpy(mixed & cp.uint64((1 << 54) - 1))

    def histogram(self, rows: Rows, asked: Queries) -> Ints:
        """Rows at every distance (q, largest + 1)."""
        cp = self._cupy
        n_words, stride = rows.words.shape
        plain = asked.weights is None
        with self._device:
            kernel = self._kernel(f"histogram<{1 if plain else N_PLANES}>", n_words)
            out = cp.zeros((len(asked), asked.largest + 1), cp.uint64)
            planes = NONE if plain else self._once(asked, "planes")
            mask = NONE if rows.mask is None else rows.mask
            shared = self._allow(kernel, 4 * (asked.largest + 1))
            most = max(1, BLOCKS * self.n_processors // len(asked))
            grid = (min(most, -(-rows.n_rows // 1024)), len(asked))
            given = (self._once(asked, "words"), planes, mask, np.int32(asked.largest), out)
            where = (rows.words, np.int64(stride), np.int64(rows.n_rows))
            kernel(grid, (THREADS,), (*where, *given), shared_mem=shared)
            return cp.asnumpy(out).astype(np.int64)


@cache
def _module(card: int, n_words: int) -> Any:
    """The kernels, compiled for a card and for codes of one size."""
    source = files(__package__).joinpath("nearest.cu").read_text("utf-8")
    options = ("--std=c++17", "--fmad=false", f"-DW={n_words}")
    return cupy().RawModule(code=source, options=options, name_expressions=EXPRESSIONS)


@contextmanager
def on_gpu(card: int = 0) -> Iterator[None]:
    """Encode on a GPU (extra ``gpu``) inside this block.

        with kinhash.on_gpu():
            codes = hasher.encode(X)

    The bits are those of `encode` without a card: a model is whole numbers, whose sums are exact everywhere.
    Maps that a card does not know (trees, scikit-learn estimators) stay on the processor.

    Parameters
    ----------
    card : int, default=0
        Number of the GPU.
    """
    from . import all_cards

    cards = all_cards()
    token = _card.set(cards[check_integer("card", card, 0, len(cards) - 1)])
    try:
        yield
    finally:
        _card.reset(token)


def card_in_use() -> Card | None:
    """The card of the `on_gpu` around this, or None."""
    return _card.get()


def moved(thing: Any, card: Any) -> Any:
    """The same with arrays of the card in place of those of NumPy, derived ones as well."""
    if isinstance(thing, np.ndarray):
        return card.put(thing)
    if isinstance(thing, tuple):
        return tuple(moved(each, card) for each in thing)
    if is_dataclass(thing) and not isinstance(thing, type):
        other = copy(thing)
        for name, value in vars(thing).items():
            other.__dict__[name] = moved(value, card)
        return other
    return thing


assert MOST_QUERIES <= 1 << 10, "the number of a query has ten bits in a key"
