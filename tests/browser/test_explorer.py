"""The explorer's page in a real browser: drawn, exact, reachable by keyboard, inert, silent."""

from __future__ import annotations

import csv
import io
from importlib.resources import files
from pathlib import Path

import numpy as np
from browser_rows import HOSTILE, N, from_disk, until

from kinhash import explore

CARDS = "#neighbors .card"


def shown(page):
    """Ids and distances of the neighbors on the page, in their order."""
    page.wait_for_selector(CARDS)
    return page.eval_on_selector_all(
        CARDS, "cards => cards.map(c => [idOf(Number(c.dataset.row)), near.distances[Number(c.dataset.row)]])"
    )


def place_of(page, row):
    """Where a row stands in the window."""
    x, y = page.evaluate("row => { showRow(row); return onCanvas(row); }", row)
    box = page.locator("#map").bounding_box()
    return box["x"] + x, box["y"] + y


def downloaded(page, button):
    with page.expect_download() as got:
        page.click(button)
    text = Path(got.value.path()).read_text(encoding="utf-8-sig")
    return list(csv.reader(io.StringIO(text)))


def test_nothing_is_asked_of_the_network_and_nothing_goes_wrong(page):
    for view in ("good", "doubts", "map"):
        page.click(f"#tab-{view}")
        assert page.is_visible(f"#view-{view}")
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0
    assert page.evaluate("typeof facts") == "object"
    scripts = [one for one in files("kinhash.explorer").iterdir() if one.name.endswith(".js")]
    assert len(page.query_selector_all("script:not([type])")) == len(scripts)


def test_the_policy_holds(page):
    """A script that somebody slips in does not run, and no address is reached."""
    ran = page.evaluate(
        """async () => {
          const script = document.createElement("script"); script.textContent = "window.slipped = 1";
          document.body.append(script);
          const reached = await fetch("http://example.org/").then(() => true, () => false);
          return [window.slipped === undefined, reached];
        }"""
    )
    assert ran == [True, False]
    page.wait_for_timeout(100)
    page.wrong.clear()  # the browser reports what it refused
    page.asked.clear()


def test_the_map_is_drawn_in_the_colors_of_the_labels(page):
    found = page.evaluate(
        """() => {
          wholeMap(); paint(canvas);
          const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          const paper = rgb(painting.theme.stage);
          return Array.from({length: rows.n}, (_, row) => {
            const [x, y] = onCanvas(row).map((v) => Math.round(v * view.ratio));
            const at = 4 * (y * canvas.width + x);
            return [0, 1, 2].some((k) => Math.abs(data[at + k] - paper[k]) > 20);
          });
        }"""
    )
    assert np.mean(found) > 0.98


def test_a_click_on_a_row_shows_its_neighbors_as_the_index_has_them(page, index, codes):
    row = 42
    page.evaluate("row => { view.x = xs[row]; view.y = ys[row]; zoom(40); paint(canvas); }", row)
    page.mouse.click(*place_of(page, row))
    ids, distances = zip(*shown(page), strict=True)
    assert page.evaluate("state.row") == row
    found = index.search(codes[row], k=len(ids), exclude=[f"r{row:03d}"])
    assert list(ids) == found.ids[0].tolist()
    assert list(distances) == found.distances[0].tolist()


def test_every_row_finds_what_the_index_finds(page, index, codes):
    found = index.search(codes, k=N - 1, exclude=codes.ids)
    for row in range(0, N, 37):
        order, distances = page.evaluate(
            """row => { const { order, distances } = neighborsOf(codeOf(row), row);
                 return [[...order].map(idOf), [...order].map((other) => distances[other])]; }""",
            row,
        )
        assert order == found.ids[row].tolist()
        assert distances == found.distances[row].tolist()


def test_differing_bits_are_those_of_the_codes(page, codes):
    bits = codes.bits()
    for left, right in ((0, 1), (7, 250)):
        told = page.evaluate("([l, r]) => differingBits(codeOf(l), r)", [left, right])
        differing = np.flatnonzero(bits[left] != bits[right])
        assert told == differing.tolist()


