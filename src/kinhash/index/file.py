"""Index files: the arrays of one segment in the container format of all kinhash files.

A valid digest does not prove that the contents are sound, so they are checked here: a forged file may hold
numbers that point outside the arrays, and the kernels trust what they are given.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._internal.container import read_container, write_container
from .._internal.texts import STRING, from_bytes, to_bytes
from .._internal.types import Array
from .._internal.validation import is_integer
from ..codes import MAX_BITS, n_bytes, pack_bits, to_words
from ..errors import DamagedFile
from .payload import MOST_IDS, Column, Ids, ListColumn, is_ascending
from .segments import EMPTY, Segment

__all__ = ["IndexFile", "read_index", "write_index"]

Arrays = dict[str, Array]
PathLike = str | os.PathLike[str]

KIND = "index"


class IndexFile(NamedTuple):
    """Contents of a file: rows, next free id, model id, decided radius."""

    segment: Segment
    next_id: int
    model_id: str | None
    same_within: int | None = None


def write_index(path: PathLike, index: IndexFile) -> None:
    """Save an index, all or nothing. Working memory: the strings among ids and payload, encoded."""
    segment = index.segment
    arrays: Arrays = {"blocks": segment.blocks}
    if segment.starts.size:
        arrays |= {"starts": segment.starts, "rows": segment.rows}
    if segment.ids.values is not None:
        arrays |= _stored("ids", segment.ids.values)
    if not isinstance(segment.learned, bool):
        arrays["learned"] = segment.learned
    for number, column in enumerate(segment.payload.values()):
        arrays |= _stored(f"payload.{number}", column)
    header = {
        "n_bits": segment.n_bits,
        "n_rows": len(segment),
        "n_codes": segment.n_codes,
        "first_id": segment.ids.first,
        "next_id": index.next_id,
        "model_id": index.model_id,
        "payload": list(segment.payload),
        "learned": segment.learned is True,
    }
    if index.same_within is not None:
        header["same_within"] = index.same_within
    write_container(path, arrays, header, KIND)


def _stored(name: str, values: Column) -> Arrays:
    if isinstance(values, ListColumn):
        return {f"{name}.lists": values.ends, **_stored(f"{name}.values", values.values)}
    if values.dtype != STRING:
        return {name: values}
    text, ends = to_bytes(values.tolist())
    return {f"{name}.text": text, f"{name}.ends": ends}


def read_index(path: PathLike, mmap: bool) -> IndexFile:
    """Open and verify what `write_index` wrote."""
    arrays, header = read_container(path, KIND, mmap=mmap)
    try:
        return _assemble(arrays, header)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        raise DamagedFile(
            f"{os.fspath(path)} holds an index whose parts do not fit together",
            "an index as kinhash writes it",
            "Build the index again from its codes",
        ) from None


def _assemble(arrays: Arrays, header: Mapping[str, Any]) -> IndexFile:
    n_bits, n_rows, n_codes = (_whole(header, name) for name in ("n_bits", "n_rows", "n_codes"))
    _need(1 <= n_bits <= MAX_BITS and 0 <= n_codes <= n_rows < 2**32)
    blocks = arrays["blocks"]
    n_words = -(-n_bytes(n_bits) // 8)
    _need(blocks.dtype == np.uint64 and blocks.shape == (-(-n_codes // 64), 8, n_words, 8))
    _check_padding(blocks, n_bits)
    starts, rows = arrays.get("starts", EMPTY), arrays.get("rows", EMPTY)
    if n_codes < n_rows:
        _check_lists(starts, rows, n_codes, n_rows)
    else:
        _need(not starts.size and not rows.size)
    ids = _ids(arrays, _whole(header, "first_id"), n_rows)
    next_id = _whole(header, "next_id")
    _need(0 <= next_id <= MOST_IDS)
    _need(ids.are_strings or not n_rows or next_id > int(ids.take(np.array([n_rows - 1]))[0]))
    names = header["payload"]
    _need(isinstance(names, list) and all(isinstance(name, str) for name in names))
    payload = {name: _column(arrays, f"payload.{number}") for number, name in enumerate(names)}
    _need(len(payload) == len(names) and all(column.shape == (n_rows,) for column in payload.values()))
    model_id = header["model_id"]
    _need(model_id is None or isinstance(model_id, str))
    learned = arrays.get("learned", header["learned"])
    _need(isinstance(learned, bool) or (learned.dtype == bool and learned.shape == (n_rows,)))
    segment = Segment(n_bits, blocks, n_codes, starts, rows, ids, payload, learned)
    same_within = _whole(header, "same_within") if "same_within" in header else None
    _need(same_within is None or 0 <= same_within <= n_bits)
    return IndexFile(segment, next_id, model_id, same_within)


def _check_padding(blocks: Array, n_bits: int) -> None:
    """Raise unless the padding bits of all codes are zero: they would count as differing."""
    ones = to_words(pack_bits(np.ones((1, n_bits))))[0, -1]
    _need(np.bitwise_or.reduce(blocks[:, :, -1], axis=None) & ~ones == 0)


def _check_lists(starts: Array, rows: Array, n_codes: int, n_rows: int) -> None:
    """Raise unless every row is in one list, and lists are not empty, ascending, and ordered by first row."""
    _need(starts.dtype == np.uint32 and starts.shape == (n_codes + 1,))
    _need(rows.dtype == np.uint32 and rows.shape == (n_rows,))
    _need(starts[0] == 0 and starts[-1] == n_rows and bool((starts[1:] > starts[:-1]).all()))
    _need(bool((rows < n_rows).all()))
    seen = np.zeros(n_rows, bool)
    seen[rows] = True
    falls = np.flatnonzero(rows[1:] <= rows[:-1]) + 1
    _need(bool(seen.all()) and bool(np.isin(falls, starts, assume_unique=True).all()))
    heads = rows[starts[:-1]]
    _need(bool((heads[1:] > heads[:-1]).all()))


def _ids(arrays: Arrays, first: int, n_rows: int) -> Ids:
    _need(-MOST_IDS <= first < MOST_IDS and first + n_rows <= MOST_IDS)
    if not {"ids", "ids.text"} & set(arrays):
        return Ids(n_rows, first)
    values = _restored(arrays, "ids")
    _need(values.dtype in (np.int64, STRING) and values.shape == (n_rows,))
    _need(is_ascending(values))
    return Ids(n_rows, first, values)


def _column(arrays: Arrays, name: str) -> Column:
    if f"{name}.lists" not in arrays:
        return _restored(arrays, name)
    ends, values = arrays[f"{name}.lists"], _restored(arrays, f"{name}.values")
    _need(ends.dtype == np.int64 and ends.ndim == values.ndim == 1)
    _need(values.dtype == STRING or values.dtype in (bool, np.int64, np.float64))
    steps = np.diff(ends, prepend=0, append=len(values))
    _need(bool((steps[:-1] >= 0).all()) and (steps[-1] == 0 if len(ends) else not len(values)))
    return ListColumn(values, ends)


def _restored(arrays: Arrays, name: str) -> Array:
    if name in arrays:
        return arrays[name]
    return from_bytes(arrays[f"{name}.text"], arrays[f"{name}.ends"])


def _whole(header: Mapping[str, Any], name: str) -> int:
    value = header[name]
    _need(is_integer(value))
    return int(value)


def _need(holds: bool | np.bool_) -> None:
    if not holds:
        raise ValueError("the parts do not fit together")
