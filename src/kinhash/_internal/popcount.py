"""Counting the ones of a 64-bit word: the one instruction every kernel shares."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

__all__ = ["popcount"]


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Number of ones of a uint64, as uint64; LLVM turns a loop of it into vector code."""
    if word != types.uint64:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate
