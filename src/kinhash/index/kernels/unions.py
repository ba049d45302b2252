"""Connected components by union-find: the root of a component is its smallest member."""

from __future__ import annotations

from typing import Any

from ..._internal.compile import njit

__all__ = ["unite"]


@njit(cache=True, nogil=True)
def _root(parents: Any, node: Any) -> Any:
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@njit(cache=True, nogil=True)
def unite(parents: Any, left: Any, right: Any) -> None:
    """Join the components of ``left[j]`` and ``right[j]``, for every j, in ``parents``."""
    for j in range(left.size):
        a, b = _root(parents, left[j]), _root(parents, right[j])
        if a < b:
            parents[b] = a
        elif b < a:
            parents[a] = b
