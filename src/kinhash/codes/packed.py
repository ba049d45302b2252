"""Packed bits, the currency all rooms share, and what each bit counts.

A code of ``d`` bits is ``ceil(d / 8)`` bytes in ``np.packbits`` order (first bit = most significant
bit of the first byte, padding bits zero): what faiss, pgvector and friends take. ``Codes`` is
those bytes plus the number of bits and what each of them counts (`BitLayout`), and
optionally the ids of the rows and the id of the model that made them, so that codes of different models are
never compared by accident.

A code is its kin bits, then its look-alike bits. The distance of two codes is ``kin_weight`` times the number
of differing kin bits plus ``alike_weight`` times that of differing look-alike bits: kin come first, and among
them those that look most alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.blocks import block_slices
from .._internal.types import Array, Bytes, Ints
from .._internal.validation import MAX_BITS, check_integer, check_n_bits, is_integer
from ..errors import CodesMismatch, InvalidInput

__all__ = [
    "KIN_ONLY",
    "MAX_BITS",
    "MAX_WEIGHT",
    "BitLayout",
    "Codes",
    "CodesLike",
    "as_codes",
    "n_bytes",
    "pack_bits",
    "to_words",
    "unpack_bits",
    "word_distances",
]

MAX_WEIGHT = 15
REPEATED_ROWS = 4096  # unpacked at once: 63 MB for 1024 bits that count 15 each


@dataclass(frozen=True)
class BitLayout:
    """The last ``alike`` bits of a code are its alike field, the others its kin field; a weight for each.

    ``BitLayout()`` is one field in which every bit counts one: plain Hamming distance.

    >>> BitLayout(alike=2, kin_weight=4).weights(5).tolist()
    [4, 4, 4, 1, 1]
    """

    alike: int = 0
    kin_weight: int = 1
    alike_weight: int = 1

    def __post_init__(self) -> None:
        check_integer("alike", self.alike, 0)
        check_integer("kin_weight", self.kin_weight, 1, MAX_WEIGHT)
        check_integer("alike_weight", self.alike_weight, 1, MAX_WEIGHT)

    @property
    def plain(self) -> bool:
        """Whether every bit counts one."""
        return self.kin_weight == 1 and (self.alike_weight == 1 or not self.alike)

    def check(self, n_bits: int) -> None:
        """Refuse more alike bits than a code has bits."""
        if self.alike > n_bits:
            raise InvalidInput(
                f"Codes of {n_bits} bits came with {self.alike} alike bits",
                f"at most {n_bits} of them",
                "Pass the fields that belong to these codes",
            )

    def kin(self, n_bits: int) -> int:
        """Number of kin bits of a code of ``n_bits``."""
        return n_bits - self.alike

    def max_distance(self, n_bits: int) -> int:
        """The distance of codes that differ in every bit."""
        return self.kin_weight * self.kin(n_bits) + self.alike_weight * self.alike

    def weights(self, n_bits: int) -> Ints:
        """What each bit counts (n_bits,)."""
        return np.repeat([self.kin_weight, self.alike_weight], [self.kin(n_bits), self.alike])

    def describe(self, n_bits: int) -> str:
        """In words, for people.

        >>> BitLayout(alike=40, kin_weight=4).describe(64)
        '24 kin bits (each counts 4), 40 alike bits (each counts 1)'
        """
        both = (self.kin(n_bits), "kin", self.kin_weight), (self.alike, "alike", self.alike_weight)
        return ", ".join(f"{size} {name} bits (each counts {weight})" for size, name, weight in both if size)

    def as_dict(self) -> dict[str, int]:
        """For files: what `from_dict` takes."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: Any) -> BitLayout:
        """From a file, which a stranger may have written."""
        if not isinstance(given, dict) or given.keys() != asdict(KIN_ONLY).keys():
            raise ValueError("fields that are no fields")
        return cls(**given)


KIN_ONLY = BitLayout()


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


