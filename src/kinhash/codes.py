"""Packed bits: what all rooms share, and files of them.

A code of ``d`` bits is ``ceil(d / 8)`` bytes in ``np.packbits`` order (first bit = most significant bit of
the first byte, padding bits zero): what FAISS, pgvector and others take. Every bit counts one. `Codes` is
those bytes plus the number of bits and, optionally, the ids of the rows, which rows were learned with their
labels, and the id of the model that made them, so that codes of different models are never compared by
accident.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ._internal.container import (
    SENSELESS,
    Arrays,
    Form,
    check_forms,
    read_container,
    require_facts,
    write_container,
)
from ._internal.texts import from_bytes, to_bytes
from ._internal.types import Array, Bools, Bytes, Facts, Floats, Ints, Words
from ._internal.validation import MAX_BITS, check_n_bits, is_integer, unmasked
from .errors import CodesMismatch, DamagedFile, InvalidInput

__all__ = [
    "MAX_BITS",
    "N_PLANES",
    "Codes",
    "CodesLike",
    "as_codes",
    "load_codes",
    "n_bytes",
    "pack_bits",
    "planes_of",
    "save_codes",
    "to_words",
    "unpack_bits",
    "weights_of",
    "word_distances",
]


@dataclass(frozen=True, eq=False)
class Codes:
    """Packed codes (n, bytes) with what one must know to use them.

    Wherever an array is expected (NumPy, FAISS), the packed bytes stand in: ``np.asarray(codes)`` copies
    nothing. ``codes[rows]`` selects rows, with their ids.

    Parameters
    ----------
    packed : ndarray of uint8, shape (n, ceil(n_bits / 8))
        The codes in ``np.packbits`` order. Shape, dtype and zero padding are checked.
    n_bits : int
        Length of a code, 1 to 16,384.
    ids : ndarray or None, default=None
        One id per row, integers or strings.
    model_id : str or None, default=None
        The model that made the codes.
    learned : bool or ndarray of bool, shape (n,), default=False
        Which rows were learned with their labels. Scores by the same labels would flatter such rows. An array
        of equal values becomes one bool.
    same_within : int or None, default=None
        The radius within which rows are the same, where the model had decided one (`Hasher.decide`).

    Examples
    --------
    >>> codes = Codes(np.array([[0b10100000]], np.uint8), n_bits=3)
    >>> len(codes), codes.bits().tolist()
    (1, [[1, 0, 1]])
    """

    packed: Bytes
    n_bits: int
    ids: Array | None = None
    model_id: str | None = None
    learned: bool | Bools = False
    same_within: int | None = None

    def __post_init__(self) -> None:
        packed, n_bits = unmasked(self.packed, "packed"), check_n_bits(self.n_bits)
        object.__setattr__(self, "packed", packed)
        if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != n_bytes(n_bits):
            raise CodesMismatch(
                f"Codes of {n_bits} bits came as an array of shape {packed.shape} and dtype {packed.dtype}",
                f"uint8 rows of {n_bytes(n_bits)} bytes",
                "Pass the number of bits the codes were packed with",
            )
        spare = 8 * packed.shape[1] - n_bits
        if spare and len(packed) and (packed[:, -1] & ((1 << spare) - 1)).any():
            raise InvalidInput(
                f"Codes of {n_bits} bits have ones in their {spare} padding bits",
                "np.packbits order with zero padding",
                "Pack the bits with kinhash.pack_bits, or pass the right n_bits",
            )
        if self.ids is not None and len(self.ids) != len(packed):
            raise InvalidInput(
                f"{len(self.ids)} ids came with {len(packed)} codes",
                "one id per code",
                "Pass as many ids as rows, or none",
            )
        if self.same_within is not None and not 0 <= self.same_within <= n_bits:
            raise InvalidInput(f"same_within is {self.same_within}", f"0 to {n_bits}", "Pass such a radius")
        object.__setattr__(self, "learned", _one_or_per_row(self.learned, len(packed)))

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and bytes per row."""
        rows, width = self.packed.shape
        return rows, width

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        """Bytes."""
        return self.packed.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.packed, dtype=dtype, copy=copy)

    def __iter__(self) -> Iterator[Bytes]:
        return iter(self.packed)

    def __getitem__(self, rows: Any) -> Codes:
        """Select rows, as `Codes` again (a single index keeps one row)."""
        if is_integer(rows):
            rows = [rows]
        ids = None if self.ids is None else np.asarray(self.ids)[rows]
        learned = self.learned if isinstance(self.learned, bool) else self.learned[rows]
        return replace(self, packed=self.packed[rows], ids=ids, learned=learned)

    def __repr__(self) -> str:
        named = f", model {self.model_id[:8]}" if self.model_id else ""
        return f"Codes({len(self)} rows of {self.n_bits} bits{named})"

    def bits(self) -> Bytes:
        """Return the 0/1 matrix (n, d)."""
        return unpack_bits(self.packed, self.n_bits)

    def words(self) -> Words:
        """Return the codes as 64-bit words, see `to_words`."""
        return to_words(self.packed)

    def learned_rows(self) -> Bools:
        """Return for each row whether it was learned with its label (n,)."""
        return np.broadcast_to(np.asarray(self.learned), (len(self),)).copy()

    def distances(self, other: Codes) -> Ints:
        """Count the differing bits of each row with the same row of other codes (n,).

        Parameters
        ----------
        other : Codes
            As many codes of the same model, or one.
        """
        self.require_same_kind(other)
        if len(self) != len(other) and 1 not in (len(self), len(other)):
            raise InvalidInput(
                f"{len(self)} codes were compared row by row with {len(other)}",
                "as many rows on both sides, or one",
                "Search an index for distances between all pairs",
            )
        return np.bitwise_count(self.packed ^ other.packed).sum(axis=1, dtype=np.int64)

    @classmethod
    def from_bits(cls, bits: npt.ArrayLike, **facts: Any) -> Codes:
        """Pack a 0/1 matrix.

        Parameters
        ----------
        bits : array-like of shape (n, n_bits)
        **facts
            Other parameters of `Codes`: ids, model_id, learned.
        """
        bits = np.asarray(bits)
        if bits.ndim != 2:
            raise InvalidInput(
                f"Bits came as an array of shape {bits.shape}", "a 0/1 matrix, one row per code", "Reshape it"
            )
        return cls(pack_bits(bits), n_bits=bits.shape[1], **facts)

    def require_same_kind(self, other: Codes) -> None:
        """Refuse to compare codes of another length or another model.

        Parameters
        ----------
        other : Codes
        """
        if self.n_bits != other.n_bits:
            raise CodesMismatch(
                f"Codes of {self.n_bits} bits were compared with codes of {other.n_bits} bits",
                "codes of one length on both sides",
                "Encode both with the same model",
            )
        if self.model_id and other.model_id and self.model_id != other.model_id:
            raise CodesMismatch(
                f"Codes of model {self.model_id[:12]} met codes of model {other.model_id[:12]}",
                "codes made by one model",
                "Encode both sides with the same model file",
            )


