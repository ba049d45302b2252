"""A real Chromium, headless and cut off from the network, or tests that say why they are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_rows import HOSTILE, N, from_disk

from kinhash import Codes, HammingIndex, explore

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    play = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("there is no Chromium on this system")
    with play.sync_playwright() as running:
        try:
            opened = running.chromium.launch(executable_path=program, args=ARGUMENTS)
        except play.Error as error:
            pytest.skip(f"{program} does not start here: {error}"[:300])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def codes() -> Codes:
    """Three kinds of rows, 40 bits; ids are texts."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 2, (3, 40))
    bits = kinds[np.arange(N) % 3] ^ (rng.random((N, 40)) < 0.12)
    return Codes.from_bits(bits, ids=np.array([f"r{k:03d}" for k in range(N)]))


@pytest.fixture(scope="session")
def index(codes: Codes) -> HammingIndex:
    return HammingIndex.from_codes(codes, ids=codes.ids)


@pytest.fixture(scope="session")
def file(codes: Codes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with pictures, texts, unknown labels and labels that would like to run."""
    rng = np.random.default_rng(1)
    y: list[str | None] = [[*HOSTILE, "cat"][k % 3] for k in range(N)]
    y[5], y[8] = None, y[0]  # one unknown, and one of the third kind with the label of the first
    pictures = rng.integers(0, 256, (N, 12, 12)).astype(np.uint8)
    texts = [f"=text {k} <b>bold</b>" for k in range(N)]
    path = tmp_path_factory.mktemp("page") / "page.html"
    explore(codes, y, text=texts, pictures=pictures, title="A <i>title</i>").save(path)
    return path


@pytest.fixture(params=[(1280, 800), (390, 844)], ids=["1280px", "390px"])
def page(request: pytest.FixtureRequest, browser: Any, file: Path) -> Iterator[Any]:
    """The page from disk; whatever it asks the network for, and whatever goes wrong, is kept."""
    with from_disk(browser, file, request.param) as opened:
        yield opened
