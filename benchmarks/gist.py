"""GIST of 32 x 32 pictures: pictures per second, beside the same definition written plainly.

    python benchmarks/gist.py [--pictures 3000] [--repeats 5]

The peer is the usual way: for every filter one inverse transform of the whole padded plane, float32,
all threads of scipy.fft. Both run in turn, best of several. With KINHASH_DATA the pictures are those
of cifar10_pictures6000, and the correlation with cifar10_gist512 is printed; without it, noise.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import scipy.fft

from kinhash._internal.blocks import n_threads
from kinhash.errors import KinhashError
from kinhash_bench.datasets import _gist as fast
from kinhash_bench.datasets import data_folder, gist, load


def plain_gist(images: np.ndarray, batch: int = 32) -> np.ndarray:
    side = images.shape[1] + 64
    f = scipy.fft.fftfreq(side)
    radius, angle = np.hypot(f[:, None], f[None, :]), np.arctan2(f[:, None], f[None, :])
    filters = []
    for scale in range(4):
        for k in range(8):
            turned = angle + np.pi * k / 8
            turned = np.where(turned > np.pi, turned - 2 * np.pi, turned)
            G = np.exp(-3.5 * (radius / (0.3 / 1.85**scale) - 1) ** 2 - 2 * np.pi * turned**2)
            filters.append(G.astype(np.float32))
    out = np.empty((len(images), 32, 4, 4), np.float32)
    for start in range(0, len(images), batch):
        flat = fast._prefilter(fast._gray(images[start : start + batch]))
        padded = np.pad(flat, ((0, 0), (32, 32), (32, 32)), mode="symmetric")
        spectrum = scipy.fft.fft2(padded, workers=n_threads())
        for k, G in enumerate(filters):
            strength = np.abs(scipy.fft.ifft2(spectrum * G, workers=n_threads()))[:, 32:-32, 32:-32]
            out[start : start + batch, k] = strength.reshape(len(flat), 4, 8, 4, 8).mean(axis=(2, 4))
    return out.reshape(len(images), -1)


def seconds(function, *args) -> tuple[float, float]:
    """Wall time, and processor time over all threads, which other work on the machine hardly changes."""
    wall, processor = time.perf_counter(), time.process_time()
    function(*args)
    return time.perf_counter() - wall, time.process_time() - processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    shown = None
    try:
        shown = load("cifar10_pictures6000")
        images = shown.images()[: options.pictures]
    except KinhashError:
        print(f"no pictures in {data_folder()}: using noise")
        images = np.random.default_rng(0).integers(0, 256, (options.pictures, 32, 32, 3), dtype=np.uint8)

    part = images[: max(1, len(images) // 4)]
    own, peer = gist(part), plain_gist(part)
    print(
        f"largest difference from the plain version: {np.abs(own - peer).max() / peer.mean():.1e} of the mean"
    )
    runs = {"kinhash": [], "plain": []}
    for _ in range(options.repeats):
        runs["kinhash"].append(np.array(seconds(gist, images)) / len(images))
        runs["plain"].append(np.array(seconds(plain_gist, part)) / len(part))
    best = {name: np.min(times, axis=0) for name, times in runs.items()}
    for name, (wall, processor) in best.items():
        print(f"{name:8s} {1 / wall:6.0f} pictures per second on {n_threads()} threads, ", end="")
        print(f"{1 / processor:6.0f} per second of one core")
    print(f"ratio    {best['plain'][0] / best['kinhash'][0]:6.2f} in wall time, ", end="")
    print(f"{best['plain'][1] / best['kinhash'][1]:.2f} in processor time")
    print(f"peak memory of the process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    if shown is not None:
        report_correlation(shown)


def report_correlation(shown) -> None:
    try:
        published = load("cifar10_gist512").features[shown.names]
    except KinhashError:
        return
    own = gist(shown.images())
    columns = np.array([np.corrcoef(own[:, k], published[:, k])[0, 1] for k in range(512)])
    rows = np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(own, published, strict=True)])
    print(f"correlation with the published features, {len(own)} lossy pictures:")
    print(f"  over all values {np.corrcoef(own.ravel(), published.ravel())[0, 1]:.4f}")
    print(f"  per column: least {columns.min():.4f}, median {np.median(columns):.4f}")
    print(f"  per picture: least {rows.min():.4f}, median {np.median(rows):.4f}")


if __name__ == "__main__":
    main()
