"""Base class of engines, and shared helpers.

An engine writes codes to a `Place`, opens the place again as a `Reader`, and says which statement finds the
neighbors of a code. It may trust what it gets: the door is `kinhash.engines.run`. Rows come in ascending
order of their ids, which are 64-bit integers or, where an engine holds them, strings. Codes have fields with
weights: an engine that `weighs` counts each field and adds up; any other counts plain bits and gets each bit
as often as it counts (`Codes.repeated`), in rows and in queries. Classes are abstract or final.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._internal.texts import STRING
from .._internal.types import Array, Facts
from ..codes import KIN_ONLY, BitLayout, Codes, n_bytes
from ..errors import CodesMismatch, InvalidInput, MissingExtra
from ..index import sort_keys

__all__ = [
    "Engine",
    "EngineFacts",
    "Found",
    "Place",
    "Reader",
    "driver",
    "has_text_ids",
    "id_array",
    "with_ties",
    "without_password",
]

Listed = tuple[npt.ArrayLike, npt.ArrayLike]  # ids and distances as an engine gives them
Found = tuple[Array, npt.NDArray[np.uint16]]  # ids (int64 or strings) and distances of one query


@dataclass(frozen=True)
class Place:
    """Where codes are: a file, a folder or a connection, and the table in it where it has tables."""

    target: str
    table: str

    @property
    def shown(self) -> str:
        """The target as it may stand in a message."""
        return without_password(self.target)


@dataclass(frozen=True)
class EngineFacts:
    """What is known about written codes.

    ``fields`` is None where an engine keeps no note. ``n_bits`` is then the length of its rows, in which bits
    are repeated, and counts whole bytes if that is all it knows.
    """

    n_rows: int
    n_bits: int
    model_id: str | None = None
    fields: BitLayout | None = None
    whole_bytes: bool = False

    def require(self, queries: Codes, place: Place) -> None:
        """Refuse queries of another length, another model or other fields."""
        length = queries.max_distance if self.fields is None else queries.n_bits
        if self.n_bits != (8 * n_bytes(length) if self.whole_bytes else length):
            raise CodesMismatch(
                f"Codes of {length} bits came to {place.shown}, which holds codes of {self.n_bits} bits",
                "codes of one length and the same fields",
                "Encode with the model that made the written codes",
            )
        if self.model_id and queries.model_id and self.model_id != queries.model_id:
            raise CodesMismatch(
                f"Codes of model {queries.model_id[:12]} came to {place.shown}, "
                f"which holds codes of model {self.model_id[:12]}",
                "codes made by one model",
                "Encode with the model that made the written codes",
            )
        if self.fields not in (None, queries.fields):
            raise CodesMismatch(
                f"Codes with {queries.fields} came to {place.shown}, which holds codes with {self.fields}",
                "codes whose bits count alike on both sides",
                "Encode with the model that made the written codes, or pass `Codes` instead of bare bytes",
            )

    @staticmethod
    def note(codes: Codes) -> str:
        """The text an engine keeps beside the codes, for `from_note`; it is silent about one plain field."""
        facts: Facts = {"kinhash": 1, "n_bits": codes.n_bits, "model_id": codes.model_id}
        if codes.fields != KIN_ONLY:
            facts["fields"] = codes.fields.as_dict()
        return json.dumps(facts)

    @classmethod
    def from_note(cls, note: str | bytes | None, n_rows: int, place: Place) -> EngineFacts:
        """Read the note back; a table without one was not written by us, so its bit order is unknown."""
        try:
            found = json.loads(note or "null")
            fields = BitLayout.from_dict(found.get("fields", KIN_ONLY.as_dict()))
            return cls(n_rows, int(found["n_bits"]), found["model_id"], fields)
        except (ValueError, TypeError, KeyError, AttributeError, InvalidInput):
            raise InvalidInput(
                f"{place.table!r} in {place.shown} says nothing about its codes",
                "codes written by kinhash, with their length noted beside them",
                "Write them with kinhash.engines.write",
            ) from None


@dataclass(frozen=True)
class Reader:
    """An open place: its facts, and the ``k`` nearest rows of one code, by (distance, id)."""

    facts: EngineFacts
    nearest: Callable[[Codes, int], Found]


class Engine(ABC):
    """One engine. Everything that may be slow or absent is imported inside its methods."""

    answers: ClassVar[bool] = True  # False: we write files for it and cannot ask its server
    file: ClassVar[bool] = True  # whether the target is one file
    text_ids: ClassVar[bool] = True  # whether it holds strings as ids
    weighs: ClassVar[bool] = False  # whether it adds up weighted fields; False: its bits are repeated

    @abstractmethod
    def problems(self) -> tuple[type[Exception], ...]:
        """What the engine raises when something goes wrong; raises `MissingExtra` where it is absent."""

    @abstractmethod
    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        """Write codes with ids, all or nothing."""

    @abstractmethod
    def open(self, place: Place) -> AbstractContextManager[Reader]:
        """Open what was written, without changing it."""

    @abstractmethod
    def statement(self, code: Codes, k: int, place: Place) -> str:
        """The exact text that finds the ``k`` rows nearest to one code."""


def without_password(target: str) -> str:
    """A connection that may be shown."""
    target = re.sub(r"(://[^:/@]*):.*@", r"\1:***@", target)
    return re.sub(r"(password\s*=\s*)('(\\.|[^'])*'|\S+)", r"\1***", target)


def driver(module: str, extra: str, package: str | None = None) -> ModuleType:
    """The module that speaks to an engine, or an error that names the extra which brings it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra.of(package or module.partition(".")[0], extra) from None


def has_text_ids(codes: Codes) -> bool:
    """Whether the ids are strings; numbers otherwise."""
    return codes.ids is not None and codes.ids.dtype.kind == "T"


def id_array(ids: Any) -> Array:
    """Ids as an engine gave them, numbers or strings, as `HammingIndex` has them."""
    values = ids.to_pylist() if hasattr(ids, "to_pylist") else ids
    return np.array(values, STRING if len(values) and isinstance(values[0], str) else np.int64)


def with_ties(fetch: Callable[[int], Listed], k: int, n_rows: int, most: int | None = None) -> Found:
    """The ``k`` nearest by (distance, id) from an engine that orders by distance alone.

    ``fetch(m)`` gives ids and ascending distances of some ``m`` nearest rows. We ask for more until a
    distance beyond the k-th appears: then all rows tied with the k-th are there, and the smallest ids win.
    ``most`` is the largest answer the engine gives; beyond it the choice among ties is the engine's.
    """
    most = min(n_rows, most or n_rows)
    if k > most:
        raise InvalidInput(
            f"{k} neighbors were asked for, and the engine gives {most} at most",
            f"k up to {most}",
            "Ask for fewer",
        )
    wanted = min(2 * k + 16, most)
    while True:
        ids, distances = fetch(wanted)
        distances = np.asarray(distances)
        if wanted >= most or distances[-1] > distances[k - 1]:
            break
        wanted = min(4 * wanted, most)
    ids, distances = id_array(ids), np.rint(distances).astype(np.uint16)
    order = np.lexsort((sort_keys(ids), distances))[:k]
    return ids[order], distances[order]
