"""Files that commands take and leave: opened by the readers of `kinhash.datasets`, written all or nothing."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._internal.files import expect_plain_file, replace_file
from .._internal.types import Array
from ..codes import Codes
from ..errors import FileProblem, InvalidInput, KinhashWarning

if TYPE_CHECKING:
    from ..datasets import IdKind

__all__ = ["expect_output", "open_codes", "read_ids", "write_codes"]


def expect_output(path: str | None, *inputs: str | None) -> None:
    """Say before the work starts that its result could not be written, or would overwrite an input."""
    if path is None:
        return
    expect_plain_file(path)
    target = Path(path)
    folder = target.resolve().parent
    reason = None
    if not folder.is_dir():
        reason = f"cannot be written: there is no folder {folder}"
    elif not os.access(folder, os.W_OK):
        reason = f"cannot be written: the folder {folder} is read-only"
    if reason:
        raise FileProblem(f"{path} {reason}", "a file in a folder you can write to", "Choose another place")
    for source in inputs:
        if source is not None and target.exists() and Path(source).exists() and target.samefile(source):
            raise FileProblem(f"{path} is also an input", "another file for the result", "Rename the output")


def open_codes(path: str, n_bits: int | None = None) -> Codes:
    """Codes from a file of ours, or packed bytes from ``.npy``, which carry no model id."""
    if not path.lower().endswith(".npy"):
        from ..codes import as_codes, load_codes

        return as_codes(load_codes(path), n_bits)
    import warnings

    from ..codes import as_codes
    from ..datasets import open_matrix

    codes = as_codes(np.asarray(open_matrix(path).read()), n_bits)
    warnings.warn(
        f"{path} carries no model id, no fields and no digest, so every bit counts one and nothing vouches "
        "for its codes.",
        KinhashWarning,
        stacklevel=2,
    )
    return codes


def write_codes(codes: Codes, path: str) -> None:
    """A codes file, or for the extension ``.npy`` the packed bytes alone. All or nothing."""
    if not path.lower().endswith(".npy"):
        from ..codes import save_codes

        save_codes(codes, path)
        return
    content = io.BytesIO()
    np.save(content, codes.packed, allow_pickle=False)
    # A copy: with Python 3.12.1, a buffer of BytesIO that is left in a traceback ends the process.
    replace_file(path, [memoryview(content.getvalue())])


def read_ids(
    path: str | None, column: str | None, n_rows: int | None, kind: IdKind | None = None
) -> Array | None:
    """The ids of rows: one per line of a text file, a column of a CSV or Parquet file, or a 1-D ``.npy``.

    ``n_rows`` is how many there must be; None takes any number. ``kind`` is what they are compared with;
    None takes what the file holds.
    """
    if path is None:
        return None
    from ..datasets import open_ids

    found = open_ids(path, column=column, kind=kind, n_rows=n_rows)
    if n_rows is not None and len(found) != n_rows:
        raise InvalidInput(
            f"{path} holds {len(found):,} ids for {n_rows:,} rows", "one id per row", "Pass files that match"
        )
    return found
