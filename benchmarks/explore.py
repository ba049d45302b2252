"""The explorer's figures: seconds and size of a page, first paint, frames per second.

    KINHASH_DATA=/data python benchmarks/explore.py

50,000 rows of CIFAR-10 (network features), learned 64-bit codes, model and features; wall and CPU
seconds of `kinhash.explore`, compilation excluded. In the browser (playwright and a Chromium, headless,
without graphics card): first contentful paint, and frames per second while the map pans for 3 seconds, far,
between and near.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from kinhash import EnergyHasher, explore
from kinhash.errors import FileProblem
from kinhash_bench.datasets import load

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

NAME = "cifar10_efficientnet_lite0_pca256"
CHROMIUM = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PAN = """async ([scale, ms]) => {
  wholeMap(); if (scale > 1) { view.x = xs[0]; view.y = ys[0]; zoom(scale); }
  await new Promise((done) => setTimeout(done, 300));
  const start = performance.now(); let frames = 0;
  while (performance.now() - start < ms) {
    const t = performance.now() - start;
    pan(6 * Math.cos(t / 300), 6 * Math.sin(t / 300));
    await new Promise(requestAnimationFrame); frames++;
  }
  const fps = frames / (performance.now() - start) * 1000, own = performance.now();
  for (let k = 0; k < 20; k++) paint(canvas);
  return [fps, (performance.now() - own) / 20, painting.mode, painting.inView.length];
}"""


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    data = load(NAME)
    some = np.sort(np.random.default_rng(seed).choice(len(data), n, replace=False))
    return np.asarray(data.features[some], np.float32), np.asarray(data.labels.classes)[some]


def timed_page(path: Path) -> None:
    X, y = rows(50_000)
    hasher = EnergyHasher(64, random_state=0).fit(X, y)
    explore(hasher.codes_[:500], y[:500], model=hasher, features=X[:500])  # compiles
    wall, cpu = time.perf_counter(), time.process_time()
    page = explore(hasher.codes_, y, model=hasher, features=X, title="50,000 rows of CIFAR-10")
    page.save(path)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    load_now = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"page of 50,000 rows: {wall:.1f} s wall, {cpu:.1f} s CPU, {page.summary['bytes'] / 1e6:.1f} MB "
          f"(load of the machine {load_now:.1f})")  # fmt: skip


def in_browser(path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("no browser figures: they need the package playwright and a Chromium")
        return
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=CHROMIUM)
        for width, height in ((1280, 800), (390, 844)):
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(f"file://{path}")
            page.wait_for_timeout(1500)
            paints = page.evaluate("performance.getEntriesByType('paint').map((e) => [e.name, e.startTime])")
            painted = ", ".join(f"{name} {ms / 1000:.2f} s" for name, ms in paints)
            print(f"{width} px: {painted}")
            for scale in (1, 4, 30):
                fps, work, mode, seen = page.evaluate(PAN, [scale, 3000])
                print(f"  panning, {seen:,} rows in view ({mode}): {fps:.0f} frames/s, {work:.1f} ms a frame")
            page.close()
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    try:
        load(NAME)
    except FileProblem as error:
        print(f"skipped: {error}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        timed_page(path)
        in_browser(path)


if __name__ == "__main__":
    main()