CodesLike = Codes | npt.ArrayLike  # what may stand where codes are asked for


def _one_or_per_row(learned: Any, n_rows: int) -> bool | Bools:
    if learned is True or learned is False:
        return learned
    flags = np.asarray(learned)
    if flags.dtype != bool or flags.shape not in ((), (n_rows,)):
        raise InvalidInput(
            f"learned has shape {flags.shape} and dtype {flags.dtype} for {n_rows} codes",
            "True, False, or one of them per row",
            "Pass a bool, or a boolean array with one entry per row",
        )
    if flags.all() or not flags.any():
        return bool(flags.any())
    return flags


def as_codes(codes: CodesLike, n_bits: int | None = None) -> Codes:
    """Read codes in any of the forms that people hold them in.

    Parameters
    ----------
    codes : Codes or array-like
        `Codes`; packed rows as a 2-D uint8 array (the ``ubinary`` of sentence-transformers among them); its
        ``binary``, int8 rows that are the bytes minus 128; or hex text, one string per row.
    n_bits : int or None, default=None
        Length of a code; None is 8 per byte.

    Returns
    -------
    Codes
    """
    if isinstance(codes, Codes):
        if n_bits is not None and n_bits != codes.n_bits:
            raise CodesMismatch(
                f"These codes have {codes.n_bits} bits, not {n_bits}",
                "the number of bits the codes were made with",
                "Leave n_bits out, or pass the right one",
            )
        return codes
    packed = np.asarray(unmasked(codes, "codes"))
    if packed.ndim == 1 and len(packed) and isinstance(packed[0], str):
        packed = _from_hex(packed)
    if packed.ndim == 2 and packed.dtype == np.int8:
        if packed.size >= 8 and ((packed == 0) | (packed == 1)).all():
            raise InvalidInput(
                "Codes came as int8 numbers that are all 0 or 1",
                "packed bits",
                "Pack a 0/1 matrix with kinhash.pack_bits",
            )
        packed = packed.view(np.uint8) ^ np.uint8(128)
    if packed.dtype != np.uint8 or packed.ndim != 2:
        raise InvalidInput(
            f"Codes came as an array of shape {packed.shape} and dtype {packed.dtype}",
            "packed rows: a 2-D uint8 array, as `encode` returns it, or hex text",
            "Pack a 0/1 matrix with kinhash.pack_bits, or encode features with a model (--model)",
        )
    return Codes(packed, 8 * packed.shape[1] if n_bits is None else n_bits)


