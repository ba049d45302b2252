"""Checksums of files, how much can come out of a compressed one, lines, labels of any file, and .npz files."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from kinhash.data import read_table
from kinhash.errors import FileProblem
from kinhash.labels import Labels, read_labels
from kinhash.plugins import Array, Lines, reading, replace_file

__all__ = ["checksum", "digest_of", "inflated_size_limit", "labels_of_file", "read_lines", "write_npz"]

MAX_INFLATION = 1100  # deflate cannot do better than 1032 to 1


def inflated_size_limit(path: str | os.PathLike[str]) -> int:
    """The most bytes that can come out of a (possibly compressed) file."""
    return os.stat(path).st_size * MAX_INFLATION


def checksum(path: str | os.PathLike[str], kind: str = "sha256") -> str:
    """Checksum of one file: sha256, or md5 where that is what the authors publish."""
    digest = hashlib.new(kind, usedforsecurity=False)
    with reading(path, "a readable file") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def digest_of(paths: Iterable[Path]) -> str:
    """One checksum for a set: that of its only file, or over names and checksums of several."""
    files = sorted(paths, key=lambda path: path.name)
    if len(files) == 1:
        return checksum(files[0])
    lines = "".join(f"{checksum(path)}  {path.name}\n" for path in files)
    return hashlib.sha256(lines.encode()).hexdigest()


def labels_of_file(path: str, tags: bool = False) -> Labels:
    """Classes, or tags where the file holds several labels a row, of all that `kinhash.data.read_table` reads."""
    table = read_table(path)
    if not tags:
        with suppress(FileProblem):  # which says that these are tags
            return read_labels(table.labels())
    return read_labels(table.tags())


def read_lines(stream: BinaryIO) -> list[str]:
    """All lines of a text file without their ends, blank lines at the end left out."""
    lines = [line.rstrip("\n") for line in Lines(stream)]
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, Array]) -> None:
    """Write a compressed ``.npz``, all or nothing; the folder is made if it is not there."""
    with suppress(OSError):  # said when the file cannot be written
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    content = io.BytesIO()
    # The stubs of savez count every keyword as one of its own options.
    np.savez_compressed(content, **cast(dict[str, Any], dict(arrays)))
    replace_file(path, [content.getbuffer()])
