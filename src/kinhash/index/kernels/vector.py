"""Sixty-four codes at a time: the vector instructions the scans are made of.

This is the one file that speaks LLVM. Everything else calls its functions, whose plain twins, with
the same names and arguments, are in `numpy_reference` (NumPy) and `scalar` (for old processors).

*Layout.* ``blocks[g, v, w, l]`` is word ``w`` of code ``64 g + 8 v + l``: a group of 64 codes is 8 vectors
of 8 lanes, and one 64-byte line holds the same word of 8 consecutive codes. Arrays must be
64-byte aligned. Counting the differing bits of 8 codes is then, per word, one load, one xor and one
popcount, and lanes never meet until the end.

*Width.* The number of words is known to the compiler: it is the length of the tuple ``tag``, whose
values mean nothing. So loops over words are unrolled, and every width has its own machine code.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from llvmlite.ir import IRBuilder, Value
from numba import types
from numba.core.base import BaseContext
from numba.core.registry import cpu_target
from numba.core.typing import Context, Signature
from numba.extending import intrinsic
from numba.types import Type, UniTuple

from .bits import Typed, Values

__all__ = ["any_below", "any_below_4", "any_weighted", "any_weighted_4", "mask_below", "weighted_below"]

LANES = 8
VECTORS = 8  # of a group

I64 = ir.IntType(64)
VECTOR = ir.VectorType(I64, LANES)
HALVES = ir.VectorType(ir.IntType(32), 2 * LANES)  # the same 64 bytes
BYTES = ir.VectorType(ir.IntType(8), 8 * LANES)
WIDE_BYTES = "+avx512bw" in str(cpu_target.target_context.codegen().magic_tuple()[2]).split(",")


def _number(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


def _call(builder: IRBuilder, name: str, *vectors: Value) -> Value:
    """Call an LLVM intrinsic on vectors of one type, which is that of its result."""
    kind = vectors[0].type
    return _declared(builder, f"{name}.v{kind.count}i{kind.element.width}", kind, *vectors)


def _declared(builder: IRBuilder, full: str, result: ir.Type, *vectors: Value) -> Value:
    """Call an LLVM intrinsic, declared by its full name."""
    function = builder.module.globals.get(full)
    if function is None:
        kind = ir.FunctionType(result, [vector.type for vector in vectors])
        function = ir.Function(builder.module, kind, full)
    return builder.call(function, vectors)


def _splat(builder: IRBuilder, scalar: Value) -> Value:
    """The same number in every lane."""
    empty = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(empty, scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, empty, zeros)


def _data(context: BaseContext, builder: IRBuilder, array_type: Type, array: Value) -> Value:
    return context.make_array(array_type)(context, builder, array).data


def _splat_words(builder: IRBuilder, pointer: Value, first: Value, n_words: int) -> list[Value]:
    """Words ``first ... first + n_words`` behind the pointer, each in every lane."""
    places = [builder.add(first, _number(w)) for w in range(n_words)]
    return [_splat(builder, builder.load(builder.gep(pointer, [place]))) for place in places]


def _load_codes(builder: IRBuilder, blocks: Value, group: Value, vector: int, n_words: int) -> list[Value]:
    """The words of 8 codes: vector number ``vector`` of a group."""
    start = builder.mul(group, _number(VECTORS * n_words * LANES))
    found = []
    for w in range(n_words):
        place = builder.add(start, _number((vector * n_words + w) * LANES))
        pointer = builder.bitcast(builder.gep(blocks, [place]), VECTOR.as_pointer())
        found.append(builder.load(pointer, align=8 * LANES))
    return found


def _differing_bits(builder: IRBuilder, codes: Values, query: Values) -> Value:
    """Hamming distance of 8 codes to one query, one per lane."""
    total = None
    for code, word in zip(codes, query, strict=True):
        ones = _call(builder, "llvm.ctpop", builder.xor(code, word))
        total = ones if total is None else builder.add(total, ones)
    return total


def _lanes_below(builder: IRBuilder, values: Value, bound: Value) -> Value:
    """Eight bits: which lanes are below the bound."""
    return builder.bitcast(builder.icmp_unsigned("<", values, bound), ir.IntType(LANES))


def _group_mask(builder: IRBuilder, per_vector: Callable[[int], Value], bound: Value) -> Value:
    """64 bits, one per code of a group, from ``per_vector(v)``, the values of its vectors."""
    mask = _number(0)
    for v in range(VECTORS):
        bits = builder.zext(_lanes_below(builder, per_vector(v), bound), I64)
        mask = builder.or_(mask, builder.shl(bits, _number(v * LANES)))
    return mask


def _nearest_is_below(
    context: BaseContext, builder: IRBuilder, kinds: tuple[Type, ...], arguments: Values, n_words: int,
    n_queries: int, distance_of: Callable[[Values, Values], Value],
) -> Value:  # fmt: skip
    """Bit ``b``: whether the group holds a code whose ``distance_of`` query ``first + b`` is below its bound.

    The codes are loaded once for all of the queries; a running minimum per lane leaves a single comparison
    per query and group. Distances are below 2**32, so the minimum is that of 32-bit lanes, which is cheaper.
    """
    block_data, query_data, bound_data = (
        _data(context, builder, kinds[place], arguments[place]) for place in (0, 2, 4)
    )
    numbers = [builder.add(arguments[3], _number(b)) for b in range(n_queries)]
    words = [
        _splat_words(builder, query_data, builder.mul(number, _number(n_words)), n_words)
        for number in numbers
    ]
    nearest: list[Value] = [None] * n_queries
    for v in range(VECTORS):
        codes = _load_codes(builder, block_data, arguments[1], v, n_words)
        for b in range(n_queries):
            halves = builder.bitcast(distance_of(codes, words[b]), HALVES)
            nearest[b] = halves if v == 0 else _call(builder, "llvm.umin", nearest[b], halves)
    result = _number(0)
    for b in range(n_queries):
        bound = _splat(builder, builder.load(builder.gep(bound_data, [numbers[b]])))
        lanes = _lanes_below(builder, builder.bitcast(nearest[b], VECTOR), bound)
        hit = builder.icmp_unsigned("!=", lanes, ir.Constant(ir.IntType(LANES), 0))
        result = builder.or_(result, builder.shl(builder.zext(hit, I64), _number(b)))
    return result


def _make_any_below(n_queries: int) -> Callable[..., np.uint64]:
    @intrinsic
    def any_below(
        typing_context: Context, blocks: Type, group: Type, queries: Type, first: Type, bounds: Type,
        tag: UniTuple,
    ) -> Typed:  # fmt: skip
        """Which of the queries ``first, first + 1, ...`` have a code nearer than their bound in the group."""
        kinds = (blocks, types.int64, queries, types.int64, bounds, tag)

        def generate(
            context: BaseContext, builder: IRBuilder, signature: Signature, arguments: Values
        ) -> Value:
            def distance_of(codes: Values, query: Values) -> Value:
                return _differing_bits(builder, codes, query)

            return _nearest_is_below(context, builder, kinds, arguments, len(tag), n_queries, distance_of)

        return types.uint64(*kinds), generate

    return any_below


def _make_any_weighted(n_queries: int) -> Callable[..., np.uint64]:
    @intrinsic
    def any_weighted(
        typing_context: Context, blocks: Type, group: Type, queries: Type, first: Type, bounds: Type,
        weights: Type, tag: UniTuple,
    ) -> Typed:  # fmt: skip
        """As `any_below`, with ``weights`` (W,): each byte of them is what a bit of that byte counts."""
        kinds = (blocks, types.int64, queries, types.int64, bounds, weights, tag)

        def generate(
            context: BaseContext, builder: IRBuilder, signature: Signature, arguments: Values
        ) -> Value:
            data = _data(context, builder, weights, arguments[5])
            counted = _splat_words(builder, data, _number(0), len(tag))

            def distance_of(codes: Values, query: Values) -> Value:
                total = None
                for code, word, weight in zip(codes, query, counted, strict=True):
                    ones = builder.bitcast(builder.xor(code, word), BYTES)
                    ones = _call(builder, "llvm.ctpop", ones)
                    part = _weighed_bytes(builder, ones, builder.bitcast(weight, BYTES))
                    total = part if total is None else builder.add(total, part)
                return total

            return _nearest_is_below(context, builder, kinds, arguments, len(tag), n_queries, distance_of)

        return types.uint64(*kinds), generate

    return any_weighted


def _weighed_bytes(builder: IRBuilder, ones: Value, weights: Value) -> Value:
    """Per lane, the sum over its bytes of ones (at most 8) times weight (at most 15).

    The product of a byte fits into a byte, and that of two neighbors too, so x86 multiplies and adds pairs,
    then adds the bytes of a lane, in one instruction each.
    """
    if WIDE_BYTES:
        pairs = _declared(
            builder, "llvm.x86.avx512.pmaddubs.w.512", ir.VectorType(ir.IntType(16), 32), ones, weights
        )
        none = ir.Constant(BYTES, [0] * (8 * LANES))
        return _declared(builder, "llvm.x86.avx512.psad.bw.512", VECTOR, builder.bitcast(pairs, BYTES), none)
    products = builder.bitcast(builder.mul(ones, weights), VECTOR)
    even = ir.Constant(VECTOR, [0x00FF00FF00FF00FF] * LANES)
    pairs = builder.add(builder.and_(products, even), builder.and_(_down(builder, products, 8), even))
    fours = builder.add(pairs, _down(builder, pairs, 32))
    total = builder.add(fours, _down(builder, fours, 16))
    return builder.and_(total, ir.Constant(VECTOR, [0xFFFF] * LANES))


def _down(builder: IRBuilder, values: Value, bits: int) -> Value:
    return builder.lshr(values, ir.Constant(VECTOR, [bits] * LANES))


any_below = _make_any_below(1)
any_below_4 = _make_any_below(4)
any_weighted = _make_any_weighted(1)
any_weighted_4 = _make_any_weighted(4)


@intrinsic
def mask_below(
    typing_context: Context, blocks: Type, group: Type, queries: Type, number: Type, bounds: Type,
    tag: UniTuple,
) -> Typed:  # fmt: skip
    """Which of the 64 codes of a group are nearer to the query than its bound, as 64 bits."""
    n_words = len(tag)

    def generate(context: BaseContext, builder: IRBuilder, signature: Signature, arguments: Values) -> Value:
        block_data = _data(context, builder, blocks, arguments[0])
        query_data = _data(context, builder, queries, arguments[2])
        bound_data = _data(context, builder, bounds, arguments[4])
        first = builder.mul(arguments[3], _number(n_words))
        query = _splat_words(builder, query_data, first, n_words)
        bound = _splat(builder, builder.load(builder.gep(bound_data, [arguments[3]])))

        def distances(v: int) -> Value:
            return _differing_bits(builder, _load_codes(builder, block_data, arguments[1], v, n_words), query)

        return _group_mask(builder, distances, bound)

    return types.uint64(blocks, types.int64, queries, types.int64, bounds, tag), generate


@intrinsic
def weighted_below(
    typing_context: Context, blocks: Type, group: Type, query: Type, planes: Type, bound: Type, tag: UniTuple
) -> Typed:
    """Which of the 64 codes of a group have a weighted distance below ``bound``, as 64 bits.

    ``query`` (W,) is the query, ``planes`` (4, W) the bits of the integer weights, lowest first:
    ``distance = sum_b 2**b popcount((code ^ query) & planes[b])``, summed from the highest plane down.
    """
    n_words = len(tag)
    n_planes = 4

    def generate(context: BaseContext, builder: IRBuilder, signature: Signature, arguments: Values) -> Value:
        block_data = _data(context, builder, blocks, arguments[0])
        words = _splat_words(builder, _data(context, builder, query, arguments[2]), _number(0), n_words)
        plane_data = _data(context, builder, planes, arguments[3])
        masks = [_splat_words(builder, plane_data, _number(b * n_words), n_words) for b in range(n_planes)]
        limit = _splat(builder, arguments[4])

        def distances(v: int) -> Value:
            codes = _load_codes(builder, block_data, arguments[1], v, n_words)
            differing = [builder.xor(code, word) for code, word in zip(codes, words, strict=True)]
            total = None
            for mask in reversed(masks):
                ones = None
                for bits, plane in zip(differing, mask, strict=True):
                    count = _call(builder, "llvm.ctpop", builder.and_(bits, plane))
                    ones = count if ones is None else builder.add(ones, count)
                total = ones if total is None else builder.add(builder.add(total, total), ones)
            return total

        return _group_mask(builder, distances, limit)

    return types.uint64(blocks, types.int64, query, planes, types.int64, tag), generate
