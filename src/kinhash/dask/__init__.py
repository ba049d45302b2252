"""Fit and encode dask arrays and dataframes on the current cluster (extra ``kinhash[dask]``).

from kinhash.dask import EnergyHasher, ShardedIndex

hasher = EnergyHasher(n_bits=64, random_state=0).fit(X, y)    # dask collections
codes = hasher.encode(X)                                      # a lazy dask array (n, 8) of uint8
index = ShardedIndex.from_codes(codes, fields=hasher.fitted_.fields)  # one shard per block, on the workers
found = index.search(queries, k=10)                           # as one HammingIndex answers
"""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import MissingExtra

for _package in ("dask", "distributed"):
    if find_spec(_package) is None:
        raise MissingExtra.of(_package, "dask")

from .hasher import DaskBlocks, EnergyHasher  # noqa: E402
from .shards import ShardedIndex  # noqa: E402

__all__ = ["DaskBlocks", "EnergyHasher", "ShardedIndex"]
