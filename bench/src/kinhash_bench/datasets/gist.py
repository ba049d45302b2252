"""GIST: what a picture looks like from far away, as 512 numbers.

Oliva & Torralba, Modeling the shape of the scene, IJCV 2001. In the letters of the code:

1. gray = mean of the color channels, stretched to 0..255 picture by picture;
2. *prefilter*: ``d = log(1 + gray)`` minus its low-pass ``g * d``, divided by the local contrast
   ``0.2 + sqrt(g * d**2)``, so that lighting does not count (``g`` Gaussian, ``fc = 4`` cycles);
3. the picture is mirrored 32 pixels beyond its border and filtered in the frequency plane by
   ``G = exp(-3.5 (f / f_s - 1)**2 - 2 pi o_s (theta - theta_k)**2)``, ``f_s = 0.3 / 1.85**s``, scale
   ``s``, orientation ``theta_k = -pi k / K`` and ``o_s = (K / 8)**2``;
4. ``|filtered|`` is averaged over ``n_blocks x n_blocks`` blocks of the picture itself.

Column = filter * n_blocks**2 + block; filter = scale by scale, orientation by orientation; blocks
run along the rows of the picture.

The work is in step 3: one inverse transform per filter. A filter is zero almost everywhere, and
only the middle of the result is read, so we transform the box where it is not zero along one axis,
keep the lines we need, and transform those. Moving the box to the origin multiplies the result by
numbers of modulus one, which step 4 never sees.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.fft

from kinhash.errors import FileProblem, InvalidInput
from kinhash.plugins import block_slices, is_integer, map_blocks, read_npz

from .files import write_npz

__all__ = ["gist"]

BORDER = 32  # mirrored pixels on each side before filtering
PREFILTER_BORDER = 5
PREFILTER_CYCLES = 4
NEGLIGIBLE = 1e-5  # smaller filter values change the result by 5e-6 of its mean
IMAGES_PER_BATCH = 32  # one fixed shape, small enough for the processor's cache
VERSION = 1  # part of the cache key: raise it when the numbers change

Images = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]
Filter = tuple[slice, slice, Floats]  # box (x, y) of the shifted frequency plane, and G there


def gist(
    images: npt.ArrayLike,
    n_blocks: int = 4,
    orientations: Sequence[int] = (8, 8, 8, 8),
    *,
    cache: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Floats:
    """Describe every picture by its GIST: float32 (n, sum(orientations) * n_blocks**2).

    ``images`` is gray (n, height, width) or color (n, height, width, 3), of any number type; color
    is averaged to gray first, so a gray picture and its three-channel copy get the same numbers.
    All pictures have one size: make them equal before, as every published GIST does.
    ``orientations`` counts the filters of each scale, fine to coarse.

    With ``cache`` (a folder) the result is kept there under a digest of the pictures and settings
    and read back next time; a damaged cache file is computed again. Results are the same bits for
    any number of threads. Peak memory beyond pictures and result: about 10 MB per thread for
    32 x 32 pictures, whatever their number; a memory-mapped array is read batch by batch.
    """
    pictures = np.asarray(images) if not isinstance(images, np.ndarray) else images
    _check(pictures, n_blocks, orientations)
    kept = None
    if cache is not None:
        kept = Path(cache) / f"gist-{_digest(pictures, n_blocks, orientations)}.npz"
        found = _from_cache(kept, len(pictures), sum(orientations) * n_blocks**2)
        if found is not None:
            return found
    out = _all_batches(pictures, n_blocks, tuple(orientations), n_jobs, progress)
    if kept is not None:
        write_npz(kept, {"gist": out})
    return out


def _all_batches(
    pictures: Images,
    n_blocks: int,
    orientations: tuple[int, ...],
    n_jobs: int | None,
    progress: Callable[[int, int], None] | None,
) -> Floats:
    out = np.empty((len(pictures), sum(orientations) * n_blocks**2), np.float32)
    slices = block_slices(len(pictures), IMAGES_PER_BATCH)

    def one(rows: slice) -> Floats:
        return _batch(_gray(pictures[rows]), n_blocks, orientations)

    for rows, block in zip(slices, map_blocks(one, slices, n_jobs), strict=True):
        out[rows] = block
        if progress is not None:
            progress(rows.stop, len(pictures))
    return out


def _batch(gray: Floats, n_blocks: int, orientations: tuple[int, ...]) -> Floats:
    """GIST of a few gray pictures (b, height, width)."""
    count, height, width = gray.shape
    flat = np.pad(_prefilter(gray), ((0, 0), (BORDER, BORDER), (BORDER, BORDER)), mode="symmetric")
    spectrum = scipy.fft.fftshift(scipy.fft.fft2(flat), axes=(1, 2))
    spectrum = np.ascontiguousarray(spectrum.transpose(2, 0, 1))  # (x, picture, y): the box is a slice
    across, down = _averages(width, n_blocks), _averages(height, n_blocks)
    out = np.empty((count, sum(orientations), n_blocks, n_blocks), np.float32)
    for k, (x, y, G) in enumerate(_filters(height + 2 * BORDER, width + 2 * BORDER, orientations)):
        lines = scipy.fft.ifft(spectrum[x, :, y] * G[:, None, :], n=height + 2 * BORDER, axis=2)
        lines = lines[:, :, BORDER : BORDER + height]
        size = scipy.fft.ifft(lines, n=width + 2 * BORDER, axis=0, overwrite_x=True)
        strength = np.abs(size[BORDER : BORDER + width]).reshape(width, count * height)
        blocks = (across @ strength).reshape(n_blocks * count, height) @ down.T
        out[:, k] = blocks.reshape(n_blocks, count, n_blocks).transpose(1, 2, 0)
    return out.reshape(count, -1)


def _gray(images: Images) -> Floats:
    """Mean over colors, stretched to 0..255; a picture of one color becomes zero."""
    pixels = images.astype(np.float32)
    gray: Floats = pixels.mean(axis=3, dtype=np.float32) if pixels.ndim == 4 else pixels
    gray = gray - gray.min(axis=(1, 2), keepdims=True)
    top = gray.max(axis=(1, 2), keepdims=True)
    out: Floats = gray * np.divide(255, top, out=np.zeros_like(top), where=top > 0)
    return out


def _prefilter(gray: Floats) -> Floats:
    """Take out slow changes of light, then divide by the local contrast (step 2)."""
    height, width = gray.shape[1:]
    border = PREFILTER_BORDER
    side = max(height, width) + 2 * border
    side += side % 2
    room = [(0, 0), (border, side - height - border), (border, side - width - border)]
    padded = np.pad(np.log1p(gray), room, mode="symmetric")
    low = _low_pass(side)

    def blurred(values: Floats) -> Floats:
        spectrum = scipy.fft.rfft2(values)
        smooth: Floats = scipy.fft.irfft2(spectrum * low, s=values.shape[1:], overwrite_x=True)
        return smooth

    detail: Floats = padded - blurred(padded)
    detail /= np.float32(0.2) + np.sqrt(np.abs(blurred(detail**2)))
    return detail[:, border : border + height, border : border + width]


@lru_cache(maxsize=8)
def _low_pass(side: int) -> Floats:
    """Gaussian of ``fc`` cycles per picture, on the half plane of a real transform."""
    f = scipy.fft.fftfreq(side, 1 / side)
    width = PREFILTER_CYCLES / np.sqrt(np.log(2))
    square = f[:, None] ** 2 + scipy.fft.rfftfreq(side, 1 / side)[None, :] ** 2
    low: Floats = np.exp(-square / width**2).astype(np.float32)
    return low


@lru_cache(maxsize=8)
def _filters(height: int, width: int, orientations: tuple[int, ...]) -> tuple[Filter, ...]:
    """The Gabor filters, each cut to the box where it is not negligible."""
    fx = scipy.fft.fftshift(scipy.fft.fftfreq(width))[:, None]
    fy = scipy.fft.fftshift(scipy.fft.fftfreq(height))[None, :]
    f, angle = np.hypot(fx, fy), np.arctan2(fy, fx)
    filters = []
    for scale, K in enumerate(orientations):
        for k in range(K):
            turned = angle + np.pi * k / K
            turned -= 2 * np.pi * (turned > np.pi)
            radial = 10 * 0.35 * (f / (0.3 / 1.85**scale) - 1) ** 2
            angular = 2 * np.pi * (16 * K**2 / 32**2) * turned**2
            filters.append(_boxed(np.exp(-radial - angular)))
    return tuple(filters)


def _boxed(G: npt.NDArray[np.float64]) -> Filter:
    kept = G > NEGLIGIBLE
    x, y = np.flatnonzero(kept.any(axis=1)), np.flatnonzero(kept.any(axis=0))
    box = slice(int(x[0]), int(x[-1]) + 1), slice(int(y[0]), int(y[-1]) + 1)
    return (*box, np.ascontiguousarray(G[box], np.float32))


@lru_cache(maxsize=16)
def _averages(size: int, n_blocks: int) -> Floats:
    """Matrix (n_blocks, size) whose product takes the mean of each block."""
    edges = np.linspace(0, size, n_blocks + 1).astype(int)
    out = np.zeros((n_blocks, size), np.float32)
    for block in range(n_blocks):
        out[block, edges[block] : edges[block + 1]] = 1 / (edges[block + 1] - edges[block])
    return out


def _check(images: Images, n_blocks: int, orientations: Sequence[int]) -> None:
    if images.dtype.kind not in "uifb" or images.ndim not in (3, 4) or images.shape[3:] not in ((), (3,)):
        raise InvalidInput(
            f"The pictures have shape {images.shape} and dtype {images.dtype}",
            "numbers of shape (n, height, width) or (n, height, width, 3)",
            "Stack pictures of one size; drop an alpha channel with images[..., :3]",
        )
    if not is_integer(n_blocks) or not 1 <= n_blocks <= min(images.shape[1:3]):
        raise InvalidInput(
            f"n_blocks is {n_blocks!r} for pictures of {images.shape[1]} x {images.shape[2]} pixels",
            "an integer from 1 to the smaller side",
            "Use fewer blocks or larger pictures",
        )
    if not orientations or any(not is_integer(K) or K < 1 for K in orientations):
        raise InvalidInput(
            f"orientations is {orientations!r}",
            "one positive number of orientations per scale",
            "Pass for example (8, 8, 8, 8)",
        )
    for rows in block_slices(len(images), 4096) if images.dtype.kind == "f" else []:
        if not np.isfinite(images[rows]).all():
            raise InvalidInput(
                f"Some of the pictures {rows.start} to {rows.stop - 1} hold NaN or infinity",
                "finite pixels",
                "Clean the pictures",
            )


def _digest(images: Images, n_blocks: int, orientations: Sequence[int]) -> str:
    settings = f"{VERSION} {images.shape} {images.dtype.str} {n_blocks} {tuple(orientations)}"
    digest = hashlib.blake2b(settings.encode(), digest_size=16)
    for rows in block_slices(len(images), 1024):
        digest.update(np.ascontiguousarray(images[rows]).data)
    return digest.hexdigest()


def _from_cache(path: Path, n_rows: int, n_columns: int) -> Floats | None:
    if not path.is_file():
        return None
    try:
        found = read_npz(path).get("gist")
    except FileProblem:  # whatever happened to it, the pictures are here and can be described again
        return None
    if found is None or found.shape != (n_rows, n_columns) or found.dtype != np.float32:
        return None
    return found
