"""Turn a data set of pictures or text files into one compact ``.npz`` that loads in a moment."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from .compact_write import write_compact
from .gist import gist
from .home import COMPACT, data_folder, load

__all__ = ["prepare"]


def prepare(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    download: bool = False,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Read ``name``, describe pictures by GIST, write the compact file, and return its path.

    The default place is ``<name>-gist.npz`` (pictures) or ``<name>-compact.npz`` in the data folder.
    A set that is compact already stays as it is. ``read_compact`` reads the file back.
    """
    dataset = load(name, data_home, download=download)
    if name in COMPACT and output is None:
        return data_folder(data_home) / f"{name}.npz"
    pictures = dataset.image_shape is not None
    if pictures:
        features = gist(dataset.images(), n_jobs=n_jobs, progress=progress)
        dataset = replace(dataset, features=features, image_shape=None)
    target = (
        Path(output) if output else data_folder(data_home) / f"{name}-{'gist' if pictures else 'compact'}.npz"
    )
    write_compact(target, dataset)
    return target
