"""Pictures of queries and of what they find, for people who would rather look."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.errors import InvalidInput, MissingExtra
from kinhash.labels import Labels

from ..datasets import Dataset, load
from ..protocols import ComparedCodes

__all__ = ["gallery_of"]

N_QUERIES, N_FOUND = 8, 10
PICTURES_OF = {  # sets of features whose pictures are kept in a set of their own
    "cifar10_gist512": "cifar10_pictures6000",
    "cifar10_efficientnet_lite0_pca256": "cifar10_pictures6000",
}

Rows = npt.NDArray[np.int64]


def gallery_of(dataset: Dataset, compared: ComparedCodes) -> list[dict[str, Any]]:
    """The first queries with a picture, and their nearest rows with one, in order (distance, row).

    The database is the mapped codes: what a user's search would find. Memory: the codes of pictured rows.
    """
    from kinhash.index import HammingIndex

    rows, picture = _pictures(dataset)
    queries = np.flatnonzero(np.isin(compared.query_rows, rows))[:N_QUERIES]
    there = np.flatnonzero(np.isin(compared.database_rows, rows))
    codes = compared.databases["mapped" if "mapped" in compared.databases else "learned"]
    found = HammingIndex.from_codes(codes[there], ids=there).search(compared.queries[queries], N_FOUND)
    pages = []
    for query, ids, distances in zip(queries, found.ids, found.distances, strict=True):
        own = compared.query_labels[query : query + 1]
        page: dict[str, Any] = {"query": _item(compared.query_rows[query], own, picture), "found": []}
        for place, distance in zip(ids, distances, strict=True):
            label = compared.database_labels[place : place + 1]
            item = _item(compared.database_rows[place], label, picture)
            page["found"].append(item | {"distance": int(distance), "kin": _kin(own, label)})
        pages.append(page)
    return pages


def _item(row: int, label: Labels, picture: Callable[[int], dict[str, str]]) -> dict[str, Any]:
    names = np.asarray(label.names)[label.indicator().indices]
    return {"row": int(row), "label": ", ".join(map(str, names)), **picture(int(row))}


def _kin(left: Labels, right: Labels) -> bool:
    return bool((left.indicator() @ right.indicator().T).sum() > 0)


def _pictures(dataset: Dataset) -> tuple[Rows, Callable[[int], dict[str, str]]]:
    """Rows that have a picture, and a function that gives it."""
    shown = load(PICTURES_OF[dataset.name]) if dataset.name in PICTURES_OF else dataset
    if shown.image_shape is None:
        raise InvalidInput(
            f"{dataset.name} has no pictures",
            "a data set of pictures, such as digits or cifar10",
            "Leave gallery out for this data set",
        )
    rows = np.arange(len(dataset)) if shown is dataset else np.asarray(shown.names, np.int64)
    place = {int(row): i for i, row in enumerate(rows)}
    images = shown.images()
    white = max(float(images.max()), 1.0)
    return rows, lambda row: {"png": _png(images[place[row]] * (255 / white))}


def _png(pixels: Any) -> str:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtra.of("pillow", "data", "kinhash-bench") from None
    memory = io.BytesIO()
    Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(memory, "PNG", optimize=True)
    return base64.b64encode(memory.getvalue()).decode("ascii")
