"""Where results live: a folder (or a zip of one) with one JSON file per cell."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

from kinhash.errors import DamagedFile, InvalidInput
from kinhash.plugins import replace_file, translating

from .result import Result

__all__ = ["Store", "read_results"]

LARGEST = 64 << 20  # bytes of one result: a gallery, and two bytes for each of ten million queries


class Store:
    """A folder of results. Each is written under a temporary name first, so none is ever half there."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, key: str) -> Path:
        """Where the result of that cell is, or will be."""
        return self.folder / f"{key}.json"

    def find(self, key: str) -> Result | None:
        """The result of a cell that was run before, None if there is none (or none that can be read)."""
        try:
            return Result.from_json(self.path(key).read_bytes(), str(self.path(key)))
        except (FileNotFoundError, DamagedFile):
            return None

    def add(self, result: Result) -> None:
        """Keep a result, in place of an earlier one of the same cell."""
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(self.path(result.key), [memoryview((result.to_json() + "\n").encode())])


def read_results(source: str | os.PathLike[str]) -> list[Result]:
    """All results of a folder, or of a zip file of one, in the order of their names."""
    found = [Result.from_json(text, name) for name, text in _files(Path(source))]
    if not found:
        raise InvalidInput(
            f"{source}: holds no results", "a folder that kinhash bench wrote to", "Run kinhash bench first"
        )
    return found


def _unzipped(source: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """One result, read no further than one can be long: a small archive may claim and hold any size."""
    with archive.open(info) as stream:
        text = stream.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise DamagedFile(
            f"{source}: {info.filename} is larger than {LARGEST:,} bytes", "results of kinhash bench",
            "Take that file out of the archive",
        )  # fmt: skip
    return text


def _files(source: Path) -> Iterator[tuple[str, bytes]]:
    if source.is_dir():
        for path in sorted(source.glob("*.json")):
            if path.stat().st_size > LARGEST:
                raise DamagedFile(
                    f"{path} is larger than {LARGEST:,} bytes", "results of kinhash bench", "Take it away"
                )
            yield str(path), path.read_bytes()
        return
    if not source.exists():
        raise InvalidInput(f"{source}: not found", "a folder of results, or a zip of one", "Check the path")
    if not zipfile.is_zipfile(source):
        raise DamagedFile(
            f"{source}: neither a folder nor a zip file", "results of kinhash bench", "Check the path"
        )
    with translating(source, "results of kinhash bench"), zipfile.ZipFile(source) as archive:
        for info in sorted(archive.infolist(), key=lambda info: info.filename):
            if info.filename.endswith(".json"):
                yield f"{source}:{info.filename}", _unzipped(source, archive, info)
