"""Sums in a fixed order, so that the last digits do not depend on which block finishes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["merge_in_order"]

T = TypeVar("T")


def merge_in_order(parts: Iterable[T], merge: Callable[[T, T], T]) -> T:
    """Merge neighbors 0 and 1, 2 and 3, ..., then those results, and so on; an odd one out moves up.

    Parts are taken as they come and merged as soon as their neighbor is there, so at most
    ``log2(parts) + 1`` results are held.

    >>> merge_in_order("abcdefg", lambda a, b: f"({a}{b})")
    '(((ab)(cd))((ef)g))'
    """
    waiting: list[tuple[int, T]] = []  # (level, result), levels falling
    for part in parts:
        level = 0
        while waiting and waiting[-1][0] == level:
            part = merge(waiting.pop()[1], part)
            level += 1
        waiting.append((level, part))
    if not waiting:
        raise ValueError("there is nothing to merge")
    result = waiting.pop()[1]
    while waiting:
        result = merge(waiting.pop()[1], result)
    return result
