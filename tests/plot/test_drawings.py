"""Pictures say what the numbers say: counts against a loop, pixels against Pillow, axes against the data."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

import kinhash
from kinhash import BitLayout, Codes, HammingIndex, pack_bits
from kinhash._internal.pictures import pixels, png
from kinhash.errors import InvalidInput
from kinhash.index import Neighbors
from kinhash.plot.distance_charts import count_distances

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def some_codes(rng, n, fields=BitLayout()):  # noqa: B008
    return Codes.from_bits(rng.integers(0, 2, (n, 12)), fields=fields)


@pytest.mark.parametrize("fields", [BitLayout(), BitLayout(alike=5, kin_weight=3)])
@pytest.mark.parametrize("kind", ["classes", "tags"])
def test_distances_are_those_of_all_pairs(fields, kind):
    rng = np.random.default_rng(0)
    codes = some_codes(rng, 40, fields)
    labels = rng.integers(0, 3, 40) if kind == "classes" else rng.random((40, 4)) < 0.4
    kin, strangers = count_distances(codes, codes, labels, labels, exclude_self=True)
    expected = np.zeros((2, codes.max_distance + 1), int)
    weights = fields.weights(12)
    for i in range(40):
        for j in range(40):
            if i != j:
                far = int(weights[codes.bits()[i] != codes.bits()[j]].sum())
                same = labels[i] == labels[j] if kind == "classes" else bool((labels[i] & labels[j]).any())
                expected[0 if same else 1, far] += 1
    np.testing.assert_array_equal([kin, strangers], expected)


def test_rows_of_unknown_label_are_left_out():
    codes = pack_bits([[0] * 8, [1] * 8, [0] * 8])
    kin, strangers = count_distances(Codes(codes, 8), Codes(codes, 8), ["a", None, "a"], ["a", "a", None])
    assert (kin.sum(), strangers.sum()) == (4, 0)
    assert (kin[0], kin[8]) == (2, 2)


def test_the_histograms_are_shares():
    rng = np.random.default_rng(1)
    codes, y = some_codes(rng, 50), rng.integers(0, 2, 50)
    axes = kinhash.plot.distances(codes, codes, y, y)
    shares = [patch.get_data().values.sum() for patch in axes.patches]
    np.testing.assert_allclose(shares, 1)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    kin = sum(int((y == c).sum()) ** 2 for c in (0, 1))
    assert labels == [f"similar, {kin:,} pairs", f"dissimilar, {2500 - kin:,} pairs"]


def test_labels_of_another_length_are_refused():
    codes = some_codes(np.random.default_rng(0), 5)
    with pytest.raises(InvalidInput, match="4 labels came with 5 database rows"):
        kinhash.plot.distances(codes, codes, [0] * 5, [0] * 4)
    with pytest.raises(InvalidInput, match="4 labels came with 5 codes"):
        kinhash.plot.bits(codes, [0] * 4)


def test_bits_by_label_are_shares_of_ones():
    rng = np.random.default_rng(2)
    codes, y = some_codes(rng, 60, BitLayout(alike=4, kin_weight=2)), rng.choice(["$a$", "b"], 60)
    axes = kinhash.plot.bits(codes, y)
    expected = [codes.bits()[y == name].mean(axis=0) for name in ("$a$", "b")]
    np.testing.assert_allclose(axes.images[0].get_array(), expected)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["$a$", "b"]
    assert [text.get_text() for text in axes.texts] == ["8 kin bits, each counts 2", "4 alike bits"]


def test_neighbors_frame_kin_cross_strangers_and_write_distances():
    found = Neighbors(np.array([[2, 0], [1, 0]]), np.array([[0, 3], [1, 2]], np.uint16))
    shapes = np.random.default_rng(0).random((3, 4, 4))
    axes = kinhash.plot.neighbors(found, shapes, queries=shapes, kin=[[True, False], [True, True]])
    assert len(axes.images) == 6  # two queries, two neighbors each
    assert len(axes.lines) == 6 + 2  # a frame for each, two strokes through one
    assert [text.get_text() for text in axes.texts] == ["query", "no. 1", "2", "0", "3", "1", "2"]
    np.testing.assert_array_equal(axes.images[1].get_array(), pixels(shapes[2]))


def test_neighbors_of_different_number_and_with_names_for_ids():
    splits = np.array([0, 2, 2, 3])
    found = Neighbors(np.array(["a", "b$x$", "c"]), np.array([0.5, 1.25, 2.0]), splits)
    axes = kinhash.plot.neighbors(found, kin=[True, False, True])
    assert [text.get_text() for text in axes.texts] == ["no. 1", "2", "a", "0.5", "b$x$", "1.25", "c", "2"]
    with pytest.raises(InvalidInput, match="kin has the shape"):
        kinhash.plot.neighbors(found, kin=[True])


def test_axes_that_are_given_are_used():
    figure = matplotlib.figure.Figure()
    axes = figure.add_subplot()
    codes = some_codes(np.random.default_rng(0), 9)
    found = HammingIndex.from_codes(codes).search(codes, 3)
    for drawn in (
        kinhash.plot.bits(codes, ax=axes),
        kinhash.plot.distances(codes, codes, [0] * 9, [0] * 9, ax=axes),
        kinhash.plot.neighbors(found, ax=axes),
    ):
        assert drawn is axes
    assert not matplotlib.pyplot.get_fignums()


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 3), (5, 7, 4)])
def test_our_png_reads_as_it_was_written(shape):
    image = pytest.importorskip("PIL.Image")
    array = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    np.testing.assert_array_equal(np.asarray(image.open(io.BytesIO(png(pixels(array))))), array)


def test_numbers_are_ink_and_what_is_no_picture_is_refused():
    np.testing.assert_array_equal(pixels([[0.0, np.nan], [2.0, 4.0]]), [[255, 255], [127, 0]])
    np.testing.assert_array_equal(pixels(np.zeros((2, 2, 1))), np.full((2, 2), 255))
    with pytest.raises(InvalidInput, match="shape"):
        pixels(np.zeros((2, 2, 2)))


def test_without_matplotlib_the_extra_is_named():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import kinhash, numpy as np\n"
        "codes = kinhash.pack_bits(np.eye(8))\n"
        "try: kinhash.plot.bits(codes)\n"
        "except kinhash.errors.MissingExtra as missing: print(missing)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "kinhash[plot]" in said.stdout, said.stderr
