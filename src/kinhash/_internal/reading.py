"""Reading strangers' files: every way a file can fail becomes one clear error.

A reader wraps its work in ``reading(path, "an IDX file")``. Inside, ordinary Python errors of parsing and
decompressing may happen; outside, there is only `FileProblem` (or `DamagedFile`), which names the file and
what was expected. Nothing is allocated on the word of a header before the header has been compared with the
size of the file, and lines have a bounded length: a small gzip file may hold one that fills the memory.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import math
import os
import struct
import tarfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np
from numpy.lib import format as npy

from ..errors import DamagedFile, FileProblem, KinhashError
from .blocks import require_memory
from .files import PathLike
from .types import Array, Bytes

MAX_INFLATION = 1100  # deflate cannot do better than 1032 to 1
LONGEST_LINE = 2**25  # characters: a row of more than a million numbers
LONGEST_HEADER = 1 << 16
NPY = "a .npy file of numbers or text"
NPZ = "an .npz file of plain arrays"
BOUNDED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of the others, zipfile inflates any amount at once

# What parsing and decompressing damaged bytes is known to raise.
DAMAGE = (
    EOFError,
    OverflowError,
    RecursionError,
    SyntaxError,
    ValueError,  # includes UnicodeDecodeError
    csv.Error,
    gzip.BadGzipFile,
    struct.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,  # zipfile: a compression method it does not know
    RuntimeError,  # zipfile: an encrypted member
)


def damaged(
    path: object, what: str, expected: str, remedy: str = "Fetch or write the file again"
) -> DamagedFile:
    """The error for a file whose contents do not hold together."""
    return DamagedFile(f"{path}: {what}", expected, remedy)


@contextlib.contextmanager
def translating(path: object, kind: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into one clear error that names ``path``."""
    try:
        yield
    except KinhashError:
        raise
    except DAMAGE as error:
        detail = " ".join(str(error).split())[:200] or type(error).__name__
        raise damaged(path, f"it could not be read ({detail})", kind) from error
    except FileNotFoundError as error:
        raise FileProblem(f"{path}: there is no such file", kind, "Check the path") from error
    except IsADirectoryError as error:
        raise FileProblem(f"{path}: this is a folder, not a file", kind, "Name a file in it") from error
    except PermissionError as error:
        what = f"{path}: you are not allowed to read this file"
        raise FileProblem(what, kind, "Change its permissions, or copy it") from error
    except OSError as error:
        what = f"{path}: the system could not read it ({error.strerror or error})"
        raise FileProblem(what, kind, "Check the path and the disk") from error


@contextlib.contextmanager
def reading(path: PathLike, kind: str) -> Iterator[BinaryIO]:
    """Open ``path`` for reading, and translate errors while it is open."""
    with translating(path, kind), open(path, "rb") as stream:
        if os.fstat(stream.fileno()).st_size == 0 and Path(path).is_file():
            raise damaged(path, "the file is empty", kind)
        yield stream


@contextlib.contextmanager
def inflated(path: PathLike, kind: str) -> Iterator[BinaryIO]:
    """As `reading`, but unzips a gzipped file, which its first bytes reveal."""
    with reading(path, kind) as stream:
        zipped = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        if zipped:
            with gzip.GzipFile(fileobj=stream) as plain:
                yield cast(BinaryIO, plain)
        else:
            yield stream


def read_bytes(stream: BinaryIO, count: int, path: object, kind: str) -> Bytes:
    """Exactly ``count`` bytes, or an error that says how many were there."""
    raw = stream.read(count)
    if len(raw) < count:
        raise damaged(path, f"the file ends after {len(raw):,} of {count:,} bytes", kind)
    return np.frombuffer(raw, np.uint8)


# ---- text --------------------------------------------------------------------------------------


class Lines:
    """The lines of a UTF-8 file, of bounded length; ``number`` is that of the last one, counted from 1.

    A byte-order mark does not matter, nor do Windows line ends (``newline`` is that of `open`).
    """

    def __init__(self, stream: BinaryIO, newline: str | None = None) -> None:
        self._text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline=newline)
        self._back, self.number = "", 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if line := self._back:
            self._back = ""
            return line
        self.number += 1
        if not (line := self._text.readline(LONGEST_LINE + 1)):
            raise StopIteration
        if len(line) > LONGEST_LINE:
            raise ValueError(f"a line of more than {LONGEST_LINE:,} characters")
        if self.number <= 100 and "\0" in line:
            raise ValueError("this is not text")
        return line

    def put_back(self, line: str) -> None:
        """Return the last line once more."""
        self._back = line


# ---- NumPy's own files -------------------------------------------------------------------------
# ``np.load`` believes a header: a few damaged bytes ask it for terabytes, and pickled objects run code.


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
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError) as error:
        detail = " ".join(str(error).split())[:120]
        remedy = "Check that the extension fits the contents, or write the file again with np.save"
        raise damaged(path, f"its header cannot be used ({detail})", NPY, remedy) from error
    dtype, shape = header.dtype, header.shape
    sizes = len(shape) <= 8 and all(type(size) is int and size >= 0 for size in shape)  # True is an int
    if dtype.kind not in "biufUS" or dtype.itemsize == 0 or not sizes:
        raise damaged(path, f"its header claims {dtype} of shape {shape}", NPY, "Save plain numbers or text")
    return header


def read_npy(path: PathLike) -> Array:
    """The array of a ``.npy`` file as a read-only memory map."""
    with reading(path, NPY) as stream:
        header = read_header(stream, path)
        there = os.fstat(stream.fileno()).st_size - stream.tell()
        if there != header.n_bytes:
            what = f"its header promises {header.n_bytes:,} bytes of data and {there:,} are there"
            raise damaged(path, what, NPY)
        return cast(Array, np.load(path, mmap_mode="r", allow_pickle=False))


def npz_headers(path: PathLike) -> dict[str, Header]:
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
def npz_member(path: PathLike, name: str) -> Iterator[tuple[Header, BinaryIO]]:
    """One array of a ``.npz`` that `npz_headers` has checked: its header, and the stream of its data."""
    with (
        reading(path, NPZ) as stream,
        zipfile.ZipFile(stream) as archive,
        archive.open(f"{name}.npy") as member,
    ):
        plain = cast(BinaryIO, member)
        yield read_header(plain, path), plain


def read_npz(path: PathLike, *names: str) -> dict[str, Array]:
    """The arrays of a ``.npz`` called ``names``, or all of them. Peak memory: these arrays, and a buffer."""
    headers = npz_headers(path)
    names = names or tuple(headers)
    n_bytes = sum(headers[name].n_bytes for name in names)
    require_memory(n_bytes, f"Reading {path}", "Save its arrays one by one with np.save")
    with reading(path, NPZ) as stream, np.load(stream, allow_pickle=False) as archive:
        return {name: archive[f"{name}.npy"] for name in names}
