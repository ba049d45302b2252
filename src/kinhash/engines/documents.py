"""Engines that run as servers: settings and documents are written as files for their own loading tools.

The target is a folder. It is written under a temporary name and renamed when it is complete. Reading back
decodes the documents as the server would and searches them here, which proves the files, not the server.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import numpy as np

from .._internal.blocks import block_slices
from .._internal.files import replacing_folder
from .._internal.types import Bytes, Facts
from ..codes import Codes, n_bytes
from ..errors import InvalidInput
from .base import Engine, EngineFacts, Found, Place, Reader, id_array
from .brute_force import nearest_rows
from .sql import already_there

__all__ = ["DocumentFiles", "search_by", "signed"]

PART = 50_000  # rows per file: below the 100 MB that servers take at once


class DocumentFiles(Engine):
    """A folder: the settings of the table, its documents in parts, a request to try, and the note."""

    answers: ClassVar[bool] = False
    file: ClassVar[bool] = False
    part: ClassVar[str]  # name of a part, with its number

    @abstractmethod
    def settings(self, codes: Codes, place: Place) -> dict[str, str]:
        """File names and contents that make the table."""

    @abstractmethod
    def document(self, number: int | str, code: Bytes, place: Place) -> str:
        """The lines that load one row."""

    @abstractmethod
    def row(self, document: Facts) -> tuple[int | str, bytes] | None:
        """Id and packed bytes of a line; None for a line that holds no code."""

    def problems(self) -> tuple[type[Exception], ...]:
        return (OSError, ValueError, KeyError)

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        assert codes.ids is not None
        target = Path(place.target).absolute()
        _expect_room(target, overwrite)
        with replacing_folder(target) as folder:
            for name, text in self.settings(codes, place).items():
                (folder / name).write_text(text)
            (folder / "kinhash.json").write_text(EngineFacts.note(codes) + "\n")
            if len(codes):
                example = self.statement(codes[0], 10, place)
                (folder / "search.txt").write_text(example + "\n")
            for number, rows in enumerate(block_slices(len(codes), PART)):
                pairs = zip(codes.ids[rows].tolist(), codes[rows].repeated(), strict=True)
                with open(folder / self.part.format(number), "w", encoding="utf-8") as file:
                    file.writelines(self.document(key, code, place) for key, code in pairs)

    @contextmanager
    def open(self, place: Place) -> Iterator[Reader]:
        folder = Path(place.target)
        if not (folder / "kinhash.json").is_file():
            raise InvalidInput(f"There are no codes in {place.target}", "", "Write the codes first")
        ids: list[int | str] = []
        packed: list[bytes] = []
        for part in sorted(folder.glob(self.part.replace("{:05d}", "*"))):
            with open(part, encoding="utf-8") as file:
                for found in filter(None, map(self.row, map(json.loads, file))):
                    ids.append(found[0])
                    packed.append(found[1])
        facts = EngineFacts.from_note((folder / "kinhash.json").read_text(), len(ids), place)
        assert facts.fields is not None
        width = n_bytes(facts.fields.max_distance(facts.n_bits))
        stored, names = np.frombuffer(b"".join(packed), np.uint8).reshape(len(ids), width), id_array(ids)

        def nearest(code: Codes, k: int) -> Found:
            order, distances = nearest_rows(stored, code.repeated(), k)
            return names[order], distances

        yield Reader(facts, nearest)


def signed(code: Bytes) -> list[int]:
    """The bytes of a code as servers written in Java have them: from -128 to 127, the same bits."""
    return code.view(np.int8).tolist()


def search_by(script: Facts, k: int, place: Place) -> str:
    """The request for the rows with the highest scores of a script: bits less the distance; then by id."""
    query = {"script_score": {"query": {"match_all": {}}, "script": script}}
    request = {"size": k, "_source": ["id"], "query": query, "sort": [{"_score": "desc"}, {"id": "asc"}]}
    return f"POST /{place.table}/_search\n{json.dumps(request)}"


def _expect_room(target: Path, overwrite: bool) -> None:
    """Refuse to write over something, unless we wrote it and may."""
    if target.exists() and not overwrite:
        raise already_there(Place(str(target), ""), "file")
    if target.exists() and not (target / "kinhash.json").is_file():
        raise InvalidInput(
            f"{target} is not a folder that kinhash wrote", "a new name", "Choose another place"
        )
