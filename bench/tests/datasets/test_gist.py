"""GIST against the definition written out plainly, and against features made elsewhere."""

from __future__ import annotations

import tracemalloc
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash.errors import InvalidInput
from kinhash_bench.datasets import gist, load


def plain_gist(picture, n_blocks=4, orientations=(8, 8, 8, 8)):
    """One picture in float64, whole planes, no shortcuts."""
    gray = picture.astype(float)
    gray = gray.mean(axis=2) if gray.ndim == 3 else gray
    gray = gray - gray.min()
    if gray.max() == 0:
        return np.zeros(sum(orientations) * n_blocks**2)
    gray = 255 * gray / gray.max()
    height, width = gray.shape

    side = max(height, width) + 10
    side += side % 2
    padded = np.pad(np.log(gray + 1), ((5, side - height - 5), (5, side - width - 5)), mode="symmetric")
    f = np.fft.fftfreq(side) * side
    low = np.exp(-(f[:, None] ** 2 + f[None, :] ** 2) / (4 / np.sqrt(np.log(2))) ** 2)
    detail = padded - np.fft.ifft2(np.fft.fft2(padded) * low).real
    contrast = np.sqrt(np.abs(np.fft.ifft2(np.fft.fft2(detail**2) * low)))
    flat = (detail / (0.2 + contrast))[5 : 5 + height, 5 : 5 + width]

    spectrum = np.fft.fft2(np.pad(flat, 32, mode="symmetric"))
    fy, fx = (np.fft.fftfreq(size + 64) for size in (height, width))
    radius, angle = np.hypot(fy[:, None], fx[None, :]), np.arctan2(fy[:, None], fx[None, :])
    out = []
    for scale, count in enumerate(orientations):
        for k in range(count):
            turned = angle + np.pi * k / count
            turned = np.where(turned > np.pi, turned - 2 * np.pi, turned)
            G = np.exp(
                -3.5 * (radius / (0.3 / 1.85**scale) - 1) ** 2 - 2 * np.pi * (count / 8) ** 2 * turned**2
            )
            strength = np.abs(np.fft.ifft2(spectrum * G))[32 : 32 + height, 32 : 32 + width]
            rows = np.linspace(0, height, n_blocks + 1).astype(int)
            columns = np.linspace(0, width, n_blocks + 1).astype(int)
            for i in range(n_blocks):
                for j in range(n_blocks):
                    out.append(strength[rows[i] : rows[i + 1], columns[j] : columns[j + 1]].mean())
    return np.array(out)


@settings(max_examples=15)
@given(
    st.integers(8, 40),
    st.integers(8, 40),
    st.booleans(),
    st.integers(1, 5),
    st.sampled_from([(8, 8, 8, 8), (8, 8, 4), (3,), (6, 5)]),
)
def test_gist_is_its_definition(height, width, color, n_blocks, orientations):
    rng = np.random.default_rng(height * width)
    shape = (3, height, width, 3) if color else (3, height, width)
    images = rng.integers(0, 256, shape, dtype=np.uint8)
    images[2] = 7  # one plain picture
    expected = np.stack([plain_gist(picture, n_blocks, orientations) for picture in images])
    got = gist(images, n_blocks, orientations)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=2e-4 * expected.max())
    assert np.abs(got - expected).max() < 3e-4 * expected.max()


def pictures(n=70, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, 16, 16, 3), dtype=np.uint8)


def test_the_same_bits_for_any_threads_and_any_company():
    images = pictures()
    whole = gist(images, n_jobs=1)
    np.testing.assert_array_equal(gist(images, n_jobs=2), whole)
    np.testing.assert_allclose(gist(images[40:41])[0], whole[40], rtol=1e-5, atol=1e-7)


def test_gray_is_the_mean_of_the_colors():
    images = pictures(5)
    gray = images.astype(np.float32).mean(axis=3)
    np.testing.assert_allclose(gist(gray), gist(images), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(gist(np.repeat(images[..., :1], 3, axis=3)), gist(images[..., 0]))


def test_brightness_and_contrast_do_not_matter():
    images = pictures(5).astype(np.float32)
    np.testing.assert_allclose(gist(images * 0.5 + 30), gist(images), rtol=1e-3, atol=1e-5)


def test_no_pictures_give_no_rows():
    assert gist(np.zeros((0, 8, 8))).shape == (0, 512)


def test_progress_reaches_the_end():
    seen = []
    gist(pictures(70), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (70, 70)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_the_cache_is_used_and_mistrusted(tmp_path, monkeypatch):
    images = pictures(40)
    first = gist(images, cache=tmp_path / "cache")
    (kept,) = (tmp_path / "cache").iterdir()
    calls = []
    module = import_module("kinhash_bench.datasets.gist")  # the door has a function of that name
    work = module._all_batches
    monkeypatch.setattr(module, "_all_batches", lambda *args: calls.append(1) or work(*args))
    np.testing.assert_array_equal(gist(images, cache=tmp_path / "cache"), first)
    assert not calls, "read from the cache"
    gist(images, 2, cache=tmp_path / "cache")
    gist(images[::-1].copy(), cache=tmp_path / "cache")
    assert len(calls) == 2, "other settings and other pictures are computed"
    for damage in (
        lambda data: data[:-30],
        lambda data: data[:500] + b"\0\0\0\0" + data[504:],
        lambda _: b"",
    ):
        kept.write_bytes(damage(kept.read_bytes()))
        calls.clear()
        np.testing.assert_array_equal(gist(images, cache=tmp_path / "cache"), first)
        assert calls, "a damaged file is not believed"


def test_memory_does_not_grow_with_the_pictures(tmp_path):
    def peak(n):
        np.save(tmp_path / "x.npy", np.zeros((n, 32, 32), np.uint8) + np.arange(32, dtype=np.uint8))
        images = np.load(tmp_path / "x.npy", mmap_mode="r")
        tracemalloc.start()
        out = gist(images, n_jobs=1)
        used = tracemalloc.get_traced_memory()[1] - out.nbytes
        tracemalloc.stop()
        return used

    gist(np.zeros((1, 32, 32)))
    small, large = peak(64), peak(512)
    assert large < small + 2_000_000
    assert large < 40_000_000


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((4, 4)),
        np.zeros((2, 8, 8, 4)),
        np.array([["a"]]),
        np.full((1, 8, 8), np.nan),
        np.zeros((1, 8, 8), complex),
        np.zeros((2, 3, 8)),
    ],
)
def test_bad_pictures(images):
    with pytest.raises(InvalidInput):
        gist(images)


@pytest.mark.parametrize(
    "settings", [{"n_blocks": 0}, {"n_blocks": 9}, {"orientations": ()}, {"orientations": (8, 0)}]
)
def test_bad_settings(settings):
    with pytest.raises(InvalidInput):
        gist(np.zeros((1, 8, 8)), **settings)


@pytest.mark.data
@pytest.mark.parametrize("step", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_gist_agrees_with_the_published_features(data_home, step):
    """The pictures are lossy (2.7 gray levels), the features were made from the lossless ones."""
    pytest.importorskip("PIL")
    shown = load("cifar10_pictures6000", data_home)
    rows = shown.names[::step]
    published = load("cifar10_gist512", data_home).features[rows]
    own = gist(shown.images()[::step])
    assert np.corrcoef(own.ravel(), published.ravel())[0, 1] > 0.995
    columns = [np.corrcoef(own[:, k], published[:, k])[0, 1] for k in range(512)]
    assert np.median(columns) > 0.985
    assert min(columns) > 0.95
    assert abs(own.mean() / published.mean() - 1) < 0.01
