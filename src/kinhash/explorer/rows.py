"""The rows of a page: codes, labels and everything else that was handed in, in the order of their ids.

Whatever comes beside the codes is in the order of the *rows*: of the codes themselves, or of ``ids``. On the
page rows stand in the order of ids, so that (distance, place) is the order (distance, id) of `HammingIndex`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._internal.types import Array, Ints, LabelsLike, Rng
from ..codes import Codes, CodesLike, as_codes
from ..errors import CodesMismatch, InvalidInput
from ..index import HammingIndex, Ids, as_ids, sorting_order
from ..supervision import Labels, read_labels

__all__ = ["RowsShown", "expect_rows", "read_rows", "sampled"]

LONGEST_TEXT = 400  # letters of a text that a page keeps


@dataclass(frozen=True, eq=False)
class RowsShown:
    """Rows in the order of their ids. ``numbers`` (n,) says which of the rows handed in each of them is.

    ``n_rows`` were there before a sample was drawn. ``learned`` says whether labels took part in
    the codes.
    """

    codes: Codes
    ids: Array
    numbers: Ints
    n_rows: int
    labels: Labels | None = None
    texts: list[str] | None = None
    learned: bool = False

    def __len__(self) -> int:
        return len(self.codes)


def read_rows(
    codes: CodesLike | HammingIndex,
    ids: npt.ArrayLike | None,
    labels: LabelsLike,
    text: Iterable[object] | None,
) -> RowsShown:
    """Codes (an index, `Codes` or packed bytes), and what comes beside them, sorted by id."""
    found, names = _codes_and_ids(codes, ids)
    if not len(found):
        raise InvalidInput("There are no rows", "codes of one row at least", "Pass the codes of your rows")
    order = sorting_order(names)
    known = None
    if labels is not None:
        known = read_labels(labels)
        expect_rows("labels", len(known), len(found))
        known = known[order]
    texts = None
    if text is not None:
        given = list(text)
        expect_rows("texts", len(given), len(found))
        texts = [_short(given[row]) for row in order.tolist()]
    bare = replace(found[order], ids=None)
    return RowsShown(bare, names[order], order, len(found), known, texts, found.learned)


def sampled(rows: RowsShown, most: int, rng: Rng) -> RowsShown:
    """At most ``most`` rows, drawn at random, in their order."""
    if len(rows) <= most:
        return rows
    kept = np.sort(rng.choice(len(rows), most, replace=False))
    return replace(
        rows,
        codes=rows.codes[kept],
        ids=rows.ids[kept],
        numbers=rows.numbers[kept],
        labels=None if rows.labels is None else rows.labels[kept],
        texts=None if rows.texts is None else [rows.texts[row] for row in kept.tolist()],
    )


def expect_rows(what: str, came: int, n_rows: int) -> None:
    """Refuse another number of things than there are rows."""
    if came != n_rows:
        raise InvalidInput(
            f"{came:,} {what} came with {n_rows:,} codes",
            "one for every row, in the order of the rows",
            "Pass what belongs to these codes",
        )


def _codes_and_ids(codes: CodesLike | HammingIndex, ids: npt.ArrayLike | None) -> tuple[Codes, Array]:
    """Codes in the order of the rows, and their ids."""
    given = None if ids is None else as_ids(ids)
    if isinstance(codes, HammingIndex):
        return _from_index(codes, given)
    found = as_codes(codes)
    if given is None:
        given = np.arange(len(found)) if found.ids is None else as_ids(found.ids)
    expect_rows("ids", len(given), len(found))
    return found, given


def _from_index(index: HammingIndex, ids: Array | None) -> tuple[Codes, Array]:
    codes = index.codes()
    own = as_ids(index.ids)
    if ids is None:
        if own.dtype.kind != "i" or not np.array_equal(own, np.arange(len(own))):
            raise InvalidInput(
                "The index has ids of its own, and nothing says in which order its rows were",
                "the id of every row, in the order of the labels",
                "Pass ids (--ids FILE), or the codes in place of the index",
            )
        return codes, own
    expect_rows("ids", len(ids), len(own))
    if ids.dtype.kind != own.dtype.kind:
        raise CodesMismatch(
            f"The ids are {_kind(ids)}, and those of the index are {_kind(own)}",
            "ids of the index",
            "Pass the ids that the index was made with",
        )
    places = Ids.of_sorted(own).find(ids)
    if (places < 0).any():
        missing = ids.tolist()[int((places < 0).argmax())]
        raise InvalidInput(
            f"There is no row with the id {missing!r} in the index",
            "the ids of the index, each once",
            "Pass the ids that the index was made with",
        )
    return codes[places], ids


def _kind(ids: Array) -> str:
    return "numbers" if ids.dtype.kind == "i" else "texts"


def _short(text: object) -> str:
    """One text, as a page keeps it: no longer than needed to know it again."""
    words = "" if text is None else str(text)
    return words if len(words) <= LONGEST_TEXT else words[: LONGEST_TEXT - 1] + "…"
