"""The rows of an index with the codes of another model, and how much its answers change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._internal.types import Ints
from ..codes import Codes, to_words
from ..errors import InvalidInput
from .hamming_index import HammingIndex
from .ids import Ids, as_ids, sorting_order

if TYPE_CHECKING:
    from .neighbors import Neighbors

__all__ = ["answers_of_rows", "places_of", "recoded"]


def recoded(index: HammingIndex, codes: Codes) -> HammingIndex:
    """Return an index with the ids and payload of another, and new codes for its rows.

    Rows that are added later are numbered on as in the old index. Memory: a second index.

    Parameters
    ----------
    index : the index whose rows are encoded anew; it stays as it is.
    codes : codes with ids, those of all rows of the index; others are left out.

    Examples
    --------
    >>> index = HammingIndex.from_codes(np.array([[1], [2]], np.uint8), ids=["a", "b"])
    >>> new = recoded(index, Codes(np.array([[255], [7], [0]], np.uint8), 8, ["b", "c", "a"]))
    >>> new.ids.tolist(), new.codes().packed.tolist()
    (['a', 'b'], [[0], [255]])
    """
    packed = codes.packed[places_of(index, codes)]
    new = HammingIndex(codes.n_bits, codes.model_id, codes.fields)
    made = index._moved_to(new, to_words(packed), index.ids, index.payload)
    made._kinds = {codes.learned} if len(made) and codes.model_id else set()
    return made


def places_of(index: HammingIndex, codes: Codes, they_have: str = "The codes have") -> Ints:
    """Where the rows of an index stand among codes with ids, or numbered codes, in the order of its ids.

    ``they_have`` begins the error about missing rows.
    """
    wanted = index.ids
    names = np.arange(len(codes)) if codes.ids is None else as_ids(codes.ids)
    if len(wanted) and (names.dtype.kind == "i") != (wanted.dtype.kind == "i"):
        raise InvalidInput(
            "Numbers and strings came together as ids",
            f"ids such as {wanted[:1].tolist()[0]!r}, as the index has them",
            "Pass the ids of the rows",
        )
    order = sorting_order(names)
    ranks = Ids.of_sorted(names[order]).find(wanted)
    missing = np.flatnonzero(ranks < 0)
    if len(missing):
        raise InvalidInput(
            f"{they_have} no row for {len(missing):,} of the {len(wanted):,} rows of the index, "
            f"{wanted[missing[:1]].tolist()[0]!r} among them",
            "a code for every id of the index",
            "Encode all rows, with their ids",
        )
    return order[ranks]


def answers_of_rows(index: HammingIndex, rows: Ints, k: int) -> Neighbors:
    """The ``k`` nearest rows of some rows (places in the order of the ids), without the rows themselves."""
    return index.search(index.codes()[rows], k, exclude=index.ids[rows])
