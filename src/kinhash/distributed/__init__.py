"""Learning from numbered blocks of rows, wherever they lie; the engines are thin adapters above this room.

    from kinhash.distributed import cut_rows, fit_blocks

    fit_blocks(hasher, cut_rows(memory_map, labels))     # one process, rows never in memory at once

The fit is a reduction: labels are counted, a few rows are gathered, and what needs all rows is summed block
by block over one fixed tree. So equal blocks give the same model, bit for bit, in one process, under Dask
(`kinhash.dask`) with any number of workers, and under Spark (`kinhash.spark`).
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Blocks", "LocalBlocks", "cut_rows", "fit_blocks"]
