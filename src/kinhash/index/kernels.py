"""The compiled loops of the search: counting differing bits, selecting rows, hashing, near duplicates.

*Layout.* ``blocks[g, v, w, l]`` is word ``w`` of code ``64 g + 8 v + l``: a group of 64 codes is 8 vectors of
8 lanes, and one 64-byte line holds the same word of 8 consecutive codes. Arrays are 64-byte aligned. Counting
the differing bits of 8 codes is then, per word, one load, one xor and one popcount, and lanes never meet
until the end.

*Width.* Up to `UNROLLED` words the compiler knows their number, as the length of the tuple ``tag``, whose
values mean nothing: loops over words are unrolled, and every width has its own machine code. Wider codes
share one, and ``tag`` is their number of words.

*Margins.* A query may bring ``planes`` (P, W), the bits of whole weights of its bits, lowest first. A
differing bit then counts its weight: ``sum_p 2**p popcount((code ^ query) & planes[p])``. With ``planes``
None every bit counts one, and the compiler leaves the weighing out.

*Lists.* ``rows[starts[c]:starts[c + 1]]`` are the ranks of the rows with code ``c``, ascending; both are
empty where every code has one row, the one of its own number. A filter comes as ``mask``, a bit for every
row, whether it passes; None lets all of them.

Every function that is called from Python has its twin in `reference`, which says in NumPy what it computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from llvmlite.ir import IRBuilder, Value
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .._internal.compile import njit
from .._internal.types import Array, Ints, Ints32, Numbers32, Words
from ..codes import N_PLANES
from . import reference
from .reference import CODE, CODE_BITS, DISTANCE_BITS

__all__ = [
    "aligned_blocks", "blocks_of", "clear_tail", "codes_at", "group_codes", "list_rows", "probe",
    "scan_within", "tag_of", "top_k", "unite",
]  # fmt: skip

UNROLLED = 16
Tag: TypeAlias = tuple[int, ...] | int
ZERO, ONE = np.uint64(0), np.uint64(1)


def tag_of(n_words: int) -> Tag:
    """The argument ``tag`` for codes of that many words."""
    return (0,) * n_words if n_words <= UNROLLED else n_words


# ---- layout ------------------------------------------------------------------------------------


def aligned_blocks(n_codes: int, n_words: int) -> Words:
    """Room for that many codes, 64-byte aligned, not cleared."""
    shape = (-(-n_codes // 64), 8, n_words, 8)
    size = int(np.prod(shape)) * 8
    space = np.empty(size + 64, np.uint8)
    return space[-space.ctypes.data % 64 :][:size].view(np.uint64).reshape(shape)


def blocks_of(codes: Words) -> Words:
    """A copy of codes (n, W) in this layout."""
    blocks, whole = aligned_blocks(*codes.shape), len(codes) // 64
    clear_tail(blocks, len(codes))
    blocks.transpose(0, 1, 3, 2)[:whole] = codes[: 64 * whole].reshape(whole, 8, 8, codes.shape[1])
    places = np.arange(64 * whole, len(codes))
    blocks[places >> 6, (places >> 3) & 7, :, places & 7] = codes[64 * whole :]
    return blocks


def clear_tail(blocks: Words, n_codes: int) -> None:
    """Zero the unused places after the last code, so that equal segments are equal byte for byte."""
    places = np.arange(n_codes, 64 * len(blocks))
    blocks[places >> 6, (places >> 3) & 7, :, places & 7] = 0


def codes_at(blocks: Words, numbers: Array) -> Words:
    """The codes (n, W) of these numbers."""
    return blocks[numbers >> 6, (numbers >> 3) & 7, :, numbers & 7]


# ---- vectors of eight codes, in LLVM -----------------------------------------------------------

LANES = 8
I64 = ir.IntType(64)
VECTOR = ir.VectorType(I64, LANES)
HALVES = ir.VectorType(ir.IntType(32), 2 * LANES)  # the same 64 bytes
Term = Callable[[Value], list[Value]]


def _number(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


def _call(builder: IRBuilder, name: str, *vectors: Value) -> Value:
    """Call an LLVM intrinsic on vectors of one type, which is that of its result."""
    kind = vectors[0].type
    full = f"{name}.v{kind.count}i{kind.element.width}"
    function = builder.module.globals.get(full)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(kind, [kind] * len(vectors)), full)
    return builder.call(function, vectors)


def _splat(builder: IRBuilder, scalar: Value) -> Value:
    """The same number in every lane."""
    empty = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(empty, scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, empty, zeros)


def _add_up(builder: IRBuilder, n_words: int | Value, n_sums: int, terms: Term) -> list[Value]:
    """Sums over the words of ``n_sums`` vectors each, which ``terms(w)`` makes: unrolled, or in a loop."""
    if isinstance(n_words, int):
        sums = terms(_number(0))
        for w in range(1, n_words):
            sums = [builder.add(a, b) for a, b in zip(sums, terms(_number(w)), strict=True)]
        return sums
    none = ir.Constant(VECTOR, [0] * LANES)
    spots = [cgutils.alloca_once_value(builder, none) for _ in range(n_sums)]
    with cgutils.for_range(builder, n_words) as loop:
        for spot, term in zip(spots, terms(loop.index), strict=True):
            builder.store(builder.add(builder.load(spot), term), spot)
    return [builder.load(spot) for spot in spots]


class _Words:
    """Words of queries, or planes, behind a pointer, each in every lane of a vector."""

    def __init__(self, builder: IRBuilder, pointer: Value, first: Value, n_words: int | Value) -> None:
        self.builder, self.pointer, self.n_words = builder, pointer, n_words
        self.start = builder.mul(first, _number(n_words) if isinstance(n_words, int) else n_words)
        self.made: dict[int, Value] = {}  # of unrolled code, where the first use comes before all others

    def __getitem__(self, w: Value) -> Value:
        unrolled = isinstance(self.n_words, int)
        if unrolled and w.constant in self.made:
            return self.made[w.constant]
        place = self.builder.gep(self.pointer, [self.builder.add(self.start, w)])
        value = _splat(self.builder, self.builder.load(place))
        if unrolled:
            self.made[w.constant] = value
        return value


class _Group:
    """A group of 64 codes, and what is asked of it; ``tag`` says how many words, see above."""

    def __init__(self, context: Any, builder: IRBuilder, kinds: Any, arguments: Sequence[Value]) -> None:
        self.context, self.builder, self.kinds, self.arguments = context, builder, kinds, arguments
        tag = kinds[-1]
        self.n_words = len(tag) if isinstance(tag, types.UniTuple) else arguments[-1]
        self.blocks, self.group = self.data(0), arguments[1]

    def data(self, place: int) -> Value:
        return self.context.make_array(self.kinds[place])(
            self.context, self.builder, self.arguments[place]
        ).data

    def words(self, place: int, first: Value) -> _Words:
        return _Words(self.builder, self.data(place), first, self.n_words)

    def codes(self, vector: int, w: Value) -> Value:
        """Word ``w`` of the 8 codes of one vector."""
        builder = self.builder
        width = _number(self.n_words) if isinstance(self.n_words, int) else self.n_words
        place = builder.add(builder.mul(self.group, _number(LANES)), _number(vector))
        place = builder.mul(builder.add(builder.mul(place, width), w), _number(LANES))
        pointer = builder.bitcast(builder.gep(self.blocks, [place]), VECTOR.as_pointer())
        return builder.load(pointer, align=8 * LANES)

    def below(self, values: Value, bound: Value) -> Value:
        """Eight bits: which lanes are below the bound."""
        return self.builder.bitcast(self.builder.icmp_unsigned("<", values, bound), ir.IntType(LANES))

    def mask(self, distances: Callable[[int], Value], bound: Value) -> Value:
        """64 bits, one per code, from the distances of every vector."""
        builder, mask = self.builder, _number(0)
        for v in range(LANES):
            bits = builder.zext(self.below(distances(v), bound), I64)
            mask = builder.or_(mask, builder.shl(bits, _number(v * LANES)))
        return mask


def _make_any_below(n_queries: int) -> Any:
    @intrinsic
    def _any_below(
        typing_context: Any, blocks: Any, group: Any, queries: Any, first: Any, bounds: Any, tag: Any
    ) -> Any:
        """Which of the queries ``first, first + 1, ...`` have a code nearer than their bound in the group.

        The codes are loaded once for all of the queries; a running minimum per lane leaves a single
        comparison per query and group. It is that of 32-bit lanes, which is cheaper.
        """
        kinds = (blocks, types.int64, queries, types.int64, bounds, tag)

        def generate(context: Any, builder: IRBuilder, signature: Any, arguments: Sequence[Value]) -> Value:
            here = _Group(context, builder, kinds, arguments)
            numbers = [builder.add(arguments[3], _number(b)) for b in range(n_queries)]
            asked = [here.words(2, number) for number in numbers]
            nearest: list[Value] = []
            for v in range(LANES):

                def terms(w: Value, v: int = v) -> list[Value]:
                    codes = here.codes(v, w)
                    return [_call(builder, "llvm.ctpop", builder.xor(codes, one[w])) for one in asked]

                sums = _add_up(builder, here.n_words, n_queries, terms)
                halves = [builder.bitcast(total, HALVES) for total in sums]
                if v:
                    halves = [_call(builder, "llvm.umin", a, b) for a, b in zip(nearest, halves, strict=True)]
                nearest = halves
            result, bound_data = _number(0), here.data(4)
            for b in range(n_queries):
                bound = _splat(builder, builder.load(builder.gep(bound_data, [numbers[b]])))
                lanes = here.below(builder.bitcast(nearest[b], VECTOR), bound)
                hit = builder.icmp_unsigned("!=", lanes, ir.Constant(ir.IntType(LANES), 0))
                result = builder.or_(result, builder.shl(builder.zext(hit, I64), _number(b)))
            return result

        return types.uint64(*kinds), generate

    return _any_below


@intrinsic
def _mask_below(
    typing_context: Any,
    blocks: Any,
    group: Any,
    queries: Any,
    number: Any,
    planes: Any,
    bounds: Any,
    tag: Any,
) -> Any:
    """Which of the 64 codes of a group are nearer to the query than its bound, as 64 bits.

    ``planes`` (q, 4, W) are those of all queries, or None.
    """
    kinds = (blocks, types.int64, queries, types.int64, planes, bounds, tag)
    n_planes = 0 if isinstance(planes, types.NoneType) else N_PLANES

    def generate(context: Any, builder: IRBuilder, signature: Any, arguments: Sequence[Value]) -> Value:
        here = _Group(context, builder, kinds, arguments)
        query = here.words(2, arguments[3])
        first = builder.mul(arguments[3], _number(N_PLANES))
        weights = [here.words(4, builder.add(first, _number(p))) for p in range(n_planes)]
        bound = _splat(builder, builder.load(builder.gep(here.data(5), [arguments[3]])))

        def distances(v: int) -> Value:
            def terms(w: Value) -> list[Value]:
                differing = builder.xor(here.codes(v, w), query[w])
                counted = [builder.and_(differing, one[w]) for one in weights] or [differing]
                return [_call(builder, "llvm.ctpop", one) for one in counted]

            *planes_below, total = _add_up(builder, here.n_words, max(1, n_planes), terms)
            for ones in reversed(planes_below):
                total = builder.add(builder.add(total, total), ones)
            return total

        return here.mask(distances, bound)

    return types.uint64(*kinds), generate


_any_below, _any_below_4 = _make_any_below(1), _make_any_below(4)


@intrinsic
def _n_words(typing_context: Any, tag: Any) -> Any:
    """The number of words, which the compiler knows where it can."""

    def generate(context: Any, builder: IRBuilder, signature: Any, arguments: Sequence[Value]) -> Value:
        return _number(len(tag)) if isinstance(tag, types.UniTuple) else arguments[0]

    return types.int64(tag if isinstance(tag, types.UniTuple) else types.int64), generate


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Number of ones of a uint64, as uint64."""
    if word != types.uint64:
        return None

    def generate(context: Any, builder: IRBuilder, signature: Any, arguments: Sequence[Value]) -> Value:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Number of zeros below the lowest one of a uint64 that is not zero, as int64."""
    if word != types.uint64:
        return None

    def generate(context: Any, builder: IRBuilder, signature: Any, arguments: Sequence[Value]) -> Value:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@njit(nogil=True)
def _distance(
    blocks: Words, g: int, place: int, queries: Words, i: int, planes: Words | None, tag: Tag
) -> np.int64:  # fmt: skip
    """Differing bits of one code of group ``g`` and one query, or what they count."""
    total = ZERO
    for w in range(_n_words(tag)):
        differing = blocks[g, place >> 3, w, place & 7] ^ queries[i, w]
        if planes is None:
            total += popcount(differing)
        else:
            for p in range(planes.shape[1]):
                total += popcount(differing & planes[i, p, w]) << np.uint64(p)
    return np.int64(total)


@njit(nogil=True)
def _near(
    blocks: Words, n_codes: int, g: int, queries: Words, i: int, bounds: Ints, planes: Words | None, tag: Tag
) -> np.uint64:  # fmt: skip
    """Which codes of group ``g`` are nearer to query ``i`` than its bound, as 64 bits."""
    near = _mask_below(blocks, g, queries, i, planes, bounds, tag)
    if n_codes - 64 * g < 64:
        near &= (ONE << np.uint64(n_codes - 64 * g)) - ONE
    return near


# ---- every distinct code once --------------------------------------------------------------------
# Open addressing with linear probing; the table doubles when five eighths are full, so it stays as small as
# the distinct codes allow, and few codes are found in the cache.


@njit(nogil=True)
def _stir(h: np.uint64) -> np.uint64:
    h ^= h >> np.uint64(32)
    h *= np.uint64(0x9E3779B97F4A7C15)
    h ^= h >> np.uint64(29)
    return h


@njit(nogil=True)
def _hash_row(words: Words, i: int) -> np.uint64:
    h = np.uint64(0)
    for w in range(words.shape[1]):
        h = _stir(h + words[i, w])
    return h


@njit(nogil=True)
def _hash_code(blocks: Words, c: int) -> np.uint64:
    h = np.uint64(0)
    for w in range(blocks.shape[2]):
        h = _stir(h + blocks[c >> 6, (c >> 3) & 7, w, c & 7])
    return h


@njit(nogil=True)
def _regrown(slots: Numbers32, blocks: Words, n_codes: int) -> Numbers32:
    slots = np.zeros(2 * slots.size, np.uint32)
    last = np.uint64(slots.size - 1)
    for c in range(n_codes):
        h = _hash_code(blocks, c) & last
        while slots[h] != 0:
            h = (h + np.uint64(1)) & last
        slots[h] = c + 1
    return slots


def _sorting(words: Words, *_: object) -> int:
    """What sorting costs the twin, in numbers read."""
    return 20 * words.size


@njit(cache=True, nogil=True, twin=reference.group_codes, steps=_sorting)
def group_codes(words: Words, blocks: Words, code_of_row: Numbers32) -> np.int64:
    """Write the distinct rows of ``words`` (n, W) to ``blocks`` and the number of each row's code beside it.

    Codes are numbered as they first appear. ``blocks`` must have room for n codes; its unused places are
    left as they are. Returns how many distinct codes there are. Working memory: at most 20 bytes per
    distinct code.
    """
    slots = np.zeros(1 << 12, np.uint32)
    last = np.uint64(slots.size - 1)
    n_codes = np.int64(0)
    for i in range(words.shape[0]):
        h = _hash_row(words, i) & last
        while True:
            c = np.int64(slots[h]) - 1
            if c < 0:
                c = n_codes
                n_codes += 1
                slots[h] = n_codes
                for w in range(words.shape[1]):
                    blocks[c >> 6, (c >> 3) & 7, w, c & 7] = words[i, w]
                break
            same = True
            for w in range(words.shape[1]):
                same &= blocks[c >> 6, (c >> 3) & 7, w, c & 7] == words[i, w]
            if same:
                break
            h = (h + np.uint64(1)) & last
        code_of_row[i] = c
        if 8 * n_codes > 5 * slots.size:
            slots = _regrown(slots, blocks, n_codes)
            last = np.uint64(slots.size - 1)
    return n_codes


@njit(cache=True, nogil=True, twin=reference.list_rows)
def list_rows(code_of_row: Numbers32, n_codes: int, starts: Numbers32, rows: Numbers32) -> None:
    """Posting lists: ``rows[starts[c]:starts[c + 1]]`` are the rows with code ``c``, ascending."""
    starts[:] = 0
    for i in range(code_of_row.size):
        starts[code_of_row[i] + 1] += 1
    for c in range(n_codes):
        starts[c + 1] += starts[c]
    free = starts[:n_codes].copy()
    for i in range(code_of_row.size):
        c = code_of_row[i]
        rows[free[c]] = i
        free[c] += 1


# ---- lists of rows -------------------------------------------------------------------------------


@njit(nogil=True)
def _passes(mask: Words, row: np.uint32) -> bool:
    return mask[row >> np.uint32(6)] >> np.uint64(row & np.uint32(63)) & ONE != ZERO


@njit(nogil=True)
def _count_passing(mask: Words, starts: Numbers32, rows: Numbers32, code: int, most: int) -> np.int64:
    """How many rows of a code pass, counted up to ``most``."""
    count = np.int64(0)
    for p in range(np.int64(starts[code]), np.int64(starts[code + 1])):
        if _passes(mask, rows[p]):
            count += 1
            if count == most:
                break
    return count


@njit(nogil=True)
def _merge(rows: Ints, ends: Ints, n_runs: int) -> None:
    """Merge the ascending runs of ``rows``, pair by pair, until one is left."""
    spare = np.empty(ends[n_runs - 1], np.int64)
    while n_runs > 1:
        begin = np.int64(0)
        for pair in range(0, n_runs, 2):
            middle, end = ends[pair], ends[min(pair + 1, n_runs - 1)]
            left, right = begin, middle
            out = begin
            while left < middle and right < end:
                if rows[left] < rows[right]:
                    spare[out] = rows[left]
                    left += 1
                else:
                    spare[out] = rows[right]
                    right += 1
                out += 1
            for j in range(middle - left):
                spare[out + j] = rows[left + j]
            for j in range(end - right):
                spare[out + j] = rows[right + j]
            ends[pair // 2] = begin = end
        n_runs = (n_runs + 1) // 2
        for j in range(spare.size):  # a loop: slice assignment costs seconds of compilation
            rows[j] = spare[j]


@njit(nogil=True)
def _append_rows(
    codes: Ints, first: int, last: int, starts: Numbers32, rows: Numbers32, ranks: Ints, filled: int,
    mask: Words | None,
) -> int:  # fmt: skip
    """Append the rows of ``codes[first:last]`` to ``ranks[:filled]`` in ascending order, until it is full.

    Only rows of the mask, unless it is None; where every code has one row, the codes are of such rows. The
    codes come in the order of their smallest row, passing or not, so gathering stops at the first code whose
    rows all come too late. Returns the new fill. Working memory: 48 bytes per place left in ``ranks``.
    """
    need = ranks.size - filled
    if starts.size == 0:  # one row per code, its own number
        count = min(need, last - first)
        for j in range(count):
            ranks[filled + j] = codes[first + j]
        return filled + count
    buffer, ends = np.empty(3 * need, np.int64), np.empty(last - first, np.int64)
    held: Any = np.int64(0)
    n_runs, latest = np.int64(0), FAR
    for c in range(first, last):
        begin = np.int64(starts[codes[c]])
        if np.int64(rows[begin]) > latest:
            break
        most = held + need
        for p in range(begin, np.int64(starts[codes[c] + 1])):
            if held == most or np.int64(rows[p]) > latest:
                break
            if mask is not None and not _passes(mask, rows[p]):
                continue
            buffer[held] = rows[p]
            held += 1
        ends[n_runs] = held
        n_runs += 1
        if held > 2 * need:
            _merge(buffer, ends, n_runs)
            held, n_runs, ends[0], latest = np.int64(need), np.int64(1), need, buffer[need - 1]
    _merge(buffer, ends, n_runs)
    count = min(need, held)
    for j in range(count):
        ranks[filled + j] = buffer[j]
    return filled + count


FAR = np.int64(1) << np.int64(62)  # after every row


# ---- the k nearest rows --------------------------------------------------------------------------
# One pass over the distinct codes, selection by counting. The scan keeps, per query, a shrinking limit ``T``:
# the smallest distance such that the codes met so far hold k rows within it. Distances are small integers, so
# ``T`` follows from two counters per distance, rows and codes, and no heap is needed. Codes are numbered in
# the order of their smallest row, hence a later code at distance ``T`` cannot matter once k codes lie within
# ``T``: each of those has a row that comes first. For distinct codes that leaves "nearer than ``T``", the
# usual test.
#
# Few groups of 64 codes pass the test (some 450 of 15,625 for a million random codes and k = 100), so what
# happens to a candidate hardly counts, and the scan runs at the speed of the memory.
#
# With a filter, where codes repeat, the first row of a code that passes need not be its smallest. So only
# codes whose smallest row passes (they *lead*) count towards the ``k`` codes above, and of the codes at ``T``
# the list keeps those whose first passing rows come first.

QUERY_BLOCK = 100  # queries that share a block of codes
CODE_BLOCK = 4096  # words of a block of codes: 32 kB, the first-level cache
MOST_NOTES = 4 << 20  # numbers noted at a time: 32 MB, or what a single query needs

# A candidate is one number, ``distance << 40 | code``.
# The notes on a query are one row of int64: these four facts, then rows and codes met at every distance,
# then the candidates. One array, and arguments spelled out below, because taking arrays out of a tuple
# counts references, and that costs more than the work on a candidate.
COUNT, LIMIT, ROWS, CODES = 0, 1, 2, 3  # candidates; the limit T; rows and codes within T
FACTS = 4


@njit(nogil=True)
def _admit(notes: Ints, i: int, width: int, key: int, weight: int, leads: int, k: int) -> int:
    """Note a candidate of query ``i``, then lower its limit as far as k rows allow. Returns the new bound.

    ``leads`` is 1 if the smallest row of the code passes, else 0.
    """
    rows_at, codes_at, keys = FACTS, FACTS + width, FACTS + 2 * width
    distance = key >> CODE_BITS
    notes[i, keys + notes[i, COUNT]] = key
    notes[i, COUNT] += 1
    notes[i, rows_at + distance] += weight
    notes[i, codes_at + distance] += leads
    limit = notes[i, LIMIT]
    n_rows = notes[i, ROWS] + weight
    n_codes = notes[i, CODES] + leads
    while n_rows - notes[i, rows_at + limit] >= k:
        n_rows -= notes[i, rows_at + limit]
        n_codes -= notes[i, codes_at + limit]
        limit -= 1
    notes[i, LIMIT] = limit
    notes[i, ROWS] = n_rows
    notes[i, CODES] = n_codes
    return limit if n_codes >= k else limit + 1


@njit(nogil=True)
def _forget_distant(notes: Ints, i: int, keys: int) -> None:
    """Drop candidates beyond the limit; without a filter, at most 2 k are left, so the list stays short."""
    kept = keys
    for j in range(keys, keys + notes[i, COUNT]):
        if notes[i, j] >> CODE_BITS <= notes[i, LIMIT]:
            notes[i, kept] = notes[i, j]
            kept += 1
    notes[i, COUNT] = kept - keys


@njit(nogil=True)
def _first_passing(mask: Words, starts: Numbers32, rows: Numbers32, code: int) -> np.int64:
    for p in range(np.int64(starts[code]), np.int64(starts[code + 1])):
        if _passes(mask, rows[p]):
            return np.int64(rows[p])
    return FAR


@njit(nogil=True)
def _forget_late(
    notes: Ints, i: int, keys: int, k: int, starts: Numbers32, rows: Numbers32, mask: Words
) -> None:
    """Of the candidates at the limit, keep the k whose first passing rows come first: 2 k are left in all."""
    first = np.empty(notes[i, COUNT], np.int64)
    n_first: Any = np.int64(0)
    for j in range(keys, keys + notes[i, COUNT]):
        if notes[i, j] >> CODE_BITS == notes[i, LIMIT]:
            first[n_first] = _first_passing(mask, starts, rows, notes[i, j] & CODE)
            n_first += 1
    first = first[:n_first]
    ordered = np.sort(first)
    last, kept, at = ordered[min(k, n_first) - 1] if n_first else FAR, keys, np.int64(0)
    for j in range(keys, keys + notes[i, COUNT]):
        late = False
        if notes[i, j] >> CODE_BITS == notes[i, LIMIT]:
            late = first[at] > last
            at += 1
        if not late:
            notes[i, kept] = notes[i, j]
            kept += 1
    notes[i, COUNT] = kept - keys


@njit(nogil=True)
def _absorb(
    blocks: Words, starts: Numbers32, rows: Numbers32, g: int, near: np.uint64, queries: Words, i: int,
    k: int, bounds: Ints, notes: Ints, at: int, width: int, planes: Words | None, mask: Words | None, tag: Tag,
) -> None:  # fmt: skip
    """Take in the codes ``near`` of group ``g``: nearer than the bound of query ``i``, whose notes are ``at``."""
    bound = bounds[i]
    if FACTS + 2 * width + notes[at, COUNT] + 64 > notes.shape[1]:
        _forget_distant(notes, at, FACTS + 2 * width)
        full = FACTS + 2 * width + notes[at, COUNT] + 64 > notes.shape[1]
        if mask is not None and starts.size and full:
            _forget_late(notes, at, FACTS + 2 * width, k, starts, rows, mask)
    while near != ZERO:
        place = trailing_zeros(near)
        near &= near - ONE
        code = 64 * g + place
        distance = _distance(blocks, g, place, queries, i, planes, tag)
        if distance < bound:
            weight = leads = np.int64(1)
            if starts.size:
                if mask is None:
                    weight = np.int64(starts[code + 1]) - np.int64(starts[code])
                else:
                    weight = _count_passing(mask, starts, rows, code, k)
                    if weight == 0:
                        continue
                    leads = np.int64(_passes(mask, rows[starts[code]]))
            bound = _admit(notes, at, width, distance << CODE_BITS | code, weight, leads, k)
    bounds[i] = bound


@njit(nogil=True)
def _emit(
    starts: Numbers32, rows: Numbers32, notes: Ints, i: int, width: int, distances: Ints32, ranks: Ints,
    mask: Words | None,
) -> None:  # fmt: skip
    """Write the k rows of query ``i`` in the order (distance, rank)."""
    counts, keys = FACTS + width, FACTS + 2 * width
    _forget_distant(notes, i, keys)
    n_keys, limit = notes[i, COUNT], notes[i, LIMIT]
    for d in range(counts, counts + limit + 1):
        notes[i, d] = 0
    for j in range(keys, keys + n_keys):
        notes[i, counts + (notes[i, j] >> CODE_BITS)] += 1
    place = np.int64(0)
    for d in range(counts, counts + limit + 1):  # a counting sort keeps codes of one distance in scan order
        place += notes[i, d]
        notes[i, d] = place - notes[i, d]
    codes = np.empty(n_keys, np.int64)
    for j in range(keys, keys + n_keys):
        d = counts + (notes[i, j] >> CODE_BITS)
        codes[notes[i, d]] = notes[i, j] & CODE
        notes[i, d] += 1
    filled = first = np.int64(0)
    for d in range(limit + 1):
        last = notes[i, counts + d]
        if last > first:
            after = _append_rows(codes, first, last, starts, rows, ranks, filled, mask)
            for at in range(filled, after):
                distances[at] = d
            filled, first = after, last


def _scan_steps(blocks: Words, n_codes: int, starts: Any, rows: Any, queries: Words, *_: object) -> int:
    """Numbers that a twin reads: all codes for every query, which is the fifth argument of both searches."""
    return len(queries) * blocks.size


@njit(cache=True, nogil=True, twin=reference.top_k, steps=_scan_steps)
def top_k(
    blocks: Words, n_codes: int, starts: Numbers32, rows: Numbers32, queries: Words, distances: Ints32,
    ranks: Ints, planes: Words | None, mask: Words | None, tag: Tag,
) -> None:  # fmt: skip
    """Fill ``distances`` and ``ranks`` (q, k) with the k nearest rows, in the order (distance, rank).

    ``k`` must not exceed the number of rows that pass. Working memory: about 24 k + 1 kB per word (15 kB with
    ``planes``) for each of up to 100 queries, within 32 MB or one query.
    """
    n_queries, k = ranks.shape
    n_words = _n_words(tag)
    n_groups = (n_codes + 63) // 64
    width = np.int64(64 * n_words + 1)  # one more than the largest distance there can be
    if planes is not None:
        width = np.int64(64 * n_words * (2 ** planes.shape[1] - 1) + 1)
    length = FACTS + 2 * width + min(3 * k + 256, n_codes + 128)
    in_block = max(1, min(QUERY_BLOCK, n_queries, MOST_NOTES // length))
    notes = np.empty((in_block, length), np.int64)
    bounds = np.full(n_queries, width, np.int64)
    step = max(1, CODE_BLOCK // (64 * n_words))
    for base in range(0, n_queries, in_block):
        end = min(n_queries, base + in_block)
        notes[:, : FACTS + 2 * width] = 0
        notes[:, LIMIT] = width - 1
        for start in range(0, n_groups, step):
            stop = min(n_groups, start + step)
            i = base
            while i < end:
                four = planes is None and i + 4 <= end
                for g in range(start, stop):
                    if planes is not None:
                        hits = np.uint64(_mask_below(blocks, g, queries, i, planes, bounds, tag) != ZERO)
                    elif four:
                        hits = _any_below_4(blocks, g, queries, i, bounds, tag)
                    else:
                        hits = _any_below(blocks, g, queries, i, bounds, tag)
                    while hits != ZERO:
                        b = i + trailing_zeros(hits)
                        hits &= hits - ONE
                        near = _near(blocks, n_codes, g, queries, b, bounds, planes, tag)
                        if mask is not None and not starts.size:
                            near &= mask[g]
                        if near != ZERO:
                            _absorb(
                                blocks, starts, rows, g, near, queries, b, k, bounds, notes, b - base, width,
                                planes, mask, tag,
                            )  # fmt: skip
                i += 4 if four else 1
        for i in range(base, end):
            _emit(starts, rows, notes, i - base, width, distances[i], ranks[i], mask)


# ---- all codes within a radius -----------------------------------------------------------------
# A find is one number, ``query << 55 | distance << 40 | code``, so sorting finds puts them in the order of
# the result: at most 256 queries at a time.


@njit(nogil=True)
def _collect(
    blocks: Words, n_codes: int, g: int, queries: Words, i: int, bounds: Ints, finds: Ints, count: int, tag: Tag
) -> int:  # fmt: skip
    """Note the codes of group ``g`` within reach of query ``i``; returns how many finds there are now."""
    near = _near(blocks, n_codes, g, queries, i, bounds, None, tag)
    while near != ZERO:
        place = trailing_zeros(near)
        near &= near - ONE
        distance = _distance(blocks, g, place, queries, i, None, tag)
        finds[count] = (i << CODE_BITS + DISTANCE_BITS) | (distance << CODE_BITS) | (64 * g + place)
        count += 1
    return count


@njit(nogil=True)
def _with_room(finds: Ints, count: int) -> Ints:
    """The same finds, with room for another 256."""
    if count + 256 <= finds.size:
        return finds
    larger = np.empty(2 * finds.size, np.int64)
    for j in range(count):
        larger[j] = finds[j]
    return larger


@njit(
    cache=True,
    nogil=True,
    twin=reference.scan_within,
    steps=lambda blocks, _, queries, *__: len(queries) * blocks.size,
)
def scan_within(blocks: Words, n_codes: int, queries: Words, radius: int, tag: Tag) -> Ints:
    """All finds within ``radius`` of the queries (q, W), unordered. Working memory: 16 bytes per find."""
    n_queries = queries.shape[0]
    n_groups = (n_codes + 63) // 64
    bounds = np.empty(n_queries, np.int64)
    bounds[:] = radius + 1
    finds = np.empty(1024, np.int64)
    count = np.int64(0)
    step = max(1, CODE_BLOCK // (64 * queries.shape[1]))
    for start in range(0, n_groups, step):
        stop = min(n_groups, start + step)
        i = 0
        while i < n_queries:
            four = i + 4 <= n_queries
            for g in range(start, stop):
                if four:
                    hits = _any_below_4(blocks, g, queries, i, bounds, tag)
                else:
                    hits = _any_below(blocks, g, queries, i, bounds, tag)
                if hits != ZERO:
                    finds = _with_room(finds, count)
                while hits != ZERO:
                    b = i + trailing_zeros(hits)
                    hits &= hits - ONE
                    count = _collect(blocks, n_codes, g, queries, b, bounds, finds, count, tag)
            i += 4 if four else 1
    return finds[:count]


# ---- multi-index hashing -----------------------------------------------------------------------
# A code is cut into chunks of 16 bits and each chunk has a table of buckets. Two codes within radius
# ``r = a C + b`` of each other (``C`` chunks, ``b < C``) differ by at most ``a`` bits in one of the chunks
# ``0 ... b``, or by at most ``a - 1`` in one of the others: otherwise they would differ by more than ``r`` in
# total. So it is enough to look into the buckets that near the query, and to check what is there. A code
# found through several chunks counts for the first of them.
#
# Norouzi, Punjani and Fleet, Fast search in Hamming space with multi-index hashing, CVPR 2012.

MASK = np.uint64((1 << 16) - 1)


@njit(nogil=True)
def _found_before(differing: Words, chunk: int, full: int, extra: int) -> bool:
    """Whether an earlier chunk has led to this code already."""
    for earlier in range(chunk):
        reach = full if earlier <= extra else full - 1
        ones = popcount((differing[earlier >> 2] >> np.uint64(16 * (earlier & 3))) & MASK)
        if np.int64(ones) <= reach:
            return True
    return False


@njit(cache=True, nogil=True, twin=reference.probe, steps=_scan_steps)
def probe(
    blocks: Words, offsets: Numbers32, codes: Numbers32, values: Words, queries: Words, radius: int,
    flips: Ints, n_flips: Ints,
) -> Ints:  # fmt: skip
    """All finds within ``radius``, as `scan_within` gives them, from the buckets near each query.

    ``flips`` are the 16-bit patterns by their number of ones, ``n_flips[a]`` how many have at most ``a``.
    Working memory: 16 bytes per find.
    """
    n_chunks, n_words = offsets.shape[0], queries.shape[1]
    full, extra = radius // n_chunks, radius % n_chunks
    differing = np.empty(n_words, np.uint64)
    finds = np.empty(1024, np.int64)
    count = 0
    for i in range(queries.shape[0]):
        for chunk in range(n_chunks):
            reach = full if chunk <= extra else full - 1
            if reach < 0:
                continue
            here = np.int64((queries[i, chunk >> 2] >> np.uint64(16 * (chunk & 3))) & MASK)
            for f in range(n_flips[min(reach, 16)]):
                bucket = here ^ flips[f]
                for p in range(offsets[chunk, bucket], offsets[chunk, bucket + 1]):
                    distance = np.int64(0)
                    if n_words == 1:
                        differing[0] = values[chunk, p] ^ queries[i, 0]
                        distance = np.int64(popcount(differing[0]))
                    else:
                        c = np.int64(codes[chunk, p])
                        for w in range(n_words):
                            differing[w] = blocks[c >> 6, (c >> 3) & 7, w, c & 7] ^ queries[i, w]
                            distance += np.int64(popcount(differing[w]))
                    if distance > radius or _found_before(differing, chunk, full, extra):
                        continue
                    finds = _with_room(finds, count)
                    code = np.int64(codes[chunk, p])
                    finds[count] = (i << CODE_BITS + DISTANCE_BITS) | (distance << CODE_BITS) | code
                    count += 1
    return finds[:count]


# ---- near duplicates ---------------------------------------------------------------------------


@njit(nogil=True)
def _root(parents: Ints, node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@njit(cache=True, nogil=True, twin=reference.unite)
def unite(parents: Ints, left: Ints, right: Ints) -> None:
    """Join the groups of ``left[j]`` and ``right[j]``, for every j; a group's root is its smallest member."""
    for j in range(left.size):
        a, b = _root(parents, left[j]), _root(parents, right[j])
        if a < b:
            parents[b] = a
        elif b < a:
            parents[a] = b
