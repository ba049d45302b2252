"""Sixty-four codes at a time: the vector instructions the scans are made of.

This is the one file that speaks LLVM. Everything else calls its functions, whose plain twins, with
the same names and arguments, are in `_reference` (NumPy) and `_scalar` (for old processors).

*Layout.* ``blocks[g, v, w, l]`` is word ``w`` of code ``64 g + 8 v + l``: a group of 64 codes is 8 vectors
of 8 lanes, and one 64-byte line holds the same word of 8 consecutive codes. Arrays must be
64-byte aligned. Counting the differing bits of 8 codes is then, per word, one load, one xor and one
popcount, and lanes never meet until the end.

*Width.* The number of words is known to the compiler: it is the length of the tuple ``tag``, whose
values mean nothing. So loops over words are unrolled, and every width has its own machine code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["any_below", "any_below_4", "mask_below", "weighted_below"]

LANES = 8
VECTORS = 8  # of a group

I64 = ir.IntType(64)
VECTOR = ir.VectorType(I64, LANES)


def _number(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


def _call(builder: Any, name: str, *vectors: Any) -> Any:
    """Call an LLVM intrinsic on vectors, declared by its full name."""
    full = f"{name}.v{LANES}i64"
    function = builder.module.globals.get(full)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(VECTOR, [VECTOR] * len(vectors)), full)
    return builder.call(function, vectors)


def _splat(builder: Any, scalar: Any) -> Any:
    """The same number in every lane."""
    empty = ir.Constant(VECTOR, ir.Undefined)
    first = builder.insert_element(empty, scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, empty, zeros)


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array).data


def _splat_words(builder: Any, pointer: Any, first: Any, n_words: int) -> list[Any]:
    """Words ``first ... first + n_words`` behind the pointer, each in every lane."""
    places = [builder.add(first, _number(w)) for w in range(n_words)]
    return [_splat(builder, builder.load(builder.gep(pointer, [place]))) for place in places]


def _load_codes(builder: Any, blocks: Any, group: Any, vector: int, n_words: int) -> list[Any]:
    """The words of 8 codes: vector number ``vector`` of a group."""
    start = builder.mul(group, _number(VECTORS * n_words * LANES))
    found = []
    for w in range(n_words):
        place = builder.add(start, _number((vector * n_words + w) * LANES))
        pointer = builder.bitcast(builder.gep(blocks, [place]), VECTOR.as_pointer())
        found.append(builder.load(pointer, align=8 * LANES))
    return found


def _differing_bits(builder: Any, codes: Sequence[Any], query: Sequence[Any]) -> Any:
    """Hamming distance of 8 codes to one query, one per lane."""
    total = None
    for code, word in zip(codes, query, strict=True):
        ones = _call(builder, "llvm.ctpop", builder.xor(code, word))
        total = ones if total is None else builder.add(total, ones)
    return total


def _lanes_below(builder: Any, values: Any, bound: Any) -> Any:
    """Eight bits: which lanes are below the bound."""
    return builder.bitcast(builder.icmp_unsigned("<", values, bound), ir.IntType(LANES))


def _group_mask(builder: Any, per_vector: Any, bound: Any) -> Any:
    """64 bits, one per code of a group, from ``per_vector(v)``, the values of its vectors."""
    mask = _number(0)
    for v in range(VECTORS):
        bits = builder.zext(_lanes_below(builder, per_vector(v), bound), I64)
        mask = builder.or_(mask, builder.shl(bits, _number(v * LANES)))
    return mask


def _make_any_below(n_queries: int) -> Any:
    @intrinsic
    def any_below(
        typing_context: Any, blocks: Any, group: Any, queries: Any, first: Any, bounds: Any, tag: Any
    ) -> Any:
        """Which of the queries ``first, first + 1, ...`` have a code nearer than their bound in the group.

        Bit ``b`` of the result stands for query ``first + b``. The codes are loaded once for all of
        the queries; a running minimum per lane leaves a single comparison per query and group.
        """
        n_words = len(tag)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            block_data = _data(context, builder, blocks, arguments[0])
            query_data = _data(context, builder, queries, arguments[2])
            bound_data = _data(context, builder, bounds, arguments[4])
            numbers = [builder.add(arguments[3], _number(b)) for b in range(n_queries)]
            words = [
                _splat_words(builder, query_data, builder.mul(number, _number(n_words)), n_words)
                for number in numbers
            ]
            nearest: list[Any] = [None] * n_queries
            for v in range(VECTORS):
                codes = _load_codes(builder, block_data, arguments[1], v, n_words)
                for b in range(n_queries):
                    distance = _differing_bits(builder, codes, words[b])
                    nearest[b] = distance if v == 0 else _call(builder, "llvm.umin", nearest[b], distance)
            result = _number(0)
            for b in range(n_queries):
                bound = _splat(builder, builder.load(builder.gep(bound_data, [numbers[b]])))
                lanes = _lanes_below(builder, nearest[b], bound)
                hit = builder.icmp_unsigned("!=", lanes, ir.Constant(ir.IntType(LANES), 0))
                result = builder.or_(result, builder.shl(builder.zext(hit, I64), _number(b)))
            return result

        return types.uint64(blocks, types.int64, queries, types.int64, bounds, tag), generate

    return any_below


any_below = _make_any_below(1)
any_below_4 = _make_any_below(4)


@intrinsic
def mask_below(
    typing_context: Any, blocks: Any, group: Any, queries: Any, number: Any, bounds: Any, tag: Any
) -> Any:
    """Which of the 64 codes of a group are nearer to the query than its bound, as 64 bits."""
    n_words = len(tag)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block_data = _data(context, builder, blocks, arguments[0])
        query_data = _data(context, builder, queries, arguments[2])
        bound_data = _data(context, builder, bounds, arguments[4])
        first = builder.mul(arguments[3], _number(n_words))
        query = _splat_words(builder, query_data, first, n_words)
        bound = _splat(builder, builder.load(builder.gep(bound_data, [arguments[3]])))

        def distances(v: int) -> Any:
            return _differing_bits(builder, _load_codes(builder, block_data, arguments[1], v, n_words), query)

        return _group_mask(builder, distances, bound)

    return types.uint64(blocks, types.int64, queries, types.int64, bounds, tag), generate


@intrinsic
def weighted_below(
    typing_context: Any, blocks: Any, group: Any, query: Any, planes: Any, bound: Any, tag: Any
) -> Any:
    """Which of the 64 codes of a group have a weighted distance below ``bound``, as 64 bits.

    ``query`` (W,) is the query, ``planes`` (4, W) the bits of the integer weights, lowest first:
    ``distance = sum_b 2**b popcount((code ^ query) & planes[b])``, summed from the highest plane down.
    """
    n_words = len(tag)
    n_planes = 4

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block_data = _data(context, builder, blocks, arguments[0])
        words = _splat_words(builder, _data(context, builder, query, arguments[2]), _number(0), n_words)
        plane_data = _data(context, builder, planes, arguments[3])
        masks = [_splat_words(builder, plane_data, _number(b * n_words), n_words) for b in range(n_planes)]
        limit = _splat(builder, arguments[4])

        def distances(v: int) -> Any:
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
