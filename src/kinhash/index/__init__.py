"""Exact Hamming search.

from kinhash.index import HammingIndex

index = HammingIndex.from_codes(codes)
found = index.search(queries, k=10)          # found.ids, found.distances, found.counts
"""

from typing import Any

from .filters import column_as_text as column_as_text
from .filters import value_as_text as value_as_text
from .hamming_index import Filter as Filter
from .hamming_index import HammingIndex as HammingIndex
from .hamming_index import IndexStats as IndexStats
from .hamming_index import NearDuplicates as NearDuplicates
from .hamming_index import near_duplicates as near_duplicates
from .hamming_index import places_of as places_of
from .hamming_index import recoded as recoded
from .kernels import top_k as top_k
from .neighbors import Nearest as Nearest
from .neighbors import Neighbors as Neighbors
from .neighbors import RadiusNeighbors as RadiusNeighbors
from .neighbors import merge_neighbors as merge_neighbors
from .payload import ListColumn as ListColumn
from .payload import as_ids as as_ids
from .segments import Ids as Ids
from .segments import sorting_order as sorting_order

__all__ = [
    "Filter", "GpuIndex", "HammingIndex", "HammingNeighborsTransformer", "IndexStats", "ListColumn",
    "NearDuplicates", "Nearest", "Neighbors", "RadiusNeighbors", "merge_neighbors", "near_duplicates",
    "recoded",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what needs CuPy or scikit-learn at its first use."""
    if name == "GpuIndex":
        from .gpu_index import GpuIndex

        return GpuIndex
    if name == "HammingNeighborsTransformer":
        from .transformer import HammingNeighborsTransformer

        return HammingNeighborsTransformer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
