"""Checksums of files, and how much can come out of a compressed one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from kinhash.plugins import reading

__all__ = ["checksum", "digest_of", "inflated_size_limit"]

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
