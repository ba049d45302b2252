"""Words of 64 bits: trailing zeros (for ones see `_internal/popcount.py`), places in a group, finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from llvmlite import ir
from llvmlite.ir import IRBuilder, Value
from numba import types
from numba.core.base import BaseContext
from numba.core.typing import Context, Signature
from numba.extending import intrinsic
from numba.types import Type

from ..._internal.compile import njit
from ..._internal.types import Distances, Ints

__all__ = [
    "CODE", "CODE_BITS", "DISTANCE", "DISTANCE_BITS", "ONE", "ZERO", "Tag", "Typed", "Values", "lanes",
    "trailing_zeros", "unpacked",
]  # fmt: skip

Tag: TypeAlias = tuple[int, ...]  # one for each word of a code, see `vector`
Values: TypeAlias = Sequence[Value]  # of LLVM
Typed: TypeAlias = tuple[Signature, Callable[[BaseContext, IRBuilder, Signature, Values], Value]]

ZERO = np.uint64(0)
ONE = np.uint64(1)

# A find of a radius search is one number: query << 54 | distance << 40 | code.
CODE_BITS = 40
DISTANCE_BITS = 14
CODE = (1 << CODE_BITS) - 1
DISTANCE = (1 << DISTANCE_BITS) - 1


def unpacked(finds: Ints) -> tuple[Ints, Distances, Ints]:
    """Queries, distances and codes of finds."""
    distances = ((finds >> CODE_BITS) & DISTANCE).astype(np.uint16)
    return finds >> CODE_BITS + DISTANCE_BITS, distances, finds & CODE


@intrinsic
def trailing_zeros(typing_context: Context, word: Type) -> Typed | None:
    """Number of zeros below the lowest one of a uint64 that is not zero, as int64."""
    if word != types.uint64:
        return None

    def generate(context: BaseContext, builder: IRBuilder, signature: Signature, arguments: Values) -> Value:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@njit(cache=True, nogil=True)
def lanes(group: int, start: int, stop: int) -> np.uint64:
    """Which of the 64 codes of a group are among the codes ``start ... stop - 1``, as 64 bits."""
    bits = ~ZERO
    if start > 64 * group:
        bits &= ~((ONE << np.uint64(start - 64 * group)) - ONE)
    if stop - 64 * group < 64:
        bits &= (ONE << np.uint64(stop - 64 * group)) - ONE
    return bits
