"""Exact search by differing bits.

from kinhash.index import HammingIndex

index = HammingIndex.from_codes(codes)
found = index.search(queries, k=10)          # found.ids, found.distances, found.scores
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .gpu_index import GpuIndex
    from .hamming_index import HammingIndex, IndexStats
    from .neighbours import Neighbours
    from .transformer import HammingNeighborsTransformer

__all__ = ["GpuIndex", "HammingIndex", "HammingNeighborsTransformer", "IndexStats", "Neighbours"]

# scikit-learn is imported by the transformer alone, so nobody else waits for it.
_HOMES = {
    "GpuIndex": "gpu_index",
    "HammingIndex": "hamming_index",
    "HammingNeighborsTransformer": "transformer",
    "IndexStats": "hamming_index",
    "Neighbours": "neighbours",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module 'kinhash.index' has no attribute {name!r}")
