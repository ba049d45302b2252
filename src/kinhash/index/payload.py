"""Payload columns of the rows, and filters over them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.texts import STRING
from ..errors import InvalidInput, UnknownName
from .ids import as_ids, sorting_order
from .segment import Segment

__all__ = ["Where", "as_payload", "select"]

Columns = dict[str, npt.NDArray[Any]]
Mask = npt.NDArray[np.bool_]
FEW_TEXTS = 8
Where = npt.ArrayLike | Mapping[str, Any] | Callable[[Mapping[str, Any]], Any] | None


def as_payload(payload: Any, n_rows: int) -> Columns:
    """Columns of booleans, numbers or strings, one value per row; a copy. None gives no columns."""
    if payload is None:
        return {}
    names = list(payload.columns) if hasattr(payload, "columns") else list(payload)
    return {str(name): _column(str(name), payload[name], n_rows) for name in names}


def _column(name: str, values: Any, n_rows: int) -> npt.NDArray[Any]:
    column = np.asarray(values)
    if column.ndim != 1 or len(column) != n_rows:
        raise InvalidInput(
            f"The payload column {name!r} has shape {column.shape}",
            f"one value for each of the {n_rows} rows",
            "Pass a 1-D array as long as the codes",
        )
    if column.dtype.kind in "biuf" and column.dtype.itemsize <= 8:
        return np.array(column, column.dtype.newbyteorder("="))
    texts = column.tolist()
    if column.dtype.kind in "UTO" and all(isinstance(text, str) for text in texts):
        return as_ids(texts, f"payload column {name!r}") if texts else np.empty(0, STRING)
    raise InvalidInput(
        f"The payload column {name!r} has dtype {column.dtype}",
        "booleans, numbers or strings, none missing",
        "Convert the column first, dates for example with .astype('int64')",
    )


def select(segments: Sequence[Segment], where: Where) -> list[Segment]:
    """The rows that pass the filter: segments of their own, before any search."""
    if where is None:
        return list(segments)
    masks = list(_masks(segments, where))
    return [
        segment if mask.all() else segment.only(mask)
        for segment, mask in zip(segments, masks, strict=True)
        if mask.any()
    ]


def _masks(segments: Sequence[Segment], where: Where) -> Iterable[Mask]:
    if callable(where):
        return _cut_mask(segments, np.asarray(where(_all_columns(segments)))) if segments else []
    if isinstance(where, Mapping):
        return [_matching(segment, where) for segment in segments]
    if np.asarray(where).dtype == bool:
        return _cut_mask(segments, np.asarray(where))
    return [_listed(segment, where) for segment in segments]


def _all_columns(segments: Sequence[Segment]) -> Mapping[str, npt.NDArray[Any]]:
    """The payload of all rows in the order of their ids, however they are spread over segments."""
    if len(segments) == 1:
        return segments[0].payload
    order = sorting_order(np.concatenate([segment.ids.all() for segment in segments]))
    names = segments[0].payload
    return {name: np.concatenate([segment.payload[name] for segment in segments])[order] for name in names}


def _checked(mask: npt.NDArray[Any], n_rows: int) -> Mask:
    if mask.dtype != bool or mask.shape != (n_rows,):
        raise InvalidInput(
            f"A filter gave an array of shape {mask.shape} and dtype {mask.dtype}",
            f"one boolean for each of {n_rows} rows",
            "Combine conditions with & and |, as in lambda p: (p['year'] > 2000) & p['public']",
        )
    return mask


def _matching(segment: Segment, wanted: Mapping[str, Any]) -> Mask:
    """Rows where every named column has the wanted value, or one of the wanted values."""
    mask = np.ones(len(segment), bool)
    for name, value in wanted.items():
        if name not in segment.payload:
            raise UnknownName.among("payload column", name, segment.payload)
        column = segment.payload[name]
        several = isinstance(value, Collection) and not isinstance(value, (str, bytes))
        values = [_plain(one) for one in value] if several else [_plain(value)]
        _require_type_of(column, name, values)
        if column.dtype == STRING:
            mask &= _one_of(column, as_ids(values, f"values wanted of {name!r}")) if values else False
        else:
            mask &= _equal_to_one_of(column, values)
    return mask


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _require_type_of(column: npt.NDArray[Any], name: str, values: list[Any]) -> None:
    wanted, kind = (str, "strings") if column.dtype == STRING else (Real, "numbers")
    kind = "booleans" if column.dtype == bool else kind
    strange = [value for value in values if not isinstance(value, wanted)]
    if strange:
        raise InvalidInput(
            f"A filter wants {strange[0]!r:.60} of the payload column {name!r}, which holds {kind}",
            f"{kind}, or a list of {kind}",
            "Convert the wanted values to the type of the column",
        )


def _equal_to_one_of(column: npt.NDArray[Any], values: list[Any]) -> Mask:
    """Rows whose number is among these; whole numbers are compared as such, which floats would round."""
    if column.dtype.kind in "iu":
        limits = np.iinfo(column.dtype)
        whole = {int(value) for value in values if limits.min <= value <= limits.max and value == int(value)}
        return np.isin(column, np.array(sorted(whole), column.dtype))
    return np.isin(column, values)


def _one_of(column: npt.NDArray[Any], texts: npt.NDArray[Any]) -> Mask:
    """Rows whose string is among these: few are compared by NumPy, many are hashed by Python.

    NumPy before 2.5 takes strings that differ only after a NUL for equal, so texts with one are hashed too.
    """
    wanted = set(texts.tolist())
    if len(texts) <= FEW_TEXTS and not any("\0" in text for text in wanted):
        return np.logical_or.reduce([column == texts[i : i + 1] for i in range(len(texts))])
    return np.array([text in wanted for text in column.tolist()], bool)


def _cut_mask(segments: Sequence[Segment], mask: npt.NDArray[Any]) -> Iterable[Mask]:
    """One mask over all rows in the order of their ids, cut to the segments."""
    sizes = [len(segment) for segment in segments]
    _checked(mask, sum(sizes))
    if len(segments) > 1:
        in_order = sorting_order(np.concatenate([segment.ids.all() for segment in segments]))
        spread = np.empty_like(mask)
        spread[in_order] = mask
        mask = spread
    return np.split(mask, np.cumsum(sizes)[:-1]) if segments else []


def _listed(segment: Segment, wanted: Any) -> Mask:
    """Rows whose id is in the list; ids of rows that are not there do no harm."""
    ids = as_ids(wanted, "ids of a filter")
    mask = np.zeros(len(segment), bool)
    if not len(ids):
        return mask
    if (ids.dtype == STRING) != segment.ids.are_strings:
        raise InvalidInput(
            "The ids of a filter are of another type than those of the index",
            "strings" if segment.ids.are_strings else "integers",
            "Pass ids as the index has them",
        )
    ranks = segment.ids.find(ids)
    mask[ranks[ranks >= 0]] = True
    return mask
