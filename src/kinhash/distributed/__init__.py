"""Rows that lie in blocks: in files, in Dask (`distributed.dask`), in Spark (`distributed.spark`).

    from kinhash.distributed import cut_rows, fit_blocks

    fit_blocks(hasher, cut_rows(memory_map, labels))     # one process, rows never in memory at once

A fit draws rows evenly over all blocks and runs `EnergyHasher.fit` on them where it was called. Encoding is
one function of a block. So equal blocks give the same model and codes with any number of workers.
"""

from ..index import merge_neighbors as merge_neighbors
from .blocks import N_ROWS as N_ROWS
from .blocks import choose_rows as choose_rows
from .blocks import code_block as code_block
from .blocks import cut_rows as cut_rows
from .blocks import fit_blocks as fit_blocks
from .blocks import fit_drawn as fit_drawn
from .blocks import packed_model as packed_model
from .blocks import take_rows as take_rows

__all__ = ["choose_rows", "code_block", "cut_rows", "fit_blocks", "fit_drawn", "merge_neighbors", "take_rows"]
