"""A model and an index that belong together, loaded as one value that never changes.

An answer comes from one pair, from its first to its last byte, whichever files are replaced meanwhile.
"""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import load
from .._internal.types import Array, Facts
from ..codes import Codes
from ..errors import CodesMismatch, FileProblem, InvalidInput, KinhashError
from ..index import HammingIndex, Ids, column_as_text, value_as_text

log = logging.getLogger("kinhash.serve")

Files = tuple[str, str]  # a model file and an index file
Stamp = tuple[tuple[int, int, int, int], ...]


class UnknownId(InvalidInput):
    """An id that is not in the index."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A model, the index of its codes, and a copy of the codes in the order of ids (to search by id).

    ``number`` counts the pairs that this service has loaded.
    """

    model: Any
    index: HammingIndex
    ids: Array
    codes: Array
    payload: Facts
    number: int

    @property
    def model_id(self) -> str:
        """Id of the model."""
        return str(self.model.model_id_)

    @property
    def has_text_ids(self) -> bool:
        """Whether ids are strings; otherwise they are integers."""
        return self.ids.dtype.kind not in "iu"

    @property
    def widths(self) -> dict[str | None, int]:
        """Columns of a row to encode, by view; None is the first view, which has no name."""
        views = getattr(self.model, "views_", {})
        return {None: self.model.n_features_in_} | {name: one.n_features_in_ for name, one in views.items()}

    def as_codes(self, packed: Array) -> Codes:
        """Packed rows (n, bytes) as codes of this model."""
        return Codes(packed, self.index.n_bits, None, self.model_id)

    def ranks(self, ids: Sequence[int | str] | Array) -> Array:
        """Positions of these ids in the order of ids; raises `UnknownId` if one is not in the index."""
        found = self._ids.find(np.asarray(ids, self.ids.dtype))
        if (found < 0).any():
            wrong = ids[int((found < 0).argmax())]
            raise UnknownId(
                f"There is no row with the id {wrong!r}", "ids of rows in the index", "Leave it out"
            )
        return found

    @cached_property
    def _ids(self) -> Ids:
        return Ids.of_sorted(self.ids)


def load_pair(files: Files, number: int) -> Pair:
    """Read and verify both files, and compile what the first request needs.

    Raises `CodesMismatch` unless the model made the index. Files are read and not mapped, so they may even be
    overwritten in place while they are served. Memory: the index, and its codes once more.
    """
    model_file, index_file = files
    model, index = load(model_file), HammingIndex.load(index_file, mmap=False)
    if not hasattr(model, "model_id_"):
        raise FileProblem(
            f"{model_file} is not a model", "a file that `kinhash fit` wrote", "Pass the model first"
        )
    if index.model_id != model.model_id_:
        made = "that carry no model id" if index.model_id is None else f"of model {index.model_id[:12]}"
        raise CodesMismatch(
            f"{index_file} holds codes {made}, and {model_file} is model {str(model.model_id_)[:12]}",
            "an index of codes that this model made",
            "Encode the rows with this model (`kinhash encode`) and make the index again (`kinhash index`)",
        )
    pair = Pair(model, index, index.ids, index.codes().packed, index.payload, number)
    # The first call compiles. A second copy of the model encodes the zeros: `encode` warns of strange rows
    # once per model, and this row must not use the warning up.
    codes = load(model_file).encode(np.zeros((1, pair.widths[None]), np.float32))
    index.search(pair.as_codes(codes.packed), min(10, len(index)))
    return pair


def stamp_of(files: Files) -> Stamp:
    """What changes when a file is replaced or written to: device, inode, size, time."""
    facts = [os.stat(path) for path in files]
    return tuple((one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns) for one in facts)


