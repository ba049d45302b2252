"""NumPy's own files, read without trust: ``.npy`` and ``.npz``.

``np.load`` believes a header: a few damaged bytes ask it for terabytes, and pickled objects run code. So
the sizes that a header claims are compared with the file before anything is allocated, and arrays of
anything but numbers and text are refused.
"""

from __future__ import annotations

import contextlib
import math
import os
import tokenize
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np
from numpy.lib import format as npy

from .._internal.blocks import require_memory
from .._internal.files import replacing_file
from .._internal.types import Array, Facts
from .files import MAX_INFLATION, damaged, reading

__all__ = ["Header", "npz_headers", "npz_member", "read_header", "read_npy", "read_npz", "write_npz"]

NPY = "a .npy file of numbers or text"
NPZ = "an .npz file of plain arrays"
LONGEST_HEADER = 1 << 16
BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of the others, zipfile inflates any amount at once
# What NumPy's reading of a damaged header is known to raise.
HEADER_DAMAGE = (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError)


class Header(NamedTuple):
    """What a ``.npy`` file says about itself."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[np.generic]

    @property
    def n_bytes(self) -> int:
        """Bytes of data that must follow."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(stream: BinaryIO, path: object) -> Header:
    """Read the header and leave the stream at the first byte of data."""
    try:
        first = npy.read_magic(stream) == (1, 0)
        header = Header(*(npy.read_array_header_1_0 if first else npy.read_array_header_2_0)(stream))
    except HEADER_DAMAGE as error:
        detail = " ".join(str(error).split())[:120]
        remedy = "Check that the extension fits the contents, or write the file again with np.save"
        raise damaged(path, f"its header cannot be used ({detail})", NPY, remedy) from error
    dtype, shape = header.dtype, header.shape
    sizes = len(shape) <= 8 and all(type(size) is int and size >= 0 for size in shape)  # True is an int
    if dtype.kind not in "biufUS" or dtype.itemsize == 0 or not sizes:
        raise damaged(path, f"its header claims {dtype} of shape {shape}", NPY, "Save plain numbers or text")
    return header


def read_npy(path: str | os.PathLike[str]) -> Array:
    """The array of a ``.npy`` file as a read-only memory map."""
    with reading(path, NPY) as stream:
        header = read_header(stream, path)
        there = os.fstat(stream.fileno()).st_size - stream.tell()
        if there != header.n_bytes:
            what = f"its header promises {header.n_bytes:,} bytes of data and {there:,} are there"
            raise damaged(path, what, NPY)
        return cast(Array, np.load(path, mmap_mode="r", allow_pickle=False))


def npz_headers(path: str | os.PathLike[str]) -> dict[str, Header]:
    """The arrays of a ``.npz`` by name, after comparing the sizes they claim with the file."""
    headers: dict[str, Header] = {}
    with reading(path, NPZ) as stream, zipfile.ZipFile(stream) as archive:
        size = os.fstat(stream.fileno()).st_size
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name == info.filename:
                continue
            most = MAX_INFLATION * info.compress_size + LONGEST_HEADER
            if info.compress_type not in BOUNDED:
                raise damaged(path, f"{name!r} is compressed in an unusual way", NPZ, "Use np.savez")
            if name in headers or info.compress_size > size or info.file_size > most:
                raise damaged(path, f"it holds {name!r} twice, or claims more than it can hold", NPZ)
            with archive.open(info) as member:
                headers[name] = read_header(cast(BinaryIO, member), f"{path} ({info.filename})")
                if member.tell() + headers[name].n_bytes != info.file_size:
                    raise damaged(path, f"{name!r} does not have the size its header promises", NPZ)
    if not headers:
        raise damaged(path, "it holds no arrays", NPZ)
    return headers


@contextlib.contextmanager
def npz_member(path: str | os.PathLike[str], name: str) -> Iterator[tuple[Header, BinaryIO]]:
    """One array of a ``.npz`` that ``npz_headers`` has checked: its header, and the stream of its data."""
    with (
        reading(path, NPZ) as stream,
        zipfile.ZipFile(stream) as archive,
        archive.open(f"{name}.npy") as member,
    ):
        plain = cast(BinaryIO, member)
        yield read_header(plain, path), plain


def read_npz(path: str | os.PathLike[str], *names: str) -> dict[str, Array]:
    """The arrays of a ``.npz`` called ``names``, or all of them. Peak memory: these arrays, and a buffer."""
    headers = npz_headers(path)
    names = names or tuple(headers)
    n_bytes = sum(headers[name].n_bytes for name in names)
    require_memory(n_bytes, f"Reading {path}", "Save its arrays one by one with np.save")
    with reading(path, NPZ) as stream, np.load(stream, allow_pickle=False) as archive:
        return {name: archive[f"{name}.npy"] for name in names}


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, Array]) -> None:
    """Write a compressed ``.npz``, all or nothing; the folder is made if it is not there."""
    with contextlib.suppress(OSError):  # said when the file cannot be written
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing_file(path) as handle, os.fdopen(handle, "wb", closefd=False) as stream:
        # The stubs of savez count every keyword as one of its own options.
        np.savez_compressed(stream, **cast(Facts, dict(arrays)))
