"""Columns of FEATURES that are no features: named by options, or clear from a Parquet file of embeddings."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from ..datasets import id_column, label_column, list_column, table_columns

if TYPE_CHECKING:
    from .fitting import Request

__all__ = ["ids_of_rows", "settled"]


def settled(request: Request) -> Request:
    """The request with its columns in their places.

    ``--labels``, ``--tags`` and ``--ids`` name a file, or else a column of FEATURES. In a Parquet file with
    one column of lists of numbers that column is the features; labels and ids are then found by name.
    """
    if not os.path.isfile(request.features):
        return request
    kinds = table_columns(request.features)
    if _is_column(request.labels, kinds):
        request = replace(request, labels=None, label_column=request.labels)
    if _is_column(request.tags, kinds):
        request = replace(request, tags=request.features, label_column=request.tags)
    if _is_column(request.ids, kinds):
        request = replace(request, ids=None, id_column=request.ids)
    rest = {name: kind for name, kind in kinds.items() if name not in request.leave_out}
    if not _embeddings(rest, request.features, request.array):
        return request
    given = (request.labels, request.tags, request.pairs, request.triplets, request.similarity)
    if not any(given) and not request.label_column:
        request = replace(request, label_column=label_column(rest, request.features))
    if not (request.ids or request.id_column):
        request = replace(request, id_column=id_column(rest))
    return request


def ids_of_rows(
    features: str, ids: str | None, column: str | None, array: str | None
) -> tuple[str | None, str | None]:
    """File and column of the ids of the rows of FEATURES; (None, None) without any."""
    if ids is None and column is not None:
        return features, column
    kinds = table_columns(features) if os.path.isfile(features) else {}
    if _is_column(ids, kinds):
        return features, ids
    if ids is None and _embeddings(kinds, features, array) and (found := id_column(kinds)) is not None:
        return features, found
    return ids, column


def _is_column(name: str | None, kinds: dict[str, str]) -> bool:
    return name is not None and name in kinds and not os.path.exists(name)


def _embeddings(kinds: dict[str, str], path: str, array: str | None) -> bool:
    """Whether the features are one column of lists."""
    return (array or list_column(kinds, path)) in kinds