def _from_hex(texts: Array) -> Bytes:
    try:
        raw = [bytes.fromhex(text) for text in texts.tolist()]
    except (TypeError, ValueError):
        raw = []
    width = len(raw[0]) if raw else 0
    if not width or any(2 * width != len(text) for text in texts.tolist()):
        raise InvalidInput(
            f"Codes came as text that is not hex digits of one length: {texts[0][:40]!r}, ...",
            "two hex digits per byte and equal lengths",
            "Write codes with codes.packed[i].tobytes().hex()",
        )
    return np.frombuffer(b"".join(raw), np.uint8).reshape(-1, width)


# ---- bits, bytes and words -------------------------------------------------------------------


def n_bytes(n_bits: int) -> int:
    """Bytes of one packed code."""
    return -(-n_bits // 8)


def pack_bits(bits: npt.ArrayLike) -> Bytes:
    """Pack 0/1 (or boolean) rows (n, d) into bytes (n, ceil(d / 8)).

    >>> pack_bits([[1, 0, 0, 0, 0, 0, 0, 1, 1]])
    array([[129, 128]], dtype=uint8)
    """
    return np.packbits(np.asarray(bits, dtype=bool), axis=-1)


def unpack_bits(packed: Bytes, n_bits: int) -> Bytes:
    """Undo `pack_bits`: bytes (n, ceil(d / 8)) to 0/1 rows (n, d)."""
    return np.unpackbits(packed, axis=-1, count=n_bits)


def to_words(packed: Bytes) -> Words:
    """View packed bytes (n, b) as 64-bit words (n, ceil(b / 8)), zero padded, for the kernels.

    The order of bytes inside a word does not matter for counting differing bits, as long as both sides come
    from here. Copies once when b is not a multiple of 8.
    """
    rows, width = packed.shape
    words = -(-width // 8)
    if width != 8 * words or not packed.flags.c_contiguous:
        padded = np.zeros((rows, 8 * words), np.uint8)
        padded[:, :width] = packed
        packed = padded
    return packed.view(np.uint64)


def word_distances(left: Words, right: Words) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Hamming distances (n, m) of words (n, w) and (m, w), in the smallest integers that hold them."""
    out = np.zeros((len(left), len(right)), np.min_scalar_type(64 * left.shape[1]))
    for mine, theirs in zip(left.T, right.T, strict=True):
        out += np.bitwise_count(mine[:, None] ^ theirs)
    return out


# ---- margins ---------------------------------------------------------------------------------

N_PLANES = 4  # bits of a weight


def weights_of(margins: Floats) -> tuple[Bytes, Floats]:
    """Whole weights (q, d) of margins, from 0 to 15, and what a weight of 1 stands for (q,).

    The largest margin of a query weighs 15, the others in proportion, rounded to even. Whole numbers add up
    to the same sum in any order, so distances are the same on every machine. Four bits find what floats find.
    """
    sizes = np.abs(margins)
    largest = sizes.max(axis=1, initial=0.0)
    most = 2**N_PLANES - 1
    whole = np.rint(sizes / np.where(largest > 0, largest, 1.0)[:, None] * most)
    return whole.astype(np.uint8), largest / most


def planes_of(weights: Bytes) -> Words:
    """Bit planes (q, 4, W) of whole weights (q, d), in the order of the bits of a code."""
    padded = np.zeros((len(weights), -(-weights.shape[1] // 64) * 64), np.uint8)
    padded[:, : weights.shape[1]] = weights
    bits = (padded[:, None, :] >> np.arange(N_PLANES, dtype=np.uint8)[:, None]) & 1
    return np.packbits(bits, axis=-1).view(np.uint64)


# ---- files -----------------------------------------------------------------------------------

CODES_FACTS = {"n_bits": int, "model_id": (str, type(None)), "learned": bool}
SAME = {"same_within": int}  # a fact of files of codes whose model had decided


def save_codes(codes: Codes, path: str | bytes | os.PathLike[str]) -> None:
    """Write codes, their ids, model id and which rows were learned to one verified file."""
    arrays: Arrays = {"packed": codes.packed}
    if codes.ids is not None:
        ids = np.asarray(codes.ids)
        if ids.dtype.kind in "iu":
            if len(ids) and int(ids.max()) >= 2**63:
                raise InvalidInput(
                    f"The number {int(ids.max())} is among the ids",
                    "integers from -2**63 to 2**63 - 1",
                    "Pass such ids as strings, with list(map(str, ...))",
                )
            arrays["ids"] = ids.astype(np.int64)
        else:
            arrays["id_text"], arrays["id_ends"] = to_bytes(str(value) for value in ids)
    if not isinstance(codes.learned, bool):
        arrays["learned"] = codes.learned
    header: Facts = {
        "n_bits": codes.n_bits,
        "model_id": codes.model_id,
        "learned": codes.learned is True,
    }
    if codes.same_within is not None:
        header["same_within"] = codes.same_within
    write_container(os.fsdecode(path), arrays, header, "codes")


def load_codes(path: str | bytes | os.PathLike[str], mmap: bool = False) -> Codes:
    """Read codes that `save_codes` wrote; ``mmap`` maps the file instead of reading it."""
    path = os.fsdecode(path)
    arrays, header = read_container(path, kind="codes", mmap=mmap)
    try:
        require_facts(header, CODES_FACTS | (SAME if "same_within" in header else {}))
        forms = {"packed": Form("u1", "N*")}
        if "id_ends" in arrays:
            forms |= {"id_text": Form("u1", "*"), "id_ends": Form("i8", "N", low=0)}
        elif "ids" in arrays:
            forms["ids"] = Form("i8", "N")
        if "learned" in arrays and not header["learned"]:
            forms["learned"] = Form("b1", "N")
        check_forms(arrays, forms)
        ids = from_bytes(arrays["id_text"], arrays["id_ends"]) if "id_ends" in arrays else arrays.get("ids")
        learned: Any = arrays.get("learned", header["learned"])
        facts = header["model_id"], learned, header.get("same_within")
        return Codes(arrays["packed"], header["n_bits"], ids, *facts)
    except SENSELESS as error:
        raise DamagedFile(
            f"{path} is a codes file with contents this version cannot use ({str(error)[:300]})",
            "a file written by `save_codes`",
            "Encode the rows again",
        ) from error
