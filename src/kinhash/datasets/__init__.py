"""Readers of your own files: `open_matrix` for features and `open_labels` for labels, in blocks.

They read .npy, .npz, CSV, Parquet and SVMlight files. The data sets of papers are in the package
``kinhash-bench``.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Matrix", "open_labels", "open_matrix"]
