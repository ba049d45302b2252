"""Thumbnails: which file belongs to which row, and that sheets hold what was drawn."""

from __future__ import annotations

import io

import numpy as np
import pytest

from kinhash.errors import FileProblem, InvalidInput
from kinhash.explorer.pictures import picture_of_row, sheets

image = pytest.importorskip("PIL.Image")


def gray(value, size=(6, 6)):
    return image.new("L", size, value)


def pixels(found, row):
    place = int(found.place[row])
    sheet = np.asarray(image.open(io.BytesIO(found.images[place // found.per_sheet])).convert("L"))
    place %= found.per_sheet
    top, left = (place // found.columns) * found.side, (place % found.columns) * found.side
    return sheet[top : top + found.side, left : left + found.side]


def test_files_are_found_by_id_or_by_order(tmp_path):
    for name, value in (("0010.png", 10), ("2.png", 2), ("3.png", 3)):
        gray(value).save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no picture")
    by_id = picture_of_row(tmp_path, np.array([2, 3, 10]), 3)
    assert [by_id(row).stem for row in range(3)] == ["2", "3", "0010"]
    some = picture_of_row(tmp_path, np.array([2, 7, 8, 10]), 4)
    assert [some(row) and some(row).stem for row in range(4)] == ["2", None, None, "0010"]
    by_order = picture_of_row(tmp_path, np.array(["a", "b", "c"]), 3)
    assert [by_order(row).stem for row in range(3)] == ["0010", "2", "3"]
    with pytest.raises(InvalidInput, match="none named as the id"):
        picture_of_row(tmp_path, np.array(["a", "b"]), 2)
    with pytest.raises(FileProblem, match="no folder"):
        picture_of_row(tmp_path / "nowhere", np.arange(3), 3)


def test_sheets_hold_the_pictures_and_none_for_rows_without():
    drawn = {0: gray(10), 2: gray(200), 3: image.new("RGBA", (3, 6), (0, 0, 0, 0))}
    found = sheets(drawn.get, np.arange(4))
    assert found.place.tolist() == [0, -1, 1, 2]
    assert (pixels(found, 0) == 10).all()
    assert (pixels(found, 2) == 200).all()
    assert (pixels(found, 3) == 255).all()  # what is transparent is white


def test_more_than_one_sheet():
    values = np.arange(2500) % 256
    array = np.repeat(values.astype(np.uint8), 16).reshape(-1, 4, 4)
    found = sheets(picture_of_row(array, np.arange(2500), 2500), np.arange(2500))
    assert len(found.images) == 3
    assert found.kind == "png"
    for row in (0, 1023, 1024, 2499):
        assert (pixels(found, row) == values[row]).all()


def test_photographs_take_little_room():
    noise = np.random.default_rng(0).integers(0, 256, (200, 64, 64, 3)).astype(np.uint8)
    smooth = np.asarray([image.fromarray(one).resize((8, 8)).resize((64, 64)) for one in noise])
    found = sheets(picture_of_row(smooth, np.arange(200), 200), np.arange(200))
    assert found.kind == "webp"
    assert sum(map(len, found.images)) < 700 * 3 * 200


def test_a_broken_picture_is_named(tmp_path):
    (tmp_path / "0.png").write_bytes(b"no picture at all")
    with pytest.raises(FileProblem, match=r"0\.png cannot be read"):
        sheets(picture_of_row(tmp_path, np.arange(1), 1), np.arange(1))
