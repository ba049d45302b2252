"""The user's matrix, read a block at a time.

Dense arrays of any dtype and order, memory maps and CSR matrices all become the same float64 rows,
so that a value gives the same bits however it was stored.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .types import Array, Features, Floats, Ints


class Rows:
    """Rows of a checked matrix X (n, p): dense (memory map included) or CSR."""

    def __init__(self, X: Features) -> None:
        self.X = sp.csr_array(X) if sp.issparse(X) else X
        self.shape: tuple[int, int] = (int(X.shape[0]), int(X.shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, rows: slice | Array) -> Floats:
        """Those rows as a fresh dense float64 array (k, p)."""
        block = self.X[rows]
        if sp.issparse(block):
            block = block.toarray()
        return np.array(block, dtype=np.float64, order="C")

    def plain(self, rows: slice | Array) -> Array:
        """Those rows as they are where that is float32 or float64, else as `read` gives them.

        A slice is not copied.
        """
        if not sp.issparse(self.X) and self.X.dtype in (np.float32, np.float64):
            return np.asarray(self.X[rows])
        return self.read(rows)

    def block_rows(self) -> int:
        """Rows of a block of about 16 MB: depends on the width alone, so sums are always cut alike."""
        return int(np.clip(2_000_000 // self.shape[1], 256, 4096))


class PickedRows(Rows):
    """Some rows of others, in a given order. Dense ones are looked up when they are read, and not copied."""

    def __init__(self, rows: Rows, picked: Ints) -> None:
        all_of_them = len(picked) == len(rows) and np.array_equal(picked, np.arange(len(rows)))
        if all_of_them:
            super().__init__(rows.X)
        else:
            super().__init__(rows.X[picked] if sp.issparse(rows.X) else _Picked(rows.X, picked))


class _Picked:
    """Rows of a dense array through a list of row numbers; what is taken is an array."""

    def __init__(self, X: Array, picked: Ints) -> None:
        self.X, self.picked = X, picked
        self.shape, self.dtype, self.ndim = (len(picked), X.shape[1]), X.dtype, 2

    def __len__(self) -> int:
        return len(self.picked)

    def __getitem__(self, rows: slice | Array) -> Array:
        return self.X[self.picked[rows]]
