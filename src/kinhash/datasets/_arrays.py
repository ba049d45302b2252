"""NumPy's own file formats, read without trust: ``.npy`` and ``.npz``.

``np.load`` believes the header: a few damaged bytes ask it for terabytes, and pickled objects run
code. Here a header must be plain (numbers or text, no objects), and must agree with the size of
the file, before anything is allocated.
"""

from __future__ import annotations

import ast
import contextlib
import math
import os
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import numpy as np
import numpy.typing as npt

from .._files import replacing_file
from ._files import MAX_INFLATION, damaged, read_bytes, reading

__all__ = [
    "NPY_MAGIC",
    "NpyHeader",
    "member_stream",
    "npz_members",
    "read_npy",
    "read_npy_header",
    "read_npz",
]
__all__ += ["write_npz"]

NPY_MAGIC = b"\x93NUMPY"
PLAIN = re.compile(r"[<>|=]?[?biufUS]\d{0,6}")
MAX_HEADER = 1 << 16
NPY = "a .npy file of numbers or text"
NPZ = "an .npz file of plain arrays"


@dataclass(frozen=True)
class NpyHeader:
    """What a ``.npy`` file says about itself; ``size`` is the length of the header in bytes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    size: int

    @property
    def n_bytes(self) -> int:
        """Bytes of data that must follow."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy_header(stream: BinaryIO, path: object) -> NpyHeader:
    """Read the header and leave the stream at the first byte of data."""
    start = stream.read(8)
    if start[:6] != NPY_MAGIC:
        raise damaged(
            path, "it does not begin like a .npy file", NPY, "Check that the extension fits the contents"
        )
    width = {1: 2, 2: 4}.get(start[6] if len(start) == 8 else 0)
    if width is None:
        raise damaged(path, "its .npy version is unknown", "version 1 or 2", "Write it again with np.save")
    (length,) = struct.unpack("<H" if width == 2 else "<I", stream.read(width).ljust(width, b"\0"))
    text = stream.read(min(length, MAX_HEADER))
    if length > MAX_HEADER or len(text) < length:
        raise damaged(path, "the file ends inside its header", NPY)
    try:
        if b"\\" in text:  # no honest header escapes anything
            raise ValueError("a backslash")
        said = ast.literal_eval(text.decode("latin1").strip())
        descr, fortran, shape = said["descr"], said["fortran_order"], said["shape"]
        plain = isinstance(descr, str) and PLAIN.fullmatch(descr) and isinstance(fortran, bool)
        sizes = isinstance(shape, tuple) and len(shape) <= 8 and all(type(n) is int and n >= 0 for n in shape)
        if not plain or not sizes:
            raise ValueError(f"dtype {str(descr)[:40]!r}, shape {str(shape)[:40]}")
        dtype = np.dtype(descr)
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as error:
        raise damaged(
            path, f"its header cannot be used ({str(error)[:80]})", NPY, "Save plain numbers"
        ) from error
    if dtype.itemsize == 0 or dtype.hasobject:
        raise damaged(path, f"it holds {dtype}", NPY, "Save plain numbers or text")
    return NpyHeader(dtype, shape, fortran, 8 + width + length)


def read_npy(path: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """The array of a ``.npy`` file as a read-only memory map (an empty array is read)."""
    with reading(path, NPY) as stream:
        header = read_npy_header(stream, path)
        there = os.fstat(stream.fileno()).st_size - header.size
        if there != header.n_bytes:
            what = f"its header promises {header.n_bytes:,} bytes of data and {there:,} are there"
            raise damaged(path, what, NPY)
        if header.n_bytes == 0:
            return np.empty(header.shape, header.dtype)
        return np.memmap(path, header.dtype, "r", header.size, header.shape, "F" if header.fortran else "C")


@contextlib.contextmanager
def npz_members(path: str | os.PathLike[str]) -> Iterator[tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]]:
    """Open a ``.npz`` and list its arrays by name, refusing sizes the file cannot hold."""
    with reading(path, NPZ) as stream, zipfile.ZipFile(stream) as archive:
        size = os.fstat(stream.fileno()).st_size
        members: dict[str, zipfile.ZipInfo] = {}
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name == info.filename:
                continue
            if name in members:
                raise damaged(path, f"it holds {name!r} twice", NPZ)
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise damaged(
                    path, f"{name!r} is compressed in an unusual way", NPZ, "Use np.savez_compressed"
                )
            if info.compress_size > size or info.file_size > MAX_INFLATION * info.compress_size + MAX_HEADER:
                raise damaged(path, f"{name!r} claims a size that cannot be in the file", NPZ)
            members[name] = info
        if not members:
            raise damaged(path, "it holds no arrays", NPZ)
        yield archive, members


@contextlib.contextmanager
def member_stream(
    path: str | os.PathLike[str], archive: zipfile.ZipFile, info: zipfile.ZipInfo
) -> Iterator[tuple[NpyHeader, BinaryIO]]:
    """One array of a ``.npz``: its header, and the stream of its data."""
    with archive.open(info) as member:
        stream = cast(BinaryIO, member)
        header = read_npy_header(stream, f"{path} ({info.filename})")
        if header.size + header.n_bytes != info.file_size:
            raise damaged(path, f"{info.filename} does not have the size its header promises", NPZ)
        yield header, stream


def read_npz(path: str | os.PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """All arrays of a ``.npz`` by name. Peak memory: the arrays, and a buffer."""
    with npz_members(path) as (archive, members):
        arrays = {}
        for name, info in members.items():
            with member_stream(path, archive, info) as (header, stream):
                raw = read_bytes(stream, header.n_bytes, path, NPZ)
                stream.read(1)  # the archive compares its checksum once it has met the end
            order: Literal["F", "C"] = "F" if header.fortran else "C"
            arrays[name] = np.ndarray(header.shape, header.dtype, raw.data, order=order)
        return arrays


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write a compressed ``.npz``, all or nothing; the folder is made if it is not there."""
    with contextlib.suppress(OSError):  # said when the file cannot be written
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    with replacing_file(path) as handle, os.fdopen(handle, "wb", closefd=False) as stream:
        # The stubs of savez count every keyword as one of its own options.
        np.savez_compressed(stream, **cast(dict[str, Any], dict(arrays)))
