"""Codes as text: base64, hex digits, or zeros and ones."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np

from .._internal.types import Array
from ..codes import n_bytes, pack_bits, unpack_bits

__all__ = ["read_codes", "write_codes"]


def write_codes(packed: Array, n_bits: int, written: str) -> list[str]:
    """Packed rows (n, bytes), each as one text.

    >>> write_codes(np.array([[0b10100000]], np.uint8), 3, "bits")
    ['101']
    """
    if written == "bits":
        return [(row + ord("0")).tobytes().decode() for row in unpack_bits(packed, n_bits)]
    rows = (row.tobytes() for row in packed)
    return [row.hex() if written == "hex" else base64.b64encode(row).decode() for row in rows]


def read_codes(texts: Sequence[str], n_bits: int, written: str) -> Array:
    """Undo `write_codes`. The texts have been checked against their pattern.

    >>> read_codes(["101"], 3, "bits")
    array([[160]], dtype=uint8)
    """
    if written == "bits":
        bits = np.frombuffer("".join(texts).encode(), np.uint8).reshape(len(texts), n_bits)
        return pack_bits(bits == ord("1"))
    read = bytes.fromhex if written == "hex" else base64.b64decode
    packed = b"".join(read(text) for text in texts)
    return np.frombuffer(packed, np.uint8).reshape(len(texts), n_bytes(n_bits))