def to_words(packed: Bytes) -> npt.NDArray[np.uint64]:
    """View packed bytes (n, b) as 64-bit words (n, ceil(b / 8)), zero padded, for the kernels.

    The order of bytes inside a word does not matter for counting differing bits, as long as
    both sides come from here. Copies once when b is not a multiple of 8.
    """
    rows, width = packed.shape
    words = -(-width // 8)
    if width != 8 * words or not packed.flags.c_contiguous:
        padded = np.zeros((rows, 8 * words), np.uint8)
        padded[:, :width] = packed
        packed = padded
    return packed.view(np.uint64)


def word_distances(
    left: npt.NDArray[np.uint64], right: npt.NDArray[np.uint64]
) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Hamming distances (n, m) of words (n, w) and (m, w), in the smallest integers that hold them."""
    out = np.zeros((len(left), len(right)), np.min_scalar_type(64 * left.shape[1]))
    for mine, theirs in zip(left.T, right.T, strict=True):
        out += np.bitwise_count(mine[:, None] ^ theirs)
    return out


@dataclass(frozen=True, eq=False)
class Codes:
    """Packed codes (n, bytes) with what one must know to use them.

    ``packed`` keeps its padding bits at zero; the constructor checks shape, dtype and padding. Wherever an
    array is expected (NumPy, faiss), the packed bytes stand in: ``np.asarray(codes)`` copies nothing.

    >>> codes = Codes(np.array([[0b10100000]], np.uint8), n_bits=3)
    >>> len(codes), codes.bits().tolist()
    (1, [[1, 0, 1]])
    """

    packed: Bytes
    n_bits: int
    ids: Array | None = None
    model_id: str | None = None
    fields: BitLayout = KIN_ONLY
    learned: bool = False  # whether labels made them: a score by the same labels would flatter
    # What share of the first ten answers mapped rows take if they are 15 % of a learned database.
    mapped_share: float | None = None
    # False where only kin bits are known, as of a view that shares no look-alike bits: the others are 0.
    knows_looks: bool = True

    def __post_init__(self) -> None:
        _check_shape(self.packed, self.n_bits)
        self.fields.check(self.n_bits)
        spare = 8 * self.packed.shape[1] - self.n_bits
        if spare and len(self.packed) and (self.packed[:, -1] & ((1 << spare) - 1)).any():
            raise InvalidInput(
                f"Codes of {self.n_bits} bits have ones in their {spare} padding bits",
                "np.packbits order with zero padding",
                "Pack the bits with kinhash.pack_bits, or pass the right n_bits",
            )
        if self.ids is not None and len(self.ids) != len(self.packed):
            raise InvalidInput(
                f"{len(self.ids)} ids came with {len(self.packed)} codes",
                "one id per code",
                "Pass as many ids as rows, or none",
            )

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
        """A selection of rows, as `Codes` again (a single index keeps one row)."""
        if is_integer(rows):
            rows = [rows]
        ids = None if self.ids is None else self.ids[rows]
        return replace(self, packed=self.packed[rows], ids=ids)

    def __repr__(self) -> str:
        alike = f", {self.fields.alike} of them alike" if self.fields.alike else ""
        named = f", model {self.model_id[:8]}" if self.model_id else ""
        return f"Codes({len(self)} rows of {self.n_bits} bits{alike}{named})"

    def bits(self) -> Bytes:
        """The 0/1 matrix (n, d)."""
        return unpack_bits(self.packed, self.n_bits)

    def words(self) -> npt.NDArray[np.uint64]:
        """The codes as 64-bit words, see `to_words`."""
        return to_words(self.packed)

    @property
    def max_distance(self) -> int:
        """The distance of two codes that differ in every bit."""
        return self.fields.max_distance(self.n_bits)

    def distances(self, other: Codes) -> Ints:
        """Distances row by row (n,): differing bits, each counted as its field says.

        Look-alike bits do not count where one side does not know them.
        """
        self.require_same_kind(other)
        if self.fields.alike and not (self.knows_looks and other.knows_looks):
            return self.fields.kin_weight * self.kin_alone().distances(other.kin_alone())
        differing = self.repeated() ^ other.repeated()
        return np.bitwise_count(differing).sum(axis=1, dtype=np.int64)

    def repeated(self) -> Bytes:
        """Packed rows whose plain Hamming distances are the distances of these codes.

        A bit that counts w stands there w times; codes of one plain field are themselves. Peak memory: the
        result and a block of unpacked rows.
        """
        if self.fields.plain:
            return self.packed
        weights = self.fields.weights(self.n_bits)
        out = np.empty((len(self), n_bytes(self.max_distance)), np.uint8)
        for rows in block_slices(len(self), REPEATED_ROWS):
            out[rows] = pack_bits(np.repeat(unpack_bits(self.packed[rows], self.n_bits), weights, axis=1))
        return out

    def kin_alone(self) -> Codes:
        """The kin bits alone, as codes in which every bit counts one."""
        kin = self.fields.kin(self.n_bits)
        packed = self.packed if kin == self.n_bits else pack_bits(self.bits()[:, :kin])
        return replace(self, packed=packed, n_bits=kin, fields=KIN_ONLY, knows_looks=True)

    @classmethod
    def from_bits(cls, bits: npt.ArrayLike, **facts: Any) -> Codes:
        """Pack a 0/1 matrix (n, d)."""
        bits = np.asarray(bits)
        return cls(pack_bits(bits), n_bits=bits.shape[1], **facts)

    def require_same_kind(self, other: Codes) -> None:
        """Refuse to compare codes of another length or another model."""
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
        if self.fields != other.fields:
            raise CodesMismatch(
                f"Codes with {self.fields} met codes with {other.fields}",
                "codes whose bits count alike on both sides",
                "Encode both sides with the same model, or pass `Codes` instead of bare bytes",
            )


CodesLike = Codes | npt.ArrayLike  # what may stand where codes are asked for


def as_codes(codes: Codes | npt.ArrayLike, n_bits: int | None = None) -> Codes:
    """Accept `Codes`, or packed uint8 rows with an optional number of bits (default 8 per byte)."""
    if isinstance(codes, Codes):
        if n_bits is not None and n_bits != codes.n_bits:
            raise CodesMismatch(
                f"These codes have {codes.n_bits} bits, not {n_bits}",
                "the number of bits the codes were made with",
                "Leave n_bits out, or pass the right one",
            )
        return codes
    packed = np.asarray(codes)
    if packed.dtype != np.uint8 or packed.ndim != 2:
        raise InvalidInput(
            f"Codes came as an array of shape {packed.shape} and dtype {packed.dtype}",
            "packed rows: a 2-D uint8 array, as `encode` returns it",
            "Pack a 0/1 matrix with kinhash.pack_bits, or encode features with a model (--model)",
        )
    return Codes(packed, 8 * packed.shape[1] if n_bits is None else check_n_bits(n_bits))


def _check_shape(packed: Bytes, n_bits: int) -> None:
    check_n_bits(n_bits)
    if packed.dtype != np.uint8 or packed.ndim != 2 or packed.shape[1] != n_bytes(n_bits):
        raise CodesMismatch(
            f"Codes of {n_bits} bits came as an array of shape {packed.shape} and dtype {packed.dtype}",
            f"uint8 rows of {n_bytes(n_bits)} bytes",
            "Pass the number of bits the codes were packed with",
        )