def test_kin_are_framed_strangers_crossed_and_the_unknown_neither(page):
    page.evaluate("location.hash = '#row=r008'")
    shown(page)
    kinds = page.eval_on_selector_all(
        CARDS, "cards => cards.map(c => [kinship(state.row, Number(c.dataset.row)), c.className.trim()])"
    )
    assert {kind for kind, _ in kinds} >= {0}
    for kind, name in kinds:
        assert name == {1: "card kin", 0: "card stranger", -1: "card"}[kind]
    stranger = page.locator(".card.stranger .picture-box").first
    assert stranger.evaluate("node => getComputedStyle(node, '::before').width") == "2px"
    assert page.evaluate("kinship(8, 5)") == -1


def test_a_link_leads_to_a_state_and_the_back_button_to_the_row_before(page):
    page.evaluate("location.hash = '#row=r017&color=distance'")
    until(page, "state.row === 17")
    assert page.input_value("#color") == "distance"
    page.locator(CARDS).first.click()
    chosen = page.evaluate("state.row")
    assert chosen != 17
    assert page.evaluate("location.hash").startswith(f"#row=r{chosen:03d}")
    page.go_back()
    until(page, "state.row === 17")
    page.evaluate("location.hash = '#row=nobody'")
    until(page, "state.row === -1")
    assert "no row nobody" in page.inner_text("#status")


def test_the_legend_filters(page):
    if not page.is_visible("#legend"):
        page.click("#legend-box summary")
    page.locator("#legend button.only").filter(has_text="only").nth(2).click()
    label = page.evaluate("hidden.indexOf(0)")
    expected = page.evaluate(
        "l => Array.from({length: rows.n}, (_, r) => r).filter((r) => rows.classes[r] === l).length", label
    )
    assert page.evaluate("shownRows") == expected
    assert "only=" in page.evaluate("location.hash")
    page.evaluate("paint(canvas)")
    assert page.evaluate("[...painting.inView].every((r) => rows.classes[r] === hidden.indexOf(0))")
    page.reload()
    until(page, "view.width > 0")
    assert page.evaluate("shownRows") == expected  # the link says it, too
    page.evaluate("byId('show-all').click()")
    assert page.evaluate("shownRows") == N


def test_search_by_id_and_by_text(page):
    page.fill("#find", "r123")
    page.keyboard.press("Enter")
    until(page, "state.row === 123")
    page.fill("#find", "text 77 <B>")
    page.click("#found button")
    until(page, "state.row === 77")


def test_exports_are_tables_without_formulas(page):
    page.evaluate("location.hash = '#row=r042'")
    ids = [one for one, _ in shown(page)]
    lines = downloaded(page, "#export-neighbors")
    assert [line[2] for line in lines[1:]] == ids
    text = lines[0].index("text")
    assert all(line[text].startswith("'=text") for line in lines[1:])
    rows = downloaded(page, "#export-map")
    assert len(rows) == 1 + page.evaluate("painting.inView.length")
    page.click("#tab-doubts")
    if page.is_visible("#export-doubts"):
        doubts = downloaded(page, "#export-doubts")
        assert [line[0] for line in doubts[1:]] == [str(k) for k in range(1, len(doubts))]
        first = page.locator("#doubts tbody button").first.inner_text()
        assert doubts[1][1] == first


def test_hostile_words_are_shown_and_do_nothing(page):
    page.evaluate("location.hash = '#row=r000'")
    shown(page)
    assert HOSTILE[0] in page.inner_text("#panel .labels")
    assert "<b>bold</b>" in page.inner_text("#panel .quote")
    for view in ("good", "doubts", "map"):
        page.click(f"#tab-{view}")
    assert page.title() == "A <i>title</i>"
    assert page.locator("img, iframe, #view-map b b, header i").count() == 0
    page.evaluate("location.hash = '#row=r001'")
    until(page, "state.row === 1")
    right_to_left = page.locator("#panel .labels bdi")
    assert right_to_left.get_attribute("dir") == "auto"
    assert right_to_left.inner_text() == HOSTILE[1]


def test_all_of_it_by_keyboard(page):
    page.focus("#map")
    before = page.evaluate("[view.x, view.scale]")
    for key in ("ArrowRight", "+", "Enter"):
        page.keyboard.press(key)
    until(page, "state.row >= 0")
    after = page.evaluate("[view.x, view.scale]")
    assert after[0] > before[0]
    assert after[1] > before[1]
    assert page.inner_text("#status").startswith("Row r")
    first = page.evaluate("state.row")
    page.locator(CARDS).first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    third = page.evaluate("Number(document.activeElement.dataset.row)")
    assert third == page.evaluate("near.order[2]")
    page.keyboard.press("Enter")
    until(page, "row => state.row !== row", arg=first)
    assert page.evaluate("state.row") == third
    page.focus("#tab-map")
    page.keyboard.press("ArrowRight")
    assert page.is_visible("#view-good")
    assert page.evaluate("document.activeElement.id") == "tab-good"


