"""Pictures that users hand in, as pixels and as PNG.

Bytes (uint8) are shown as they are: 0 is black. Other numbers say how much ink there is: 0 is white, the
largest of a picture is black, as in the digits of scikit-learn.
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from .types import Bytes

__all__ = ["pixels", "png", "png_address"]

COLOR_TYPES = {1: 0, 3: 2, 4: 6}  # channels to PNG's numbers: gray, RGB, RGB with alpha


def pixels(picture: npt.ArrayLike) -> Bytes:
    """A picture as bytes (height, width) or (height, width, 3 or 4).

    >>> pixels([[0.0, 8.0, 16.0]]).tolist()
    [[255, 127, 0]]
    """
    array = np.asarray(picture)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    gray = array.ndim == 2
    if array.size == 0 or not (gray or (array.ndim == 3 and array.shape[2] in (3, 4))):
        raise InvalidInput(
            f"A picture has the shape {array.shape}",
            "(height, width), or (height, width, 3) for colors",
            "Give each row its picture, for example X.reshape(-1, 8, 8)",
        )
    if array.dtype == np.uint8:
        return array
    values = np.nan_to_num(array.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    shares = np.clip(values / (values.max() or 1.0), 0.0, 1.0)
    return (255 * (1 - shares if gray else shares)).astype(np.uint8)


def png(array: Bytes) -> bytes:
    """Bytes of a PNG file with these pixels."""
    height, width = array.shape[:2]
    channels = 1 if array.ndim == 2 else array.shape[2]
    lines = np.zeros((height, 1 + width * channels), np.uint8)  # each line begins with its filter: none
    lines[:, 1:] = array.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, COLOR_TYPES[channels], 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in parts
    )


def png_address(content: bytes) -> str:
    """A PNG as the address of an image inside a page."""
    return "data:image/png;base64," + base64.b64encode(content).decode("ascii")
