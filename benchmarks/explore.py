"""The explorer's figures: seconds and size of a page, first paint, frames per second, flipped labels found.

    KINHASH_DATA=/data python benchmarks/explore.py [--skip page pictures doubts]

*page*: 50,000 rows of CIFAR-10 (network features), learned 64-bit codes, model and features; wall and CPU
seconds of `kinhash.explore`, compilation excluded. In the browser (playwright and a Chromium, headless,
without graphics card): first contentful paint, and frames per second while the map pans for 3 seconds, far,
between and near. *pictures*: bytes of a page of 20,000 digits at 28 × 28 pixels, turned and shifted.
*doubts*: 5 % of the labels flipped to another class at random; share of flipped rows among the first 5 % of
"probably mislabeled", three draws, beside cleanlab on the same probabilities where that is installed.
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
from kinhash.explorer.label_errors import by_features, by_neighbors
from kinhash.metrics.label_model import out_of_fold
from kinhash.supervision import read_labels
from kinhash_bench.datasets import load

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

NAME, PICTURES = "cifar10_efficientnet_lite0_pca256", "cifar10_pictures6000"
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


def page_of_pictures() -> None:
    from PIL import Image
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    some = rng.integers(len(X), size=20_000)
    pictures = np.zeros((len(some), 28, 28), np.uint8)
    for place, row in enumerate(some):
        small = Image.fromarray((X[row].reshape(8, 8) * 15.9).astype(np.uint8)).resize(
            (20, 20), Image.BICUBIC
        )
        left, top = rng.integers(2, 7, 2)
        pictures[place, top : top + 20, left : left + 20] = np.asarray(small.rotate(float(rng.normal(0, 10))))
    noisy = X[some] + rng.normal(size=(len(some), 64))
    hasher = EnergyHasher(64, random_state=0).fit(noisy[:3000], y[some][:3000])
    page = explore(hasher.encode(noisy), y[some], pictures=pictures)
    print(f"page of 20,000 digits of 28 × 28 pixels: {page.summary['bytes'] / 1e6:.1f} MB")
    data = load(PICTURES)
    page = explore(
        EnergyHasher(32).fit(rows(6000)[0], rows(6000)[1]).codes_, pictures=np.asarray(data.images())
    )
    print(f"page of 6,000 photographs: {page.summary['bytes'] / 1e6:.1f} MB")


def doubts() -> None:
    for n in (6000, 50_000):
        found: dict[str, list[float]] = {}
        for seed in range(3):
            for name, share in flipped(n, seed).items():
                found.setdefault(name, []).append(share)
        said = ", ".join(f"{name} {np.mean(v):.3f} ± {np.std(v):.3f}" for name, v in found.items())
        print(f"{n:,} rows, 5 % flipped, share of flipped among the first 5 %: {said}")


def flipped(n: int, seed: int) -> dict[str, float]:
    data = load(NAME)
    some = np.asarray(load(PICTURES).names, np.int64) if n == 6000 else None
    X, y = (
        rows(n, seed)
        if some is None
        else (np.asarray(data.features[some]), np.asarray(data.labels.classes)[some])
    )
    rng = np.random.default_rng(seed)
    wrong = rng.choice(n, n // 20, replace=False)
    given = y.copy()
    given[wrong] = (y[wrong] + rng.integers(1, 10, len(wrong))) % 10
    chances = np.zeros((n, 10))
    for held, found in out_of_fold(X, read_labels(given), seed):  # the same once more, for cleanlab
        chances[held] = found
    ours = by_features(X, read_labels(given), seed).ranked()[: len(wrong)]
    out = {"explorer (features)": float(np.isin(ours, wrong).mean())}
    hasher = EnergyHasher(64, random_state=seed).fit(X, given)
    for name, codes in (("codes alone, learned", hasher.codes_), ("codes alone, mapped", hasher.encode(X))):
        judged = by_neighbors(codes, read_labels(given), codes.learned)
        out[name] = float(np.isin(judged.ranked()[: len(wrong)], wrong).mean())
    return out | cleanlab_shares(given, chances, wrong)


def cleanlab_shares(given: np.ndarray, chances: np.ndarray, wrong: np.ndarray) -> dict[str, float]:
    try:
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        return {}
    chances = chances / chances.sum(axis=1, keepdims=True)
    out = {}
    for method in ("self_confidence", "normalized_margin", "confidence_weighted_entropy"):
        order = np.argsort(get_label_quality_scores(given, chances, method=method), kind="stable")
        out[f"cleanlab {method}"] = float(np.isin(order[: len(wrong)], wrong).mean())
    issues = find_label_issues(given, chances, return_indices_ranked_by="self_confidence")
    first = issues[: len(wrong)]
    out["cleanlab find_label_issues"] = float(np.isin(first, wrong).sum() / len(wrong))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skip", nargs="*", default=[], choices=["page", "browser", "pictures", "doubts"])
    skip = parser.parse_args().skip
    try:
        load(NAME)
    except FileProblem as error:
        print(f"skipped: {error}")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        if "page" not in skip:
            timed_page(path)
            if "browser" not in skip:
                in_browser(path)
    if "pictures" not in skip:
        page_of_pictures()
    if "doubts" not in skip:
        doubts()


if __name__ == "__main__":
    main()
