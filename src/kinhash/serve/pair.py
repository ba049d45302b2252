"""A model and an index that belong together, loaded as one value that never changes.

An answer is made from one pair, from its first to its last byte, whatever files are replaced meanwhile.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np

from .._internal.texts import STRING
from .._internal.types import Array, Facts
from ..codes import Codes
from ..errors import CodesMismatch, InvalidInput
from ..hashers import Hasher, load_model
from ..index import HammingIndex, Ids, as_ids

__all__ = ["Files", "Pair", "UnknownId", "load_pair"]

Stamp = tuple[tuple[int, int, int, int], ...]


class UnknownId(InvalidInput):
    """An id that is not in the index."""


@dataclass(frozen=True)
class Files:
    """Where model and index lie."""

    model: str
    index: str

    def stamp(self) -> Stamp:
        """What changes when a file is replaced or written to: device, inode, size, time."""
        facts = [os.stat(path) for path in (self.model, self.index)]
        return tuple((one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns) for one in facts)


@dataclass(frozen=True, eq=False)
class Pair:
    """A model, the index of its codes, and a copy of the codes by ascending id (to search by id).

    ``number`` counts the pairs that this service has loaded.
    """

    model: Hasher
    index: HammingIndex
    ids: Ids
    codes: Array
    payload: Facts
    number: int

    @property
    def model_id(self) -> str:
        """Id of the model."""
        return str(self.model.model_id_)

    @property
    def widths(self) -> dict[str | None, int]:
        """Columns of a row to encode, by view; None is the first view, which has no name."""
        views = getattr(self.model, "views_", {})
        return {None: self.model.n_features_in_} | {name: one.n_features_in_ for name, one in views.items()}

    def as_codes(self, packed: Array) -> Codes:
        """Packed rows (n, bytes) as codes of this model."""
        return Codes(packed, self.index.n_bits, None, self.model_id, self.index.fields)

    def ranks(self, ids: Array) -> Array:
        """Positions of these ids in the order of ids; raises `UnknownId` if one is not in the index."""
        if len(ids) and (ids.dtype == STRING) != self.ids.are_strings:
            raise InvalidInput(
                "The ids are of another type than those of the index",
                "strings" if self.ids.are_strings else "integers",
                "Pass ids as the index has them",
            )
        found = self.ids.find(ids)
        if len(found) and found.min() < 0:
            unknown = ids[int(found.argmin())].item() if ids.dtype != STRING else ids[int(found.argmin())]
            raise UnknownId(
                f"There is no row with the id {unknown!r}", "ids of rows in the index", "Leave it out"
            )
        return found


def load_pair(files: Files, number: int) -> Pair:
    """Read, verify and warm both files. Raises `CodesMismatch` unless the model made the index.

    Files are read and not mapped, so they may even be overwritten in place while they are served. Memory: the
    index, and its codes once more for searches by id.
    """
    model, index = load_model(files.model), HammingIndex.load(files.index, mmap=False)
    if index.model_id != model.model_id_:
        made = "that carry no model id" if index.model_id is None else f"of model {index.model_id[:12]}"
        raise CodesMismatch(
            f"{files.index} holds codes {made}, and {files.model} is model {str(model.model_id_)[:12]}",
            "an index of codes that this model made",
            "Encode the rows with this model (`kinhash encode`) and make the index again (`kinhash index`)",
        )
    ids = index.ids
    pair = Pair(model, index, Ids.of_sorted(as_ids(ids)), index.codes().packed, index.payload, number)
    _warm(pair)
    return pair


def _warm(pair: Pair) -> None:
    """Compile what the first request would wait for.

    Zeros are encoded on a copy that does not compare them with the rows of the fit.
    """
    quiet = pair.model.without_training()
    quiet.adopt(replace(quiet.fitted_, seen=None))
    codes = quiet.encode(np.zeros((1, pair.widths[None]), np.float32))
    pair.index.prepare()
    pair.index.search(pair.as_codes(codes.packed), min(10, len(pair.index)))
