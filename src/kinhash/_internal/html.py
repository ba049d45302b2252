"""Small pieces of HTML for notebooks: what users wrote is escaped, colors are those of the notebook."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape as escape

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from .types import Array, Bytes

# Inherited colors, so that light and dark notebooks both show it as they show their own text.
BOX = "font-size:0.92em;line-height:1.35;max-width:100%;overflow-x:auto"
CELL = "padding:3px 8px;text-align:{side};border-bottom:1px solid rgba(128,128,128,.35);vertical-align:top"
COLOR_TYPES = {1: 0, 3: 2, 4: 6}  # channels of a PNG to its numbers: gray, RGB, RGB with alpha


def document(*parts: str) -> str:
    """Pieces one below the other."""
    return f'<div class="kinhash" style="{BOX}">{"".join(parts)}</div>'


def cell(content: str, side: str = "left", tag: str = "td") -> str:
    """A cell of a table; the content is HTML."""
    return f'<{tag} style="{CELL.format(side=side)}">{content}</{tag}>'


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), side: str = "left") -> str:
    """Cells of HTML as a table, with a line of names above."""
    lines = ["".join(cell(one, side) for one in row) for row in rows]
    names = f"<thead><tr>{''.join(cell(one, side, 'th') for one in head)}</tr></thead>" if head else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="border-collapse:collapse;margin:.3em 0">{names}<tbody>{body}</tbody></table>'


def bullets(sentences: Iterable[str]) -> str:
    """Plain sentences as a list; nothing where there are none."""
    items = "".join(f"<li>{escape(one)}</li>" for one in sentences)
    return f'<ul style="margin:.3em 0;padding-left:1.3em">{items}</ul>' if items else ""


def picture(picture: npt.ArrayLike, words: str, style: str) -> str:
    """A picture as an inline PNG with a text alternative.

    Bytes (uint8) are shown as they are: 0 is black. Other numbers say how much ink there is: 0 is white, the
    largest of a picture is black, as in the digits of scikit-learn.
    """
    address = base64.b64encode(_png(_pixels(np.asarray(picture)))).decode("ascii")
    return f'<img src="data:image/png;base64,{address}" alt="{escape(words)}" style="{style}">'


def _pixels(array: Array) -> Bytes:
    """A picture as bytes (height, width) or (height, width, 3 or 4)."""
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


def _png(array: Bytes) -> bytes:
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
