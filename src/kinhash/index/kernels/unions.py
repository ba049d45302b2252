"""Connected components by union-find: the root of a component is its smallest member."""

from __future__ import annotations

from ..._internal.compile import njit
from ..._internal.types import Ints

__all__ = ["unite"]


@njit(cache=True, nogil=True)
def _root(parents: Ints, node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@njit(cache=True, nogil=True)
def unite(parents: Ints, left: Ints, right: Ints) -> None:
    """Join the components of ``left[j]`` and ``right[j]``, for every j, in ``parents``."""
    for j in range(left.size):
        a, b = _root(parents, left[j]), _root(parents, right[j])
        if a < b:
            parents[b] = a
        elif b < a:
            parents[a] = b
