"""The page holds what was handed in, and nothing on it can run or be fetched but its own scripts."""

from __future__ import annotations

import base64
import hashlib
import re

import numpy as np
import pytest
from page_reading import array, elements, facts

import kinhash
from kinhash import Codes, EnergyHasher, HammingIndex
from kinhash.errors import CodesMismatch, InvalidInput

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    '<img src="http://example.org/x" onerror="alert(1)">',
    "{{data}}",
    "שלום \u202e abc",
    "=HYPERLINK(1)",
]


def some_codes(n=60, n_bits=20, seed=0):
    return Codes.from_bits(np.random.default_rng(seed).integers(0, 2, (n, n_bits)))


def test_codes_labels_and_texts_come_back_as_they_were():
    codes = some_codes()
    y = [["a", "b", None][k % 3] for k in range(60)]
    page = kinhash.explore(codes, y, text=[f"text {k}" for k in range(60)]).html
    told = facts(page)
    assert (told["rows"], told["bits"]) == (60, 20)
    assert told["ids"] is None
    assert told["texts"][7] == "text 7"
    words = array(page, "codes", np.uint8).reshape(60, 4)
    assert np.array_equal(words[:, :3], codes.packed)
    assert not words[:, 3].any()
    classes = array(page, "classes", np.int32)
    assert [told["names"][k] if k >= 0 else None for k in classes] == y
    assert array(page, "known", np.uint8).tolist() == [k % 3 != 2 for k in range(60)]


def test_tags_come_back_as_they_were():
    tags = [{"x"}, {"x", "y"}, set(), {"z"}] * 10
    page = kinhash.explore(some_codes(40), tags).html
    told, starts, found = facts(page), array(page, "tag-starts", np.uint32), array(page, "tags", np.uint32)
    back = [{told["names"][k] for k in found[starts[i] : starts[i + 1]]} for i in range(40)]
    assert back == tags


def test_rows_stand_in_the_order_of_ids_with_all_that_belongs_to_them():
    codes = some_codes(5)
    named = Codes(codes.packed, 20, np.array(["d", "b", "e", "a", "c"]))
    page = kinhash.explore(named, list("DBEAC"), text=list("dbeac")).html
    told = facts(page)
    assert told["ids"] == list("abcde")
    assert told["texts"] == list("abcde")
    assert [told["names"][k] for k in array(page, "classes", np.int32)] == list("ABCDE")
    order = [3, 1, 4, 0, 2]
    assert np.array_equal(array(page, "codes", np.uint8).reshape(5, 4)[:, :3], codes.packed[order])


def test_an_index_with_ids_of_its_own_asks_which_row_is_which():
    codes = some_codes(4)
    index = HammingIndex.from_codes(codes, ids=["d", "b", "a", "c"])
    with pytest.raises(InvalidInput, match="ids of its own"):
        kinhash.explore(index, [1, 2, 3, 4])
    by_ids = kinhash.explore(index, list("DBAC"), ids=["d", "b", "a", "c"]).html
    by_codes = kinhash.explore(Codes(codes.packed, 20, np.array(["d", "b", "a", "c"])), list("DBAC")).html
    assert by_ids == by_codes
    with pytest.raises(InvalidInput, match="no row for 1 of the 4 rows of the index, 'c' among them"):
        kinhash.explore(index, list("DBAC"), ids=["d", "b", "a", "q"])
    with pytest.raises(InvalidInput, match="Numbers and strings"):
        kinhash.explore(index, list("DBAC"), ids=[1, 2, 3, 4])


def test_ids_too_large_for_a_browser_are_texts():
    ids = np.array([2**60, 2**60 + 1, 5])
    assert facts(kinhash.explore(some_codes(3), ids=ids).html)["ids"] == ["5", str(2**60), str(2**60 + 1)]


@pytest.mark.parametrize("words", HOSTILE)
def test_hostile_words_stay_words(words):
    plain = kinhash.explore(some_codes(12), ["a", "b"] * 6, text=["t"] * 12, title="t")
    page = kinhash.explore(some_codes(12), [words, "b"] * 6, text=[words] * 12, title=words)
    told = facts(page.html)
    assert words in told["names"]
    assert told["texts"][0] == words
    tags = [tag for tag, _, _ in _all(page.html)]
    assert tags == [tag for tag, _, _ in _all(plain.html)]  # no element more than with harmless words


def _all(page):
    return [
        (tag, *one) for tag in ("script", "img", "style", "meta", "iframe") for one in elements(page, tag)
    ]


