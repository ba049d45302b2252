"""The values of this room: a data set, and what is known about it before it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kinhash.errors import InvalidInput
from kinhash.labels import Labels

__all__ = ["Dataset", "Facts", "Figures", "Source", "Wanted", "class_labels", "rows_between"]

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with their labels, and where they come from.

    ``features`` (n, p) is float32, except pixels, which stay uint8, and sparse sets, which are CSR;
    None for sets that hold tags only. ``labels`` carries the names of classes or tags. ``names`` (n,)
    says which item a row is (an image number, a file name), ``feature_names`` (p,) what a column is.
    ``train`` and ``queries`` are row numbers of the split the files themselves state.
    """

    name: str
    features: Any
    labels: Labels | None
    checksum: str
    license: str
    citation: str
    source: str
    names: npt.NDArray[Any] | None = None
    feature_names: npt.NDArray[Any] | None = None
    train: Rows | None = None
    queries: Rows | None = None
    image_shape: tuple[int, ...] | None = None

    def __len__(self) -> int:
        if self.features is not None:
            return int(self.features.shape[0])
        return 0 if self.labels is None else len(self.labels)

    def __repr__(self) -> str:
        columns = "no features" if self.features is None else f"{self.features.shape[1]} columns"
        labels = "no labels" if self.labels is None else f"{len(self.labels.names)} labels"
        return f"Dataset({self.name!r}, {len(self):,} rows, {columns}, {labels})"

    @property
    def n_train(self) -> int | None:
        """Rows of the stated training part, None where none is stated."""
        return None if self.train is None else len(self.train)

    @property
    def n_query(self) -> int | None:
        """Rows of the stated query (or test) part, None where none is stated."""
        return None if self.queries is None else len(self.queries)

    def images(self) -> npt.NDArray[np.uint8]:
        """The pictures (n, height, width[, 3]) of a set of pixels, without a copy."""
        if self.image_shape is None:
            raise InvalidInput(
                f"{self.name} holds features, not pixels",
                "a data set of pictures, such as cifar10 or mnist",
                "Use its features as they are",
            )
        pictures: npt.NDArray[np.uint8] = self.features.reshape(len(self), *self.image_shape)
        return pictures


@dataclass(frozen=True)
class Wanted:
    """One file (or folder) a reader needs; any of these places under the data folder will do.

    ``checksum`` ("sha256:..." or "md5:...") and ``url`` belong to the first of them.
    """

    any_of: tuple[str, ...]
    checksum: str | None = None
    url: str | None = None

    def find(self, folder: Path) -> Path | None:
        """Where it is under ``folder``, or None."""
        return next((folder / place for place in self.any_of if (folder / place).exists()), None)


@dataclass(frozen=True)
class Figures:
    """Ranking by cosine without any learning, as published beside the file.

    Mean average precision on standardized columns and on the columns as they are, and chance.
    """

    cosine: float | None = None
    plain_cosine: float | None = None
    chance: float | None = None


@dataclass(frozen=True)
class Facts:
    """What is known about a data set before it is read. ``folder`` is its own place in ``data_home``.

    ``rows``, ``columns`` and ``labels`` are sizes (0 columns: tags only). ``shared_folder`` says that
    its files may also lie directly in ``data_home``; ``instead`` names sets that can stand in.
    """

    name: str
    about: str
    source: str
    license: str = "unknown"
    citation: str = ""
    rows: int = 0
    columns: int = 0
    labels: int = 0
    files: tuple[Wanted, ...] = ()
    folder: str = ""
    shared_folder: bool = True
    instead: tuple[str, ...] = ()
    figures: Figures = Figures()

    def places(self, data_home: Path) -> tuple[Path, ...]:
        """Folders to look in, the set's own first."""
        own = data_home / self.folder if self.folder else data_home
        return (own, data_home) if self.shared_folder and self.folder else (own,)

    def dataset(self, features: Any, labels: Labels | None, checksum: str, **more: Any) -> Dataset:
        """The rows that were read, with what is known about them."""
        return Dataset(
            self.name, features, labels, checksum, self.license, self.citation, self.source, **more
        )

    def locate(self, data_home: Path) -> tuple[Path, tuple[Path, ...], tuple[Wanted, ...]]:
        """The best folder, what was found there, and what is missing there."""
        looked = []
        for folder in self.places(data_home):
            found = [(wanted, wanted.find(folder)) for wanted in self.files]
            there = tuple(path for _, path in found if path is not None)
            missing = tuple(wanted for wanted, path in found if path is None)
            looked.append((folder, there, missing))
        return min(looked, key=lambda place: len(place[2]))  # the first of equals: its own folder


@dataclass(frozen=True)
class Source:
    """A row of the table: the facts, and the function that reads the set from its folder."""

    facts: Facts
    read: Callable[[Path], Dataset]


def class_labels(classes: npt.NDArray[Any], names: Sequence[str] | npt.NDArray[Any]) -> Labels:
    """Labels of rows that carry the class numbers ``0 ... len(names) - 1``."""
    return Labels(np.asarray(names), np.ones(len(classes), bool), classes=classes.astype(np.int64))


def rows_between(start: int, stop: int) -> Rows:
    """Row numbers ``start ... stop - 1``."""
    return np.arange(start, stop, dtype=np.int64)
