"""Thumbnails of rows, many to a sheet: a page of 20,000 pictures holds a few dozen images."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._internal.types import Array, Facts, Ints
from .._internal.validation import check_rows
from ..errors import FileProblem, InvalidInput, MissingExtra

PER_SHEET = 1024
SIDES = ((1000, 96), (4000, 64), (10_000, 48))  # (rows up to, pixels a side),
SMALLEST = 32  # and these for more
MOST_PNG = 700  # bytes a picture beyond which sheets are lossy: photographs take five times that
ENDINGS = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"}

Source = Callable[[int], Any]  # the picture of a row, None where it has none


@dataclass(frozen=True)
class Sheets:
    """Pictures of ``side`` × ``side`` pixels, row by row on sheets of ``columns`` columns.

    ``place`` (n,) is the place of each row's picture, -1 where it has none; ``kind`` is "png" or "webp".
    """

    side: int
    columns: int
    per_sheet: int
    place: Ints
    kind: str
    images: list[bytes]

    def arrays(self) -> Facts:
        """Arrays of the page."""
        drawn = {f"sheet-{number}": image for number, image in enumerate(self.images)}
        return {"picture-places": self.place.astype(np.int32), **drawn}

    def facts(self) -> Facts:
        """What the page must know to find a picture on its sheet."""
        sizes = {"side": self.side, "columns": self.columns, "perSheet": self.per_sheet}
        return {**sizes, "kind": self.kind, "sheets": len(self.images)}


def picture_of_row(pictures: Any, ids: Array, n_rows: int) -> Source:
    """A function from the number of a row to its picture: from a folder, from paths, or from an array.

    In a folder, a file is named as the id of its row (``17.png``, ``0017.png``); or there are as many files
    as rows, in the order of their names.
    """
    if isinstance(pictures, (str, os.PathLike)):
        return _from_folder(Path(pictures), ids, n_rows)
    check_rows(len(pictures), "pictures", n_rows, "codes")
    if isinstance(pictures, np.ndarray):
        return _from_array(pictures)
    return list(pictures).__getitem__


def sheets(source: Source, numbers: Ints, progress: Callable[[float], None] | None = None) -> Sheets:
    """Thumbnails of these rows. Memory: the sheets, and one picture at its full size."""
    image = _pillow()
    shown = numbers.tolist()
    side = next((side for most, side in SIDES if len(shown) <= most), SMALLEST)
    thumbs: list[Any] = []
    place = np.full(len(shown), -1, np.int64)
    for row, number in enumerate(shown):
        picture = _opened(image, source(number), number)
        if picture is not None:
            picture.thumbnail((side, side))
            place[row] = len(thumbs)
            thumbs.append(picture)
        if progress is not None and row % 256 == 0:
            progress(row / len(shown))
    if not thumbs:
        raise InvalidInput("No row has a picture", "pictures of some rows", "Pass the folder they are in")
    side = max(max(one.size) for one in thumbs)
    columns = min(32, len(thumbs))
    drawn = [
        _sheet(image, thumbs[i : i + PER_SHEET], side, columns) for i in range(0, len(thumbs), PER_SHEET)
    ]
    images = [_bytes(one, "PNG", optimize=True) for one in drawn]
    kind = "png"
    if sum(map(len, images)) > MOST_PNG * len(thumbs):
        images = [_bytes(one, "WEBP", quality=80, method=2) for one in drawn]
        kind = "webp"
    return Sheets(side, columns, PER_SHEET, place, kind, images)


def _sheet(image: Any, thumbs: Sequence[Any], side: int, columns: int) -> Any:
    gray = all(one.mode == "L" for one in thumbs)
    size = (columns * side, -(-len(thumbs) // columns) * side)
    out = image.new("L" if gray else "RGB", size, 255 if gray else (255, 255, 255))
    for number, one in enumerate(thumbs):
        left = number % columns * side + (side - one.width) // 2
        top = number // columns * side + (side - one.height) // 2
        out.paste(one, (left, top))
    return out


def _bytes(picture: Any, kind: str, **how: Any) -> bytes:
    memory = io.BytesIO()
    picture.save(memory, kind, **how)
    return memory.getvalue()


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtra.of("pillow", "plot") from None
    return Image


def _opened(image: Any, given: Any, number: int) -> Any:
    """A picture of our own, gray or in color on white; None where there is none."""
    if given is None:
        return None
    try:
        picture = image.open(given) if isinstance(given, (str, os.PathLike)) else given
        if isinstance(picture, np.ndarray):
            picture = image.fromarray(picture)
        picture.draft("RGB", (96, 96)) if hasattr(picture, "draft") and picture.mode == "RGB" else None
        if picture.mode in ("L", "1"):
            return picture.convert("L")
        if "A" in picture.getbands() or "transparency" in picture.info:
            layer = picture.convert("RGBA")
            return image.alpha_composite(image.new("RGBA", layer.size, "white"), layer).convert("RGB")
        return picture.convert("RGB")
    except (OSError, ValueError, TypeError, AttributeError, image.DecompressionBombError) as error:
        name = given if isinstance(given, (str, os.PathLike)) else f"of row {number}"
        raise FileProblem(
            f"The picture {os.fspath(name)} cannot be read ({error})",
            "a picture that pillow can open",
            "Replace it, or take it out of the folder",
        ) from None


def _from_array(pictures: Array) -> Source:
    if pictures.ndim not in (3, 4) or (pictures.ndim == 4 and pictures.shape[3] not in (3, 4)):
        raise InvalidInput(
            f"The pictures came as an array of shape {pictures.shape}",
            "(rows, height, width), or three colors in a fourth dimension",
            "Reshape the array, digits for example to (-1, 8, 8)",
        )
    if pictures.dtype == np.uint8:
        return pictures.__getitem__
    low, high = float(pictures.min()), float(pictures.max())
    scale = 255 / max(high - min(low, 0.0), 1e-12)
    return lambda row: ((pictures[row] - min(low, 0.0)) * scale).astype(np.uint8)


def _from_folder(folder: Path, ids: Array, n_rows: int) -> Source:
    if not folder.is_dir():
        raise FileProblem(f"There is no folder {folder}", "a folder of pictures", "Check the path")
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS)
    by_stem = {_stem(path.stem): path for path in files}
    found = [by_stem.get(_stem(str(name))) for name in ids.tolist()]
    if any(found) and (len(files) != n_rows or all(found)):
        return found.__getitem__
    if len(files) == n_rows:
        return files.__getitem__
    raise InvalidInput(
        f"{folder} holds {len(files):,} pictures, none named as the id of a row, for {n_rows:,} rows",
        "files named as the ids of rows, such as 17.png, or one for every row in the order of their names",
        "Rename the files, or pass the folder of these rows",
    )


def _stem(text: str) -> str:
    """Names of numbers without leading zeros, so that 0017.png is row 17."""
    return str(int(text)) if text.isascii() and text.isdigit() else text