def test_every_control_has_a_name(page):
    page.evaluate("location.hash = '#row=r003'")
    shown(page)
    for view in ("good", "doubts", "map"):
        page.click(f"#tab-{view}")
        nameless = page.eval_on_selector_all(
            "button, input, select, canvas, [role=img]",
            """nodes => nodes.filter((n) => n.offsetParent !== null && n.ariaHidden !== "true"
                 && !n.getAttribute("aria-label") && !n.textContent.trim() && !(n.labels && n.labels.length))
                 .map((n) => n.outerHTML.slice(0, 90))""",
        )
        assert nameless == []


def test_text_can_be_read_in_light_and_in_dark(page):
    """WCAG AA: contrast of 4.5 at least between each color of text and each ground it stands on."""
    for _ in range(2):
        page.click("#theme")
        ratios = page.evaluate(
            """() => {
              const style = getComputedStyle(document.documentElement);
              const linear = (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
              const light = (name) => {
                const [r, g, b] = rgb(style.getPropertyValue(name).trim()).map((v) => linear(v / 255));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
              };
              const inks = ["--ink", "--soft", "--link", "--kin", "--stranger"];
              const pairs = inks.flatMap((a) => ["--paper", "--shade", "--stage"].map((b) => [a, b]));
              return pairs.map(([a, b]) => {
                const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
                return [a, b, (x + 0.05) / (y + 0.05)];
              });
            }"""
        )
        assert [pair for pair in ratios if pair[2] < 4.5] == []


def test_nothing_hangs_out_of_the_window(page):
    page.evaluate("location.hash = '#row=r003'")
    shown(page)
    for view in ("map", "good", "doubts"):
        page.click(f"#tab-{view}")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_pictures_come_from_their_sheet(page):
    page.evaluate("location.hash = '#row=r003'")
    page.wait_for_selector("#panel .head canvas")
    until(page, "!!(sheets[0] && sheets[0].image)")
    page.wait_for_timeout(50)
    drawn = page.eval_on_selector(
        "#panel .head canvas",
        "c => [...c.getContext('2d').getImageData(0, 0, 12, 12).data].filter((_, k) => k % 4 === 0)",
    )
    pictures = np.random.default_rng(1).integers(0, 256, (N, 12, 12))
    assert np.abs(np.array(drawn) - pictures[3].ravel()).max() <= 2


def test_a_notebook_s_frame_works_like_the_page(browser, codes, tmp_path):
    shown_in = tmp_path / "notebook.html"
    shown_in.write_text(
        f"<!DOCTYPE html><meta charset='utf-8'><body>{explore(codes, ['a', 'b'] * (N // 2))._repr_html_()}"
    )
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(shown_in.as_uri())
    frame = page.frames[1]
    until(frame, "painting.mode !== ''")
    frame.fill("#find", "r011")
    frame.press("#find", "Enter")
    frame.wait_for_selector(CARDS)
    assert frame.evaluate("state.row") == 11
    assert wrong == []
    page.close()


def test_cards_name_all_tags_of_a_neighbor_and_those_it_shares(browser, codes, tmp_path):
    words = [f"quite a long tag {k}" for k in range(6)]
    tags = [[words[(k + step) % 6] for step in range(k % 4)] for k in range(N)]
    explore(codes, tags).save(tmp_path / "tags.html")
    with from_disk(browser, tmp_path / "tags.html") as page:
        page.evaluate("location.hash = '#row=r003'")
        shown(page)
        cards = page.eval_on_selector_all(
            f"{CARDS} .tags",
            "tags => tags.map(t => [Number(t.parentNode.dataset.row), t.textContent, "
            "[...t.querySelectorAll('b')].map(b => b.textContent)])",
        )
        assert len(cards) == 48
        for row, text, bold in cards:
            assert sorted(text.split(", ")) == sorted(tags[row]) if tags[row] else text == "no tag"
            assert set(bold) == set(tags[row]) & set(tags[3])
        assert (
            page.locator(f"{CARDS} .tags").first.evaluate("t => getComputedStyle(t).whiteSpace") == "normal"
        )
