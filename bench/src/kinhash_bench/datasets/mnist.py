"""MNIST and Fashion-MNIST from their IDX files, gzipped or not.

IDX: two zero bytes, the type (8 = bytes), the number of dimensions, each size as four bytes
(most significant first), then the data.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kinhash.errors import FileProblem
from kinhash.plugins import damaged, inflated, read_bytes

from .base import Dataset, Facts, Source, Wanted, class_labels, rows_between
from .files import digest_of, inflated_size_limit

__all__ = ["FASHION_MNIST", "MNIST", "read_idx"]

FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
KIND = "an IDX file of bytes"


def read_idx(path: str | Path) -> npt.NDArray[np.uint8]:
    """The array of one IDX file; the sizes it promises are compared with the file first."""
    with inflated(path, KIND) as stream:
        start = stream.read(4)
        if len(start) < 4 or start[:3] != b"\0\0\x08" or not 1 <= start[3] <= 4:
            raise damaged(path, "it does not begin like an IDX file of bytes", KIND)
        sizes = stream.read(4 * start[3])
        if len(sizes) < 4 * start[3]:
            raise damaged(path, "the file ends inside its header", KIND)
        shape = struct.unpack(f">{start[3]}I", sizes)
        count = math.prod(shape)
        if count > inflated_size_limit(path):
            raise damaged(path, f"its header promises {count:,} bytes, which cannot be in it", KIND)
        values = read_bytes(stream, count, path, KIND)
        if stream.read(1):
            raise damaged(path, "there is more in it than its header promises", KIND)
    return values.reshape(shape)


def _source(facts: Facts, classes: Sequence[str]) -> Source:
    def read(folder: Path) -> Dataset:
        """Pixels (70,000, 784) uint8 and classes, the 60,000 training rows first."""
        files = []
        for wanted in facts.files:
            path = wanted.find(Path(folder))
            if path is None:
                raise FileProblem(
                    f"{folder} lacks {wanted.any_of[0]}", "four IDX files", f"Get it from {facts.source}"
                )
            files.append(path)
        pictures, numbers = _pair(files[0], files[1], len(classes))
        test_pictures, test_numbers = _pair(files[2], files[3], len(classes))
        if pictures.shape[1:] != test_pictures.shape[1:]:
            raise damaged(
                files[2], f"its pictures have shape {test_pictures.shape[1:]}", f"{pictures.shape[1:]}"
            )
        pixels = np.concatenate([pictures, test_pictures])
        return facts.dataset(
            pixels.reshape(len(pixels), -1),
            class_labels(np.concatenate([numbers, test_numbers]), classes),
            digest_of(files),
            train=rows_between(0, len(pictures)),
            queries=rows_between(len(pictures), len(pixels)),
            image_shape=pixels.shape[1:],
        )

    return Source(facts, read)


def _pair(images: Path, labels: Path, n_classes: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    pictures, numbers = read_idx(images), read_idx(labels)
    if pictures.ndim != 3 or 0 in pictures.shape:
        raise damaged(images, f"it holds an array of shape {pictures.shape}", "pictures (n, height, width)")
    if numbers.shape != (len(pictures),):
        raise damaged(
            labels, f"it has shape {numbers.shape}", f"one label for each of {len(pictures)} pictures"
        )
    if numbers.max() >= n_classes:
        raise damaged(labels, f"it holds the label {numbers.max()}", f"labels 0 to {n_classes - 1}")
    return pictures, numbers


def _wanted(base: str, md5: Sequence[str]) -> tuple[Wanted, ...]:
    return tuple(
        Wanted(any_of=(f"{name}.gz", name), checksum=f"md5:{digest}", url=f"{base}{name}.gz")
        for name, digest in zip(FILES, md5, strict=True)
    )


MNIST = _source(
    Facts(
        name="mnist",
        about="70,000 handwritten digits of 28 x 28 pixels, as pixels",
        source="https://ossci-datasets.s3.amazonaws.com/mnist/",
        license="CC BY-SA 3.0",
        citation="LeCun et al., Gradient-based learning applied to document recognition, 1998",
        rows=70_000,
        columns=784,
        labels=10,
        files=_wanted(
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            (
                "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                "d53e105ee54ea40749a09fcbcd1e9432",
                "9fb629c4189551a2d022fa330f9573f3",
                "ec29112dd5afa0611ce80d1b7f02629c",
            ),
        ),
        folder="mnist",
        shared_folder=False,  # both sets use the same file names
        instead=("digits",),
    ),
    [str(digit) for digit in range(10)],
)

FASHION_MNIST = _source(
    Facts(
        name="fashion_mnist",
        about="70,000 pictures of clothing of 28 x 28 pixels, as pixels",
        source="https://github.com/zalandoresearch/fashion-mnist",
        license="MIT",
        citation="Xiao, Rasul & Vollgraf, Fashion-MNIST, arXiv 1708.07747, 2017",
        rows=70_000,
        columns=784,
        labels=10,
        files=_wanted(
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
            (
                "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                "25c81989df183df01b3e8a0aad5dffbe",
                "bef4ecab320f06d8554ea6380940ec79",
                "bb300cfdad3c16e7a12a480ee83cd310",
            ),
        ),
        folder="fashion_mnist",
        shared_folder=False,
        instead=("digits",),
    ),
    ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"),
)