def test_the_policy_allows_the_page_s_own_scripts_and_style_and_nothing_else():
    page = kinhash.explore(some_codes(12), ["a", "b"] * 6).html
    (policy,) = [
        m["content"] for m, _ in elements(page, "meta") if m.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    allowed = set(re.findall(r"'sha256-([^']+)'", policy))
    own = re.findall(r"<script>(.*?)</script>", page, re.DOTALL) + re.findall(
        r"<style>(.*?)</style>", page, re.DOTALL
    )
    assert {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in own} == allowed
    assert page.index("Content-Security-Policy") < page.index("<style>")


def test_the_page_names_no_other_address():
    page = kinhash.explore(some_codes(12), ["a", "b"] * 6).html
    assert set(re.findall(r"https?://[^\s\"'`]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(src|href)\s*=\s*\"", page)
    for way in (
        "fetch(",
        "XMLHttpRequest",
        "WebSocket",
        "sendBeacon",
        "innerHTML",
        "insertAdjacentHTML",
        "eval(",
    ):
        assert way not in page


def test_half_a_letter_does_not_break_the_page():
    page = kinhash.explore(some_codes(12), text=["</script>\ud800\u2028"] * 12).html
    assert facts(page)["texts"][0] == "</script>?\u2028"
    page.encode()


def test_more_rows_than_asked_for_are_sampled_and_the_page_says_so():
    codes, y = some_codes(200), np.arange(200) % 4
    page = kinhash.explore(codes, y, n_rows=50, random_state=3)
    told = facts(page.html)
    assert (told["rows"], told["allRows"]) == (50, 200)
    assert "50 rows of 200, a random sample (seed 3)" in told["about"]
    kept = np.array(told["ids"])
    assert (np.diff(kept) > 0).all()
    assert np.array_equal(array(page.html, "codes", np.uint8).reshape(50, 4)[:, :3], codes.packed[kept])
    assert np.array_equal(array(page.html, "classes", np.int32), y[kept])
    other = facts(kinhash.explore(codes, y, n_rows=50, random_state=4).html)
    assert other["ids"] != told["ids"]


def test_the_same_seed_gives_the_same_page():
    codes, y = some_codes(120), np.arange(120) % 4
    assert kinhash.explore(codes, y).html == kinhash.explore(codes, y).html


def test_a_notebook_gets_the_page_in_a_frame_and_a_file_gets_it_whole(tmp_path):
    page = kinhash.explore(some_codes(12), ["a", "b"] * 6)
    ((frame, _),) = elements(page._repr_html_(), "iframe")
    assert frame["srcdoc"] == page.html
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    assert page.summary["bytes"] == (tmp_path / "page.html").stat().st_size


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_make_a_page_too(n):
    assert facts(kinhash.explore(some_codes(n), list("abc")[:n]).html)["rows"] == n


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"labels": [1, 2]}, "2 labels came with 12 codes"),
        ({"text": ["a"]}, "1 texts came with 12 codes"),
        ({"ids": [1, 1] * 6}, "came twice"),
        ({"features": np.zeros((3, 2))}, "3 rows of features"),
        ({"model": object()}, "model came without features"),
        ({"n_rows": 50_001}, "n_rows"),
        ({"pictures": np.zeros((12, 4))}, r"shape \(12, 4\)"),
        ({"pictures": np.zeros((5, 4, 4))}, "5 pictures"),
    ],
)
def test_what_does_not_fit_is_refused(given, said):
    with pytest.raises(InvalidInput, match=said):
        kinhash.explore(some_codes(12), **given)


def test_a_model_of_other_codes_is_refused():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 5)), np.arange(80) % 2
    X[:, 0] += 4 * y
    hasher = EnergyHasher(8, random_state=0).fit(X, y)
    with pytest.raises(CodesMismatch):
        kinhash.explore(some_codes(80), y, model=hasher, features=X)


@pytest.mark.parametrize("learned", [True, False])
def test_every_figure_says_whose_rows_it_is_about(learned):
    codes = some_codes()
    codes = Codes(codes.packed, 20, learned=learned)
    page = kinhash.explore(codes, np.arange(60) % 3).html
    told = facts(page)["caveat"]
    assert ("learned from these labels" in told) == learned
    assert "new rows do worse" in told
    source = page[page.index("function verdict") : page.index("function bitsTable")]
    for title in ("The first answers", "How far apart", "How many of the first", "Whose rows"):
        assert f'judged("{title}' in source
