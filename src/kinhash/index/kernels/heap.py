"""A heap of the smallest keys: the largest of them is first, and makes room for a smaller one."""

from __future__ import annotations

import numpy as np

from ..._internal.compile import njit
from ..._internal.types import Ints

__all__ = ["FAR", "put_in_heap", "sort_heap"]

FAR = np.int64(1) << np.int64(62)  # larger than every key: an empty place


@njit(cache=True, nogil=True)
def put_in_heap(heap: Ints, key: int) -> None:
    """Replace the largest key of a heap by a smaller one."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= heap.size:
            break
        if child + 1 < heap.size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key


@njit(cache=True, nogil=True)
def sort_heap(heap: Ints) -> None:
    """Put the keys in ascending order: the largest goes to the end, again and again."""
    for last in range(heap.size - 1, 0, -1):
        largest = heap[0]
        put_in_heap(heap[:last], heap[last])
        heap[last] = largest
