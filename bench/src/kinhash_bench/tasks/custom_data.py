"""Custom data in a task: features and labels from files, and a given split from files of row numbers.

[data.mine]
features = "features.npy"       # all that `kinhash.data.read_table` reads; beside the task's file
labels = "labels.npy"           # classes, or a 0/1 matrix of tags
train = "train.txt"             # row numbers from 0, one per line, or a .npy: with the protocol "given"
query = "query.txt"
database = "database.txt"       # the training rows, unless given; they may be inside
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from kinhash.data import read_table
from kinhash.errors import FileProblem, InvalidInput, UnknownName

from ..datasets import Dataset
from ..datasets.files import labels_of_file
from ..protocols import Partition, Protocol, given_partition

__all__ = ["NEEDED", "OPTIONAL", "load_own", "own_checksum", "own_files", "own_partition"]

NEEDED = ("features", "labels")
OPTIONAL = ("train", "query", "database", "validation")
BLOCK = 1 << 20


def own_files(name: str, table: Any, folder: Path) -> dict[str, str]:
    """The files of one set, found beside the task."""
    if not isinstance(table, dict) or not all(isinstance(place, str) for place in table.values()):
        raise InvalidInput(f"data.{name}: {table!r}", "names of files", "Mend the task")
    for key in table:
        if key not in (*NEEDED, *OPTIONAL):
            raise UnknownName.among(f"key in data.{name}", key, (*NEEDED, *OPTIONAL))
    split = {"train", "query"} & set(table)
    if not set(NEEDED) <= set(table) or len(split) == 1:
        raise InvalidInput(
            f"data.{name} has {', '.join(sorted(table)) or 'nothing'}",
            "features and labels, and both train and query for a split",
            "Add the missing files",
        )
    found = {key: folder / place for key, place in table.items()}
    for path in found.values():
        if not path.is_file():
            raise FileProblem(
                f"data.{name}: {path.name} is not there", "a file beside the task", "Check its name"
            )
    return {key: str(path.resolve()) for key, path in found.items()}


def own_checksum(files: dict[str, str]) -> str:
    """Digest of the contents, and of what each file is for; not of where they lie."""
    digest = hashlib.sha256()
    for key in sorted(files):
        digest.update(f"{key} {Path(files[key]).suffix} {Path(files[key]).stat().st_size}\n".encode())
        with open(files[key], "rb") as stream:
            while block := stream.read(BLOCK):
                digest.update(block)
    return digest.hexdigest()


def load_own(name: str, files: dict[str, str], checksum: str) -> Dataset:
    """Read features and labels."""
    X = read_table(files["features"]).features().read()
    return Dataset(name, X, labels_of_file(files["labels"]), checksum, "not stated", "", "custom files")


def own_partition(rules: Protocol, n_rows: int, files: dict[str, str], number: int) -> int | Partition:
    """The split that the files state, or the number to draw one by."""
    lists = {key: files[key] for key in OPTIONAL if key in files}
    if rules.split != "given":
        return number
    if not lists:
        raise InvalidInput(
            f"The protocol {rules.name!r} came with data that state no split",
            "files called train and query in the task's data",
            "Add them, or use another protocol",
        )
    return given_partition(rules, n_rows, number=number, **lists)
