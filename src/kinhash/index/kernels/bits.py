"""Trailing zeros of a 64-bit word (for its ones see `_internal/popcount.py`), and the bits of a find."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

__all__ = ["CODE_BITS", "DISTANCE_BITS", "trailing_zeros"]

# A find of a radius search is one number: query << 54 | distance << 40 | code.
CODE_BITS = 40
DISTANCE_BITS = 14


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Number of zeros below the lowest one of a uint64 that is not zero, as int64."""
    if word != types.uint64:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate
