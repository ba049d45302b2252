"""Models in a real browser: the bits of Python, and "Try a vector" by a user's hands."""

from __future__ import annotations

import base64
import json
from functools import cache

import numpy as np
import pytest
from browser_rows import from_disk, until

from kinhash import EnergyHasher, HammingIndex, explore

N = 200
N_ENCODED = 5_000  # rows of float32, and as many of float64
CARDS = "#neighbors .card"
SCORES = """([text, single]) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  const rows = single ? new Float32Array(bytes) : new Float64Array(bytes), width = facts.model.features;
  const found = new Float64Array((rows.length / width) * facts.bits);
  for (let k = 0; k * width < rows.length; k++) {
    found.set(scoresOf(Float64Array.from(rows.subarray(k * width, (k + 1) * width))), k * facts.bits);
  }
  const out = new Uint8Array(found.buffer), parts = [], n = 8192;
  for (let at = 0; at < out.length; at += n) parts.push(String.fromCharCode(...out.subarray(at, at + n)));
  return btoa(parts.join(""));
}"""


N_FEATURES = 6
MODELS = {"labels": {}, "looks": {"looks": 1.0}}


def some_rows(n, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, N_FEATURES)) + 4 * np.eye(N_FEATURES)[y], y


def hard_rows(n, dtype):
    """Rows of many sizes, and rows of zeros."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, N_FEATURES)) * 10.0 ** rng.integers(-12, 12, (n, 1))
    X[:10] = 0
    return X.astype(dtype)


@cache
def fitted(kind):
    return EnergyHasher(48, random_state=0, **MODELS[kind]).fit(*some_rows(300, 0))


def expected(hasher, X):
    return hasher.model_.map.run(X), hasher.encode(X).packed


def rows_of_page(dtype=np.float64):
    X, y = some_rows(N, 3)
    return X.astype(dtype), y


def write_page(path, kind, dtype=np.float64):
    X, y = rows_of_page(dtype)
    hasher = fitted(kind)
    explore(hasher.encode(X), y, model=hasher, features=X).save(path)
    return path


def assert_same_numbers(page, hasher, X):
    """Whole scores and codes of rows are the same in the page and in Python."""
    scores, codes = expected(hasher, X)
    text = base64.b64encode(X.tobytes()).decode("ascii")
    told = page.evaluate(SCORES, [text, X.dtype == np.float32])
    found = np.frombuffer(base64.b64decode(told)).reshape(len(X), -1)
    assert np.array_equal(found, scores)
    assert np.array_equal(np.packbits(found > 0, axis=1), codes)


@pytest.mark.filterwarnings("ignore:.*unlike those the model was fitted on")
@pytest.mark.parametrize("kind", MODELS)
def test_chromium_gives_the_numbers_of_python(browser, tmp_path, kind):
    with from_disk(browser, write_page(tmp_path / "page.html", kind)) as page:
        for dtype in (np.float32, np.float64):
            assert_same_numbers(page, fitted(kind), hard_rows(N_ENCODED, dtype))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("model") / "page.html", "labels")


@pytest.fixture(params=[(1280, 800), (390, 844)], ids=["1280px", "390px"])
def page(request, browser, file):
    with from_disk(browser, file, request.param) as opened:
        yield opened


def try_vector(page, text):
    if not page.is_visible("#numbers"):
        page.click("#vector-box summary")
    page.fill("#numbers", text)
    page.click("#vector button[type=submit]")


def shown(page):
    """Rows and distances of the neighbors on the page, in their order."""
    return page.eval_on_selector_all(
        CARDS, "cards => cards.map(c => [Number(c.dataset.row), near.distances[Number(c.dataset.row)]])"
    )


def shown_bits(page):
    return page.eval_on_selector_all(
        "#panel .bits rect", "cells => cells.map(c => c.classList.contains('on'))"
    )


def as_json(row):
    return json.dumps(row.tolist())


@pytest.mark.parametrize("write", [as_json, lambda row: "\n".join(map(repr, row.tolist())), "{}".format])
def test_a_pasted_row_finds_itself_and_what_the_index_finds(page, write):
    hasher, (X, _) = fitted("labels"), rows_of_page()
    with np.printoptions(floatmode="unique", linewidth=60):
        text = write(X[17])
    try_vector(page, text)
    code = hasher.encode(X[17:18])
    assert shown_bits(page) == code.bits()[0].astype(bool).tolist()
    found = shown(page)
    neighbors = HammingIndex.from_codes(hasher.encode(X)).search(code, k=len(found))
    assert [row for row, _ in found] == neighbors.ids[0].tolist()
    assert [distance for _, distance in found] == neighbors.distances[0].tolist()
    assert dict(found)[17] == 0
    assert page.inner_text("#vector-said") == ""
    assert page.inner_text("#chosen h2") == "Your vector"
    fields = page.eval_on_selector_all("#panel .bits text", "nodes => nodes.map(n => n.textContent)")
    assert fields == ["48 bits"]


def test_a_row_that_is_nowhere_among_the_rows_is_encoded_too(page):
    hasher, (X, _) = fitted("labels"), rows_of_page()
    x = some_rows(1, 77)[0]
    try_vector(page, as_json(x[0]))
    code = hasher.encode(x)
    found = shown(page)
    neighbors = HammingIndex.from_codes(hasher.encode(X)).search(code, k=len(found))
    assert [row for row, _ in found] == neighbors.ids[0].tolist()
    assert page.locator(".card.kin, .card.stranger").count() == 0  # nobody knows its label


def test_a_neighbor_can_be_chosen_and_the_vector_comes_back(page):
    X, _ = rows_of_page()
    try_vector(page, as_json(X[5]))
    before = shown(page)
    page.locator(CARDS).nth(3).click()
    assert page.evaluate("state.row") == before[3][0]
    assert page.inner_text("#chosen h2").startswith("Row")
    page.click("#chosen button:has-text('close')")
    assert page.inner_text("#chosen h2") == "Your vector"
    assert shown(page) == before
    page.click("#vector-clear")
    assert page.inner_text("#chosen h2") == "Choose a row"
    assert page.input_value("#numbers") == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", f"The model takes {N_FEATURES} numbers. Paste them above."),
        ("[]", f"The model takes {N_FEATURES} numbers. Paste them above."),
        ("1 2 3", f"The model takes {N_FEATURES} numbers. These are 3."),
        (" ".join(["1"] * 25), f"The model takes {N_FEATURES} numbers. These are 25."),
        ("1, 2, <b>x</b>, 4", "Number 3, “<b>x</b>”, is not a number."),
        ("1, nan", "Number 2, “nan”, is not a number."),
        ("1, Infinity", "Number 2, “Infinity”, is not a number."),
        ("0x10", "Number 1, “0x10”, is not a number."),
        ("1,,2", "Number 2 is missing."),
        ("1e999", "Number 1, “1e999”, is too large."),
    ],
)
def test_what_is_no_vector_is_explained(page, text, said):
    if not page.is_visible("#numbers"):
        page.click("#vector-box summary")
    before = page.evaluate("byId('chosen').offsetTop")
    try_vector(page, text)
    assert page.inner_text("#vector-said") == said
    assert page.get_attribute("#numbers", "aria-invalid") == "true"
    assert page.evaluate("byId('chosen').offsetTop") == before  # nothing jumps
    assert page.locator(CARDS).count() == 0
    try_vector(page, "[" + ", ".join(["1e-3"] * N_FEATURES) + ",]\n")
    assert page.inner_text("#vector-said") == ""
    assert page.get_attribute("#numbers", "aria-invalid") == "false"
    assert page.locator(CARDS).count() > 0


def test_all_of_it_by_keyboard(page):
    page.focus("#vector-box summary")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "numbers"
    page.keyboard.insert_text(" ".join(["0.5"] * N_FEATURES))
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(CARDS)
    assert page.inner_text("#status").startswith("Your vector.")
    assert page.evaluate("document.activeElement.id") == "numbers"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    until(page, "near === null")
    assert page.evaluate("document.activeElement.id") == "numbers"


def test_the_map_shows_distances_from_the_vector(page):
    X, _ = rows_of_page()
    try_vector(page, as_json(X[5]))
    page.select_option("#color", "distance")
    assert "distance 0" in page.inner_text("#scale")
    page.evaluate("paint(canvas)")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_float32_numbers_are_read_as_such(browser, tmp_path):
    """The shortest text of a float32 is another double, and may give another code."""
    file = write_page(tmp_path / "page.html", "labels", np.float32)
    X, _ = rows_of_page(np.float32)
    with from_disk(browser, file) as page:
        page.click("#vector-box summary")
        assert "float32" in page.inner_text("#vector")
        read = page.evaluate("text => [...parseNumbers(text)]", " ".join(map(str, X[3])))
        assert read == X[3].astype(np.float64).tolist()
        try_vector(page, "3.5e38")
        assert page.inner_text("#vector-said") == "Number 1, “3.5e38”, is too large."


def test_without_a_model_there_is_no_box_and_with_a_large_one_the_reason(browser, tmp_path, monkeypatch):
    X, y = rows_of_page()
    explore(fitted("labels").encode(X), y).save(tmp_path / "bare.html")
    with from_disk(browser, tmp_path / "bare.html") as page:
        assert not page.is_visible("#vector-box")
        assert "encode" not in page.inner_text("#panel")
    monkeypatch.setattr("kinhash.explorer.page.LARGEST_MODEL", 1000)
    with from_disk(browser, write_page(tmp_path / "page.html", "labels")) as page:
        assert not page.is_visible("#vector-box")
        assert "The page cannot encode vectors" in page.inner_text("#panel")
