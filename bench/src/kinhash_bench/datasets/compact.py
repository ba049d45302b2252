"""A data set in one ``.npz`` of plain arrays: the compact format, which `kinhash.datasets` describes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kinhash.plugins import CompactFile

from ._base import Dataset, Facts
from ._files import checksum

__all__ = ["read_compact"]


def read_compact(path: str | Path, facts: Facts | None = None, class_names: Iterable[str] = ()) -> Dataset:
    """Read one compact file. ``facts`` bring licence and citation, ``class_names`` missing names.

    Quantised features are expanded once, to float32. Peak memory: file arrays plus features.
    """
    file = CompactFile.read(path)
    parts = file.parts(class_names)
    train, queries = file.split(parts.n_rows)
    return Dataset(
        name=facts.name if facts else Path(path).stem,
        features=parts.features,
        labels=parts.labels,
        checksum=checksum(path),
        licence=facts.licence if facts else "unknown",
        citation=facts.citation if facts else "",
        source=facts.source if facts else str(path),
        names=parts.names,
        feature_names=parts.feature_names,
        train=train,
        queries=queries,
        image_shape=parts.image_shape,
    )
