"""Thumbnails: which file belongs to which row, and that sheets hold what was drawn."""

from __future__ import annotations

import io

import numpy as np
import pytest
from page_reading import array, facts

from kinhash import Codes, explore
from kinhash.errors import FileProblem, InvalidInput

image = pytest.importorskip("PIL.Image")


def gray(value, size=(6, 6)):
    return image.new("L", size, value)


def drawn(pictures, n_rows, ids=None):
    """What the page says of its pictures, and the picture of every row, None where it has none."""
    codes = Codes.from_bits(np.arange(n_rows)[:, None] >> np.arange(12) & 1)
    page = explore(codes, ids=ids, pictures=pictures).html
    told, places = facts(page)["pictures"], array(page, "picture-places", np.int32)
    sheets = [array(page, f"sheet-{number}", np.uint8).tobytes() for number in range(told["sheets"])]
    opened = [np.asarray(image.open(io.BytesIO(sheet)).convert("L")) for sheet in sheets]
    found, side = [], told["side"]
    for place in places.tolist():
        sheet, within = divmod(place, told["perSheet"])
        top, left = (side * part for part in divmod(within, told["columns"]))
        found.append(None if place < 0 else opened[sheet][top : top + side, left : left + side])
    return {**told, "bytes": sum(map(len, sheets))}, found


def values(found):
    return [None if one is None else int(one.max()) for one in found]


def test_files_are_found_by_id_or_by_order(tmp_path):
    for name, value in (("0010.png", 10), ("2.png", 2), ("3.png", 3)):
        gray(value).save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no picture")
    assert values(drawn(tmp_path, 3, [2, 3, 10])[1]) == [2, 3, 10]
    assert values(drawn(tmp_path, 4, [2, 7, 8, 10])[1]) == [2, None, None, 10]
    assert values(drawn(tmp_path, 3, ["a", "b", "c"])[1]) == [10, 2, 3]
    with pytest.raises(InvalidInput, match="none named as the id"):
        drawn(tmp_path, 2, ["a", "b"])
    with pytest.raises(FileProblem, match="no folder"):
        drawn(tmp_path / "nowhere", 3)


def test_sheets_hold_the_pictures_and_none_for_rows_without():
    pictures = [gray(10), None, gray(200), image.new("RGBA", (3, 6), (0, 0, 0, 0))]
    _, found = drawn(pictures, 4)
    assert found[1] is None
    assert (found[0] == 10).all()
    assert (found[2] == 200).all()
    assert (found[3] == 255).all()  # what is transparent is white


def test_more_than_one_sheet():
    shades = np.arange(2500) % 256
    told, found = drawn(np.repeat(shades.astype(np.uint8), 16).reshape(-1, 4, 4), 2500)
    assert (told["sheets"], told["kind"]) == (3, "png")
    for row in (0, 1023, 1024, 2499):
        assert (found[row] == shades[row]).all()


def test_photographs_take_little_room():
    noise = np.random.default_rng(0).integers(0, 256, (200, 64, 64, 3)).astype(np.uint8)
    smooth = np.asarray([image.fromarray(one).resize((8, 8)).resize((64, 64)) for one in noise])
    told, _ = drawn(smooth, 200)
    assert told["kind"] == "webp"
    assert told["bytes"] < 700 * 3 * 200


def test_a_broken_picture_is_named(tmp_path):
    (tmp_path / "0.png").write_bytes(b"no picture at all")
    with pytest.raises(FileProblem, match=r"0\.png cannot be read"):
        drawn(tmp_path, 1)
