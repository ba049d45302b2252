"""Trailing zeros of a 64-bit word (for its ones see `_internal/popcount.py`), and the bits of a find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from llvmlite import ir
from llvmlite.ir import IRBuilder, Value
from numba import types
from numba.core.base import BaseContext
from numba.core.typing import Context, Signature
from numba.extending import intrinsic
from numba.types import Type

from ..._internal.types import Ints

__all__ = [
    "CODE",
    "CODE_BITS",
    "DISTANCE",
    "DISTANCE_BITS",
    "Tag",
    "Typed",
    "Values",
    "trailing_zeros",
    "unpacked",
]

Tag: TypeAlias = tuple[int, ...]  # one for each word of a code, see `vector`
Values: TypeAlias = Sequence[Value]  # of LLVM
Typed: TypeAlias = tuple[Signature, Callable[[BaseContext, IRBuilder, Signature, Values], Value]]

# A find of a radius search is one number: query << 54 | distance << 40 | code.
CODE_BITS = 40
DISTANCE_BITS = 14
CODE = (1 << CODE_BITS) - 1
DISTANCE = (1 << DISTANCE_BITS) - 1


def unpacked(finds: Ints) -> tuple[Ints, Ints, Ints]:
    """Queries, distances and codes of finds."""
    return finds >> CODE_BITS + DISTANCE_BITS, (finds >> CODE_BITS) & DISTANCE, finds & CODE


@intrinsic
def trailing_zeros(typing_context: Context, word: Type) -> Typed | None:
    """Number of zeros below the lowest one of a uint64 that is not zero, as int64."""
    if word != types.uint64:
        return None

    def generate(context: BaseContext, builder: IRBuilder, signature: Signature, arguments: Values) -> Value:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
