"""USearch: one file with an index of packed bits, searched exactly on request."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import ClassVar

import numpy as np

from .._internal.files import replace_file
from ..codes import Codes
from ..errors import InvalidInput
from .base import Engine, EngineFacts, Found, Listed, Place, Reader, driver, with_ties
from .sql import already_there

__all__ = ["USearch"]

_usearch = partial(driver, "usearch.index", "usearch")


class USearch(Engine):
    """A file for ``Index.restore``. Keys are unsigned, so negative ids are refused; it knows no model and
    no fields.

    Even its exact search orders ties as it likes, so we fetch all rows tied with the last and sort.
    """

    text_ids: ClassVar[bool] = False

    def problems(self) -> tuple[type[Exception], ...]:
        _usearch()
        return (RuntimeError, ValueError)

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        usearch = _usearch()
        assert codes.ids is not None
        if os.path.exists(place.target) and not overwrite:
            raise already_there(place, "file")
        if len(codes) and codes.ids[0] < 0:
            raise InvalidInput(
                f"The id {codes.ids[0]} is negative",
                "ids from 0 up, as USearch has them",
                "Renumber the rows",
            )
        index = usearch.Index(
            ndim=codes.max_distance, metric=usearch.MetricKind.Hamming, dtype=usearch.ScalarKind.B1
        )
        if len(codes):
            index.add(codes.ids.astype(np.uint64), codes.repeated())
        replace_file(place.target, [memoryview(index.save())])

    @contextmanager
    def open(self, place: Place) -> Iterator[Reader]:
        with open(place.target, "rb") as file:
            index = _usearch().Index.restore(file.read())
        n_rows = len(index)

        def nearest(code: Codes, k: int) -> Found:
            def fetch(wanted: int) -> Listed:
                found = index.search(code.repeated()[0], wanted, exact=True)
                return found.keys, found.distances

            return with_ties(fetch, k, n_rows)

        yield Reader(EngineFacts(n_rows, index.ndim), nearest)

    def statement(self, code: Codes, k: int, place: Place) -> str:
        return (
            "import numpy as np\nfrom usearch.index import Index\n"
            f"index = Index.restore({place.target!r})\n"
            f"query = np.frombuffer(bytes.fromhex({code.repeated().tobytes().hex()!r}), np.uint8)\n"
            f"found = index.search(query, {k}, exact=True)\n"
            "ids, distances = found.keys, found.distances"
        )
