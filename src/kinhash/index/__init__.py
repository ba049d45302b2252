"""Exact Hamming search.

from kinhash.index import HammingIndex

index = HammingIndex.from_codes(codes)
found = index.search(queries, k=10)          # found.ids, found.distances, found.scores
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "Filter",
    "GpuIndex",
    "HammingIndex",
    "HammingNeighborsTransformer",
    "ListColumn",
    "NearDuplicates",
    "Neighbors",
    "Not",
    "near_duplicates",
    "recoded",
]
