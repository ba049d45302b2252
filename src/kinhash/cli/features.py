"""The user's matrix as a model wants it: the right columns, by name where there are names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._internal.types import Bytes
from .._internal.validation import check_finite
from ..codes import Codes
from ..datasets import Matrix, open_matrix
from ..errors import InvalidInput, UnknownName
from .files import read_ids
from .terminal import bar, counted
from .text_table import ids_of_rows

if TYPE_CHECKING:
    from ..datasets import IdKind
    from ..hashers import Hasher

__all__ = ["codes_of_file", "encode_file", "open_for_model"]

BLOCK_ROWS = 16_384


def open_for_model(hasher: Hasher, path: str, array: str | None, header: bool | None) -> Matrix:
    """Open a matrix to be encoded; a table with column names is read by the names the model knows."""
    names = [str(name) for name in getattr(hasher, "feature_names_in_", [])]
    if not names or path == "-" or array is not None:
        matrix = open_matrix(path, name=array, header=header)
    else:
        matrix = _open_by_name(path, names, header)
    if names and matrix.column_names is not None and list(matrix.column_names) != names:
        raise InvalidInput(
            f"{path} has other columns than the model: {_first_difference(matrix.column_names, names)}",
            "the columns the model was fitted on, in the same order",
            "Pass a file instead of a pipe: it is read by column names",
        )
    if matrix.n_columns is not None and matrix.n_columns != hasher.n_features_in_:
        raise InvalidInput(
            f"{path} has {counted(matrix.n_columns, 'column')}",
            f"{hasher.n_features_in_}, as the model was fitted on",
            _remedy(hasher, matrix.n_columns),
        )
    return matrix


def _remedy(hasher: Hasher, n_columns: int) -> str:
    named = [name for name, view in hasher.views_.items() if view.n_features_in_ == n_columns]
    return f"Pass --view {named[0]}" if named else "Encode the features the model was fitted on"


def _open_by_name(path: str, names: list[str], header: bool | None) -> Matrix:
    if path.lower().removesuffix(".gz").endswith((".csv", ".tsv", ".parquet")) and header is not False:
        try:
            return open_matrix(path, columns=names)
        except UnknownName:
            matrix = open_matrix(path, header=header)
            if matrix.column_names is not None:  # a table with names lacks one of ours
                raise
            return matrix
    return open_matrix(path, header=header)


def _first_difference(found: tuple[str, ...], names: list[str]) -> str:
    for mine, theirs in zip(names, found, strict=False):
        if mine != theirs:
            return f"{theirs!r} stands where {mine!r} should"
    return f"{len(found)} columns instead of {len(names)}"


def encode_file(hasher: Hasher, path: str, array: str | None = None, header: bool | None = None) -> Bytes:
    """Packed codes of all rows of a file or pipe. Peak memory: the codes and a few blocks of rows."""
    matrix = open_for_model(hasher, path, array, header)
    parts, done = [], 0
    with bar("encoding", matrix.n_rows) as move:
        for block in matrix.blocks(BLOCK_ROWS):
            check_finite(block, done)  # names the row of the file, not of the block
            parts.append(hasher.encode(block).packed)
            done += block.shape[0]
            move(done, None)
    return np.concatenate(parts)


def codes_of_file(
    hasher: Hasher,
    path: str,
    array: str | None = None,
    header: bool | None = None,
    ids: str | None = None,
    id_column: str | None = None,
    id_kind: IdKind | None = None,
) -> Codes:
    """The codes of all rows of a file or pipe, with ids from a file or a column; memory as `encode_file`."""
    packed = encode_file(hasher, path, array, header)
    names = read_ids(*ids_of_rows(path, ids, id_column, array), len(packed), id_kind)
    return hasher.codes_of(packed, names)
