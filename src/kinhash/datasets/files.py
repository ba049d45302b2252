"""Reading strangers' files: every way a file can fail becomes one clear error.

A reader wraps its work in ``reading(path, "an IDX file")``. Inside, ordinary Python errors of
parsing and decompressing may happen; outside, there is only ``FileProblem`` (or ``DamagedFile``),
which names the file and what was expected. Nothing is allocated on the word of a header before the
header has been compared with the size of the file.
"""

from __future__ import annotations

import csv
import gzip
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from .._internal.types import Bytes
from ..errors import DamagedFile, FileProblem, KinhashError

__all__ = ["MAX_INFLATION", "TEXT_FORMATS", "damaged", "file_format", "inflated", "read_bytes", "reading"]
__all__ += ["translating"]

MAX_INFLATION = 1100  # deflate cannot do better than 1032 to 1
TEXT_FORMATS = (".csv", ".tsv", ".txt", ".svm", ".svmlight", ".libsvm")

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


def _open_problem(path: object, error: OSError, kind: str) -> FileProblem:
    """Say in plain words why a file could not be opened."""
    if isinstance(error, FileNotFoundError):
        what, remedy = "there is no such file", "Check the path"
    elif isinstance(error, IsADirectoryError):
        what, remedy = "this is a folder, not a file", "Name a file in it"
    elif isinstance(error, PermissionError):
        what, remedy = "you are not allowed to read this file", "Change its permissions, or copy it"
    else:
        what, remedy = (
            f"the system could not read it ({error.strerror or error})",
            "Check the path and the disk",
        )
    return FileProblem(f"{path}: {what}", kind, remedy)


@contextmanager
def translating(path: object, kind: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into one clear error that names ``path``."""
    try:
        yield
    except KinhashError:
        raise
    except DAMAGE as error:
        detail = " ".join(str(error).split())[:200] or type(error).__name__
        raise damaged(path, f"it could not be read ({detail})", kind) from error
    except OSError as error:
        raise _open_problem(path, error, kind) from error


@contextmanager
def reading(path: str | os.PathLike[str], kind: str) -> Iterator[BinaryIO]:
    """Open ``path`` for reading, and translate errors while it is open."""
    with translating(path, kind), open(path, "rb") as stream:
        if os.fstat(stream.fileno()).st_size == 0 and Path(path).is_file():
            raise damaged(path, "the file is empty", kind)
        yield stream


@contextmanager
def inflated(path: str | os.PathLike[str], kind: str) -> Iterator[BinaryIO]:
    """As ``reading``, but unzips a gzipped file, which its first bytes reveal."""
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


def file_format(file: Path, formats: Sequence[str], kind: str, remedy: str) -> str:
    """The extension of a file that is there, one of ``formats``; text may be gzipped (``.csv.gz``)."""
    with translating(file, kind):
        file.stat()
        if file.is_dir():
            raise IsADirectoryError
    zipped = file.suffix == ".gz"
    suffix = (file.with_suffix("") if zipped else file).suffix.lower()
    if suffix not in formats or (zipped and suffix not in TEXT_FORMATS):
        raise FileProblem(
            f"{file}: the extension {file.suffix!r} says nothing about its format",
            f"one of {', '.join(formats)}",
            remedy,
        )
    return suffix
