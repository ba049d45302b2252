"""The one file format of kinhash: arrays and a JSON header, verified to the last bit.

A file is a valid safetensors file, so other tools can open it::

    8 bytes   length of what follows, little endian
    header    {"__metadata__": {"digest": ..., "format": ..., "kind": ..., "header": ...},
               "name": {"dtype": "U64", "shape": [2, 3], "data_offsets": [0, 48]}, ...}   and spaces
    arrays    raw little-endian bytes, each starting at a multiple of 64 in the file

Fillers called ``pad.0``, ``pad.1``, ... keep the arrays aligned, because safetensors allows no holes.

*Digest.* blake2b over every byte of the file, the 64 hex digits of the digest itself read as zeros; see
`tree_digest` for how it is spread over threads.

*Reading* trusts nothing: the header is matched against the exact form written here, on the bytes
in place, so nothing is allocated beyond the file itself before the digest holds. *Writing* is all
or nothing, see `files.py`. Nothing is ever unpickled or imported by name. The library `safetensors` is not
used: it copies every array, does not align them to cache lines, and reads a header that nothing vouches for.

What the arrays of a file must look like is data, checked before any of them is used::

    FORMS = {"weights": Form("f4", "qd"), "intercept": Form("f4", "d")}

A letter in a shape stands for one length in all arrays of a file: a small letter for at least 1, a capital
for at least 0. A digit stands for itself, and ``*`` for any length. The letter ``d`` is the number of bits.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap as memory_map
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import DamagedFile, FileProblem, InvalidInput
from .blocks import n_threads
from .files import PathLike, replace_file
from .texts import require_shallow
from .types import Array, Bytes, Facts
from .validation import MAX_BITS

FORMAT = 2  # 1 was never released
ALIGNMENT = 64  # a cache line, and what vector loads need
DIGEST_LENGTH, LEAF = 64, 4 << 20  # hex digits; bytes that one thread hashes at a time
MAX_HEADER = 16 << 20
MAX_ARRAYS = 1000

LARGEST = float(np.finfo(np.float64).max)
POSITIVE = 5e-324  # the least number above zero
# What contents that make no sense may raise; an energy's or a hasher's own checks are among them.
SENSELESS = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError)

Arrays = dict[str, Array]

_DTYPES = {
    "BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "F16": "<f2",
    "U32": "<u4", "I32": "<i4", "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8",
}  # fmt: skip
_NAMES = {np.dtype(code).str: name for name, code in _DTYPES.items()}

_OPENING = b'{"__metadata__":{"digest":"'
_DIGEST_AT = 8 + len(_OPENING)  # in every file at the same place
_ZEROS = b"0" * DIGEST_LENGTH
# Possessive quantifiers (++, *+) match without a stack, however long the header is.
_METADATA = re.compile(
    rb'"([0-9a-f]{64})","format":"([0-9]{1,9})","kind":"([a-z][a-z0-9_-]{0,39})",'
    rb'"header":("(?:[^"\\\x00-\x1f\x7f-\xff]++|\\["\\/bfnrtu])*+")\}'
)
_NUMBER = rb"-?[0-9]{1,30}"
_ENTRY = re.compile(
    rb',"([A-Za-z0-9_./:-]{1,100})":\{"dtype":"([A-Z0-9_]{1,12})",'
    rb'"shape":\[((?:' + _NUMBER + rb"(?:," + _NUMBER + rb"){0,15})?)\],"
    rb'"data_offsets":\[(' + _NUMBER + rb"),(" + _NUMBER + rb")\]\}"
)
_NAME = re.compile(r"[A-Za-z0-9_./:-]{1,100}")
_KIND = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class _Entry(NamedTuple):
    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class _Layout(NamedTuple):
    kind: str
    digest: bytes
    header_span: tuple[int, int]  # of our JSON header, as a JSON string, in the file
    data_start: int
    entries: list[_Entry]


# ---- writing ---------------------------------------------------------------------------------


def write_container(
    path: PathLike, arrays: Mapping[str, Array], header: Mapping[str, object], kind: str
) -> None:
    """Save ``arrays`` and the JSON-able ``header`` as a file of that ``kind``, all or nothing.

    When anything goes wrong, a full disk or Ctrl-C included, an earlier file at ``path`` stays as
    it was and the temporary file is removed. Peak memory: a copy of each array that is not
    contiguous and little endian already.
    """
    if not _KIND.fullmatch(kind):
        raise InvalidInput(f"A file kind is called {kind!r}", "lower-case letters", "Rename the kind")
    pieces = _pieces(arrays, _json_of(header), kind)
    digest = tree_digest(pieces, n_threads())
    opening = bytearray(pieces[0])
    opening[_DIGEST_AT : _DIGEST_AT + DIGEST_LENGTH] = digest
    replace_file(path, [memoryview(opening), *pieces[1:]])


def _json_of(header: Mapping[str, object]) -> str:
    try:
        text = json.dumps(dict(header), allow_nan=False, separators=(",", ":"))
        require_shallow(text)
        return text
    except (TypeError, ValueError, RecursionError) as problem:
        raise InvalidInput(
            f"The header cannot be written as JSON: {problem}",
            "a dictionary of strings, finite numbers, lists and dictionaries",
            "Convert other values to strings first",
        ) from None


def _pieces(arrays: Mapping[str, Array], header: str, kind: str) -> list[memoryview]:
    """All bytes of the file in order, the digest still zero."""
    entries, blobs, offset, fillers = b"", [], 0, 0
    for name, array in arrays.items():
        blob, dtype = _raw(name, array)
        entries += _entry(name, dtype, array.shape, offset, offset + len(blob))
        blobs.append(blob)
        offset += len(blob)
        if spare := -offset % ALIGNMENT:
            entries += _entry(f"pad.{fillers}", "U8", (spare,), offset, offset + spare)
            blobs.append(memoryview(bytes(spare)))
            offset += spare
            fillers += 1
    facts = f'","format":"{FORMAT}","kind":"{kind}","header":{json.dumps(header)}' + "}"
    text = _OPENING + _ZEROS + facts.encode("ascii") + entries + b"}"
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    if len(text) > MAX_HEADER or len(arrays) + fillers > MAX_ARRAYS:
        raise InvalidInput(
            f"A file of {len(arrays)} arrays with {len(header)} characters of header is too much",
            f"at most {MAX_ARRAYS // 2} arrays and {MAX_HEADER >> 20} MiB of header",
            "Store long lists as arrays",
        )
    return [memoryview(len(text).to_bytes(8, "little") + text), *blobs]


def _raw(name: str, array: Array) -> tuple[memoryview, str]:
    little = np.ascontiguousarray(array)
    little = little.astype(little.dtype.newbyteorder("<"), copy=False)
    if not _NAME.fullmatch(name) or name.startswith("pad.") or little.dtype.str not in _NAMES:
        raise InvalidInput(
            f"An array called {name!r} of dtype {array.dtype} cannot be stored",
            f"a plain name and one of the dtypes {', '.join(_NAMES)}",
            "Rename the array or convert it",
        )
    return little.reshape(-1).view(np.uint8).data, _NAMES[little.dtype.str]


def _entry(name: str, dtype: str, shape: tuple[int, ...], begin: int, end: int) -> bytes:
    fact = {"dtype": dtype, "shape": [int(side) for side in shape], "data_offsets": [begin, end]}
    return f',"{name}":{json.dumps(fact, separators=(",", ":"))}'.encode("ascii")


# ---- reading ---------------------------------------------------------------------------------


def read_container(path: PathLike, kind: str | None = None, mmap: bool = False) -> tuple[Arrays, Facts]:
    """Read and verify a file: its arrays by name, and its header.

    ``kind`` refuses files of other kinds (None takes any). ``mmap=True`` maps the file instead of
    reading it and gives read-only arrays; the file must then not be overwritten in place (saving
    over it with `write_container` is fine). All arrays are 64-byte aligned.
    Peak memory: the file size; with ``mmap`` only the pages in use.
    """
    buffer = _load(path, mmap)
    layout = _parse(path, buffer)
    if kind is not None and layout.kind != kind:
        raise FileProblem(
            f"{os.fspath(path)} is a kinhash file of kind {layout.kind!r}",
            f"one of kind {kind!r}",
            "Pass the other file",
        )
    _verify(path, buffer, layout.digest)
    header = _header(path, buffer, layout)
    return _views(path, buffer, layout), header


def container_kind(path: PathLike) -> str:
    """What is in a kinhash file ("model", "codes", "index"), from its header alone, unverified."""
    return _parse(path, _load(path, mmap=True)).kind


def _load(path: PathLike, mmap: bool) -> Bytes:
    """The bytes of the file as one aligned array, mapped or read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # before opening: a pipe would block
            raise FileProblem(f"{os.fspath(path)} is not a file", "a file kinhash wrote", "Pass a file")
        with open(path, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size < _DIGEST_AT + DIGEST_LENGTH:
                raise _damaged(path, f"has only {size} bytes")
            if mmap:
                return np.frombuffer(
                    memory_map.mmap(file.fileno(), size, access=memory_map.ACCESS_READ), np.uint8
                )
            space = np.empty(size + ALIGNMENT, np.uint8)
            buffer = space[-space.ctypes.data % ALIGNMENT :][:size]
            done = 0
            while done < size:
                count = file.readinto(buffer.data[done : done + (1 << 30)])
                if not count:
                    raise _damaged(path, "became shorter while it was read")
                done += count
            return buffer
    except FileProblem:
        raise
    except (OSError, ValueError, OverflowError) as problem:
        raise FileProblem(
            f"{os.fspath(path)} could not be read: {_reason(problem)}",
            "",
            "Check the path and its permissions",
        ) from problem


def _parse(path: PathLike, buffer: Bytes) -> _Layout:
    """Match the header in place and check every number in it; allocates a few small records."""
    if buffer[8:_DIGEST_AT].tobytes() != _OPENING:
        raise FileProblem(
            f"{os.fspath(path)} is not a kinhash file", "a file kinhash wrote", "Pass another file"
        )
    length = int.from_bytes(buffer[:8].tobytes(), "little")
    data_start = 8 + length
    if not _DIGEST_AT <= data_start <= min(len(buffer), 8 + MAX_HEADER) or data_start % ALIGNMENT:
        raise _damaged(path, f"claims a header of {length} bytes in a file of {len(buffer)}")
    view = buffer.data[:data_start]
    version = re.compile(rb'[^"]{0,64}","format":"([0-9]{1,9})"').match(view, _DIGEST_AT)
    if version and int(version[1]) != FORMAT:
        raise FileProblem(
            f"{os.fspath(path)} has format {int(version[1])}, and this version reads format {FORMAT}",
            "",
            "Upgrade kinhash" if int(version[1]) > FORMAT else "Write the file again with this version",
        )
    facts = _METADATA.match(view, _DIGEST_AT - 1)
    if not facts or facts[2] != b"%d" % FORMAT:
        raise _damaged(path, "has metadata of a wrong form")
    entries = list(_entries(path, view, facts.end(), len(buffer) - data_start))
    return _Layout(facts[3].decode(), facts[1], facts.span(4), data_start, entries)


def _entries(path: PathLike, view: memoryview, place: int, data_size: int) -> Iterator[_Entry]:
    seen: set[str] = set()
    offset = 0
    while match := _ENTRY.match(view, place):
        place = match.end()
        name, dtype = match[1].decode(), match[2].decode()
        shape = tuple(int(side) for side in match[3].split(b",")) if match[3] else ()
        begin, end = int(match[4]), int(match[5])
        if name in seen:
            raise _damaged(path, f"names the array {name!r} twice")
        if dtype not in _DTYPES:
            raise _damaged(path, f"has an array of the unknown dtype {dtype!r}")
        if min(shape, default=0) < 0 or math.prod(shape) * np.dtype(_DTYPES[dtype]).itemsize != end - begin:
            raise _damaged(path, f"gives the array {name!r} a shape that does not match its bytes")
        if begin != offset or end > data_size:
            raise _damaged(path, f"places the array {name!r} over others, after a hole, or outside the file")
        if not name.startswith("pad.") and begin % ALIGNMENT:
            raise _damaged(path, f"places the array {name!r} off its alignment")
        if len(seen) == MAX_ARRAYS:
            raise _damaged(path, f"holds more than {MAX_ARRAYS} arrays")
        seen.add(name)
        offset = end
        yield _Entry(name, dtype, shape, begin, end)
    if offset != data_size:
        raise _damaged(path, f"describes {offset} bytes of arrays and holds {data_size}")
    tail = bytes(view[place : place + ALIGNMENT])
    if len(view) - place > ALIGNMENT or tail.rstrip(b" ") != b"}":
        raise _damaged(path, "has an array description of a wrong form")


def _verify(path: PathLike, buffer: Bytes, digest: bytes) -> None:
    view = buffer.data
    after = _DIGEST_AT + DIGEST_LENGTH
    if tree_digest([view[:_DIGEST_AT], memoryview(_ZEROS), view[after:]], n_threads()) != digest:
        raise _damaged(path, "has a wrong digest: its bytes are not the ones that were written")


def _header(path: PathLike, buffer: Bytes, layout: _Layout) -> Facts:
    begin, end = layout.header_span
    try:
        text = json.loads(buffer[begin:end].tobytes())
        require_shallow(text)
        header = json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _damaged(path, "has a header that is not JSON of a sane form") from None
    if not isinstance(header, dict):
        raise _damaged(path, "has a header that is not a dictionary")
    return header


def _no_twins(pairs: list[tuple[str, object]]) -> Facts:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _views(path: PathLike, buffer: Bytes, layout: _Layout) -> Arrays:
    arrays: Arrays = {}
    for entry in layout.entries:
        if entry.name.startswith("pad."):
            continue
        raw = buffer[layout.data_start + entry.begin : layout.data_start + entry.end]
        if entry.dtype == "BOOL" and raw.size and raw.max() > 1:
            raise _damaged(path, f"holds booleans that are neither 0 nor 1 in {entry.name!r}")
        try:
            arrays[entry.name] = raw.view(_DTYPES[entry.dtype]).reshape(entry.shape)
        except ValueError:  # an empty array with another side too long for NumPy
            raise _damaged(path, f"gives the array {entry.name!r} an impossible shape") from None
    return arrays


# ---- the digest ------------------------------------------------------------------------------


def tree_digest(pieces: Sequence[memoryview], threads: int = 1) -> bytes:
    """Hex digest of the pieces laid end to end, at memory speed: fixed leaves, hashed on all threads.

    The bytes are cut into leaves of 4 MiB and the digest is the hash of the leaf hashes,
    ``B(n || B(leaf_0) || B(leaf_1) || ...)`` with ``n`` the number of bytes in 8 little-endian bytes and
    ``B`` blake2b of 32 bytes. The result does not depend on the number of threads.
    """
    leaves: list[list[memoryview]] = [[]]
    room = LEAF
    for piece in pieces:
        while len(piece):
            if not room:
                leaves.append([])
                room = LEAF
            part, piece = piece[:room], piece[room:]
            leaves[-1].append(part)
            room -= len(part)
    if len(leaves) == 1 or threads == 1:
        hashes = [_leaf_hash(leaf) for leaf in leaves]
    else:
        with ThreadPoolExecutor(threads) as pool:  # hashlib lets the other threads run
            hashes = list(pool.map(_leaf_hash, leaves))
    size = sum(map(len, pieces))
    root = hashlib.blake2b(size.to_bytes(8, "little") + b"".join(hashes), digest_size=DIGEST_LENGTH // 2)
    return root.hexdigest().encode("ascii")


def _leaf_hash(leaf: Sequence[memoryview]) -> bytes:
    state = hashlib.blake2b(digest_size=DIGEST_LENGTH // 2)
    for part in leaf:
        state.update(part)
    return state.digest()


# ---- forms of arrays and headers --------------------------------------------------------------


class Form(NamedTuple):
    """One array: its dtype as NumPy writes it, its shape, and the range of its values, ends included."""

    dtype: str
    shape: str
    low: float = -LARGEST
    high: float = LARGEST


Forms = dict[str, Form]


def check_forms(arrays: Mapping[str, Array], forms: Mapping[str, Form]) -> dict[str, int]:
    """The length each letter stands for; a ValueError where an array is missing, unknown or of another form.

    Values are looked at only after all shapes are known to fit. Allocates nothing to speak of.
    """
    if odd := sorted(arrays.keys() ^ forms.keys()):
        raise ValueError(f"arrays that are missing or unknown: {', '.join(odd[:5])}")
    lengths: dict[str, int] = {}
    for name, form in forms.items():
        array = arrays[name]
        if array.dtype.str[1:] != form.dtype or not _fits(array.shape, form.shape, lengths):
            known = ", ".join(f"{letter} = {length}" for letter, length in lengths.items())
            found = f"{array.dtype.str[1:]} of shape {array.shape}"
            raise ValueError(f"{name} is {found} and not {form.dtype} of shape {tuple(form.shape)}, {known}")
    if lengths.get("d", 1) > MAX_BITS:
        raise ValueError(f"{lengths['d']} bits, and codes have at most {MAX_BITS}")
    for name, form in forms.items():
        array = arrays[name]
        # NaN is in no range: it must fail the comparison, not pass it.
        if array.size and not (form.low <= array.min().item() and array.max().item() <= form.high):
            raise ValueError(f"{name} holds values that are not from {form.low:g} to {form.high:g}")
    return lengths


def _fits(shape: tuple[int, ...], form: str, lengths: dict[str, int]) -> bool:
    if len(shape) != len(form):
        return False
    for letter, length in zip(form, shape, strict=True):
        if letter == "*":
            continue
        wanted = int(letter) if letter.isdigit() else lengths.setdefault(letter, length)
        if length != wanted or (length < 1 and not letter.isupper()):
            return False
    return True


def require_facts(header: Facts, facts: Facts) -> None:
    """Refuse a header that has not exactly these facts, of these types, and a sensible length."""
    if header.keys() != facts.keys():
        raise ValueError("facts that are missing or unknown")
    for name, kind in facts.items():
        if not isinstance(header[name], kind) or (isinstance(header[name], bool) and kind is not bool):
            raise ValueError(f"{name} of the type {type(header[name]).__name__}")
    if not 1 <= header["n_bits"] <= MAX_BITS:
        raise ValueError(f"codes of {header['n_bits']} bits")


# ---- errors ----------------------------------------------------------------------------------


def _damaged(path: PathLike, what: str) -> DamagedFile:
    return DamagedFile(f"{Path(path)} {what}", "the file as kinhash wrote it", "Restore it or write it again")


def _reason(problem: BaseException) -> str:
    return getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