class Keeper:
    """Holds the pair that answers requests, and a thread that replaces it when the files change.

    The next pair is loaded while the present pair answers, and takes its place by one assignment. A request
    that has begun keeps its pair. A new pair is refused, and the present one stays, if a file cannot be read
    or if model and index do not belong together (for example because only one file has been replaced).
    """

    def __init__(self, files: Files, seconds: float, on_reload: Callable[[Keeper, bool], None]) -> None:
        self.files, self.seconds = files, seconds
        self._on_reload = on_reload
        self._stamp: Stamp | None = stamp_of(files)
        self.pair: Pair = load_pair(files, 1)
        self.refusal: str | None = None  # why the files as they are now are not in use
        self._wake, self._stopped = threading.Event(), False

    def start(self) -> None:
        """Watch the files from now on."""
        self._stopped = False
        self._wake.clear()
        threading.Thread(target=self._watch, daemon=True, name="kinhash-reload").start()

    def stop(self) -> None:
        """Watch no longer; a load in progress is not waited for."""
        self._stopped = True
        self._wake.set()

    def wake(self) -> None:
        """Load the files again now, changed or not. Safe in a signal handler."""
        self._stamp = None
        self._wake.set()

    def _watch(self) -> None:
        while not self._stopped:
            self._wake.wait(self.seconds)
            self._wake.clear()
            if not self._stopped:
                self.look()

    def look(self) -> None:
        """Load the files if they have changed since they were last looked at."""
        try:
            before = stamp_of(self.files)
            if before == self._stamp:
                return
            self._stamp = before
            fresh = load_pair(self.files, self.pair.number + 1)
            if stamp_of(self.files) != before:  # a file came between the two reads
                self._stamp = None
                return
        except Exception as problem:  # whatever it is, the pair in use must go on answering
            self._refuse(problem)
            return
        self.pair, self.refusal = fresh, None
        log.info("Loaded model %s and %d rows", fresh.model_id[:12], len(fresh.index))
        self._on_reload(self, True)

    def _refuse(self, problem: Exception) -> None:
        mismatch = isinstance(problem, CodesMismatch)
        said = "model and index belong to different models" if mismatch else type(problem).__name__
        if isinstance(problem, FileNotFoundError):
            self._stamp = None  # gone for a moment: look again
            if self.refusal == said:
                return
        self.refusal = said
        known = isinstance(problem, (KinhashError, OSError))
        log.warning("The files were refused, the pair in use stays: %s", problem, exc_info=not known)
        self._on_reload(self, False)


def about(pair: Pair) -> Facts:
    """The model, and what it decided about which rows are the same, with the evidence."""

    def decided(hasher: Any) -> Facts | None:
        return None if hasher.decision_ is None else hasher.decision_.as_dict()

    views = {
        name: {"columns": own.n_features_in_, "same": decided(own)} for name, own in pair.model.views_.items()
    }
    return {
        "model_id": pair.model_id,
        "pair": pair.number,
        "n_bits": pair.index.n_bits,
        "rows": len(pair.index),
        "columns": pair.model.n_features_in_,
        "same": decided(pair.model),
        "views": views,
    }


# ---- something to type on the page -----------------------------------------------------------------------

SHOWN_IDS, SHOWN_CONDITIONS = 3, 2
LONGEST = 40  # characters of a text or a name that is shown


def hints_of(pair: Pair) -> Facts:
    """The first ids, and a filter as text that the first row passes; None if there is no such filter."""
    found = [_condition(name, column) for name, column in pair.payload.items() if len(column)]
    conditions = [one for one in found if one is not None][:SHOWN_CONDITIONS]
    return {"ids": pair.ids[:SHOWN_IDS].tolist(), "where": " and ".join(conditions) or None}


def _condition(name: str, column: Any) -> str | None:
    """A comparison of this column that its first row passes, if one is short enough to show."""
    shown = column_as_text(name)
    first = column[:1].tolist()[0]
    is_list = isinstance(first, list)
    if shown is None or len(name) > LONGEST or first == []:
        return None
    value = first[0] if is_list else first
    if isinstance(value, str):
        if len(value) > LONGEST or not value.isprintable():
            return None
    elif not math.isfinite(value):
        return None
    text = value_as_text(value)
    equal = isinstance(value, (str, bool))
    return f"{text} in {shown}" if is_list else f"{shown} {'==' if equal else '>='} {text}"
