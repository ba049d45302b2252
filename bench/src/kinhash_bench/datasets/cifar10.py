"""CIFAR-10 from the official binary archive, or from the folder it unpacks to.

Six files of records: one byte of class, then 1,024 red, 1,024 green and 1,024 blue bytes.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import numpy.typing as npt

from kinhash.errors import FileProblem
from kinhash.plugins import damaged, read_bytes, reading

from .base import Dataset, Facts, Source, Wanted, class_labels, rows_between
from .files import digest_of, inflated_size_limit

__all__ = ["FACTS", "SOURCE", "read"]

ARCHIVE = "cifar-10-binary.tar.gz"
FOLDER = "cifar-10-batches-bin"
BATCHES = (*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin")
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
RECORD = 1 + 3 * 32 * 32
KIND = f"CIFAR-10 records of {RECORD} bytes"

FACTS = Facts(
    name="cifar10",
    about="60,000 color pictures of 32 x 32 pixels in 10 classes, as pixels",
    source="https://www.cs.toronto.edu/~kriz/cifar.html",
    license="none stated; free for research with citation",
    citation="Krizhevsky, Learning multiple layers of features from tiny images, 2009",
    rows=60_000,
    columns=3072,
    labels=10,
    files=(
        Wanted(
            any_of=(ARCHIVE, FOLDER, BATCHES[0]),
            checksum="sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            url=f"https://www.cs.toronto.edu/~kriz/{ARCHIVE}",
        ),
    ),
    folder="cifar10",
    instead=("cifar10_gist512", "cifar10_efficientnet_lite0_pca256"),
)


def read(folder: Path) -> Dataset:
    """Pixels (60,000, 3,072) uint8, row by row of the picture, color last; the training rows first.

    ``dataset.images()`` gives them as (n, 32, 32, 3). Peak memory: twice the pixels of one batch
    beyond the 184 MB of the result.
    """
    folder = Path(folder)
    archive = folder / ARCHIVE
    if archive.is_file():
        batches, files = _from_archive(archive), [archive]
    else:
        inner = folder / FOLDER if (folder / FOLDER).is_dir() else folder
        files = [inner / name for name in BATCHES]
        batches = {path.name: _from_file(path) for path in files}
    n_train = sum(len(batches[name]) for name in BATCHES[:-1])
    classes = np.concatenate([batches[name][:, 0] for name in BATCHES])
    pixels = np.empty((len(classes), 32, 32, 3), np.uint8)
    start = 0
    for name in BATCHES:
        records = batches.pop(name)
        pixels[start : start + len(records)] = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        start += len(records)
    return FACTS.dataset(
        pixels.reshape(len(classes), -1),
        class_labels(classes, CLASSES),
        digest_of(files),
        train=rows_between(0, n_train),
        queries=rows_between(n_train, len(classes)),
        image_shape=(32, 32, 3),
    )


def _from_archive(path: Path) -> dict[str, npt.NDArray[np.uint8]]:
    limit = inflated_size_limit(path)
    with reading(path, f"the archive {ARCHIVE}") as stream, _tar(stream) as archive:
        batches = {}
        for member in archive:
            name = Path(member.name).name
            if name not in BATCHES or not member.isreg() or name in batches:
                continue
            if member.size > limit:
                raise damaged(path, f"{name} claims {member.size:,} bytes, which cannot be in it", KIND)
            part = archive.extractfile(member)
            assert part is not None  # a regular file always has contents
            batches[name] = _records(cast(BinaryIO, part), member.size, f"{path} ({name})")
    missing = [name for name in BATCHES if name not in batches]
    if missing:
        raise FileProblem(
            f"{path} lacks {', '.join(missing)}", "the six batches", f"Fetch it from {FACTS.source}"
        )
    return batches


def _tar(stream: BinaryIO) -> tarfile.TarFile:
    return tarfile.open(fileobj=stream, mode="r:*")


def _from_file(path: Path) -> npt.NDArray[np.uint8]:
    with reading(path, KIND) as stream:
        return _records(stream, path.stat().st_size, path)


def _records(stream: BinaryIO, size: int, path: object) -> npt.NDArray[np.uint8]:
    if size == 0 or size % RECORD:
        raise damaged(path, f"it has {size:,} bytes, which is no whole number of records", KIND)
    records = read_bytes(stream, size, path, KIND).reshape(-1, RECORD)
    if records[:, 0].max() >= len(CLASSES):
        row = int((records[:, 0] >= len(CLASSES)).argmax())
        raise damaged(path, f"record {row} has the class {records[row, 0]}", "classes 0 to 9")
    return records


SOURCE = Source(FACTS, read)
