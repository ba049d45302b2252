"""`EnergyHasher` for dask collections: fits on the workers, encodes lazily."""

from __future__ import annotations

from typing import Any, Self

import dask
import dask.array as da
import numpy as np
from dask import delayed

from .._internal.types import Features, LabelsLike, Numbers
from ..codes import n_bytes
from ..distributed import code_block, for_workers, learn_from
from ..errors import InvalidInput
from ..hashers import energy as energy_hasher
from .blocks import DaskBlocks, row_blocks

__all__ = ["DaskBlocks", "EnergyHasher"]


class EnergyHasher(energy_hasher.EnergyHasher):
    """`kinhash.EnergyHasher` that takes dask arrays and dataframes, of known or unknown lengths.

    ``fit`` learns on the current client's workers, block by block (`kinhash.distributed` says how, and what
    differs from one fit); equal blocks give the same model on any number of workers. ``encode`` and
    ``transform`` return lazy dask arrays. Everything else, and other input, is handled by the
    base class. A saved model loads as a plain `kinhash.EnergyHasher`.
    """

    def fit(
        self,
        X: Features,
        y: LabelsLike = None,
        sample_weight: Numbers | None = None,
        alike_to: Features = None,
    ) -> Self:
        """Learn from dask X (n, p) and y: classes (n,) or a 0/1 indicator matrix (n, tags)."""
        if not dask.is_dask_collection(X):
            return super().fit(X, y, sample_weight, alike_to)
        if sample_weight is not None or alike_to is not None:
            raise InvalidInput(
                "sample_weight or alike_to was passed with dask collections",
                "rows that count alike, and look alike by their features",
                "Leave it out, or fit on some rows in memory",
            )
        learn_from(self, DaskBlocks(X, y))
        names = list(getattr(X, "columns", []))
        if names and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, object)
        return self

    def encode(self, X: Features, ids: Any = None, view: str | None = None) -> Any:
        """Packed codes (n, ceil(d / 8)) of dask X as a lazy dask array. Other input gives `Codes`."""
        if not dask.is_dask_collection(X):
            return super().encode(X, ids, view)
        return (self if view is None else self.view(view))._lazily("encode", X)

    def transform(self, X: Features, view: str | None = None) -> Any:
        """Bits (n, d) of dask X as a lazy dask array of 0 and 1. Other input gives a NumPy array."""
        if not dask.is_dask_collection(X):
            return super().transform(X, view)
        return (self if view is None else self.view(view))._lazily("transform", X)

    def _lazily(self, how: str, X: Features) -> da.Array:
        model = delayed(for_workers(self), pure=True)  # once in the graph, without what only training needs
        width = n_bytes(self._n_features_out) if how == "encode" else self._n_features_out
        meta = np.empty((0, width), np.uint8)
        if isinstance(X, da.Array):
            X = X.rechunk({1: -1})
            chunks = (X.chunks[0], (width,))
            return da.map_blocks(
                code_block, X, model=model, how=how, dtype=np.uint8, chunks=chunks, meta=meta
            )
        code = delayed(code_block, pure=True)
        parts = [
            da.from_delayed(code(part, model=model, how=how), (np.nan, width), np.uint8, meta)
            for part in row_blocks(X)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)
